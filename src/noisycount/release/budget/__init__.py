"""Exact budgets, and what answers cost."""
