"""One process at one ledger: an API for programs, pages for people."""
