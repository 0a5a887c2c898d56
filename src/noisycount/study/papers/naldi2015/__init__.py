"""Naldi and D'Acquisto (2015): choosing ε."""
