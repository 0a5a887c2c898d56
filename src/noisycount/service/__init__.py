"""The service: a process at one ledger, with an API for programs and pages for people."""
