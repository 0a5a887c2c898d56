"""Noise that is added to a count, one kind a file.

Start with `additive`, which has the base classes; `catalogue` lists the kinds, and `noise_sum` adds several of them.
"""
