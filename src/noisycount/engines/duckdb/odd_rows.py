# ruff: noqa: S608, as all SQL here is made of names and patterns that it quotes
"""Odd rows of a table: rows that do not look like records. A check shows them to the owner."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import prod
from operator import itemgetter

from noisycount.engines.check import EXAMPLES, Check, OddRows
from noisycount.engines.duckdb.cells import is_given_sql
from noisycount.engines.duckdb.connection import Connection, quoted_name, quoted_text
from noisycount.engines.duckdb.layout import (
    AROUND,
    Layout,
    first_cell,
    is_value,
    names_like_values,
    trimmed_cells,
    words_in_lines,
)
from noisycount.engines.duckdb.texts import Lines
from noisycount.engines.formats import MISSING_WORDS, FileFormat, compatible_text
from noisycount.query.schema import Kind

_TOTALS = (
    "((grand|overall|sub)[ -]?)?totals?( g[eé]n[eé]ral)?|sub-?totals?|sums?|summe|summa|gesamt(summe|ergebnis|zahl)?"
    "|zwischensumme|insgesamt|somme|sous-total|totaux|totale|totali|totales|suma( total)?|soma|totaal|som|razem|suma"
    "|ogółem|celkem|spolu|összesen|toplam|yhteensä|i alt|sammanlagt|totalt|итого|всего|сума"
    "|合計|小計|总计|合计|합계|الإجمالي|average|durchschnitt|mittelwert|moyenne"
)
_TOTAL = re.compile(f"(?i:{_TOTALS}) ?[:.]?")
_TOTAL_OF = re.compile(
    f"(?i:(grand |sub-?)totals?\\b.*|totals? (for|of|by|in|per|numbers?|amounts?|costs?|expenses?|claims?|paid|spend"
    f"|counts?|records|rows|de|des|du|general|[0-9(]).*|summe (der|aller|in|[0-9]).*|.* ({_TOTALS}|ergebnis)"
    f"|({_TOTALS}) ?[:.-].*)",
    re.DOTALL,
)
_WHOLE = re.compile(  # what a row of a sum may be called among the categories that it adds up
    f"(?i:{_TOTALS}|zusammen|ensemble|in total|en total|au total|all|alle|alles|tous|toutes|todos|todas|tutti"
    "|overall|both|beide|world|worldwide|national|welt|weltweit|monde|mundo|everyone|everybody"
    "|total (population|persons|people)"
    "|(all|both|alle|beide|tous les|toutes les|les deux|todos los|todas las|ambos|ambas|tutti i|tutte le) .*)"
)
_NOTE_WORDS = (
    "(?i:notes?|sources?|quellen?|anmerkung(en)?|hinweise?|stand|legende?|bemerkung(en)?|remarques?|fontes?|nota|fuente"
    "|footnotes?|provisional|exported|generated|created|printed|last updated|disclaimer|copyright)"
)
_NOTE = re.compile(f"([*#†‡§©]|//|--|\\([0-9a-z]\\)|{_NOTE_WORDS}\\b).*", re.DOTALL)
_CITED = re.compile(f"{_NOTE_WORDS} ?:.*", re.DOTALL)
_MARKED = re.compile("^([*†‡§]|#|//|--) ?[A-Za-z]")  # the beginning of a note or a comment
_RULE = re.compile("[-=+:_]{2,}")  # a line that is drawn below the names
_IMPORT = re.compile(r'\{ ?"ImportId".*')  # as Qualtrics writes below the texts of its questions
_BESIDE = "beside the names"  # other lines of groups above the names that a check found, and of units below them
_LABELS = {  # as SurveyMonkey and others write below their questions
    *("response", "open-ended response", "other (please specify)"),
    *("text", "string", "numeric", "number", "integer", "float", "double", "character", "factor", "boolean", "logical"),
}
_TOP = 5  # rows below the names that may be more of them
_ROWS = 200  # rows at the top that are compared with each other
_CELLS = 200_000
_COMPARED = 20  # values of a column whose shapes are compared
_WIDE = 200  # columns that one statement looks at
_NARROW = 20  # columns for which a statement has an expression each
_CANDIDATES = 20_000  # rows that are looked at more closely
_USUAL = 0.6  # of the cells of a column
_MOST_SUMMED = 1_000_000  # cells of texts among which sums of other rows are looked for
_OFTEN = 3  # rows that begin with the word for a total and have a value in each cell
_SUMS = (1, 2, 3, 1 / 2, 1 / 3)  # of all other rows, as these may be sums in part
_NEAR = 0.005  # of a sum of rounded numbers
_ABOVE = 1.5  # times the mean of the other rows
_EVIDENCE = 2  # cells of a row that look like more names


def with_odd_rows(
    connection: Connection, check: Check, layout: Layout, lines: Lines, stated: FileFormat
) -> tuple[Check, dict[int, list[str]]]:
    """Return the check of the table `loaded` with its faults, and with rows that look like totals, notes or headings.

    The owner decides, since a row that looks like a total may be a record. The second value has the cells of the rows
    that a statement would leave out, by row number. `stated` is the form that the owner states.
    """
    check = replace(check, faults=layout.faults, unnamed=layout.unnamed, rows_by_rule=layout.rows_by_rule)
    groups = [group for group in _odd_rows(connection, check, layout) if group[1]]
    rows_by_kind = {kind: rows for kind, rows, _ in groups}
    repeated = len(rows_by_kind.get("names again", ())) + len(rows_by_kind.get("tables", ()))
    rows_beside_names = rows_by_kind.pop(_BESIDE, {})
    labels_below = len(rows_by_kind.get("names", rows_by_kind.get("groups", ()))) + len(rows_beside_names)
    if len(layout.names) == 1:
        words, has_single_blanks = words_in_lines([layout.names[0], *chain(*_first_rows(connection, 1))])
        check = replace(check, words=words, has_single_blanks=has_single_blanks)
    if like_values := names_like_values(connection, check, layout, repeated, labels_below):
        return replace(check, names_like_values=like_values), {}
    line_of_row = lines({row for rows in rows_by_kind.values() for row in [*rows][:EXAMPLES]})
    odd = {
        kind: _summary_of_odd_rows(kind, rows, layout.names, line_of_row, wholes)
        for kind, rows, wholes in groups
        if kind in rows_by_kind
    }
    left_out = dict(rows_beside_names)
    for kind, rows in rows_by_kind.items():
        left_out |= rows if odd[kind].can_be_left_out else {}
    if "groups" in rows_by_kind:  # made-up names would stand for groups
        faults = {"skip" if part == "names" else part: fault for part, fault in layout.faults.items()}
        check = replace(check, faults=faults, form=replace(layout.form, names=stated.names))
    return replace(check, odd_rows=tuple(odd.values())), left_out


def _summary_of_odd_rows(
    kind: str, rows: "_Rows", names: Sequence[str], line_of_row: Mapping[int, int], wholes: "_Wholes"
) -> OddRows:
    """Return a summary of odd rows for the owner, from their cells."""
    columns = zip(*rows.values(), strict=True)
    cells = {name: Counter(filter(None, column)) for name, column in zip(names, columns, strict=True)}
    names_of_wholes = [text for texts in wholes.values() for text in texts]
    texts = names_of_wholes or [*filter(None, map(first_cell, rows.values()))]
    lines = tuple(line_of_row[row] for row in [*rows][:EXAMPLES] if row in line_of_row)
    return OddRows(kind, len(rows), lines, tuple(dict.fromkeys(texts)), cells, wholes)


_Rows = dict[int, list[str]]  # cells of rows by their places
_Wholes = dict[str, tuple[str, ...]]  # names of wholes by column, of which each of some rows has one


def _odd_rows(connection: Connection, check: Check, layout: Layout) -> Iterator[tuple[str, _Rows, _Wholes]]:
    """Yield the rows of a file that may not be records, such as repeated headers and sums, one kind after the other.

    Rows that the owner's settings already keep or leave out are not among them. Each element has the name of a kind,
    the cells of its rows by row number, and, for rows of sums, their labels by column, such as `Total`.
    """
    form = layout.form
    top = _first_rows(connection, len(layout.names))
    names = {number: top[number] for number in range(_count_header_rows(top, layout))}
    below = next((number for number, cells in names.items() if _has_all_names(cells, layout)), None)
    if below is not None:
        yield "groups", {below: names[below]}, {}
        yield _BESIDE, {number: cells for number, cells in names.items() if number != below}, {}
    else:
        yield "names", names, {}
    headers = (
        {trimmed_cells(cells) for cells in names.values()} if below is None else set()
    )  # the names may repeat below
    firsts = {first_cell(header) for header in (layout.header, *headers)} - {""}
    rows = {row: cells for row, cells in _candidate_rows(connection, layout, firsts).items() if row not in names}
    empty = {row: cells for row, cells in rows.items() if not first_cell(cells)}
    if form.drop_empty_rows is None:
        yield "empty", empty, {}
    again = {row: cells for row, cells in rows.items() if layout.is_like_header(cells)}
    if form.drop_rows_like_header is None:
        yield "names again", again, {}
    yield "several", _rows_with_line_breaks(connection, layout), {}
    yield "tables", {row: cells for row, cells in rows.items() if row not in again and layout.begins_table(cells)}, {}
    end = check.rows
    while end - 1 in rows:
        end -= 1
    yield "below", _other_table_row(connection, check, {*rows, *names}), {}
    if form.footer != ():
        notes = {
            place: row
            for place, row in rows.items()
            if place not in {*again, *empty}
            and (trimmed_cells(row) in headers or _is_total(row) or _is_note(row, check, is_last=place >= end))
        }
        notes_and_totals = _notes_and_totals(connection, check, notes, {*names, *empty, *again})
        # if there are groups, columns will have other names than those of wholes
        yield from (group for group in notes_and_totals if below is None or not group[2])


def _other_table_row(connection: Connection, check: Check, others: Collection[int]) -> _Rows:
    """Return the row at which another table begins.

    In some column, all cells above this row fit the column's kind, and no cell from it on does.

    `others`: places of rows that are odd in another way.
    """
    for column in check.columns[:_WIDE]:
        if column.form is None or column.unreadable < _SEVERAL:
            continue
        text, value = (f"{table}.{quoted_name(column.name)}" for table in ("loaded", "typed"))
        query = (
            f"SELECT min(loaded.rowid) FILTER (WHERE {is_given_sql(text, column.form)} AND {value} IS NULL), "
            f"max(loaded.rowid) FILTER (WHERE {value} IS NOT NULL) FROM loaded POSITIONAL JOIN typed"
        )
        ((first, last),) = connection.execute(query).fetchall()
        if last is not None and first is not None and first > last and first not in others:
            return _rows_at(connection, [(first,)])
    return {}


_SEVERAL = 2  # rows that are another table


def _rows_with_line_breaks(connection: Connection, layout: Layout) -> _Rows:
    """Return the rows with line breaks in cells, if each of their lines has as many cells as there are names."""
    delimiter, breaks = layout.form.delimiter, len(layout.names) - 1
    if delimiter is None or not breaks or layout.form.quote == "":
        return {}
    tests = " OR ".join(f"contains({quoted_name(name)}, chr(10))" for name in layout.names[:_WIDE])
    rows = connection.execute(f"SELECT rowid FROM loaded WHERE {tests} LIMIT {_CANDIDATES}").fetchall()
    return {
        place: row
        for place, row in _rows_at(connection, rows).items()
        if all(line.count(delimiter) == breaks for line in delimiter.join(row).split("\n"))
    }


def _notes_and_totals(
    connection: Connection, check: Check, notes: _Rows, others: Collection[int]
) -> Iterator[tuple[str, _Rows, _Wholes]]:
    """Yield the rows of notes, and of totals that do not begin with the word for a total.

    `notes`: rows that look so by their first cell. `others`: places of rows that are odd in another way.
    """
    aside = {*others, *(place for place, row in notes.items() if not _is_total(row))}
    whole_rows = [*_rows_of_wholes(connection, check, aside)]
    sums = {place: row for kind, _, rows in whole_rows if kind == "totals" for place, row in rows.items()}
    often = Counter(first_cell(row) for row in notes.values() if all(row))
    notes = {  # a place may be called Total
        place: row
        for place, row in notes.items()
        if often[first_cell(row)] < _OFTEN or place in sums or not _TOTAL.fullmatch(_plain_text(first_cell(row)))
    }
    notes |= {place: row for place, row in sums.items() if _WHOLE.fullmatch(_plain_text(first_cell(row)))}
    yield "notes", dict(sorted(notes.items())), {}
    if check.form is not None and check.form.drop_rows_where == ():
        return
    names = [column.name for column in check.columns]
    for kind in ("totals", "named"):
        rows: _Rows = {}
        wholes: _Wholes = {}
        for _, column, rows_of_column in (group for group in whole_rows if group[0] == kind):
            other_rows = {place: row for place, row in rows_of_column.items() if place not in notes}
            texts = dict.fromkeys(row[names.index(column)].strip(AROUND) for row in other_rows.values())
            rows |= other_rows
            wholes |= {column: tuple(texts)} if texts else {}
        yield kind, dict(sorted(rows.items())), wholes


def _rows_of_wholes(connection: Connection, check: Check, aside: Collection[int]) -> Iterator[tuple[str, str, _Rows]]:
    """Yield the rows whose text in a column is the name of a sum, such as `Total`; their kind is "totals" or "named".

    A category may have the name of a sum too. So "totals" are of three kinds: rows whose numbers are sums of the
    others; one or two rows with gaps where no other row has any; and such rows of a table that has one row for each
    combination of its texts. Other rows are "named": rows with gaps, a few rows with the word for a total, and rows
    with a phrase whose column has equally many rows for each text. `aside`: places of rows that are compared with no
    others.
    """
    kinds = {column.name: column.kind for column in check.columns[:_WIDE]}
    numbers = [quoted_name(name) for name, kind in kinds.items() if kind in {Kind.INTEGER, Kind.REAL}]
    texts = [name for name, kind in kinds.items() if kind is Kind.TEXT]
    if not texts or check.rows * len(texts) > _MOST_SUMMED:
        return
    scope = f"rowid NOT IN ({', '.join(map(str, aside))})" if aside else "true"
    # A statement about a table of thousands of columns takes longer to bind than to run.
    columns = ", ".join(map(quoted_name, texts))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE compared AS SELECT {columns} FROM typed WHERE {scope}")
    query = "SELECT {0}, count(*) FROM compared GROUP BY 1"
    counts = {column: dict(connection.execute(query.format(quoted_name(column))).fetchall()) for column in texts}
    is_cross = len(counts) > 1 and prod(map(len, counts.values())) == check.rows - len(aside)
    for column, rows in counts.items():
        name = quoted_name(column)
        has_equal = len(rows) >= _OFTEN and len({*rows.values()}) == 1 < max(rows.values())
        other_columns = [quoted_name(other_column) for other_column in texts if other_column != column]
        for text, number in rows.items() if len(rows) > 1 else ():
            word = _plain_text(text or "")
            if not _WHOLE.fullmatch(word):
                continue
            test = f"coalesce({name} = {quoted_text(text)}, false)"
            is_total, is_few = _TOTAL.fullmatch(word) is not None, number < _OFTEN
            has_gaps = _has_gaps(connection, test, other_columns)
            is_sum = (
                (is_cross and has_equal) or (is_few and has_gaps) or _is_sum_of_others(connection, scope, test, numbers)
            )
            if is_sum or has_gaps or (is_total and is_few) or (has_equal and (is_total or " " in word)):
                query = f"SELECT rowid FROM typed WHERE {test} AND {scope} LIMIT {_CANDIDATES}"
                places = connection.execute(query).fetchall()
                yield "totals" if is_sum else "named", column, _rows_at(connection, places)


def _plain_text(text: str) -> str:
    """Return a text without blanks around it, and with plain signs in place of similar ones."""
    return (text if text.isascii() else compatible_text(text)).strip(AROUND)


def _is_sum_of_others(connection: Connection, scope: str, test: str, numbers: Sequence[str]) -> bool:
    """Return True if the rows that meet `test` are likely sums of the other rows.

    A column of numbers shows this: the sum over these rows is the sum over the others, or a small multiple of that sum,
    and the mean of these rows is larger. `scope` and `test` are SQL: the compared rows, and those that may be sums.
    """
    if not numbers:
        return False
    parts = [f"{part}({{0}}::DOUBLE) FILTER (WHERE {way} {test})" for part in ("sum", "avg") for way in ("", "NOT")]
    selected = ", ".join(part.format(number) for number in numbers for part in parts)
    aggregates = [
        value or 0 for value in connection.execute(f"SELECT {selected} FROM typed WHERE {scope}").fetchall()[0]
    ]
    for total, others, mean, other_mean in zip(*(aggregates[first::4] for first in range(4)), strict=True):
        is_above = total > 0 < others and mean >= _ABOVE * other_mean
        if is_above and any(abs(total - part * others) <= _NEAR * total for part in _SUMS):
            return True
    return False


def _has_gaps(connection: Connection, test: str, texts: Sequence[str]) -> bool:
    """Return True if a column of texts is empty in some rows, and in no other row."""
    if not texts:
        return False
    gaps = ", ".join(f"bool_and(({text} IS NULL) = {test})" for text in texts)
    return any(connection.execute(f"SELECT {gaps} FROM compared").fetchall()[0])


def _first_rows(connection: Connection, width: int) -> list[list[str]]:
    """Return the first rows of the table; an empty text is a missing cell."""
    rows = max(_TOP, min(_ROWS, _CELLS // width))
    places = connection.execute(f"SELECT rowid FROM loaded ORDER BY rowid LIMIT {rows}").fetchall()
    return [[cell.strip(AROUND) for cell in row] for row in _rows_at(connection, places).values()]


def _rows_at(connection: Connection, places: Sequence[tuple[int]]) -> dict[int, list[str]]:
    """Return the cells of rows by their place; an empty text is a missing cell.

    A join or an order of rows of thousands of columns would take longer to plan than to run.
    """
    if not places:
        return {}
    listed = ", ".join(str(place) for (place,) in places)
    rows = connection.execute(f"SELECT rowid, * FROM loaded WHERE rowid IN ({listed})").fetchall()
    return {row: ["" if cell is None else cell for cell in cells] for row, *cells in sorted(rows, key=itemgetter(0))}


def _candidate_rows(connection: Connection, layout: Layout, firsts: Collection[str]) -> dict[int, list[str]]:
    """Return the rows that may be odd, with their cells, by their places.

    Such a row has at most one cell, or begins with a mark, with the word for a total, or with one of the texts
    `firsts`.
    """
    names = [quoted_name(name) for name in layout.names[:_WIDE]]
    if len(names) <= _NARROW:
        cells = [_FILLED.format(name) for name in names]
        filled, first = f"list_count([{', '.join(cells)}])", f"coalesce({', '.join([*cells, 'NULL'])})"
    else:  # a list is slower for each row, but one expression for each of many columns takes long to plan
        filled_cells = f"list_filter([{', '.join(names)}], lambda cell: ({_FILLED.format('cell')}) IS NOT NULL)"
        filled, first = f"len({filled_cells})", f"ltrim({filled_cells}[1], {quoted_text(AROUND)})"
    fewest = 1 if len(layout.names) > 1 else 0
    around = quoted_text(AROUND)
    totals = quoted_text(f"({_TOTAL.pattern}|{_TOTAL_OF.pattern}|{_RULE.pattern})[{AROUND}]*")
    cited = f"regexp_full_match(first, {quoted_text(_CITED.pattern)}, 's')"
    plain = f"CASE WHEN regexp_matches(first, {quoted_text(_ODD_SIGNS)}) THEN compatible_text(first) ELSE first END"
    marked = f"(filled > 1 AND regexp_matches(first, {quoted_text(_MARKED.pattern)}))"
    tests = [marked, f"filled <= {fewest}", f"regexp_full_match({plain}, {totals}, 's')", f"(filled = 2 AND {cited})"]
    tests += [
        f"(starts_with(lower(first), {header}) AND rtrim(lower(first), {around}) = {header})"
        for header in map(quoted_text, firsts)
    ]
    table = f"SELECT rowid AS place, {filled} AS filled, {first} AS first FROM loaded"
    places = f"SELECT place FROM ({table}) WHERE {' OR '.join(tests)} ORDER BY place LIMIT {_CANDIDATES}"
    return _rows_at(connection, connection.execute(places).fetchall())


# A cell that is not blank, without the blanks before it; else null. Few cells begin as blanks do, and trimming is slow.
_FILLED = (
    "CASE WHEN {0} >= '!' AND {0} < '\ufeff' THEN {0} "
    f"WHEN trim({{0}}, {quoted_text(AROUND)}) <> '' THEN ltrim({{0}}, {quoted_text(AROUND)}) END"
)


_ODD_SIGNS = "[\u00a0\u2000-\u200b\u202f\u2060\u3000\uff01-\uff5e]"  # blanks and letters of full width


def _is_total(cells: Sequence[str]) -> bool:
    """Return True if a row begins with the word for a total, or with the word for a group and has empty cells."""
    first = _plain_text(first_cell(cells))
    return bool(_TOTAL.fullmatch(first) or (_TOTAL_OF.fullmatch(first) and not all(cells)))


def _is_note(cells: Sequence[str], check: Check, *, is_last: bool) -> bool:
    """Return True if a row is a note: one cell that is not a value of its column, or two cells that cite a source.

    A note that contains the delimiter has more cells. It is recognised by a mark at its beginning and a cell that does
    not fit its column. `is_last` is True if no row below has more cells.
    """
    if all(_RULE.fullmatch(cell.strip(AROUND)) for cell in cells if cell):
        return True
    (place, text), *others = [(place, cell.strip(AROUND)) for place, cell in enumerate(cells) if cell.strip(AROUND)]
    if others and _MARKED.match(text):
        numbers = [cell for at, cell in others if check.columns[at].kind is not Kind.TEXT]
        return not all(map(is_value, numbers)) or (is_last and not numbers)
    if len(others) == 1 < len(cells) - 2:
        return _CITED.fullmatch(text) is not None
    if others or len(cells) == 1 or is_value(text) or text in MISSING_WORDS:
        return False
    is_other_kind = check.columns[place].kind is not Kind.TEXT
    return bool(_NOTE.fullmatch(text)) or (is_last and (" " in text or is_other_kind))


def _count_header_rows(rows: Sequence[Sequence[str]], layout: Layout) -> int:
    """Return the number of rows directly below the names that look like further names."""
    number_of_rows = 0
    if not layout.header or layout.form.skip_rows_after_header is not None:
        return 0
    for number, row in enumerate(rows[:_TOP]):
        if any(map(_IMPORT.fullmatch, row)):
            return number + 1
        is_more = _count_name_like_cells(row, rows[number + 1 :], layout.names) >= _EVIDENCE
        if is_more:
            number_of_rows = number + 1
        elif any(row):
            break
    imports = (number for number, row in enumerate(rows[:_TOP]) if any(map(_IMPORT.fullmatch, row)))
    return next(imports, number_of_rows - 1) + 1


def _has_all_names(cells: Sequence[str], layout: Layout) -> bool:
    """Return True if a row has a name for each column, while the line of names may only name groups of columns."""
    has_names = all(cells) and len({*map(str.casefold, cells)}) == len(cells) and not any(map(is_value, cells))
    has_questions = any(cell.rstrip().endswith("?") for cell in cells)  # a survey export, below a line with a gap
    return has_names and layout.may_name_groups and not has_questions


def _count_name_like_cells(row: Sequence[str], below: Sequence[Sequence[str]], names: Sequence[str]) -> int:
    """Return the number of cells that look like names, as texts above values or repeated names; 0 if one is a value."""
    evidence, below = 0, [cells_of_row for cells_of_row in below if cells_of_row != row]  # names may stand there again
    firsts = [bool(cells_of_row[0]) for cells_of_row in below if any(cells_of_row)]  # a total below may have none
    is_above_values = bool(firsts) and not row[0] and sum(firsts) >= _USUAL * len(firsts)
    if is_above_values and any(cell.casefold() in _LABELS for cell in row):
        return _EVIDENCE
    for name, cell, *cells in zip(names, row, *below, strict=True):
        values = [value for value in cells if value]
        if not cell or not values:
            continue
        if cell in cells[1:]:  # a row of units below may repeat a name
            return 0
        if _is_code(cell) and _is_of_shape(cell, values[:_COMPARED]):
            return 0
        if sum(map(is_value, values)) >= _USUAL * len(values):
            if is_value(cell):
                return 0
            evidence += cell not in MISSING_WORDS
        elif _repeats_name(cell, name, values) or _is_other_text(cell, values):
            evidence += 1
        evidence += _EVIDENCE * (cell.casefold() in _LABELS)
    return evidence + is_above_values if evidence else 0


def _repeats_name(cell: str, name: str, values: Sequence[str]) -> bool:
    """Return True if a cell repeats the name of its column, or contains it among other words, and no value does so."""
    word = _letters_and_digits(name)
    if len(word) < _WORD or _letters_and_digits(cell) == word:
        return _letters_and_digits(cell) == word
    return word in _letters_and_digits(cell) and not any(word in _letters_and_digits(value) for value in values)


def _is_other_text(cell: str, values: Sequence[str]) -> bool:
    """Return True if a cell is a question, or unlike the values below: a text above codes, or words above one word."""
    if "?" in cell and not any("?" in value for value in values):
        return True
    if all(map(_is_code, values)):
        return not _is_code(cell) and cell not in MISSING_WORDS
    is_longest = not any(" " in value or len(value) >= len(cell) for value in values)
    return " " in cell and is_longest and len({*values}) * 2 <= len(values)


def _is_code(cell: str) -> bool:
    """Return True if a text has a digit."""
    return any(map(str.isdigit, cell))


def _is_of_shape(cell: str, values: Sequence[str]) -> bool:
    """Return True if most values have letters, digits and signs in the same order as a text."""
    return [*map(_text_shape, values)].count(_text_shape(cell)) >= _USUAL * len(values)


def _text_shape(cell: str) -> str:
    """Return a text with one digit for several, and one letter for several."""
    return re.sub("[^\\W\\d_]+", "a", re.sub("[0-9]+", "9", cell))


_WORD = 3  # letters of a name that are no other word by chance


def _letters_and_digits(text: str) -> str:
    """Return the letters and digits of a text, in one case."""
    return "".join(filter(str.isalnum, text)).casefold()
