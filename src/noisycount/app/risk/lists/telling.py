"""What all answers of a ledger show together, printed."""

from noisycount.app.risk.lists.risks import ListRisks
from noisycount.app.risk.lists.wire import list_object
from noisycount.app.risk.lists.words import list_cautions, list_facts, list_header, list_rows
from noisycount.app.terminal.printing import print_facts, print_json, print_table

__all__ = ["tell_list"]


def tell_list(risks: ListRisks, *, as_json: bool) -> None:
    """For people, or as JSON."""
    if as_json:
        print_json(list_object(risks))
        return
    print_facts(list_facts(risks))
    print_table(list_header(), list_rows(risks))
    print_facts(list_cautions(risks))
