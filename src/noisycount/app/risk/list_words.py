"""What all answers of a ledger show together, in words that are true."""

from decimal import Decimal

from noisycount.app.ledger.asked_words import number_of
from noisycount.app.risk.list_risks import ListRisks
from noisycount.app.terminal.printing import seen_from_here
from noisycount.shown.numbers import approximately, at_most, percent

__all__ = ["list_cautions", "list_facts", "list_header", "list_rows"]

_OUTSIDER = "outsider"
_LED = "outsider, led by answers"


def list_facts(risks: ListRisks) -> list[tuple[str, str]]:
    """What differs, and what was asked."""
    asked = risks.asked
    told = f"δ at ε = {approximately(risks.epsilon)}"
    numbers = ", ".join(f"{delta} {name}" for name, _, delta in list_rows(risks))
    counts = number_of("answer", len(asked.prices))
    number = len(asked.questions)
    about = number_of("question" if number == 1 else "different question", number)
    return [
        ("reveals", f"{told}: {numbers}"),
        ("list", f"{counts} to {about}, {seen_from_here(asked.dataset)}"),
        *[(str(place), words) for place, words in enumerate(asked.questions, start=1)],
        ("asked", told),
    ]


def list_header() -> tuple[str, ...]:
    """The names of the columns."""
    return "adversary", "knows", "δ"


def list_rows(risks: ListRisks) -> list[tuple[str, str, str]]:
    """One line an adversary, with cells as `list_header` names them."""
    told = "not told" if risks.worst is None else at_most(risks.worst)
    worst = ("worst case", "all other records", told)
    if risks.outsider is None:
        return [worst, (_OUTSIDER, "no record", "not told")]
    given = risks.outsider.given
    knows = "no record" if given == 0 else f"the {percent(Decimal(f'{given:.2e}'))} in small groups"
    return [
        worst,
        (_OUTSIDER, knows, at_most(risks.outsider.delta)),
        (_LED, knows, at_most(risks.outsider.led)),
    ]


def list_cautions(risks: ListRisks) -> list[tuple[str, str]]:
    """What the figures mean, and what they do not promise."""
    charged = ("charged", "the ledger charges the worst case, whatever an outsider learns")
    if risks.outsider is None:
        return [(_OUTSIDER, f"{risks.why}: rely on the worst case"), charged]
    rule = f"“{_OUTSIDER}” only against one who knows no record, if the rates are right"
    led = "also where an answer led to the next question, if the atoms were fixed before the first"
    found = [("holds for", f"{rule} and no answer led to a question"), (_LED, led)]
    if risks.outsider.given > 0:
        small = (
            f"a group that the questions part off is expected to hold fewer than "
            f"{risks.outsider.least:g} records: whoever may be in it has the worst case"
        )
        found.append(("small groups", small))
    return [*found, charged]
