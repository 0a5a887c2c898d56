"""All by which a server knows who asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from noisycount.app.access.issued_key import IssuedKey
from noisycount.app.access.keyring import Keyring
from noisycount.app.access.visitor import Visitor
from noisycount.app.config.config import Config
from noisycount.app.server.guard.attempts import Attempts
from noisycount.app.server.guard.login_form import LoginForm
from noisycount.app.server.guard.sessions import Session, Sessions
from noisycount.app.server.refusals import UncheckedError
from noisycount.errors import ConfigError

if TYPE_CHECKING:
    from noisycount.app.server.guard.oidc.tokens import Tokens

__all__ = ["Guard"]

_KEY = "nc_"  # how a key begins, and no token


@dataclass(frozen=True, slots=True)
class Guard:
    """Keys, tokens and sessions of one server.

    Attributes:
        keyring: The keys beside the ledger.
        tokens: Those of an issuer; None: none is taken.
        sessions: Of the page.
        attempts: The wrong keys that were shown to the page.
        login_form: The form of the page that takes a key.
    """

    keyring: Keyring
    tokens: "Tokens | None" = None
    sessions: Sessions = field(default_factory=Sessions)
    attempts: Attempts = field(default_factory=Attempts)
    login_form: LoginForm = field(default_factory=LoginForm)

    @classmethod
    def of(cls, configuration: Config) -> Self:
        """The guard that an owner configured.

        Raises:
            ConfigError: There is no place for keys, or OpenID Connect is not configured right.
        """
        return cls(Keyring.of(configuration), _tokens(configuration))

    def bearer(self, shown: str) -> Visitor | None:
        """Who comes with a key or a token; None: nobody.

        Args:
            shown: What stands behind `Bearer`.

        Raises:
            UncheckedError: Keys cannot be read.
        """
        with _checking():
            if self.tokens is not None and self.takes_a_moment(shown):
                return self.tokens.visitor(shown)
            holder = self.keyring.holder(shown)
        return None if holder is None else holder.visitor

    def takes_a_moment(self, shown: str) -> bool:
        """Whether it may take long to know who comes: an issuer is far, the keys are at hand.

        Args:
            shown: What stands behind `Bearer`.
        """
        return self.tokens is not None and not shown.startswith(_KEY)

    def login(self, shown: str) -> tuple[str, IssuedKey] | None:
        """What the cookie of a new session says, and for whom; None: the key opens nothing.

        Args:
            shown: The key.

        Raises:
            UncheckedError: Keys cannot be read.
        """
        with _checking():
            holder = self.keyring.holder(shown)
        return None if holder is None else (self.sessions.begin(holder.id), holder)

    def session(self, said: str) -> tuple[Session, Visitor] | None:
        """The session of a cookie, and who is logged in; None where its key opens nothing more.

        Args:
            said: By the cookie.

        Raises:
            UncheckedError: Keys cannot be read.
        """
        session = self.sessions.session(said)
        if session is None:
            return None
        with _checking():
            holder = self.keyring.valid(session.key_id)
        if holder is None:
            self.sessions.end(said)
            return None
        return session, holder.visitor


@contextmanager
def _checking() -> Iterator[None]:
    """Tell a visitor nothing of what the owner has to mend."""
    try:
        yield
    except ConfigError as error:
        raise UncheckedError from error


def _tokens(configuration: Config) -> "Tokens | None":
    """The tokens that an owner takes; None: none.

    Raises:
        ConfigError: OpenID Connect is not configured right.
    """
    if configuration.service.oidc is None:
        return None
    from noisycount.app.server.guard.oidc.tokens import Tokens  # noqa: PLC0415 - loads joserfc

    return Tokens.of(configuration)
