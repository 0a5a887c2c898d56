"""Addresses in texts for people, without the passwords that they hold."""

import re

__all__ = ["without_passwords"]

_PASSWORD = re.compile(r"(?<=://)([^\s@:/'\"]*):[^'\"]*@")


def without_passwords(text: str) -> str:
    """A text of which no address tells a password, whatever is wrong with it.

    Example:
        >>> without_passwords("unexpected argument (postgresql://ward:secret@db/clinic#visits)")
        'unexpected argument (postgresql://ward:…@db/clinic#visits)'
    """
    return _PASSWORD.sub(r"\1:…@", text)
