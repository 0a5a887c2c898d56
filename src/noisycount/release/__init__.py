"""Publication of answers: from a query to a noisy answer that is charged and stored in the ledger.

`desk` answers a query: `table_plan` gives it its meaning and price, `drawing` counts with noise, and `publishing`
builds the result. `records` opens the records of a data set.
"""
