"""Tables that the ledger keeps, as they were published."""
