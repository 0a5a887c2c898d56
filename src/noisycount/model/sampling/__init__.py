"""Exact samplers of discrete noise from random integers.

`scalar` draws one number, `vectors` arrays; `inversion` is the fastest method for many draws.
"""
