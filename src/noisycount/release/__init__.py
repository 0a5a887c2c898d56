"""Publication of answers: from a query to a noisy answer that is charged and stored in the ledger.

`desk` charges, counts and publishes, `query_plan` and `table_plan` give a query its noise and price, and `records`
opens the records of a data set.
"""
