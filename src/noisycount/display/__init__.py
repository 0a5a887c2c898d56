"""Output for people and programs: number and text formats, terminal output, notebook tables, plain data.

Start with `numbers` for the rounding rules and `values` for the base class of all results.
"""
