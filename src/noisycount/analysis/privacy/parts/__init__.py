"""Questions that are answered on random samples of the records, each on its own."""
