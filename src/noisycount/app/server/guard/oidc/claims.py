"""What the claims of a token must say, whatever a library makes of them.

Libraries differ: some take a list of issuers that holds the right one, or a time that is not a
number, with which every comparison is false, so that a token never ends.
"""

from collections.abc import Mapping

from noisycount.app.config.oidc import OidcConfig

__all__ = ["subject_of"]

_LEEWAY = 30  # seconds by which two clocks may differ
_LATEST = 253_402_300_800  # seconds: the year 10000; later is a slip (milliseconds), or no end


def subject_of(claims: Mapping[str, object], config: OidcConfig, now: float) -> str | None:
    """Who comes, of the claims of a token that is signed; None: it is for others, or is over.

    Args:
        claims: Of the token.
        config: Whose tokens are taken, and for whom.
        now: Seconds since 1970.
    """
    holds = _is_from(claims, config.issuer) and _is_for(claims, config.audience)
    if not (holds and _is_current(claims, now) and isinstance(claims.get("sub", ""), str)):
        return None
    if config.claim == "email" and claims.get("email_verified", True) is not True:
        return None  # OpenID Connect Core, section 5.1: anybody may have written it down
    subject = claims.get(config.claim)
    return subject if isinstance(subject, str) else None


def _is_from(claims: Mapping[str, object], issuer: str) -> bool:
    """Whether the issuer is this text, to the last character (RFC 7519, section 4.1.1)."""
    said = claims.get("iss")
    return isinstance(said, str) and said == issuer


def _is_for(claims: Mapping[str, object], audience: str) -> bool:
    """Whether the audience is this text, or a list of texts with it (RFC 7519, section 4.1.3)."""
    said = claims.get("aud")
    if isinstance(said, list):
        return all(isinstance(one, str) for one in said) and audience in said
    return isinstance(said, str) and said == audience


def _is_current(claims: Mapping[str, object], now: float) -> bool:
    """Whether a token ends, has not ended, has begun and was not made in the future."""
    ends = _time(claims.get("exp"))
    begins = [_time(claims[name]) for name in ("nbf", "iat") if name in claims]
    if ends is None or ends <= now - _LEEWAY:
        return False
    return all(begin is not None and begin <= now + _LEEWAY for begin in begins)


def _time(said: object) -> float | None:
    """Seconds since 1970; None: it is no such number, as NaN is in no interval."""
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    return said if 0 <= said < _LATEST else None
