"""Charts with sliders, and their numbers, that show the effect of noise on a count."""
