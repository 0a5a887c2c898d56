"""A diagnosis in words."""

from noisycount.app.doctor.diagnosis import Diagnosis
from noisycount.app.terminal.printing import Facts, seen_from_here
from noisycount.shown.numbers import signed

__all__ = ["DIFFERENCE_HEADER", "diagnosis_facts", "difference_rows", "verdict"]

DIFFERENCE_HEADER = ("made-up records", "question", "should be", "is")


def verdict(diagnosis: Diagnosis) -> str:
    """What follows from it."""
    identity = diagnosis.examination.identity
    if diagnosis.certificate is None:
        return f"{identity} gave wrong answers: it gets no certificate, and is not counted"
    return f"certificate: {identity} gave every answer as it is by definition"


def diagnosis_facts(diagnosis: Diagnosis) -> Facts:
    """What was tested, and how."""
    examination, identity = diagnosis.examination, diagnosis.examination.identity
    facts = [
        ("server", diagnosis.place or "this machine"),
        ("engine", identity.engine),
        ("version", identity.version),
        ("collation", identity.collation),
        ("suite", examination.suite),
        ("answers compared", signed(examination.answers)),
        ("differences", signed(len(examination.differences))),
        ("not held, so not asked", "; ".join(examination.unheld) or "nothing"),
    ]
    if diagnosis.certificate is not None:
        facts.insert(4, ("date (UTC)", diagnosis.certificate.date))
        where = "nowhere, as there is no folder for it"
        kept = where if diagnosis.file is None else seen_from_here(diagnosis.file)
        facts.append(("kept in", kept))
    return facts


def difference_rows(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """One line a difference, with cells as `DIFFERENCE_HEADER` names them."""
    return [
        (each.records, each.question, _number(each.expected), _number(each.found))
        for each in diagnosis.examination.differences
    ]


def _number(count: int | None) -> str:
    return "nothing" if count is None else signed(count)
