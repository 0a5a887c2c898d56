"""Description of a data set before a question, and the rehearsal of a question. No value of a record is shown.

`View` holds the columns, the budget and earlier answers. A rehearsal answers a question about made-up records, so that
analysts see the form of an answer without paying; `noisycount.release.rehearsal` makes the records.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction
from typing import Any

from noisycount.catalog.catalog import ROW
from noisycount.config.config import Config, DatasetConfig
from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.display.output import Facts, Table, shortest_path_text
from noisycount.display.values import members
from noisycount.engines.formats import ColumnFormat
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Analyst, Entry, TableAnswer
from noisycount.query.predicate import qualified_name
from noisycount.query.query import Query
from noisycount.query.schema import PublicValues, TableTraits
from noisycount.release.dataset import AvailableBudget, RemainingBudget
from noisycount.release.rehearsal import Rehearsal, rehearse_query
from noisycount.release.results import Release
from noisycount.release.stored_question import StoredQuestion
from noisycount.tasks import ledger
from noisycount.tasks.answer_display import remaining_words
from noisycount.tasks.answer_json import levels_json, loss_json, row_json, stored_rows_json
from noisycount.tasks.check_display import value_words
from noisycount.tasks.opening import DatasetSession, catalog_of, configured_dataset, existing_ledger, records_of
from noisycount.tasks.report.words import answer_cell
from noisycount.validation import exact_text

_USUAL = Fraction(1, 10)  # ε of an answer if nothing was asked yet


@frozen
class View:
    """Columns, remaining budget and earlier answers of a data set, without any value of a record."""

    dataset: DatasetConfig  # the data set as its owner configured it
    unit: str | None  # column whose distinct values are counted; None: rows are counted
    is_unit_stated: bool  # True if the privacy unit is fixed, by the owner or by the first question
    columns: Mapping[str, ColumnFormat]  # columns that questions may use, and how the values of each are read
    public: Mapping[str, PublicValues]  # public values of some columns, as the owner states them
    remains: RemainingBudget  # remaining budget of the data set, and of the analyst if there is a quota
    entries: tuple[Entry, ...] = ()  # debits, oldest first
    usual: Fraction = _USUAL  # ε of an answer if nothing was asked yet
    tables: Mapping[str, TableTraits] = field(default_factory=dict)  # tables by name; empty: there is one

    @classmethod
    def for_owner(cls, dataset: DatasetConfig, configuration: Config) -> "View":
        """Return the view of a data set for its owner, with all debits. Creates no ledger."""
        with existing_ledger(configuration) as open_ledger:
            catalog = catalog_of(open_ledger, configuration)
            dataset = configured_dataset(dataset, configuration, catalog)
            is_unit_stated = dataset.unit is not None or catalog.knows(dataset.account)
            described_dataset = dataset if is_unit_stated else replace(dataset, unit=ROW)
            with records_of(described_dataset, catalog) as records:
                name, unit, columns, schema = records.name, records.unit, records.forms, records.schema
            entries = tuple(open_ledger.entries(name)) if open_ledger else ()
        spent = entries[-1].spent if entries else Loss()
        remains = RemainingBudget((AvailableBudget(dataset.budget, spent),))
        return cls(dataset, unit, is_unit_stated, columns, schema.public, remains, entries, tables=schema.tables)

    @classmethod
    def for_analyst(cls, session: DatasetSession, analyst: Analyst, usual: Fraction = _USUAL) -> "View":
        """Return the view of open records for an analyst, without the debits."""
        records = session.records
        remains = session.remaining_budget(analyst)
        return cls(
            session.dataset,
            records.unit,
            is_unit_stated=True,
            columns=records.forms,
            public=records.schema.public,
            remains=remains,
            usual=usual,
            tables=records.schema.tables,
        )

    def written_name(self, column: str) -> str:
        """Return the name of a column; in a data set of several tables as a query writes it."""
        return qualified_name(column) if self.tables else column

    @property
    def price(self) -> Fraction:
        """Total ε of the newest answer that has an ε; `usual` if there is none."""
        epsilons = (entry.loss.epsilon for entry in reversed(self.entries))
        return next(filter(None, epsilons), self.usual)

    @property
    def affordable(self) -> int | None:
        """Number of further answers at that price that both budgets pay for; None if prices do not add up."""
        return self.remains.remaining // self.price if self.remains.is_a_sum else None


def view_facts(view: View, configuration: Config) -> Facts:
    """Return the facts of a data set: name, source, privacy unit, budget and ledger."""
    dataset = view.dataset
    counts = f"distinct values of {view.unit}" if view.unit else "rows"
    counts = counts if view.is_unit_stated else "rows or persons, as the first count says by --unit"
    public = f", of which there are {signed(dataset.size)}" if dataset.size else ""
    facts = [
        ("data set", shortest_path_text(dataset.name)),
        ("source", shortest_path_text(dataset.source)),
        ("counts", f"{counts}{public}"),
        ("budget", budget_words(view)),
        *([] if dataset.why is None else [("why", dataset.why)]),
        *dataset.claim.facts,
        ("ledger", ledger.place_words(configuration)),
    ]
    return facts[1:] if dataset.name == str(dataset.source) else facts


def column_table(view: View) -> Table:
    """Return a table of the columns: name, kind, and values to compare with."""
    public = {name: values.words for name, values in view.public.items()}
    rows = [
        (view.written_name(name), value_words(form), public.get(name, form.kind.example))
        for name, form in view.columns.items()
    ]
    return ("column", "kind", "compare it with"), rows


def table_of_tables(view: View) -> Table:
    """Return a table with a row for each of several tables; without rows if the data set is one table."""
    return ("table", "rows"), [(name, traits_words(name, traits)) for name, traits in view.tables.items()]


def traits_words(name: str, traits: TableTraits) -> str:
    """Return the part of a table in a data set of several tables, in a few words for analysts.

    Example:
        >>> traits_words("wards", TableTraits("visits"))
        'public look-up of visits: name its columns where those of visits stand'
    """
    if traits.rows != name:
        return f"public look-up of {traits.rows}: name its columns where those of {traits.rows} stand"
    return "one a person" if traits.is_one_row_a_unit else "any number a person: any(…), none(…), every(…), count(…)"


def entry_table(view: View) -> Table:
    """Return a table of the debits, oldest first."""
    rows = [
        (f"{entry.made:%Y-%m-%d %H:%M}", question.words, ledger.price_words(entry), answer_cell(question))
        for entry, question in zip(view.entries, map(StoredQuestion, view.entries), strict=True)
    ]
    return ("asked (UTC)", "question", ledger.price_name(view.entries), "answer (95 %)"), rows


def table_hint(view: View) -> Facts:
    """Return a hint on how to show the counts of the newest table; empty if no table was answered."""
    tables = (entry for entry in reversed(view.entries) if isinstance(entry.answer, TableAnswer))
    newest = next(tables, None)
    if newest is None:
        return []
    question, key = StoredQuestion(newest).words, newest.key[: ledger.SHORTEST_KEY]
    how = (
        f"`noisycount refine --key {key}` estimates each true count of the newest table, {question}; "
        "`show --json` has all tables and their keys"
    )
    return [("hint", how)]


def budget_words(view: View) -> str:
    """Return the remaining budget in words, with the number of answers that it pays for (if any)."""
    remains = view.remains
    words = remaining_words(remains.of_dataset, remains.dataset_budget)
    if remains.quota is not None and remains.of_quota is not None:
        words = f"{words}, and of your own quota {remaining_words(remains.of_quota, remains.quota)}"
    if not view.affordable:
        return words
    number = f"{signed(view.affordable)}{' more' if view.entries else ''}"
    answers = f"{number} such answer{'' if view.affordable == 1 else 's'}"
    pay = "it pays" if remains.quota is None else "both pay"
    return f"{words}: at ε = {exact_text(view.price)} {pay} for {answers}"


def offer_json(view: View) -> dict[str, Any]:
    """Return the members of a view that every analyst of the data set may see, as JSON; budgets are exact texts."""
    dataset = view.dataset
    return {
        "dataset": dataset.name,
        "unit": view.unit,
        "size": dataset.size,
        **({"tables": {name: _table_json(name, each) for name, each in view.tables.items()}} if view.tables else {}),
        "columns": {view.written_name(name): form.kind.value for name, form in view.columns.items()},
        "values": {view.written_name(name): values.to_dict() for name, values in view.public.items()},
        "unreadable_as_missing": [
            view.written_name(name) for name, form in view.columns.items() if form.accepts_unreadable
        ],
        **view.remains.object,
        **members(view, "price", "affordable"),
    }


def _table_json(name: str, traits: TableTraits) -> dict[str, Any]:
    """Return a table of a data set of several tables as JSON; `lookup_of` is null for a table of persons."""
    return {
        "one_row_a_unit": traits.is_one_row_a_unit,
        "lookup_of": None if traits.rows == name else traits.rows,
    }


def view_json(view: View, configuration: Config) -> dict[str, Any]:
    """Return a view as JSON for the owner, with source, ledger and debits; budgets are exact texts."""
    dataset, place = view.dataset, configuration.ledger_file
    return {
        "dataset": dataset.name,
        "source": str(dataset.source),
        **offer_json(view),
        **members(dataset, "why", "public_tables", "vouched"),
        "ledger": None if place is None else str(place),
        "asked": [entry_json(entry) for entry in view.entries],
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return a debit as JSON: question, charge, answer, analyst and key."""
    question = StoredQuestion(entry)
    return {
        **question.json,
        **ledger.entry_json(entry),
        **stored_rows_json(question),
    }


def rehearsal_of(session: DatasetSession, query: Query) -> Rehearsal:
    """Return the rehearsal of a query. Reads no record and charges nothing."""
    plan = session.plan(query)
    return rehearse_query(query, plan, session.records.unit, session.dataset.size)


def rehearsal_note(rehearsal: Rehearsal) -> str:
    """Return a note that states the number of made-up units, and that the answer is unrelated to the data set."""
    units = "rows" if rehearsal.release.unit is None else "persons"
    return (
        f"{signed(rehearsal.units)} made-up {units} with these columns: no record of the data "
        "set was read, nothing was charged, and the numbers say nothing about it"
    )


def rehearsal_words(rehearsal: Rehearsal) -> str:
    """Return the answer of a count in words, with the exact count of the made-up records and the difference."""
    release, (count,) = rehearsal.release, rehearsal.counts or (0,)
    assert isinstance(release, Release)  # noqa: S101 - tables are printed row by row
    return (
        f"{signed(count)} of the made-up ones match; the answer was {signed(release.answer)} "
        f"{plus_minus(release.error)} ({percent(release.confidence)}), so {signed(abs(release.answer - count))} off"
    )


def rehearsal_json(rehearsal: Rehearsal) -> dict[str, Any]:
    """Return a rehearsal as JSON; `made_up` is an exact count of made-up records, `answer` the count with noise."""
    return {
        "rehearsal": True,
        "units": rehearsal.units,
        "note": rehearsal_note(rehearsal),
        **_json_members_of_answer(rehearsal),
        "charged": "0",
    }


def _json_members_of_answer(rehearsal: Rehearsal) -> dict[str, Any]:
    """Return the JSON members of the rehearsed answer: those of a count, or those of a table with its rows."""
    release, counts = rehearsal.release, rehearsal.counts
    if isinstance(release, Release):
        (where,) = rehearsal.query.wheres
        return {
            "where": where,
            "unit": release.unit,
            "made_up": None if counts is None else counts[0],
            **members(release, "answer", "error", "confidence", "epsilon"),
        }
    exact_counts = [None] * len(release) if counts is None else counts
    names = release.labels.names
    return {
        **members(release, "where", "unit"),
        "by": list(names),
        "rows": [row_json(names, row, made_up=count) for row, count in zip(release.rows, exact_counts, strict=True)],
        "confidence": release.confidence,
        "price": loss_json(release.price),
        "levels": levels_json(release.plan, release.confidence, len(release)),
    }
