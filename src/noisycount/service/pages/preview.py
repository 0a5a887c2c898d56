"""Contents of the pages of a data set, of a preview and of a rehearsal.

`dots_picture` draws possible answers of a preview as SVG.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Self

from markupsafe import Markup

from noisycount.charts.picture_svg import page_svg
from noisycount.charts.plan import answers_picture
from noisycount.display.documentation import BUDGET_PAGE
from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.display.output import Facts, Table
from noisycount.frozen import frozen
from noisycount.ledger.price import odds_of_all, unit_noun
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.predicate import typed_name
from noisycount.query.query import Query
from noisycount.query.schema import Schema
from noisycount.release.rehearsal import Rehearsal
from noisycount.release.results import Release
from noisycount.service.pages.layout import on_one_line
from noisycount.tasks.answer_display import (
    level_rows,
    preview_facts,
    query_facts,
    shown_rows,
    table_accuracy,
)
from noisycount.tasks.pictures import possible_answers
from noisycount.tasks.plan import Plan, plan_at_epsilon, preview_heading
from noisycount.tasks.preview import AnswerPreview
from noisycount.tasks.show import View, budget_words, rehearsal_note, rehearsal_words, table_of_tables
from noisycount.validation import exact_text, is_in_range

_AT_MOST = Fraction(1, 2)
_READABLE = Context(prec=3, rounding=ROUND_FLOOR)


@frozen
class Offer:
    """Content of the page of a data set: its columns, budget and unit, as offered to an analyst."""

    view: View  # columns and remaining budget

    @property
    def name(self) -> str:
        """Name of the data set."""
        return self.view.dataset.name

    @property
    def budget(self) -> str:
        """Remaining budget, and the number of answers that it pays for."""
        return budget_words(self.view)

    @property
    def whole_budget_odds(self) -> str:
        """Odds once the whole budget is spent."""
        return odds_of_all(
            self.view.remains.dataset_budget,
            unit_noun(self.view.unit),
            is_replacement=self.view.dataset.size is not None,
        )

    @property
    def columns(self) -> Schema:
        """Kinds of the columns that questions may use, by name."""
        kinds = {name: form.kind for name, form in self.view.columns.items()}
        return Schema(kinds, unit=self.view.unit, tables=self.view.tables)

    @property
    def at_most(self) -> str:
        """Default of the largest price of an answer: ε = 1/2 or the remaining budget, rounded down to three digits."""
        remaining = self.view.remains.remaining
        if remaining <= 0 or remaining >= _AT_MOST:
            return exact_text(_AT_MOST)
        return f"{_READABLE.divide(Decimal(remaining.numerator), Decimal(remaining.denominator)):f}"

    @property
    def tables(self) -> Sequence[Sequence[str]]:
        """Name of each of several tables, and its rows a person in words."""
        return table_of_tables(self.view)[1]

    @property
    def spent(self) -> str:
        """Text that names the spent budget, with the remedy; empty if new questions can be asked."""
        remains = self.view.remains
        if remains.remaining:
            return ""
        budget = "The budget of this data set" if not remains.of_dataset else "Your own budget"
        return f"{budget} is spent: no new question can be asked. Ask the owner for a larger one ({BUDGET_PAGE})."

    @property
    def example(self) -> str:
        """Example of a condition on the first column."""
        for name, kind in self.columns.items():
            comparison = ">= 30" if kind.is_number else f"= {kind.literal}"
            condition = f"{typed_name(self.columns, name)} {comparison}"
            return f"any({condition})" if self.tables else condition
        return "true"


_SAID_ELSEWHERE = ("answer", "error", "data set", "budget")


@frozen
class Preview:
    """Preview of a question at a price. It charges nothing."""

    answer: AnswerPreview

    @property
    def query(self) -> Query:
        """The query at its exact price."""
        query, epsilon = self.answer.query, self.answer.plan.loss.epsilon
        if self.may_cost_less or epsilon is None:
            return query
        return replace(query, epsilon=epsilon, within=None, guess=None)

    @property
    def query_json(self) -> str:
        """Query as JSON, as the confirmation sends it."""
        return json.dumps(self.query.to_json(), ensure_ascii=False)

    @property
    def may_cost_less(self) -> bool:
        """True if the charge may be less than the price, as the question has an accuracy goal."""
        return self.answer.query.at_most is not None

    @property
    def price(self) -> str:
        """The charge, or its maximum, in words; empty if nothing would be charged."""
        return "" if self.answer.repeated else self.answer.charge.text

    @property
    def facts(self) -> Facts:
        """Facts about the count and its answer, by name."""
        facts = [*query_facts(self.answer), *preview_facts(self.answer)]
        return [fact for fact in facts if fact[0] not in _SAID_ELSEWHERE]

    @property
    def levels(self) -> Table | None:
        """Header and rows with the errors of each level of a table; None for a single count."""
        return level_rows(self.answer.noise, self.answer.confidence) if self.answer.query.is_table else None

    @property
    def plan(self) -> Plan | None:
        """Plan of the possible answers to draw; None without Laplace noise, for an open price, or ε out of range."""
        query, mechanism = self.answer.query, self.answer.noise.levels[0].mechanism
        epsilon = 1 / mechanism.exact_scale if isinstance(mechanism, DiscreteLaplace) else Fraction(0)
        if self.may_cost_less or not is_in_range(float(epsilon)):
            return None
        guess = None if query.is_table or query.guess is None else float(query.guess)
        return plan_at_epsilon(epsilon, self.answer.confidence, guess=guess)

    def picture(self, plan: Plan) -> Markup:
        """Draw fifty possible answers of a plan, or errors, as dots over the band ±width."""
        return dots_picture(plan, "rows" if self.answer.unit is None else "persons")

    @property
    def promise(self) -> str:
        """Accuracy of the answer, or of each row of a table, as a sentence."""
        preview, goal = self.answer, self.answer.plan.goal
        sure = f"of the true count with {on_one_line(percent(preview.confidence))} confidence"
        what = "Each row" if preview.query.is_table else "The answer"
        if goal is None:
            return f"{what} would lie within {plus_minus(preview.noise.levels[0].error(preview.confidence))} {sure}."
        if preview.query.is_table:
            return f"{table_accuracy(preview)}.".capitalize()
        share = f"±{on_one_line(percent(float(goal.within)))}"
        otherwise = (
            f"If {share} costs more than ε = {exact_text(goal.at_most)}, it lies within {plus_minus(preview.error)}"
        )
        return f"{what} would lie within {share} {sure}. {otherwise}."

    @property
    def remaining_sentence(self) -> str:
        """Sentence on the charge, and on the number of such questions that the remaining budget pays for."""
        if not self.price:
            return (
                "An answer of this accuracy is stored already: it is free."
                if self.may_cost_less
                else "This was asked before at this price: the same answer is free."
            )
        if not self.answer.affordable and self.answer.obstacle:
            return f"{self.price} is refused: {self.answer.obstacle}."
        if not self.answer.affordable:
            return f"{self.price} exceeds the remaining budget: choose a lower ε, or a wider ± ({BUDGET_PAGE})."
        charged = f"{'At most ' * self.may_cost_less}{self.price} would be charged"
        more = self.answer.affordable_answers
        if not more:
            return f"{charged}."
        noun = "answer" if more == 1 else "answers"
        return (
            f"{charged}: what is left pays for {'at least ' * self.may_cost_less}{signed(more)} {noun} like this one."
        )

    @property
    def button(self) -> str:
        """Label of the button that confirms the question."""
        if not self.price:
            return "Show the answer again: free"
        return f"Ask and spend {'at most ' * self.may_cost_less}{self.price}"


_MOST_ROWS = 60


@frozen
class RehearsedPanel:
    """Panel with the answer of a rehearsal."""

    note: str  # note that the records are made up
    words: str = ""  # answer and exact count of a single count; of a table a note if it has no row
    header: Sequence[str] = ()  # names of the columns of a table
    rows: Sequence[Sequence[str]] = ()  # cells of the rows of a table
    keys: int = 1  # number of columns with keys, which come first

    @classmethod
    def from_rehearsal(cls, rehearsal: Rehearsal) -> Self:
        """Return the panel of a rehearsal."""
        note = rehearsal_note(rehearsal)
        release, counts = rehearsal.release, rehearsal.counts
        if isinstance(release, Release):
            return cls(note, rehearsal_words(rehearsal))
        names, shown = release.labels.names, range(min(len(release), _MOST_ROWS))
        header = [*names, "made up", f"answer ({percent(release.confidence)})"]
        rows = [
            [
                *keys,
                "hidden" if counts is None else signed(counts[row]),
                f"{signed(count)} {plus_minus(error)}",
            ]
            for row, (keys, count, error, _) in zip(shown, shown_rows(release, shown), strict=True)
        ]
        words = "" if rows else "No key is shown: none reached the threshold"
        return cls(note, words, header, rows, len(names))


def dots_picture(plan: Plan, unit: str) -> Markup:
    """Draw fifty equally likely answers of a plan as dots over the band ±width, on an axis in units."""
    description = f"{preview_heading(plan)}; {percent(plan.confidence)} lie within {plus_minus(plan.width)}"
    picture = answers_picture(possible_answers(plan, unit), preview_heading(plan))
    return Markup(page_svg(picture, "possible-answers", description))  # noqa: S704 - `page_svg` escapes its texts
