# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes
"""Lines of a file that name its columns, lines that are records, lines that its owner leaves out, and ragged lines.

`names_like_values` finds a line of names that is likely a record.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from noisycount.engines.check import EXAMPLES, PADDED, Check, OddRows
from noisycount.engines.duckdb.connection import Connection, quoted_name, quoted_text, require_single_names
from noisycount.engines.formats import FileFormat
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.close_names import close_names
from noisycount.query.readings import BLANKS
from noisycount.query.schema import Kind

AROUND = f"{BLANKS}\ufeff"  # a mark of the encoding stands before a header that was put below other lines
_NUMBER = re.compile(r"[+-]?[0-9.,]+")
_VALUE = re.compile(
    r"[+-]?[£$€]? ?[0-9][0-9.,' \u00a0\u202f\u2019]*([eE][+-]?[0-9]+)?[%£$€]?"
    r"|[0-9]{1,4}([-./])[0-9]{1,2}\2[0-9]{1,4}([T ][0-9:.]+Z?)?"
    r"|[0-9]{1,2}(:[0-9]{2}){1,2}(\.[0-9]+)?|(?i:nan|true|false)"
)


def is_number(text: str) -> bool:
    """Return True if a text consists of digits. A name of a column rarely does."""
    return _NUMBER.fullmatch(text.strip()) is not None


def is_value(text: str) -> bool:
    """Return True if a text reads as a number, a date, a time or a truth value.

    Example:
        >>> [is_value(text) for text in ("1e-3", "£1,200", "1\u202f200 €", "2024-01-02", "8:30", "age", "Q1")]
        [True, True, True, True, True, False, False]
    """
    return _VALUE.fullmatch(text.strip()) is not None


def words_in_lines(lines: Iterable[str]) -> tuple[int, bool]:
    """Return the number of words in each line, and True if single blanks separate them.

    The number is 0 if the lines do not look like cells with blanks between them: if they have different numbers of
    words or only one word, or if no column consists of values below the first line.

    Example:
        >>> words_in_lines(["id age", "A 31", "B 29"]), words_in_lines(["name", "Ann Lee", "Bo Li"])
        ((2, True), (0, False))
    """
    filled = [*filter(None, lines)]
    _, *records = words = [line.split() for line in filled]
    is_table = len({*map(len, words)}) == 1 and any(all(map(is_value, cells)) for cells in zip(*records, strict=True))
    number = len(words[0]) if is_table and len(words[0]) > 1 else 0
    return number, number > 0 and all(line.split(" ") == each for line, each in zip(filled, words, strict=True))


def usual_width(records: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return the most frequent number of cells of a record, preceded by the number of records that have it."""
    if not records:
        return 0, 0
    widths = Counter(map(len, records))
    return max((number, width) for width, number in widths.items())


def count_titles(records: Sequence[Sequence[str]]) -> int:
    """Return the number of title lines before the names of the columns. Title lines may be empty.

    A row is a title in these cases:

    * It fills at most one cell, or far fewer cells than a record; spreadsheets surround such a cell by empty ones.

    * It has another number of cells than the names and the values below them.

    * It fills fewer cells than a record, and an empty row separates it from the names. Below titles of one cell a table
    may have no names, if each of its rows has the same number of cells.
    """
    filled = [[cell for cell in record if cell.strip()] for record in records]
    usual = sorted(map(len, filled))[len(filled) // 2] if filled else 0
    _, width = usual_width(records)
    gaps = [
        n
        for n, row in enumerate(filled[:-1])
        if not row and all(len(above) < usual for above in filled[:n]) and _may_name_columns(records[n + 1 :], width)
    ]
    first = next(
        (
            n
            for n, (row, record) in enumerate(zip(filled, records, strict=True))
            if n > max(gaps, default=-1)
            and len(row) > 1
            and len(row) * _FEW > usual
            and len(trimmed_cells(record)) * 2 >= usual
        ),
        0,
    )
    if len(records) > 1 and len(records[first]) != width and _may_name_columns(records[first + 1 :], width):
        first += 1
    comments = next((n for n, record in enumerate(records) if not first_cell(record).startswith("#")), 0)
    if comments > 1 and len(records[comments]) == width and not any(map(is_value, records[comments])):
        first = max(first, comments)
    has_many = filled and (len(filled[first]) * 2 > usual or _may_name_groups(records[first:], width))
    are_names = has_many and not any(map(is_number, filled[first]))
    is_table = width >= _FEW and all(len(record) == width for record in records[first:])
    is_below_titles = is_table and all(len(above) <= 1 for above in filled[:first])
    return first if (are_names or is_below_titles) and len(records[first]) == width > 1 else 0


_FEW = 3  # a title fills at most one of so many cells of a usual record


def _may_name_groups(records: Sequence[Sequence[str]], width: int) -> bool:
    """Return True if the first record is not a title, and may name groups of the columns that the next one names."""
    groups, *others = records
    below = others[0] if others else []
    are_names = len(below) == width and all(map(str.strip, below)) and not any(map(is_value, below))
    return are_names and sum(bool(cell.strip()) for cell in groups) > 1


def _may_name_columns(records: Sequence[Sequence[str]], width: int) -> bool:
    """Return True if the first record may name the columns of the values in the records below."""
    names, *others = records
    return len(names) == width and any(
        not is_value(name) and (present := [*filter(str.strip, cells)]) and all(map(is_value, present))
        for name, *cells in zip(names, *(other for other in others if len(other) == width), strict=True)
    )


@frozen
class Layout:
    """Names of the columns of a table, and the rules that decide which of its rows are records."""

    form: FileFormat
    first: tuple[str, ...]  # the cells of the first row
    header: tuple[str, ...]  # the cells of the line of names as `trimmed` returns them; none: no line names columns
    names: tuple[str, ...]
    # the faults that keep the file from being counted unless its owner states these parts of `form`
    faults: Mapping[str, str] = field(default_factory=dict)
    # the rows that each rule of `form` leaves out, and those that it fills up, if a check looked for them
    rows_by_rule: tuple[OddRows, ...] = ()

    @classmethod
    def read(cls, first: Sequence[str], form: FileFormat, where: str, *, repairs: bool = False) -> "Layout":
        """Return the layout of a table by its first row.

        `where` names the row in messages. If `repairs`, the form is completed so that all columns have usable names,
        and this is listed as a fault.

        Raises:
            SourceError: The row has no names, or two that are equal.
        """
        names = _column_names(first, form)
        fault = _names_fault(first, names, form)
        if fault is not None and repairs and any(map(str.strip, first)):
            form_with_names = _form_with_names(first, form, names)
            parts = [part for part in ("header", "names") if getattr(form_with_names, part) != getattr(form, part)]
            line = where.partition(" of ")[0]
            return replace(cls.read(first, form_with_names, where), faults=dict.fromkeys(parts, f"{line} {fault}"))
        if fault is not None and form.header is not False and not _has_names(first, form):
            raise SourceError(
                f"{where} {fault}: write them there, or state header = false and names in noisycount.toml"
            )
        if fault is not None and form.header is not False:
            skip = f"or state skip = {(form.skip or 0) + 1} if the names stand in the line below"
            raise SourceError(f"{where} {fault}: give each a name of its own, {skip}")
        require_single_names(names, f"{where} has")
        if len(first) > len(names):
            raise SourceError(f"{where} has {len(first):,} cells for {len(names):,} names: name each column")
        for name, _ in form.drop_rows_where or ():
            if name not in names:
                raise SourceError(f"drop_rows_where names {name!r}, which is no column: use {close_names(name, names)}")
        header = () if form.header is False else trimmed_cells(first)
        return cls(form, tuple(first), header, names)

    def with_form(self, form: FileFormat, fault: str) -> "Layout":
        """Return the layout with another form of the same table. List the fault if the owner must state the form."""
        parts = [part for part in ("names", "ragged") if getattr(form, part) != getattr(self.form, part)]
        faults = {**dict.fromkeys(parts, fault), **self.faults}
        return replace(self, form=form, names=_column_names(self.first, form), faults=faults)

    @property
    def unnamed(self) -> dict[int, str]:
        """Made-up names of columns that neither the line of names nor the owner names, by their places from 1."""
        stated = dict(self.form.names or ())
        places = [place for place, cell in enumerate(self.first, start=1) if not cell.strip() and place not in stated]
        return {} if self.form.header is False else {place: self.names[place - 1] for place in places}

    @property
    def may_name_groups(self) -> bool:
        """True if the line of names may name only groups of columns, as merged cells do."""
        return "names" in self.faults or bool(self.unnamed)

    @property
    def has_rules(self) -> bool:
        """True if rules leave out some rows, as they are not records."""
        return any(getattr(self.form, rule) for rule in _RULES)

    def rule_against(self, row: Sequence[str]) -> str | None:
        """Return the rule that leaves a row out; None if it is a record. It depends on this row and the names alone."""
        form = self.form
        first = first_cell(row) if self.has_rules else ""
        if not first:
            return "drop_empty_rows" if form.drop_empty_rows else None
        if first.startswith(form.comment or ()):
            return "comment"
        if first in (form.footer or ()):
            return "footer"
        if form.drop_rows_like_header and self.is_like_header(row):
            return "drop_rows_like_header"
        cells = dict(zip(self.names, row, strict=False)) if form.drop_rows_where else {}
        is_left_out = any(cells.get(name, "").strip(AROUND) in texts for name, texts in form.drop_rows_where or ())
        return "drop_rows_where" if is_left_out else None

    def with_rows_by_rule(self, rows: Iterable[tuple[int, Sequence[str]]]) -> "Layout":
        """Return the layout with the rows that each rule leaves out or fills up.

        `rows`: all rows below the names, with their lines.
        """
        rules = [rule for rule in ("skip_rows_after_header", *_RULES, "ragged") if getattr(self.form, rule)]
        lines_by_rule: dict[str, list[int]] = {rule: [] for rule in rules}
        for number, (line, row) in enumerate(rows):
            rule = "skip_rows_after_header" if number < (self.form.skip_rows_after_header or 0) else None
            rule = rule or self.rule_against(row)
            if rule is None and len(row) != len(self.names) and self.form.ragged is not None:
                filled = self.padded_row(list(row))
                rule = "ragged" if filled is None else PADDED if len(row) < len(filled) else None
            if rule is not None:
                lines_by_rule.setdefault(rule, []).append(line)
        if self.form.ragged == "pad":
            lines_by_rule[PADDED] = lines_by_rule.get(PADDED, []) + lines_by_rule.pop("ragged")
        by_rule = (OddRows(rule, len(lines), tuple(lines[:EXAMPLES]), ()) for rule, lines in lines_by_rule.items())
        return replace(self, rows_by_rule=tuple(by_rule))

    def is_like_header(self, row: Sequence[str]) -> bool:
        """Return True if a row repeats the names, without regard to case."""
        return bool(self.header) and trimmed_cells(row) == self.header

    def begins_table(self, row: Sequence[str]) -> bool:
        """Return True if a row looks like the names of another table: it begins like the names, and has no value."""
        cells = trimmed_cells(row)
        return bool(self.header[:1] == cells[:1] != ("",)) and len(cells) > 1 and not any(map(is_value, cells))

    def padded_row(self, row: list[str]) -> list[str] | None:
        """Return a row with one cell for each name, without empty cells beyond them; None if this is impossible."""
        width = len(self.names)
        if len(row) == width:
            return row
        if len(row) > width:
            return None if any(map(str.strip, row[width:])) else row[:width]
        return [*row, *[""] * (width - len(row))] if self.form.ragged in {"pad", "pad_or_drop"} else None


_RULES = ("drop_empty_rows", "drop_rows_like_header", "comment", "footer", "drop_rows_where")


def first_cell(row: Sequence[str]) -> str:
    """Return the first cell of a row that is not empty, without blanks around it; an empty text if there is none."""
    return next((text for cell in row if (text := cell.strip(AROUND))), "")


def trimmed_cells(row: Sequence[str]) -> tuple[str, ...]:
    """Return the cells in one case, without blanks around them and without empty cells at the end."""
    cells = [cell.strip(AROUND).casefold() for cell in row]
    while cells and not cells[-1]:
        cells.pop()
    return tuple(cells)


def _has_names(first: Sequence[str], form: FileFormat) -> bool:
    """Return True if a line of names has a name that is not a number, or if the owner states the names."""
    return bool(form.names) or (any(map(str.strip, first)) and not all(map(is_number, first)))


def _column_names(first: Sequence[str], form: FileFormat) -> tuple[str, ...]:
    """Return the name of each column: the stated name, else its cell in the line of names, else `column1` and so on.

    The name of an empty cell is `column0` if it is the first one.
    """
    stated = dict(form.names or ())
    last = max(stated, default=0)
    if form.header is False:
        width = last if len(stated) == last > 0 else max(len(first), last)
        return tuple(stated.get(place, f"column{place}") for place in range(1, width + 1))
    cells = [*first, *[""] * (last - len(first))]
    return tuple(stated.get(place) or cell.strip() or f"column{place - 1}" for place, cell in enumerate(cells, start=1))


def _names_fault(first: Sequence[str], names: Sequence[str], form: FileFormat) -> str | None:
    """Return the fault of a line of names; None if it has none."""
    if form.header is not False and not _has_names(first, form):
        return "has no names of columns"
    try:
        require_single_names(names, "has")
    except SourceError as error:
        return str(error).partition(": ")[0]
    return None


def _form_with_names(first: Sequence[str], form: FileFormat, names: Sequence[str]) -> FileFormat:
    """Return the form with other names in place of equal ones, or without a line of names if values stand there."""
    if form.header is None and any(map(is_value, first)):
        return without_header(first, form)
    free, renamed = {name.lower() for name in names}, dict(form.names or ())
    seen: set[str] = set()
    for place, name in enumerate(names, start=1):
        if name.lower() in seen:
            other = next(text for text in _alternative_names(name, place) if text.lower() not in free)
            free.add(other.lower())
            renamed[place] = other
        seen.add(name.lower())
    return replace(form, names=tuple(sorted(renamed.items())))


def _alternative_names(name: str, place: int) -> Sequence[str]:
    """Return alternatives for a name that another column already has."""
    return [f"{name}_{place}", *(f"{name}_{place}_{number}" for number in range(2, place + 2))]


_LISTED = 30  # columns whose names are proposed as a list


def without_header(first: Sequence[str], form: FileFormat) -> FileFormat:
    """Return the form of a file whose first row is a record."""
    places = range(1, len(first) + 1) if len(first) <= _LISTED else ()
    return replace(form, header=False, names=tuple((place, f"column{place}") for place in places) or form.names)


_RAGGED_SHARE = 2  # if more than one of so many lines is ragged, the file may hold several tables
_LONG_SHARE = 10  # unless only one of so many lines has too many cells


@frozen
class RaggedLines:
    """Lines whose number of cells differs from the number of names."""

    lines: tuple[tuple[int, int], ...]  # number and cells of each of the first lines
    number: int  # number of all such lines
    widths: Counter[int]  # number of records with so many cells
    long: int  # number of lines with more cells than names, if those cells are not empty

    def fault(self, names: int) -> str:
        """Return a text about the first line and the number of the others. `names`: the number of names."""
        (line, cells), *others = self.lines
        text = f"line {line:,} has {cells:,} cell{'s' * (cells != 1)} for {names:,} name{'s' * (names != 1)}"
        other_lines = ", ".join(f"{number:,}" for number, _ in others)
        more = ", …" if self.number > len(self.lines) else ""
        are = "line is" if self.number - 1 == 1 else "lines are"
        return f"{text}, and {self.number - 1:,} more {are} ragged ({other_lines}{more})" if others else text

    def readable_form(self, form: FileFormat, names: int) -> FileFormat:
        """Return a form with which these lines can be read and as few lines as possible are left out.

        If the file may hold several tables, the form is unchanged. `names`: the number of names.
        """
        widest, usual = max(self.widths), self.widths.most_common(1)[0][0]
        if not self.long:
            return replace(form, ragged="pad")
        if usual > names:
            added_names = {place: f"column{place}" for place in range(names + 1, widest + 1)}
            names_by_place = tuple(sorted({**added_names, **dict(form.names or ())}.items()))
            return replace(form, names=names_by_place, ragged="pad" if len(self.widths) > 1 else None)
        if min(self.number * _RAGGED_SHARE, self.long * _LONG_SHARE) > self.widths.total():
            return form
        return replace(form, ragged="drop" if self.long == self.number else "pad_or_drop")


_WIDE = 200  # columns that one statement looks at
_SHARE = 4  # of so many names one looks like a value of its column
_YEARS = range(1900, 2101)


def names_like_values(
    connection: Connection, check: Check, layout: Layout, repeated: int, labels_below: int
) -> tuple[str, ...]:
    """Return the names that look like values of their columns, or an empty tuple if most names do not look like values.

    A name looks like a value if it is a number or a date above numbers or dates. A name also looks like a value if it
    recurs among the other values of its column, in a row that is no repeated header. `repeated` is the number of rows
    that hold names, `labels_below` the number of rows directly below that are further names.
    """
    if layout.form.header is not None or layout.form.names or not check.rows or len(layout.names) > _WIDE:
        return ()
    places = [place for place, cell in enumerate(layout.first) if cell.strip()]
    labels = {place for place in places if _is_label(layout.first, place)}
    if not places:
        return ()
    typed = {p for p in places if is_value(layout.first[p]) and check.columns[p].kind is not Kind.TEXT} - labels
    around = quoted_text(AROUND)
    columns = [quoted_name(layout.names[place]) for place in places]
    names = [quoted_text(layout.first[place].strip(AROUND)) for place in places]
    # Trimming is slow: only cells that begin as blanks do, or as the name with a blank behind it, are trimmed.
    begins = "({0} < '!' OR {0} >= '\ufeff' OR ({0} >= {1} AND {0} < {1} || '\uff00'))"
    test = f"({begins} AND trim({{0}}, {around}) = {{1}})"
    tests = [test.format(column, name) for column, name in zip(columns, names, strict=True)]
    equal = [f"coalesce({test}, false)::INT AS equal_{place}" for place, test in zip(places, tests, strict=True)]
    rows = (
        f"SELECT {', '.join(equal)}, {' + '.join(each.partition(' AS ')[0] for each in equal)} AS matches FROM loaded"
    )
    most = max(1, len(places) * 2 // 3)
    is_other = f"matches <= {most} AND (matches = 1 OR equal_{places[0]} = 0)"
    sums = [f"sum(equal_{place}) FILTER (WHERE {is_other}), sum(equal_{place})" for place in places]
    query = f"SELECT {', '.join(sums)} FROM ({rows} WHERE rowid >= {labels_below} AND ({' OR '.join(tests)}))"
    numbers = [number or 0 for number in connection.execute(query).fetchall()[0]]
    counts = ", ".join(f"count({column})" for column in columns)
    filled = connection.execute(f"SELECT {counts} FROM loaded").fetchall()[0]
    recurring = {
        place
        for place, others, all_equal, cells in zip(places, numbers[::2], numbers[1::2], filled, strict=True)
        if cells > all_equal and others > repeated * (place == places[0])
    } - labels
    likely = sorted(typed | recurring)
    return tuple(layout.first[place] for place in likely) if likely and len(likely) * _SHARE >= len(places) else ()


def _is_label(first: Sequence[str], place: int) -> bool:
    """Return True if a name is a year, or if it and the next name are consecutive numbers, as in a wide table."""
    text = first[place].strip()
    if not text.isdecimal():
        return False
    beside = {cell.strip() for cell in first[max(0, place - 1) : place + 2]}
    return int(text) in _YEARS or bool(beside & {str(int(text) - 1), str(int(text) + 1)})
