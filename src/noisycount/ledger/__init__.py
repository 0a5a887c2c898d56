"""Permanent record of questions, their prices and their answers.

The package holds the ledger with its hash chain, the privacy budgets, and the charges for more accurate answers.
"""
