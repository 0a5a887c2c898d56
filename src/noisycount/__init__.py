"""Private counts: count, add exact noise, keep the budget, and say what the answer means."""
