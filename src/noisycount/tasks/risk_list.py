"""What all answers of a ledger show together, to an outsider and in the worst case; in words, as JSON, and printed."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from noisycount.analysis.privacy.bounds import pure_dp_delta
from noisycount.analysis.privacy.list_risk import ListRisk, list_risk
from noisycount.config.config import Config
from noisycount.display.numbers import approximately, at_most, number_of, percent
from noisycount.display.output import print_facts, print_json, print_table
from noisycount.display.texts import redacted_name
from noisycount.engines.duckdb.public import PublicTable
from noisycount.errors import NoisyCountError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, asks_for_table
from noisycount.ledger.price import approximate_loss, odds_of, unit_noun
from noisycount.ledger.series import without_replaced
from noisycount.model.atoms import Atoms
from noisycount.model.concentrated import delta_of_rho
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.readers.assumption import check_columns, check_rows
from noisycount.release.stored_question import StoredQuestion
from noisycount.tasks.answer_json import loss_json
from noisycount.tasks.opening import debits
from noisycount.tasks.risk import BackgroundKnowledge, check_known, float_above
from noisycount.validation import exact_text


def _atoms_of_file(path: Path, size: int, number: int) -> Atoms:
    """The atoms of a CSV or Parquet file with the columns `rate`, `1`, `2` and so on."""
    columns = [str(place + 1) for place in range(number)]
    with PublicTable.open(path) as table:
        check_columns(table, ["rate", *columns])
        rates = table.numbers("rate")
        check_rows(table, "rate", (rates >= 0) & (rates <= 1), "a rate between 0 and 1")
        signs = [table.numbers(column) for column in columns]
        for column, sign in zip(columns, signs, strict=True):
            check_rows(table, column, (sign == 0) | (sign == 1), "1 or 0")
    questions = [np.flatnonzero(sign).tolist() for sign in signs]
    try:
        return Atoms(size, rates, questions)
    except ValueError as error:
        raise SourceError(f"{str(path)!r}: {error}") from None


@frozen
class PaidSoFar:
    """The sum of all prices, as the ledger has it: it holds whatever was asked, and why."""

    loss: Loss  # the sums of the ε, the ρ and the δ
    # the same for one unit in the place of another, and so of somebody who is known to be in the records: more where
    # tables were priced for units that come or go
    replaced: Loss
    rho_delta: Fraction | None  # the δ at which the budget tells ρ in ε; None: it names none
    protected: str = "person"  # what is guessed about: "person" or "row"

    @property
    def told(self) -> tuple[float | Fraction, Fraction]:
        """The ε and the δ that all answers have together; δ = 0 where ε holds in every case."""
        return approximate_loss(self.loss, self.rho_delta)

    @property
    def is_told_as_paid(self) -> bool:
        """Whether that is the sums themselves, in ε."""
        return self.told == (self.loss.epsilon, self.loss.delta)

    @property
    def odds(self) -> str:
        """The same for one person or row, in words."""
        return odds_of(self.loss, self.protected, self.replaced, self.rho_delta)

    def delta(self, epsilon: Fraction) -> float:
        """δ of all answers at an ε, for somebody who knows all other records."""
        return _delta(self.loss, epsilon)

    def delta_replaced(self, epsilon: Fraction) -> float | None:
        """The same for somebody who knows besides that the person is in them; None: as much."""
        return None if self.replaced == self.loss else _delta(self.replaced, epsilon)


def _delta(loss: Loss, epsilon: Fraction) -> float:
    """The smaller of what the ε and what the ρ imply, and the δ of hidden keys beside."""
    found = delta_of_rho(loss.rho, epsilon)
    if loss.epsilon is not None:
        found = min(found, pure_dp_delta(float_above(loss.epsilon), float_above(epsilon)))
    return min(1.0, found + float_above(loss.delta))


@frozen
class AnswersSoFar:
    """What was asked of a data set so far."""

    dataset: str  # its name
    size: int | None  # its public size; None where there is none
    questions: tuple[str, ...]  # each different question for one count once, in words, oldest first
    places: tuple[int, ...]  # of each count the place of its question
    prices: tuple[Fraction, ...]  # the ε of each count
    tables: tuple[tuple[str, Loss], ...]  # each table, oldest first: what was asked, and what it cost
    paid: PaidSoFar  # what all of them cost together

    @property
    def mechanisms(self) -> list[DiscreteLaplace]:
        """The noise of each count."""
        return [DiscreteLaplace.for_epsilon(price) for price in self.prices]

    @property
    def dearest(self) -> Fraction:
        """The largest ε of an answer; 1 where none has an ε."""
        known = [*self.prices, *(price.epsilon for _, price in self.tables if price.epsilon is not None)]
        return max(known, default=Fraction(1))


def answers_so_far(name: str, configuration: Config) -> AnswersSoFar:
    """The list of a data set."""
    dataset = configuration.dataset(name)
    entries = [entry for entry in debits(configuration) if entry.request.dataset == dataset.account]
    if not entries:
        raise NoisyCountError(
            f"--ledger {name!r}: nothing was asked of it yet, and nothing is shown: ask with `noisycount count`"
        )
    told = without_replaced(entries)
    counts = [entry for entry in told if _is_count(entry)]
    questions = tuple(dict.fromkeys(StoredQuestion(entry).words for entry in counts))
    return AnswersSoFar(
        redacted_name(dataset.name),
        dataset.size,
        questions,
        tuple(questions.index(StoredQuestion(entry).words) for entry in counts),
        tuple(entry.loss.epsilon for entry in counts if entry.loss.epsilon is not None),
        tuple((StoredQuestion(entry).words, entry.loss) for entry in told if not _is_count(entry)),
        PaidSoFar(
            entries[-1].spent,
            sum((StoredQuestion(entry).replaced for entry in entries), Loss()),
            dataset.budget.rho_delta,
            unit_noun(dataset.unit),
        ),
    )


def _is_count(entry: Entry) -> bool:
    """Whether it is one count with noise of a price in ε."""
    return entry.request.epsilon is not None and not asks_for_table(entry)


@frozen
class OutsiderRisk:
    """What somebody learns who knows how often records are in which atom, and perhaps some records."""

    size: int  # the number of records that are not known
    delta: float  # δ by the rule of the desk
    of_large: float  # δ of those whose groups are large
    led: float  # δ also where answers led to questions
    given: float  # the probability that a record is in a small group
    least: float  # the number of records from which on a group is large

    @classmethod
    def of(cls, risk: ListRisk, epsilon: float) -> "OutsiderRisk":
        """What is learned at an ε."""
        of_large = risk.rest(epsilon)
        delta = risk.worst(epsilon) if risk.given > 0 else of_large
        led = risk.adaptive(epsilon)
        return cls(risk.population.size, delta, of_large, led, risk.given, risk.least)


@frozen
class ListRisks:
    """What the answers so far show."""

    asked: AnswersSoFar  # the answers
    epsilon: Fraction  # the ε at which δ is told
    worst: float  # δ for somebody who knows all other records
    outsider: OutsiderRisk | None  # what an outsider has; None where that is not told
    why: str = ""  # why it is not; empty where it is
    partly: OutsiderRisk | None = None  # what somebody has who holds some records besides; None: nobody was asked about
    held: int | None = None  # how many these records are

    @classmethod
    def of(cls, asked: AnswersSoFar, known: BackgroundKnowledge, epsilon: Fraction | None) -> "ListRisks":
        """The risks of a list at an ε, by default the price of the dearest answer."""
        told = asked.dearest if epsilon is None else epsilon
        number = float_above(told)
        if asked.tables:
            why = "no figure of its own, as tables are among the answers"
            _check_untold(known, why)
            return cls(asked, told, asked.paid.delta(told), None, why)
        atoms = _atoms(asked, known)
        if atoms is None:
            why = _untold(asked)
            _check_untold(known, why)
            return cls(asked, told, _of_counts(asked, told), None, why)
        risk = _risk(asked, atoms, known)
        partly = None
        if known.held is not None:
            check_known(known.held, atoms.size)
            others = Atoms(atoms.size - known.held, atoms.rates, atoms.questions)
            partly = OutsiderRisk.of(_risk(asked, others, known), number)
        outsider = OutsiderRisk.of(risk, number)
        worst = min(asked.paid.delta(told), risk.worst(number))
        return cls(asked, told, worst, outsider, partly=partly, held=known.held)


def _risk(asked: AnswersSoFar, atoms: Atoms, known: BackgroundKnowledge) -> ListRisk:
    """What the counts show of the records of these atoms.

    Whoever holds records takes them off each count: what is left are the answers about the others, which are
    independent of them (the page “Several answers, one outsider”, the corollary of Theorem 2).
    """
    sets = [atoms.questions[place] for place in asked.places]
    return list_risk(asked.mechanisms, atoms, sets, least=known.least)


def _check_untold(known: BackgroundKnowledge, why: str) -> None:
    """The refusal of somebody who holds records, where no outsider is told of."""
    if known.held is not None:
        raise NoisyCountError(f"leave --known {known.held} out: {why}")


def _of_counts(asked: AnswersSoFar, epsilon: Fraction) -> float:
    """δ of counts in the worst case, whatever was asked."""
    alike = Atoms(1, [0.5, 0.5])
    counts = list_risk(asked.mechanisms, alike, [{0}] * len(asked.places))
    return min(asked.paid.delta(epsilon), counts.worst(float_above(epsilon)))


def _untold(asked: AnswersSoFar) -> str:
    """Why the outsider has no δ."""
    if len(asked.questions) > 1:
        number = len(asked.questions)
        return f"{number} questions may overlap in any way unless --atoms FILE tells how"
    return "no figure of its own without the rate of the question: give --rate"


def _atoms(asked: AnswersSoFar, known: BackgroundKnowledge) -> Atoms | None:
    """The atoms that are told; None where they are not."""
    size = known.size or asked.size
    if known.atoms is None and (known.rate is None or len(asked.questions) > 1):
        return None
    if size is None:
        raise NoisyCountError(f"--ledger {asked.dataset!r}: its size is not public in noisycount.toml: give --size")
    if known.atoms is not None:
        return _atoms_of_file(known.atoms, size, len(asked.questions))
    rate = known.rate
    if rate is None or rate.deviation or rate.mean in {0, 1}:
        raise NoisyCountError(
            f"--rate {rate} must be one known rate between 0 and 1 for a list of answers: records "
            "of an uncertain rate depend on each other"
        )
    return Atoms.nested(size, [rate.mean])


_WORST = "worst case"
_OUTSIDER, _PARTLY = "outsider", "partly informed"
_LED_BY = "led by answers"
_LED = f"{_OUTSIDER}, {_LED_BY}"
_GROUP = "worst case, group"
_CHARGED = "the ledger charges the worst case, whatever an outsider learns"


def _list_facts(risks: ListRisks) -> list[tuple[str, str]]:
    """What differs, and what was asked and paid."""
    asked = risks.asked
    told = f"δ at ε = {approximately(risks.epsilon)}"
    numbers = ", ".join(f"{delta} {name}" for name, _, delta in _list_rows(risks))
    return [
        ("reveals", f"{told}: {numbers}"),
        ("list", f"{_list_words(asked)}, {asked.dataset}"),
        *[(str(place), words) for place, words in enumerate(asked.questions, start=1)],
        *[("table", f"{words}, {price.text}") for words, price in asked.tables],
        *([] if asked.paid.is_told_as_paid else [("paid", f"{asked.paid.loss.text} together")]),
        ("asked", told),
    ]


def _list_rows(risks: ListRisks) -> list[tuple[str, str, str]]:
    """One line an adversary of whom something is told: who it is, what is known, and δ."""
    worst = (_WORST, "all other records", at_most(risks.worst))
    if risks.outsider is None:
        of_group = risks.asked.paid.delta_replaced(risks.epsilon)
        group = [] if of_group is None else [(_GROUP, "also that the person is in", at_most(of_group))]
        return [worst, *group]
    partly = [] if risks.partly is None else _rows(_PARTLY, risks.partly, risks.held)
    return [worst, *partly, *_rows(_OUTSIDER, risks.outsider, None)]


def _rows(name: str, one: OutsiderRisk, held: int | None) -> list[tuple[str, str, str]]:
    """What is told of one adversary, and of the same where answers led to questions."""
    records = [] if held is None else [number_of("record", held)]
    share = percent(Decimal(f"{one.given:.2e}"))
    small = [f"the {share} in small groups"] if one.given > 0 else []
    knows = " and ".join([*records, *small]) or "no record"
    return [(name, knows, at_most(one.delta)), (f"{name}, {_LED_BY}", knows, at_most(one.led))]


def _list_cautions(risks: ListRisks) -> list[tuple[str, str]]:
    """What the figures mean, and what they do not promise."""
    worst, charged = (_WORST, promised(risks.asked)), ("charged", _CHARGED)
    if risks.outsider is None:
        return [worst, (_OUTSIDER, f"{risks.why}; take the worst case"), charged]
    rule = f"“{_OUTSIDER}” only against one who knows no record, if the rates are right"
    led = "also where an answer led to the next question, if the atoms were fixed before the first"
    found = [worst, ("holds for", f"{rule} and no answer led to a question"), (_LED, led)]
    if risks.held is not None:
        number = number_of("record", risks.held)
        found.append((_PARTLY, f"knows {number}, whichever: the answers are about the others"))
    if risks.outsider.given > 0:
        small = (
            f"a group that the questions part off is expected to hold fewer than "
            f"{risks.outsider.least:g} records: whoever may be in it has the worst case"
        )
        found.append(("small groups", small))
    return [*found, charged]


def promised(asked: AnswersSoFar) -> str:
    """What the sum of all prices promises of one person, whatever was asked and is known."""
    epsilon, delta = asked.paid.told
    told = approximately(epsilon) if isinstance(epsilon, Fraction) else at_most(epsilon)
    at = f" at δ = {at_most(float(delta))}" if delta else ""
    return f"ε = {told}{at}: {asked.paid.odds}"


def _list_words(asked: AnswersSoFar) -> str:
    """How many answers there are, to how many questions, and how many tables."""
    number = len(asked.questions)
    about = number_of("question" if number == 1 else "different question", number)
    counts = f"{number_of('answer', len(asked.prices))} to {about}"
    if not asked.tables:
        return counts
    tables = number_of("table", len(asked.tables))
    return f"{counts} and {tables}" if number else tables


def _list_json(risks: ListRisks) -> dict[str, Any]:
    """δ of the list so far; that of the outsider is null where it is not told."""
    asked, outsider, partly = risks.asked, risks.outsider, risks.partly
    epsilon, delta = asked.paid.told
    return {
        "dataset": asked.dataset,
        "size": asked.size if outsider is None else outsider.size,
        "epsilon": exact_text(risks.epsilon),
        "questions": list(asked.questions),
        "answers": [
            {"question": place + 1, "price": exact_text(price)}
            for place, price in zip(asked.places, asked.prices, strict=True)
        ],
        "tables": len(asked.tables),
        "asked_tables": [{"question": words, "price": loss_json(price)} for words, price in asked.tables],
        "paid": loss_json(asked.paid.loss),
        "replaced": loss_json(asked.paid.replaced),
        "promised": {"epsilon": float(epsilon), "delta": float(delta), "odds": asked.paid.odds},
        "worst_case": risks.worst,
        "worst_case_group": asked.paid.delta_replaced(risks.epsilon),
        "outsider": None if outsider is None else outsider.delta,
        "outsider_of_large_groups": None if outsider is None else outsider.of_large,
        "outsider_led_by_answers": None if outsider is None else outsider.led,
        "given": None if outsider is None else outsider.given,
        "least": None if outsider is None else outsider.least,
        "known": risks.held,
        "partly_informed": None if partly is None else partly.delta,
        "partly_informed_led_by_answers": None if partly is None else partly.led,
        "why": risks.why or None,
        "cautions": dict(_list_cautions(risks)),
    }


def tell_list(risks: ListRisks, *, as_json: bool) -> None:
    """For people, or as JSON."""
    if as_json:
        print_json(_list_json(risks))
        return
    print_facts(_list_facts(risks))
    print_table(("adversary", "knows", "δ"), _list_rows(risks))
    print_facts(_list_cautions(risks))
