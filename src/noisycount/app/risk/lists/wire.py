"""What all answers of a ledger show together, as JSON."""

from typing import Any

from noisycount.app.risk.lists.risks import ListRisks
from noisycount.app.risk.lists.words import list_cautions
from noisycount.app.table.wire import loss_object
from noisycount.release.budget.exact import exact_text

__all__ = ["list_object"]


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
        "asked_tables": [
            {"question": table.words, "price": loss_object(table.price)} for table in asked.tables
        ],
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
