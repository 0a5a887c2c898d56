"""One count that is answered several times."""
