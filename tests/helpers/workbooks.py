"""Workbooks written by hand, as the few parts that a reader needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZipFile

_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_EPOCH = datetime(1899, 12, 30)  # noqa: DTZ001 - cells have no zone
_STYLES = (  # 0: numbers, 1: dates, 2: times, 3: durations
    f'<styleSheet {_MAIN}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/>'
    '<xf numFmtId="46"/></cellXfs></styleSheet>'
)


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[object]]]) -> Path:
    """A workbook of rows of texts, numbers, truth values, dates and times; None: an empty cell."""
    numbers = range(1, len(sheets) + 1)
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_TYPES}.worksheet+xml"/>' for n in numbers
    )
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"/>' for n, name in zip(numbers, sheets, strict=True)
    )
    relations = "".join(
        f'<Relationship Id="rId{n}" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    styles = f'<Relationship Id="rId0" Type="{_RELATIONS}/styles" Target="styles.xml"/>'
    parts = {
        "[Content_Types].xml": (
            f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{_TYPES}.styles+xml"/>'
            f"{overrides}</Types>"
        ),
        "_rels/.rels": (
            f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
            f'Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        ),
        "xl/workbook.xml": (f'<workbook {_MAIN} xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets></workbook>'),
        "xl/_rels/workbook.xml.rels": (
            f'<Relationships xmlns="{_PACKAGE}/relationships">{styles}{relations}</Relationships>'
        ),
        "xl/styles.xml": _STYLES,
    }
    for n, rows in zip(numbers, sheets.values(), strict=True):
        data = "".join(map(_row, range(1, len(rows) + 1), rows))
        parts[f"xl/worksheets/sheet{n}.xml"] = f"<worksheet {_MAIN}><sheetData>{data}</sheetData></worksheet>"
    with ZipFile(path, "w") as file:
        for name, text in parts.items():
            file.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return path


@dataclass(frozen=True, slots=True)
class Raw:
    """A cell as XML."""

    attributes: str
    content: str


def _letters(place: int) -> str:
    """Return the letters of a column, counted from 0."""
    return (_letters(place // 26 - 1) if place >= 26 else "") + chr(65 + place % 26)


def _row(number: int, row: Sequence[object]) -> str:
    cells = "".join(_cell(f"{_letters(n)}{number}", value) for n, value in enumerate(row))
    return f'<row r="{number}">{cells}</row>'


def _cell(place: str, value: object) -> str:  # noqa: PLR0911 - one for each type
    match value:
        case None:
            return ""
        case Raw():
            return f'<c r="{place}" {value.attributes}>{value.content}</c>'
        case bool():
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        case int() | float():
            return f'<c r="{place}"><v>{value}</v></c>'
        case datetime():
            return f'<c r="{place}" s="2"><v>{(value - _EPOCH).total_seconds() / 86400}</v></c>'
        case timedelta():
            return f'<c r="{place}" s="3"><v>{value.total_seconds() / 86400}</v></c>'
        case date():
            return f'<c r="{place}" s="1"><v>{(value - _EPOCH.date()).days}</v></c>'
        case _:
            text = escape(str(value))
            return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
