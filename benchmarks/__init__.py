"""Speed, always beside a named rival that runs in turn with us; `make bench` runs it all."""
