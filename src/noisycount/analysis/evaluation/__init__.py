"""How good an estimator is on average."""
