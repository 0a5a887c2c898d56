"""Naldi and D'Acquisto (2014): the Bayes estimator."""
