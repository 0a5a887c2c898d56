"""The short tests of predicates with five times as many examples."""

from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from tests.engines.duckdb import test_typed_texts as typed_texts
from tests.helpers.predicate_fuzzing import fuzz
from tests.query import test_normal_form as normal_form
from tests.reference import test_language as language
from tests.reference.test_language import Grammar, grammar

__all__ = ["grammar"]

SIZE = 20_000
FILES = 1_000
SENTENCES = 20_000


def test_no_predicate_raises_calls_or_reads_elsewhere_and_engines_agree(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    """Over dirty records, each predicate is true, false or unknown of every record in both."""
    found = fuzz(SIZE, seed=11, folder=tmp_path)
    assert found.admitted + found.refused == SIZE
    tell(
        f"{SIZE} predicates over dirty records: {found.admitted} admitted, {found.with_matches} of "
        f"them true of some record, {found.with_unknowns} unknown of some; {found.refused} refused"
    )


def test_one_more_record_of_a_csv_file_moves_a_count_by_one_at_most(tell: Callable[[str], None]) -> None:
    """And no refusal, for rows and persons, whatever the cells are."""
    one_file = typed_texts.test_one_more_record_moves_a_count_by_one_at_most_and_no_refusal.hypothesis.inner_test

    def more(rows: object, added: object, person: object, questions: object, written: object) -> None:
        one_file(rows, added, person, questions, written)

    settings(max_examples=FILES, database=None, deadline=None)(given(*typed_texts.NEIGHBOURS)(more))()
    tell(f"{FILES} CSV files, with one more row and one more person: no count moved by more than 1")


def test_the_parser_takes_what_the_grammar_of_the_page_has_and_nothing_else(grammar: Grammar) -> None:
    """Sentences that the grammar makes are questions; changed ones are judged alike."""
    for rule in ("question", "person-question"):
        language.test_sentences_of_the_grammar_are_accepted(grammar, rule, SENTENCES)
    language.test_the_parser_takes_what_the_grammar_has_and_nothing_else(grammar, SENTENCES)


def test_a_contradiction_is_true_of_no_dirty_record() -> None:
    """No record satisfies the contradiction of a random predicate."""
    normal_form.test_a_contradiction_is_true_of_no_dirty_record(SENTENCES)
