import json
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest

from noisycount.engines.memory import MemorySource
from noisycount.errors import LedgerError
from noisycount.ledger.budget import ApproximateBudget, Loss, NeighbourRelation, PureBudget
from noisycount.ledger.entries import Entry, Request
from noisycount.ledger.ledger import Ledger
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.publishing import ledger_forms
from noisycount.release.query_plan import plan_of
from noisycount.release.results import Release
from noisycount.release.stored_question import StoredQuestion
from noisycount.release.table_release import TableRelease


def entry_of(request: Request) -> Entry:
    """Return an entry of a request, without an answer."""
    price = request.price
    return Entry("key", request, price, datetime(2026, 1, 1, tzinfo=UTC), None, "analyst", price)


COLUMNS = {"town": Kind.TEXT, "h x": Kind.REAL, "day": Kind.DATE, "ok": Kind.BOOLEAN, "age": Kind.INTEGER}


@pytest.mark.parametrize(
    "said",
    [
        {"where": "age > 3"},
        {"where": ["age > 3", "town = 'b'"]},
        {"by": ["town"], "keys": {"town": ["O'H", "a", None]}},
        {"by": ["age:0,18,65", "ok"], "margins": ["age", "ok", "total"]},
        {"by": ['"h x":0,5.5', "day:month"], "keys": {"h x": [None], "day": ["2026-01"]}},
        {"where": "age > 3", "by": ["day:year"], "keys": {"day": ["2025"]}, "other": True},
        {"by": ["town"], "margins": ["total"], "groups_per_unit": 1, "delta": "0.000001"},
        {"by": ["age"], "keys": {"age": [1, 2]}, "groups_per_unit": 1, "cumulative": True},
    ],
)
def test_a_stored_question_gives_the_query_that_was_asked(said: dict[str, Any]) -> None:
    """The query that is read from a ledger has the same JSON."""
    said |= {"epsilon": "1/3", "confidence": "95%"}
    plan = plan_of(Query.from_json(said), COLUMNS, "person", is_replacement=False)
    with MemorySource([], {"person": Kind.INTEGER, **COLUMNS}, "person") as source:
        request, _ = ledger_forms(plan, "survey", source)
    again = StoredQuestion(entry_of(request)).query(COLUMNS)
    assert again is not None
    assert again.to_json() == said


def test_keys_listed_cell_by_cell_give_no_query() -> None:
    """No list of keys by column has exactly these cells."""
    stored = {"by": ["town"], "keys": {"values": [["a"]], "cells": [[0]]}, "margins": []}
    request = Request("survey", json.dumps({"table": stored, "where": None}), Fraction(1))
    assert StoredQuestion(entry_of(request)).query(COLUMNS) is None


RECORDS = [{"person": n, "town": "ab"[n % 2], "age": n % 90} for n in range(400)]
SCHEMA = {"person": Kind.INTEGER, "town": Kind.TEXT, "age": Kind.INTEGER}
TABLE: dict[str, Any] = {"by": ["town"], "keys": {"town": ["b", "a", "c"]}, "groups_per_unit": 1}
QUERIES: list[dict[str, Any]] = [
    {"wheres": ["age > 40"], "epsilon": "1/3"},
    {"wheres": ["age > 40"], "within": "20%", "at_most": 1},
    {"wheres": ["town = 'b'", "age > 40"], "is_list": True, "epsilon": 1},
    {"wheres": ["town = 'b'", "age > 40"], "is_list": True, "rho": "0.1"},
    {**TABLE, "epsilon": 1, "margins": ["total"], "other": True},
    {**TABLE, "epsilon": 1, "cumulative": True},
    {**TABLE, "within": "50%", "at_most": 1, "of": "largest"},
    {**TABLE, "groups_per_unit": None, "epsilon": 1},
    {"by": ["age:0,30,60", "town"], "keys": {"town": ["b", "a"]}, "margins": ["age"], "rho": "0.2"},
    {**TABLE, "epsilon": 1, "delta": "1e-6", "noise": DiscreteGaussian},
    {"by": ["town"], "groups_per_unit": 1, "epsilon": 2, "delta": "1e-3", "margins": ["total"]},
]


@pytest.mark.parametrize("size", [None, 400])
@pytest.mark.parametrize("parts", QUERIES)
def test_a_stored_answer_reads_as_it_was_released(ledger: Ledger, parts: dict[str, Any], size: int | None) -> None:
    """Rows, errors, price, and what it costs if one unit replaces another."""
    dataset = Dataset("survey", PureBudget(Fraction(9)), size)
    if "rho" in parts or "delta" in parts:
        dataset = Dataset("survey", ApproximateBudget(Fraction(9), Fraction(1, 100), Fraction(1, 200)), size)
    with MemorySource(RECORDS, SCHEMA, "person") as source:
        desk = Desk(source, ledger, dataset)
        live = desk.answer(Query(**parts))
        plan = desk.plan(Query(**parts)).noise
    (entry,) = ledger.entries()
    question = StoredQuestion(entry)
    stored = question.release
    assert stored is not None
    if isinstance(live, Release):
        assert (stored.rows[0].answer, stored.row_errors) == (live.answer, ([live.error],))
    else:
        assert isinstance(live, TableRelease)
        if "age:0,30,60" in parts.get("by", ()):  # a ledger does not store that the numbers are whole
            assert (stored.row_errors, stored.errors_of_all) == (live.row_errors, live.errors_of_all)
            assert [each.tolist() for each in stored.answers] == [each.tolist() for each in live.answers]
        else:
            assert stored.rows == live.rows
        assert (stored.is_near, stored.confidence) == (live.is_near, live.confidence)
    assert entry.loss.epsilon == (live.epsilon if isinstance(live, Release) else live.price.epsilon)
    if "at_most" not in parts and question.is_table:
        assert (question.replacement_loss, question.relation) == (plan.replacement_loss, plan.relation)
        doubled = plan.relation is NeighbourRelation.ADD_REMOVE
        assert doubled is (size is None and plan.replacement_loss != plan.loss)


@pytest.mark.parametrize("text", ["age > 3", '{"where": 3}', '{"table": {"by": []}, "where": null}', '{"table": 1}'])
def test_a_question_of_another_program_has_no_meaning(text: str) -> None:
    """It is named by its text, at the price that it was charged."""
    question = StoredQuestion(entry_of(Request("survey", text, Fraction(1))))
    assert (question.release, question.levels, question.relation, question.is_priced) == (None, (), None, False)
    assert (question.title, question.replacement_loss) == (text, Loss.from_epsilon(Fraction(1)))
    with pytest.raises(LedgerError, match="no version of noisycount wrote"):
        _ = question.words
