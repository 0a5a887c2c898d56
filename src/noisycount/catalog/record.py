"""The folder beside a ledger, for the owner's eyes alone.

What is written down of one data set, once, so that no later record changes what it means.
"""

import codecs
import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from noisycount.engines.forms import ColumnForm, FileForm
from noisycount.errors import LedgerError
from noisycount.frozen import frozen
from noisycount.query.schema import Kind, Schema


def make_private(folder: Path) -> None:
    """Make a folder that its owner alone may look into."""
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)


def write_private(file: Path, content: bytes) -> None:
    """Write a file that its owner alone may read; it appears whole, in place of an older one."""
    make_private(file.parent)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file_:
            file_.write(content)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


ROW = "row"  # what is said in place of a column where every row is a unit of its own


@frozen(slots=False)
class DatasetRecord:
    """What is written down of a data set.

    Example:
        >>> written = DatasetRecord(None, {"age": ColumnForm(Kind.INTEGER)}, "00")
        >>> DatasetRecord.read(written.text) == written
        True
    """

    unit: str | None  # the column that names the person; None: every row is one unit
    columns: Mapping[str, ColumnForm]  # what the cells of each column that questions can use stand for
    content: str  # the SHA-256 of the records, in hexadecimal digits
    # what the engine calls the values of each column that no question can use
    others: Mapping[str, str] = field(default_factory=dict)
    table: str | None = None  # which table of a file with several
    form: FileForm | None = None  # how the texts of a file are found in it; None where it states its types
    earlier: tuple[str, ...] = ()  # what its content was before, the oldest first
    edition: str | None = None  # what the owner of records on a server calls them as they are now
    # the form that its version leaves out, as an older release wrote it down; None: its version covers every form
    legacy_form: FileForm | None = None

    @classmethod
    def read(cls, text: str) -> Self:
        """What a text says, as `text` gives it."""
        try:
            said: dict[str, Any] = json.loads(text)
            columns = {name: ColumnForm.of_parts(parts) for name, parts in said["columns"].items()}
            form = _form(said["form"])
            read = {
                "columns": columns,
                "form": form,
                "earlier": tuple(said.get("earlier", ())),
                "legacy_form": _form(said["legacy_form"]) if "legacy_form" in said else form,
            }
            return cls(**{**said, **read})
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LedgerError("the ledger describes a data set in a form of a later version: install that") from None

    @cached_property
    def text(self) -> str:
        """All of it, as a JSON object; a form that is the legacy one is told as it ever was."""
        legacy = None if self.legacy_form is None else asdict(self.legacy_form)
        return json.dumps(
            {
                "unit": self.unit,
                "columns": {name: form.parts for name, form in self.columns.items()},
                "content": self.content,
                "others": dict(self.others),
                "table": self.table,
                "form": None if self.form is None else asdict(self.form),
                "earlier": list(self.earlier),
                **({} if self.edition is None else {"edition": self.edition}),
                **({} if self.legacy_form == self.form else {"legacy_form": legacy}),
            }
        )

    def after(self, former: Self | None) -> Self:
        """The same, with all contents that the data set ever had."""
        if former is None:
            return self
        contents = dict.fromkeys((*former.earlier, former.content))
        contents.pop(self.content, None)
        return replace(self, earlier=tuple(contents), legacy_form=former.legacy_form)

    def held(self, digest: str, table: str | None) -> bool:
        """Whether these were its records once, or are."""
        return self.table == table and digest in {self.content, *self.earlier}

    @cached_property
    def version(self) -> str:
        """A text that changes with the records, with how they are read and what cells stand for.

        Older releases left the form of the file out, and so does this where that is still theirs:
        what their ledgers hold stays free.
        """
        read = {
            name: {part: value for part, value in form.parts.items() if part != "unreadable"}
            for name, form in sorted(self.columns.items())
        }
        edition = [] if self.edition is None else [self.edition]
        form, legacy = _form_parts(self.form), _form_parts(self.legacy_form)
        found = [] if form == legacy else [form]
        return f"sha256:{_digest([self.content, self.table, read, *edition, *found])}"

    @property
    def reading(self) -> str:
        """What tells a copy of these records, read so, from every other copy."""
        form = None if self.form is None else asdict(self.form)
        read = {name: form.parts for name, form in self.columns.items()}
        return _digest([self.content, self.unit, self.table, form, read])

    @cached_property
    def accepted(self) -> frozenset[str]:
        """The columns whose cells that do not fit count as missing, as their owner said."""
        return frozenset(n for n, form in self.columns.items() if form.accepts_unreadable)

    def schema(self, columns: Sequence[str] | None) -> Schema:
        """What questions may use."""
        kinds = {name: form.kind for name, form in self.columns.items()}
        if self.unit is not None:
            kinds.setdefault(self.unit, Kind.TEXT)
        commas = frozenset(name for name, form in self.columns.items() if form.decimal == ",")
        return Schema(kinds, self.others, commas=commas).for_questions(self.unit, columns)


def _form(parts: Mapping[str, Any] | None) -> FileForm | None:
    """The form of a file that parts describe, if any do."""
    return None if parts is None else FileForm(**parts)


def _form_parts(form: FileForm | None) -> dict[str, Any] | None:
    """What a form says, an encoding by one of its names."""
    if form is None:
        return None
    encoding = None if form.encoding is None else codecs.lookup(form.encoding).name
    return {**asdict(form), "encoding": encoding}


def _digest(said: object) -> str:
    """The SHA-256 of a value of JSON, in hexadecimal digits."""
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode("ascii")).hexdigest()
