"""What a data set offers, what a question would cost and give, and its rehearsal, for the page."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

from markupsafe import Markup

from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.display.output import Facts
from noisycount.frozen import frozen
from noisycount.ledger.entries import Analyst
from noisycount.ledger.price import odds_of_all
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.predicate import written_name
from noisycount.query.schema import Kind
from noisycount.release.rehearsal import Rehearsal
from noisycount.release.results import Release
from noisycount.service.pages.picture import dots_picture
from noisycount.service.questions import Question
from noisycount.tasks.answer import Answer, preview_at
from noisycount.tasks.answer_display import count_facts, shown_levels
from noisycount.tasks.opening import DatasetSession
from noisycount.tasks.plan import Plan, planned_epsilon, preview_heading
from noisycount.tasks.rehearsal import made_up_words, rehearsal_words
from noisycount.tasks.show import View, budget_words
from noisycount.tasks.table.display import level_rows, preview_facts, shown_rows, table_head
from noisycount.validation import exact_text, is_in_range


@frozen
class Offer:
    """A data set as its page shows it.

    Attributes:
        name: Its name.
        unit: The column that names the person; None: rows are counted.
        facts: What is counted, and what is left, in words.
        columns: What questions may use.
        wants_purpose: Whether a spend must say what its answer is for.
    """

    name: str
    unit: str | None
    facts: Facts
    columns: Mapping[str, Kind]
    wants_purpose: bool = False

    @classmethod
    def of(cls, counter: DatasetSession, analyst: Analyst) -> Self:
        """The offer of open records to an analyst."""
        view = View.at(counter, analyst)
        counts = "rows" if view.unit is None else f"persons: distinct values of {view.unit}"
        size = counter.dataset.size
        public = "" if size is None else f"; everybody knows that there are {signed(size)}"
        columns = {name: form.kind for name, form in view.columns.items()}
        protected = "row" if view.unit is None else "person"
        whole = odds_of_all(view.remains.dataset_budget, protected, is_replacement=size is not None)
        facts = [
            ("counts", f"{counts}{public}"),
            ("budget", budget_words(view)),
            ("if all is spent", whole),
        ]
        wants_purpose = counter.dataset.needs_purpose
        return cls(counter.dataset.name, view.unit, facts, columns, wants_purpose)

    @property
    def example(self) -> str:
        """A question that may be asked."""
        for name, kind in self.columns.items():
            said = ">= 30" if kind.is_number else f"= {kind.written}"
            return f"{written_name(name)} {said}"
        return "true"


_HEAD = ("question", "data set")
_SAID_ELSEWHERE = ("answer",)


@frozen
class Preview:
    """A question at a price, before it is asked.

    Attributes:
        body: What would be asked, as a program sends it, at its exact price.
        head: What would be counted.
        facts: What is to be known of the answer.
        levels: The errors of each level of a table, with their header; None for one count.
        promise: How near the answer would be, in words.
        plan: Fifty possible answers; None: the noise is not of that kind.
        price: What would be charged, in words; empty: nothing.
        is_payable: Whether what is left pays for it.
        more: How many such questions what is left pays for; None: nobody can say.
    """

    body: Mapping[str, Any]
    head: Facts
    facts: Facts
    levels: tuple[Sequence[str], Sequence[Sequence[str]]] | None
    promise: str
    plan: Plan | None
    price: str
    is_payable: bool
    more: int | None

    @classmethod
    def of(cls, counter: DatasetSession, analyst: Analyst, body: Mapping[str, Any]) -> Self:
        """The preview of what somebody wants to ask of open records."""
        query = Question.model_validate(body).query()
        answer = preview_at(counter, query, analyst)
        return (cls._of_table if query.is_table else cls._of_count)(answer, body)

    @classmethod
    def _of_count(cls, answer: Answer, body: Mapping[str, Any]) -> Self:
        facts, epsilon = count_facts(answer), answer.count_plan.epsilon
        return cls(
            body=_priced(body, epsilon),
            head=[fact for fact in facts if fact[0] in _HEAD],
            facts=[fact for fact in facts if fact[0] not in (*_HEAD, *_SAID_ELSEWHERE)],
            levels=None,
            promise=f"The answer would lie within {_near(answer.error, answer.confidence)}",
            plan=planned_epsilon(epsilon, answer.confidence, guess=body.get("guess")),
            price="" if answer.repeated else f"ε = {exact_text(epsilon)}",
            is_payable=answer.affordable,
            more=answer.affordable_answers,
        )

    @classmethod
    def _of_table(cls, answer: Answer, body: Mapping[str, Any]) -> Self:
        levels, loss = shown_levels(answer.noise, answer.confidence), answer.plan.loss
        cells = answer.noise.levels[0].mechanism
        per_cell = 1 / cells.exact_scale if isinstance(cells, DiscreteLaplace) else Fraction(0)
        is_drawn = is_in_range(float(per_cell))
        return cls(
            body=_priced(body, loss.epsilon),
            head=table_head(answer),
            facts=preview_facts(answer),
            levels=level_rows(levels, answer.confidence),
            promise=f"Each row would lie within {_near(levels[0].error, answer.confidence)}",
            plan=planned_epsilon(per_cell, answer.confidence) if is_drawn else None,
            price="" if answer.repeated else loss.text,
            is_payable=answer.affordable,
            more=answer.affordable_answers,
        )

    @property
    def sent(self) -> str:
        """The question as the confirmation sends it."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def picture(self) -> Markup | None:
        """Fifty possible answers, or errors, over a band, and what they are."""
        if self.plan is None:
            return None
        heading = preview_heading(self.plan) + ("" if self.levels is None else ", of one row")
        caption = (
            f"{heading}. The band is ±{self.plan.width:,}: at least"
            f" {_tied(percent(self.plan.confidence))} of all answers are in it."
        )
        return Markup("<figcaption>{}</figcaption>\n{}").format(caption, dots_picture(self.plan))

    @property
    def leaves(self) -> str:
        """What is left pays for how many such questions."""
        if not self.price:
            return "This was asked before at this price: the same answer is free."
        if not self.is_payable:
            return f"{self.price} is more than what is left pays for: choose a wider ±."
        if self.more is None:
            return f"{self.price} would be charged."
        such = "question" if self.more == 1 else "questions"
        return f"{self.price} would be charged: what is left pays for {signed(self.more)} such {such}."

    @property
    def button(self) -> str:
        """What the button of the confirmation says."""
        return f"Ask and spend {self.price}" if self.price else "Show the answer again: free"


def _near(error: int, confidence: float) -> str:
    sure = _tied(percent(confidence))
    return f"{plus_minus(error)} of the true count with {sure} confidence."


def _tied(words: str) -> str:
    """Words that stay on one line."""
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def _priced(body: Mapping[str, Any], epsilon: Fraction | None) -> dict[str, Any]:
    """The question at an exact price in place of a goal, so that what was shown is what is paid."""
    if epsilon is None:
        return dict(body)
    kept = {name: value for name, value in body.items() if name not in {"within", "guess"}}
    return {**kept, "epsilon": exact_text(epsilon)}


_MOST_ROWS = 60


@frozen
class RehearsedPanel:
    """The panel of a rehearsal.

    Attributes:
        note: That the records are made up.
        words: The answer beside the count; empty for a table.
        header: The names of the columns of a table.
        rows: Its rows.
        keys: How many of the columns are keys.
    """

    note: str
    words: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    keys: int = 1

    @classmethod
    def of(cls, rehearsal: Rehearsal) -> Self:
        """The panel that shows a rehearsal."""
        note = made_up_words(rehearsal)
        release, counts = rehearsal.release, rehearsal.counts
        if isinstance(release, Release):
            return cls(note, rehearsal_words(rehearsal))
        names, places = release.labels.names, range(min(len(release), _MOST_ROWS))
        header = [*names, "made up", f"answer ({percent(release.confidence)})"]
        rows = [
            [
                *row.labels,
                "hidden" if counts is None else signed(counts[place]),
                f"{signed(row.answer)} {plus_minus(row.error)}",
            ]
            for place, row in zip(places, shown_rows(release, places), strict=True)
        ]
        words = "" if rows else "No key is shown: none reached the threshold"
        return cls(note, words, header, rows, len(names))
