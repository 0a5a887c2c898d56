"""Contents of the pages of a data set, of a preview and of a rehearsal.

`dots_picture` draws possible answers of a preview as SVG.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Self

from markupsafe import Markup

from noisycount.charts.picture_svg import page_svg
from noisycount.charts.plan import answers_picture
from noisycount.display.documentation import BUDGET_PAGE
from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.display.output import Facts
from noisycount.frozen import frozen
from noisycount.ledger.entries import Analyst
from noisycount.ledger.price import odds_of_all, unit_noun
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.predicate import typed_name
from noisycount.query.query import Query
from noisycount.query.schema import Kind, PublicValues, Schema
from noisycount.release.dataset import RemainingBudget
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
from noisycount.tasks.opening import DatasetSession
from noisycount.tasks.pictures import possible_answers
from noisycount.tasks.plan import Plan, plan_at_epsilon, preview_heading
from noisycount.tasks.preview import AnswerPreview, preview_in_session
from noisycount.tasks.show import View, budget_words, rehearsal_note, rehearsal_words, table_of_tables
from noisycount.validation import exact_text, is_in_range


@frozen
class Offer:
    """Content of the page of a data set: its columns, budget and unit, as offered to an analyst."""

    name: str  # name of the data set
    unit: str | None  # column that identifies the person; None: rows are counted
    counts: str  # the counted unit, in words
    budget: str  # remaining budget, and the number of answers that it pays for
    whole: str  # odds once the whole budget is spent, as a sentence
    columns: Mapping[str, Kind]  # kinds of the columns that questions may use, by name
    public: Mapping[str, PublicValues]  # public values of some columns: lists, which the form offers, or ranges
    wants_purpose: bool = False  # True if a question must state the purpose of its answer
    at_most: str = "0.5"  # default of the largest price of an answer, in ε
    tables: Sequence[Sequence[str]] = ()  # name of each of several tables, and its rows a person in words
    spent: str = ""  # text about the spent budget, with the remedy; empty: new questions can be asked

    @classmethod
    def from_session(cls, session: DatasetSession, analyst: Analyst) -> Self:
        """Return the offer of an open data set to an analyst."""
        view = View.for_analyst(session, analyst)
        counts = "Counts rows" if view.unit is None else f"Counts distinct persons (column {view.unit})"
        size = session.dataset.size
        protected = unit_noun(view.unit)
        whole = odds_of_all(view.remains.dataset_budget, protected, is_replacement=size is not None)
        return cls(
            name=session.dataset.name,
            unit=view.unit,
            counts=counts if size is None else f"{counts}. Their number, {signed(size)}, is public",
            budget=budget_words(view),
            whole=f"If the whole budget is spent, {whole}.",
            columns=Schema(
                {name: form.kind for name, form in view.columns.items()}, unit=view.unit, tables=view.tables
            ),
            public=view.public,
            wants_purpose=session.dataset.needs_purpose,
            at_most=_default_largest_price(view.remains.remaining),
            tables=table_of_tables(view)[1],
            spent=_spent_budget_text(view.remains),
        )

    @property
    def example(self) -> str:
        """Example of a condition on the first column."""
        for name, kind in self.columns.items():
            comparison = ">= 30" if kind.is_number else f"= {kind.literal}"
            condition = f"{typed_name(self.columns, name)} {comparison}"
            return f"any({condition})" if self.tables else condition
        return "true"


def _spent_budget_text(remains: RemainingBudget) -> str:
    """Return a text that names the spent budget, with the remedy; an empty text if no budget is spent."""
    if remains.remaining:
        return ""
    budget = "The budget of this data set" if not remains.of_dataset else "Your own budget"
    return f"{budget} is spent: no new question can be asked. Ask the owner for a larger one ({BUDGET_PAGE})."


_AT_MOST = Fraction(1, 2)
_READABLE = Context(prec=3, rounding=ROUND_FLOOR)


def _default_largest_price(remaining: Fraction) -> str:
    """Return the smaller of ε = 1/2 and the remaining budget, rounded down to three digits; 1/2 if none remains."""
    if remaining <= 0 or remaining >= _AT_MOST:
        return exact_text(_AT_MOST)
    return f"{_READABLE.divide(Decimal(remaining.numerator), Decimal(remaining.denominator)):f}"


_SAID_ELSEWHERE = ("answer", "error", "data set", "budget")


@frozen
class Preview:
    """Preview of a question at a price. It charges nothing."""

    query: Query  # the query at its exact price
    facts: Facts  # facts about the count and its answer, by name
    # header and rows with the errors of each level of a table; None for a single count
    levels: tuple[Sequence[str], Sequence[Sequence[str]]] | None
    promise: str  # accuracy of the answer, in words
    plan: Plan | None  # possible answers to draw; None: no Laplace noise, an open price, or ε out of range
    price: str  # the charge, or its maximum, in words; empty: nothing would be charged
    is_payable: bool  # True if the remaining budget pays for the question
    more: int | None  # number of such questions that the remaining budget pays for; None: prices in ε do not add up
    is_open: bool = False  # True if the charge may be less than the price, as the question has an accuracy goal
    obstacle: str | None = None  # why this kind of budget never pays for the question; None: it may pay
    unit: str = "persons"  # noun of the counted units: "persons" or "rows"

    @classmethod
    def from_session(cls, session: DatasetSession, analyst: Analyst, query: Query) -> Self:
        """Return the preview of a query of an analyst about an open data set."""
        preview = preview_in_session(session, query, analyst)
        noise, is_open, is_table = preview.noise, query.at_most is not None, query.is_table
        epsilon, mechanism = preview.plan.loss.epsilon, noise.levels[0].mechanism
        facts = [*query_facts(preview), *preview_facts(preview)]
        drawn_epsilon = 1 / mechanism.exact_scale if isinstance(mechanism, DiscreteLaplace) else Fraction(0)
        is_drawn = is_in_range(float(drawn_epsilon)) and not is_open
        guess = None if is_table or query.guess is None else float(query.guess)
        return cls(
            query=query if is_open or epsilon is None else replace(query, epsilon=epsilon, within=None, guess=None),
            facts=[fact for fact in facts if fact[0] not in _SAID_ELSEWHERE],
            levels=level_rows(noise, preview.confidence) if is_table else None,
            promise=_accuracy_sentence(preview),
            plan=plan_at_epsilon(drawn_epsilon, preview.confidence, guess=guess) if is_drawn else None,
            price="" if preview.repeated else preview.charge.text,
            is_payable=preview.affordable,
            more=preview.affordable_answers,
            is_open=is_open,
            obstacle=preview.obstacle,
            unit="rows" if preview.unit is None else "persons",
        )

    @property
    def query_json(self) -> str:
        """Query as JSON, as the confirmation sends it."""
        return json.dumps(self.query.to_json(), ensure_ascii=False)

    @property
    def picture(self) -> Markup | None:
        """Drawing of fifty possible answers, or errors, over the band ±width, with a caption; None without a plan."""
        if self.plan is None:
            return None
        heading = preview_heading(self.plan) + ("" if self.levels is None else ", of one row")
        caption = (
            f"{heading}. The band is ±{self.plan.width:,}: at least"
            f" {on_one_line(percent(self.plan.confidence))} of all answers are in it."
        )
        return Markup("<figcaption>{}</figcaption>\n{}").format(caption, dots_picture(self.plan, self.unit))

    @property
    def remaining_sentence(self) -> str:
        """Sentence on the charge, and on the number of such questions that the remaining budget pays for."""
        if not self.price:
            return (
                "An answer of this accuracy is stored already: it is free."
                if self.is_open
                else "This was asked before at this price: the same answer is free."
            )
        if not self.is_payable and self.obstacle:
            return f"{self.price} is refused: {self.obstacle}."
        if not self.is_payable:
            return f"{self.price} exceeds the remaining budget: choose a lower ε, or a wider ± ({BUDGET_PAGE})."
        charged = f"{'At most ' * self.is_open}{self.price} would be charged"
        if not self.more:
            return f"{charged}."
        noun = "answer" if self.more == 1 else "answers"
        return f"{charged}: what is left pays for {'at least ' * self.is_open}{signed(self.more)} {noun} like this one."

    @property
    def button(self) -> str:
        """Label of the button that confirms the question."""
        if not self.price:
            return "Show the answer again: free"
        return f"Ask and spend {'at most ' * self.is_open}{self.price}"


def _accuracy_sentence(preview: AnswerPreview) -> str:
    """Return a sentence on the accuracy of the count, or of each row of a table."""
    goal = preview.plan.goal
    sure = f"of the true count with {on_one_line(percent(preview.confidence))} confidence"
    what = "Each row" if preview.query.is_table else "The answer"
    if goal is None:
        return f"{what} would lie within {plus_minus(preview.noise.levels[0].error(preview.confidence))} {sure}."
    if preview.query.is_table:
        return f"{table_accuracy(preview)}.".capitalize()
    share = f"±{on_one_line(percent(float(goal.within)))}"
    otherwise = f"If {share} costs more than ε = {exact_text(goal.at_most)}, it lies within {plus_minus(preview.error)}"
    return f"{what} would lie within {share} {sure}. {otherwise}."


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
