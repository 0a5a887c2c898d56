"""The keys to a server: issued, revoked, and told from what is no key."""

import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from noisycount.app.access.issued_key import IssuedKey, State
from noisycount.app.access.key import Key
from noisycount.app.access.keys_file import Keys, KeysFile
from noisycount.app.access.visitor import Role
from noisycount.app.config.config import Config
from noisycount.errors import ConfigError

__all__ = ["Keyring"]


def _now() -> datetime:
    """This second: nobody needs to know more of when a key was made."""
    return datetime.now(UTC).replace(microsecond=0)


_NOBODY = IssuedKey("", "", Role.ANALYST, (), secrets.token_bytes(32), _now(), revoked=_now())
"""What an unknown key is compared with, so that it takes as long as a known one."""
_NO_KEY = Key("", "")


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys beside one ledger.

    Args:
        file: Where they are kept.
        now: The clock.
    """

    file: KeysFile
    now: Callable[[], datetime] = _now

    @classmethod
    def of(cls, configuration: Config) -> Self:
        """The keys beside the ledger of a configuration.

        Raises:
            ConfigError: It has no folder beside it.
        """
        folder = configuration.data_folder
        if folder is None:
            raise ConfigError("keys need a noisycount.toml beside which they are kept: write one")
        return cls(KeysFile(folder))

    def issued(self) -> Keys:
        """All keys that were ever issued, the oldest first."""
        return self.file.keys()

    def issue(
        self,
        name: str,
        role: Role,
        datasets: Sequence[str] | None,
        lifetime: timedelta | None = None,
    ) -> tuple[Key, IssuedKey]:
        """A new key, which only this reply has, and what is kept of it.

        Args:
            name: Of the analyst who will hold it.
            role: What they may do.
            datasets: The names of the data sets that they may ask; None: every one.
            lifetime: After which it opens nothing; None: it does not expire.

        Raises:
            ConfigError: It cannot be kept.
        """
        key, made = Key.new(), self.now()
        issued: list[IssuedKey] = []

        def with_one_more(keys: Keys, secret: bytes) -> list[IssuedKey]:
            known = None if datasets is None else tuple(sorted(set(datasets)))
            expires = None if lifetime is None else made + lifetime
            issued.append(IssuedKey(key.id, name, role, known, key.digest(secret), made, expires))
            return [*keys, *issued]

        self.file.change(with_one_more)
        return key, issued[0]

    def revoke(self, who: str) -> Keys:
        """The keys that open nothing from now on: one by its id, or all that somebody holds.

        Args:
            who: An id or a name; of a key that was revoked before nothing changes.

        Raises:
            ConfigError: They cannot be read or written.
        """
        ended: list[IssuedKey] = []

        def without(keys: Keys, _: bytes) -> list[IssuedKey]:
            now = self.now()
            chosen = {key.id for key in keys if who in {key.id, key.name} and key.revoked is None}
            changed = [key.revoked_at(now) if key.id in chosen else key for key in keys]
            ended.extend(key for key in changed if key.id in chosen)
            return changed

        self.file.change(without)
        return tuple(ended)

    def holder(self, text: str) -> IssuedKey | None:
        """What is kept of a key that somebody shows; None for what opens nothing.

        One digest is computed and compared whatever is shown, in a time that does not depend on
        where they differ.

        Args:
            text: The key.

        Raises:
            ConfigError: Keys cannot be read.
        """
        key = Key.read(text) or _NO_KEY
        known = {each.id: each for each in self.issued()}.get(key.id, _NOBODY)
        is_right = hmac.compare_digest(key.digest(self.file.secret()), known.digest)
        return known if is_right and known.state(self.now()) is State.VALID else None

    def valid(self, key_id: str) -> IssuedKey | None:
        """The key of an id if it opens something still.

        Args:
            key_id: Of a key that was shown before.

        Raises:
            ConfigError: Keys cannot be read.
        """
        return next(
            (k for k in self.issued() if k.id == key_id and k.state(self.now()) is State.VALID),
            None,
        )
