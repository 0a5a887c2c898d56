"""Parsing of what people type, send or write in forms.

`values` parses single texts, `options` defines the options that several commands share, `assumption` holds assumptions
about a count. Start with `values`.
"""
