"""Disclosure risk of all answers about a data set together, in the worst case and against less informed adversaries.

`ListRisks` computes the numbers from the ledger, and `print_list_risks` prints them as text or as JSON. An "outsider"
is an adversary who knows the public rates, and of records at most those in small groups.
"""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from noisycount.analysis.privacy.bounds import pure_dp_delta
from noisycount.analysis.privacy.list_risk import ListRisk, list_risk
from noisycount.config.config import Config
from noisycount.display.numbers import approximately, at_most, counted_noun, percent
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
from noisycount.tasks.ledger import debits
from noisycount.tasks.risk import BackgroundKnowledge, check_known, float_above
from noisycount.validation import exact_text


def _atoms_of_file(path: Path, size: int, number: int) -> Atoms:
    """Read the atoms from a CSV or Parquet file with the columns `rate`, `1`, `2` and so on, one for each question.

    Args:
        path: The file.
        size: The number of records.
        number: The number of questions.

    Raises:
        SourceError: If a rate is outside 0 to 1, a sign is not 0 or 1, or the rates do not add up to 1.
    """
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
class TotalLossSoFar:
    """Total loss of all answers, from the ledger. It holds for any questions, also if answers led to questions."""

    loss: Loss  # sums of ε, ρ and δ
    # the same if one unit replaces another, as it applies to a person who is known to be in the records. It is larger
    # than `loss` if tables were priced for adding or removing a unit
    replacement_loss: Loss
    rho_delta: Fraction | None  # δ at which the budget converts ρ to ε; None: it names none
    protected: str = "person"  # the privacy unit: "person" or "row"

    @property
    def epsilon_and_delta(self) -> tuple[float | Fraction, Fraction]:
        """Values ε and δ of all answers together; δ is 0 if pure differential privacy holds."""
        return approximate_loss(self.loss, self.rho_delta)

    @property
    def is_sum_of_prices(self) -> bool:
        """True if `epsilon_and_delta` has the sums of ε and of δ; False if its values follow from ρ."""
        return self.epsilon_and_delta == (self.loss.epsilon, self.loss.delta)

    @property
    def odds(self) -> str:
        """Odds about one person or row that follow from the total loss, in words."""
        return odds_of(self.loss, self.protected, self.replacement_loss, self.rho_delta)

    def delta(self, epsilon: Fraction) -> float:
        """Return δ of all answers at an ε, against an adversary who knows all other records."""
        return _delta_of_loss(self.loss, epsilon)

    def delta_replaced(self, epsilon: Fraction) -> float | None:
        """Return δ against an adversary who knows that the person is in the records; None if it is not larger."""
        return None if self.replacement_loss == self.loss else _delta_of_loss(self.replacement_loss, epsilon)


def _delta_of_loss(loss: Loss, epsilon: Fraction) -> float:
    """Return δ of a loss at an ε: the smaller of the values that its ε and its ρ imply, plus its δ for hidden keys."""
    delta = delta_of_rho(loss.rho, epsilon)
    if loss.epsilon is not None:
        delta = min(delta, pure_dp_delta(float_above(loss.epsilon), float_above(epsilon)))
    return min(1.0, delta + float_above(loss.delta))


@frozen
class AnswersSoFar:
    """The answers about a data set so far."""

    dataset: str  # name of the data set, as readers see it
    size: int | None  # public number of its units; None if it is not public
    questions: tuple[str, ...]  # different questions for one count in words, oldest first
    places: tuple[int, ...]  # for each count, the index of its question
    prices: tuple[Fraction, ...]  # total ε of each count
    tables: tuple[tuple[str, Loss], ...]  # question in words and total price of each table, oldest first
    paid: TotalLossSoFar  # total loss of all answers

    @property
    def mechanisms(self) -> list[DiscreteLaplace]:
        """The noise of each count."""
        return [DiscreteLaplace.for_epsilon(price) for price in self.prices]

    @property
    def largest_epsilon(self) -> Fraction:
        """Largest ε of an answer; 1 if no answer has an ε."""
        epsilons = [*self.prices, *(price.epsilon for _, price in self.tables if price.epsilon is not None)]
        return max(epsilons, default=Fraction(1))


def answers_so_far(name: str, configuration: Config) -> AnswersSoFar:
    """Read the answers about a data set from the ledger. Answers that were topped up are represented by their top-ups.

    Raises NoisyCountError if there are none.
    """
    dataset = configuration.dataset(name)
    entries = [entry for entry in debits(configuration) if entry.request.dataset == dataset.account]
    if not entries:
        raise NoisyCountError(
            f"--ledger {name!r}: no question about it was answered yet: ask one with `noisycount count`"
        )
    current_entries = without_replaced(entries)
    counts = [entry for entry in current_entries if _is_single_count(entry)]
    questions = tuple(dict.fromkeys(StoredQuestion(entry).words for entry in counts))
    return AnswersSoFar(
        redacted_name(dataset.name),
        dataset.size,
        questions,
        tuple(questions.index(StoredQuestion(entry).words) for entry in counts),
        tuple(entry.loss.epsilon for entry in counts if entry.loss.epsilon is not None),
        tuple((StoredQuestion(entry).words, entry.loss) for entry in current_entries if not _is_single_count(entry)),
        TotalLossSoFar(
            entries[-1].spent,
            sum((StoredQuestion(entry).replacement_loss for entry in entries), Loss()),
            dataset.budget.rho_delta,
            unit_noun(dataset.unit),
        ),
    )


def _is_single_count(entry: Entry) -> bool:
    """Return True if the entry is a single count with a price in ε."""
    return entry.request.epsilon is not None and not asks_for_table(entry)


@frozen
class OutsiderRisk:
    """Values of δ against an adversary who knows the public rates of the atoms, and perhaps some records."""

    size: int  # number of records that the adversary does not know individually
    delta: float  # largest δ over all records; the worst case if any group is small
    large_group_delta: float  # δ of a record in a large group
    adaptive_delta: float  # δ that also holds if answers led to later questions
    small_group_share: float  # probability that a record is in a small group
    large_group_size: float  # smallest expected number of records of a large group

    @classmethod
    def from_risk(cls, risk: ListRisk, epsilon: float) -> "OutsiderRisk":
        """Return the values of δ of a list's risk at an ε."""
        large_group_delta = risk.rest(epsilon)
        delta = risk.worst(epsilon) if risk.given > 0 else large_group_delta
        adaptive_delta = risk.adaptive(epsilon)
        return cls(risk.population.size, delta, large_group_delta, adaptive_delta, risk.given, risk.least)


@frozen
class ListRisks:
    """Disclosure risk of the answers so far."""

    answers: AnswersSoFar  # the answers
    epsilon: Fraction  # ε at which δ is computed
    worst: float  # δ against an adversary who knows all other records
    outsider: OutsiderRisk | None  # δ against an outsider; None if it cannot be computed
    why: str = ""  # reason why `outsider` is None; else empty
    partly: OutsiderRisk | None = None  # δ if the adversary also knows `known_records` records; None: no such adversary
    known_records: int | None = None  # number of records that the partly informed adversary knows

    @classmethod
    def compute(cls, answers: AnswersSoFar, background: BackgroundKnowledge, epsilon: Fraction | None) -> "ListRisks":
        """Return the risks of the answers at an ε, by default the largest price of an answer."""
        chosen_epsilon = answers.largest_epsilon if epsilon is None else epsilon
        epsilon_above = float_above(chosen_epsilon)
        atoms = None if answers.tables else _read_atoms(answers, background)
        if atoms is None:
            reason = _missing_figure_reason(answers)
            if background.known_records is not None:
                raise NoisyCountError(f"leave --known {background.known_records} out: {reason}")
            return cls(answers, chosen_epsilon, _worst_delta(answers, chosen_epsilon), None, reason)
        risk = _risk_of_counts(answers, atoms, background)
        partly = None
        if background.known_records is not None:
            check_known(background.known_records, atoms.size)
            unknown_atoms = Atoms(atoms.size - background.known_records, atoms.rates, atoms.questions)
            partly = OutsiderRisk.from_risk(_risk_of_counts(answers, unknown_atoms, background), epsilon_above)
        outsider = OutsiderRisk.from_risk(risk, epsilon_above)
        worst = min(answers.paid.delta(chosen_epsilon), risk.worst(epsilon_above))
        return cls(answers, chosen_epsilon, worst, outsider, partly=partly, known_records=background.known_records)


def _risk_of_counts(answers: AnswersSoFar, atoms: Atoms, background: BackgroundKnowledge) -> ListRisk:
    """Return the disclosure risk of the counts for the records of these atoms.

    An adversary who knows some records can subtract them from each count. The differences are answers about the other
    records, which are independent of the known ones (the page “Several answers”, the corollary of Theorem 5.2).
    """
    sets = [atoms.questions[place] for place in answers.places]
    return list_risk(answers.mechanisms, atoms, sets, least=background.large_group_size)


def _worst_delta(answers: AnswersSoFar, epsilon: Fraction) -> float:
    """Return δ of the answers in the worst case, for any questions."""
    if answers.tables:
        return answers.paid.delta(epsilon)
    alike = Atoms(1, [0.5, 0.5])
    counts = list_risk(answers.mechanisms, alike, [{0}] * len(answers.places))
    return min(answers.paid.delta(epsilon), counts.worst(float_above(epsilon)))


def _missing_figure_reason(answers: AnswersSoFar) -> str:
    """Return the reason why there is no δ against an outsider."""
    if answers.tables:
        return "no figure of its own, as tables are among the answers"
    if len(answers.questions) > 1:
        number = len(answers.questions)
        return f"{number} questions may overlap in any way unless --atoms FILE states how"
    return "no figure of its own without the rate of the question: give --rate"


def _read_atoms(answers: AnswersSoFar, background: BackgroundKnowledge) -> Atoms | None:
    """Return the atoms: groups of records with the same true answer to each question.

    They are read from the file. Without a file they follow from the rate, if there is one rate and one question;
    otherwise this is None. Raises NoisyCountError if the size is not public, or if the rate is uncertain, 0 or 1.
    """
    size = background.size or answers.size
    if background.atoms is None and (background.rate is None or len(answers.questions) > 1):
        return None
    if size is None:
        raise NoisyCountError(f"--ledger {answers.dataset!r}: its size is not public in noisycount.toml: give --size")
    if background.atoms is not None:
        return _atoms_of_file(background.atoms, size, len(answers.questions))
    rate = background.rate
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
    """Return the facts of a list: δ of each adversary, the questions, the tables and the total loss."""
    answers = risks.answers
    delta_title = f"δ at ε = {approximately(risks.epsilon)}"
    numbers = ", ".join(f"{delta} {name}" for name, _, delta in _list_rows(risks))
    return [
        ("reveals", f"{delta_title}: {numbers}"),
        ("list", f"{_list_words(answers)}, {answers.dataset}"),
        *[(str(place), words) for place, words in enumerate(answers.questions, start=1)],
        *[("table", f"{words}, {price.text}") for words, price in answers.tables],
        *([] if answers.paid.is_sum_of_prices else [("paid", f"{answers.paid.loss.text} together")]),
        ("asked", delta_title),
    ]


def _list_rows(risks: ListRisks) -> list[tuple[str, str, str]]:
    """Return a row for each adversary: name, knowledge, and δ."""
    worst = (_WORST, "all other records", at_most(risks.worst))
    if risks.outsider is None:
        of_group = risks.answers.paid.delta_replaced(risks.epsilon)
        group = [] if of_group is None else [(_GROUP, "also that the person is in", at_most(of_group))]
        return [worst, *group]
    partly = [] if risks.partly is None else _adversary_rows(_PARTLY, risks.partly, risks.known_records)
    return [worst, *partly, *_adversary_rows(_OUTSIDER, risks.outsider, None)]


def _adversary_rows(name: str, risk: OutsiderRisk, known_records: int | None) -> list[tuple[str, str, str]]:
    """Return the rows of an adversary: for questions fixed in advance, and for questions that answers led to."""
    records = [] if known_records is None else [counted_noun("record", known_records)]
    share = percent(Decimal(f"{risk.small_group_share:.2e}"))
    small = [f"the {share} in small groups"] if risk.small_group_share > 0 else []
    knows = " and ".join([*records, *small]) or "no record"
    return [(name, knows, at_most(risk.delta)), (f"{name}, {_LED_BY}", knows, at_most(risk.adaptive_delta))]


def _list_cautions(risks: ListRisks) -> list[tuple[str, str]]:
    """Return explanations of the numbers, and the conditions under which they hold."""
    worst, charge = (_WORST, promise_words(risks.answers)), ("charged", _CHARGED)
    if risks.outsider is None:
        return [worst, (_OUTSIDER, f"{risks.why}; take the worst case"), charge]
    rule = f"“{_OUTSIDER}” only against one who knows no record, if the rates are right"
    adaptive = "also where an answer led to the next question, if the atoms were fixed before the first"
    explanations = [worst, ("holds for", f"{rule} and no answer led to a question"), (_LED, adaptive)]
    if risks.known_records is not None:
        number = counted_noun("record", risks.known_records)
        explanations.append((_PARTLY, f"knows {number}, whichever: the answers are about the others"))
    if risks.outsider.small_group_share > 0:
        small = (
            f"a group that the questions part off is expected to hold fewer than "
            f"{risks.outsider.large_group_size:g} records: a person who may be in it has the worst case"
        )
        explanations.append(("small groups", small))
    return [*explanations, charge]


def promise_words(answers: AnswersSoFar) -> str:
    """Return ε, δ and odds of the total loss, in words. They hold for any questions and any background knowledge."""
    epsilon, delta = answers.paid.epsilon_and_delta
    epsilon_text = approximately(epsilon) if isinstance(epsilon, Fraction) else at_most(epsilon)
    at = f" at δ = {at_most(float(delta))}" if delta else ""
    return f"ε = {epsilon_text}{at}: {answers.paid.odds}"


def _list_words(answers: AnswersSoFar) -> str:
    """Return the numbers of answers, questions and tables, in words."""
    number = len(answers.questions)
    about = counted_noun("question" if number == 1 else "different question", number)
    counts = f"{counted_noun('answer', len(answers.prices))} to {about}"
    if not answers.tables:
        return counts
    tables = counted_noun("table", len(answers.tables))
    return f"{counts} and {tables}" if number else tables


def _list_json(risks: ListRisks) -> dict[str, Any]:
    """Return the risks as JSON; the members of the outsider are null if they cannot be computed."""
    answers, outsider, partly = risks.answers, risks.outsider, risks.partly
    epsilon, delta = answers.paid.epsilon_and_delta
    return {
        "dataset": answers.dataset,
        "size": answers.size if outsider is None else outsider.size,
        "epsilon": exact_text(risks.epsilon),
        "questions": list(answers.questions),
        "answers": [
            {"question": place + 1, "price": exact_text(price)}
            for place, price in zip(answers.places, answers.prices, strict=True)
        ],
        "tables": len(answers.tables),
        "asked_tables": [{"question": words, "price": loss_json(price)} for words, price in answers.tables],
        "paid": loss_json(answers.paid.loss),
        "replaced": loss_json(answers.paid.replacement_loss),
        "promised": {"epsilon": float(epsilon), "delta": float(delta), "odds": answers.paid.odds},
        "worst_case": risks.worst,
        "worst_case_group": answers.paid.delta_replaced(risks.epsilon),
        "outsider": None if outsider is None else outsider.delta,
        "outsider_of_large_groups": None if outsider is None else outsider.large_group_delta,
        "outsider_led_by_answers": None if outsider is None else outsider.adaptive_delta,
        "given": None if outsider is None else outsider.small_group_share,
        "least": None if outsider is None else outsider.large_group_size,
        "known": risks.known_records,
        "partly_informed": None if partly is None else partly.delta,
        "partly_informed_led_by_answers": None if partly is None else partly.adaptive_delta,
        "why": risks.why or None,
        "cautions": dict(_list_cautions(risks)),
    }


def print_list_risks(risks: ListRisks, *, as_json: bool) -> None:
    """Print the risks as text or as JSON."""
    if as_json:
        print_json(_list_json(risks))
        return
    print_facts(_list_facts(risks))
    print_table(("adversary", "knows", "δ"), _list_rows(risks))
    print_facts(_list_cautions(risks))
