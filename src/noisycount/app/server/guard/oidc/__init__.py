"""Tokens of an issuer of OpenID Connect, as good as keys."""
