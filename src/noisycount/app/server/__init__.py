"""The service: one process at one ledger, for a team."""
