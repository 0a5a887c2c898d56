"""What can be said of columns and files of texts, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from noisycount.engines.forms import ColumnForm, FileForm, date_pattern
from noisycount.errors import SourceError
from noisycount.query.schema import ZONED, Kind

FORMS = [
    ColumnForm(Kind.INTEGER),
    ColumnForm(Kind.REAL, decimal=",", missing=("NA", "k.A."), accepts_unreadable=True),
    ColumnForm(Kind.TEXT, trim=True),
    ColumnForm(Kind.BOOLEAN, true=("ja",), false=("nein", "nö")),
    ColumnForm(Kind.DATE, date_format="%d.%m.%Y"),
    ColumnForm(Kind.TIMESTAMP, date_format=ZONED),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_written_and_read_back(form: ColumnForm) -> None:
    """Its parts hold all that it says, in texts, lists and truth values."""
    assert ColumnForm.of_parts(form.parts) == form


def test_parts_say_only_what_is_unusual() -> None:
    """A kind alone is the usual form of its texts."""
    assert ColumnForm(Kind.DATE).parts == {"kind": "date"}
    assert FORMS[1].parts == {"kind": "real", "decimal": ",", "missing": ["NA", "k.A."], "unreadable": "missing"}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({}, "kind must be one of integer, real, text, boolean, date, timestamp"),
        ({"kind": "number"}, "kind must be one of integer, real"),
        ({"kind": "real", "decimal": ";"}, "decimal must be"),
        ({"kind": "real", "decimal": 1}, "decimal must be a text, got 1"),
        ({"kind": "text", "decimal": ","}, "decimal belongs to a column of kind integer or real"),
        ({"kind": "real", "date_format": "%d"}, "date_format belongs to a column of kind date or"),
        ({"kind": "date", "date_format": "dd.mm"}, "date_format must be made of %d, %m, %Y"),
        ({"kind": "date", "date_format": "%d.%q"}, "such as %d.%m.%Y, got '%d.%q'"),
        ({"kind": "date", "date_format": "%d'%m"}, "date_format must be made of"),
        ({"kind": "boolean", "true": ["ja"]}, "true and false must both be lists of words"),
        ({"kind": "boolean", "true": ["a"], "false": ["A"]}, "with none in both"),
        ({"kind": "boolean", "true": "ja", "false": ["a"]}, "true must be a list of texts, got"),
        ({"kind": "text", "missing": [1]}, "missing must be a list of texts, got [1]"),
        ({"kind": "text", "trim": "yes"}, "trim must be true or false, got 'yes'"),
        ({"kind": "real", "trim": True}, "trim belongs to a column of kind text, not real: leave"),
        ({"kind": "real", "unreadable": "drop"}, 'unreadable must be "missing", or be left out'),
        ({"kind": "real", "format": "%d"}, "'format' is nothing that is said of a column: use"),
    ],
)
def test_what_is_not_said_rightly_is_refused(parts: dict[str, Any], words: str) -> None:
    """In one line with what is meant."""
    with pytest.raises(SourceError) as caught:
        ColumnForm.of_parts(parts)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FileForm(encoding="cp99"), "such as \"cp1252\", got 'cp99'"),
        (lambda: FileForm(encoding="hex"), "encoding must be one that Python knows"),
        (lambda: FileForm(delimiter=""), 'delimiter must be one character, such as ";"'),
        (lambda: FileForm(delimiter='"'), "delimiter must be one character"),
        (lambda: FileForm(delimiter=", "), "delimiter must be one character"),
        (lambda: FileForm(skip=-1), "skip must be from 0 to 1000 lines, got -1"),
        (lambda: FileForm(skip=1001), "got 1001"),
    ],
)
def test_what_is_not_said_rightly_of_a_file_is_refused(make: Callable[[], FileForm], words: str) -> None:
    """In one line with what is meant."""
    with pytest.raises(SourceError) as caught:
        make()
    assert words in str(caught.value)


def test_a_date_format_means_its_characters() -> None:
    """A point between directives is a point."""
    assert date_pattern("%d.%m.%Y") == r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"
