"""Forms that people sent, kept in memory beside their session: each page is loaded by GET, and no question is lost."""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

from noisycount.frozen import frozen

MOST_DRAFTS, MOST_CHARACTERS = 20, 1_000_000  # of one session; the newest draft is kept whatever its length
_KEY = re.compile(r"[0-9a-f]{32}")


@frozen
class FormDraft:
    """Fields of a form that a browser sent, kept so that the page can show them again."""

    fields: tuple[tuple[str, str], ...]  # names and texts, in the order of the form
    key: str  # name of the request if the form is confirmed, the same however often its page is loaded
    refusal: str = ""  # why the request was refused; empty if it was not

    @property
    def characters(self) -> int:
        """Length of all fields together."""
        return sum(len(name) + len(text) for name, text in self.fields)


@dataclass(slots=True, eq=False)
class Drafts:
    """Newest forms of one session, by random names that are valid in this session only.

    Example:
        >>> drafts = Drafts()
        >>> name = drafts.keep([("where", "age > 40")])
        >>> drafts.draft(name).fields, Drafts().draft(name)
        ((('where', 'age > 40'),), None)
    """

    _kept: dict[str, FormDraft] = field(default_factory=dict, repr=False)

    def keep(self, fields: Iterable[tuple[str, str]], refusal: str = "") -> str:
        """Keep a form, drop the oldest ones that exceed the bounds, and return the name of the draft.

        A confirmation of a preview that has the key of a draft replaces this draft: the same form with the typed
        purpose.
        """
        fields_to_keep = tuple(fields)
        texts = dict(fields_to_keep)
        key = request_key(texts.get("key", ""))
        earlier_draft = next((draft for draft in self._kept.values() if draft.key == key), None)
        if earlier_draft is not None:
            fields_to_keep = (
                *(each for each in earlier_draft.fields if each[0] != "purpose"),
                ("purpose", texts.get("purpose", "")),
            )
        name = secrets.token_hex(8)
        self._kept[name] = FormDraft(fields_to_keep, key, refusal)
        while len(self._kept) > MOST_DRAFTS or (len(self._kept) > 1 and self.characters > MOST_CHARACTERS):
            del self._kept[next(iter(self._kept))]
        return name

    def draft(self, name: str) -> FormDraft | None:
        """Return the draft with a name, or None if the session has no such draft."""
        return self._kept.get(name)

    @property
    def characters(self) -> int:
        """Length of all drafts together."""
        return sum(draft.characters for draft in self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)


def request_key(text: str) -> str:
    """Return the text if it is a request key such as pages make, else a new key."""
    return text if _KEY.fullmatch(text) else secrets.token_hex(16)
