"""The same question on made-up records: what an answer looks like, before one is paid for."""
