"""One private question of a real survey, from the plan to the picture."""
