"""Tables of counts: levels and margins, trees, the prior of cells, and least-squares combination of noisy answers.

Start with `levels`; `tree` has nested levels, `combined` the estimates.
"""
