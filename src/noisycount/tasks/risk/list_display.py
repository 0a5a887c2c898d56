"""What all answers of a ledger show together: in words that are true, as JSON, and printed."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

from noisycount.display.numbers import approximately, at_most, percent
from noisycount.display.output import print_facts, print_json, print_table
from noisycount.tasks.answer_display import loss_object
from noisycount.tasks.ledger import number_of
from noisycount.tasks.risk.lists import AnswersSoFar, ListRisks, OutsiderRisk
from noisycount.validation import exact_text

_WORST = "worst case"
_OUTSIDER, _PARTLY = "outsider", "partly informed"
_LED_BY = "led by answers"
_LED = f"{_OUTSIDER}, {_LED_BY}"
_GROUP = "worst case, group"
_CHARGED = "the ledger charges the worst case, whatever an outsider learns"


def list_facts(risks: ListRisks) -> list[tuple[str, str]]:
    """What differs, and what was asked and paid."""
    asked = risks.asked
    told = f"δ at ε = {approximately(risks.epsilon)}"
    numbers = ", ".join(f"{delta} {name}" for name, _, delta in list_rows(risks))
    return [
        ("reveals", f"{told}: {numbers}"),
        ("list", f"{_list_words(asked)}, {asked.dataset}"),
        *[(str(place), words) for place, words in enumerate(asked.questions, start=1)],
        *[("table", f"{table.words}, {table.price.text}") for table in asked.tables],
        *([] if asked.paid.is_told_as_paid else [("paid", f"{asked.paid.loss.text} together")]),
        ("asked", told),
    ]


def list_header() -> tuple[str, ...]:
    """The names of the columns."""
    return "adversary", "knows", "δ"


def list_rows(risks: ListRisks) -> list[tuple[str, str, str]]:
    """One line an adversary of whom something is told, with cells as `list_header` names them."""
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


def list_cautions(risks: ListRisks) -> list[tuple[str, str]]:
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


def list_object(risks: ListRisks) -> dict[str, Any]:
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
        "asked_tables": [{"question": table.words, "price": loss_object(table.price)} for table in asked.tables],
        "paid": loss_object(asked.paid.loss),
        "replaced": loss_object(asked.paid.replaced),
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
        "cautions": dict(list_cautions(risks)),
    }


def tell_list(risks: ListRisks, *, as_json: bool) -> None:
    """For people, or as JSON."""
    if as_json:
        print_json(list_object(risks))
        return
    print_facts(list_facts(risks))
    print_table(list_header(), list_rows(risks))
    print_facts(list_cautions(risks))
