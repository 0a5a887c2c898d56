"""The one counting statement, made of expressions of SQLAlchemy, with a dialect for each engine."""
