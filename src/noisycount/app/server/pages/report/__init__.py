"""The officer's report in a browser, and as files."""
