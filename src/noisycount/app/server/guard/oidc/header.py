"""What the header of a token may say, whatever else a library would let it say."""

from collections.abc import Collection, Mapping

__all__ = ["is_of_login"]

_TYPES = {"jwt", "at+jwt", "application/at+jwt"}
_REFUSED = {"crit", "b64"}  # extensions of RFC 7515 and RFC 7797: none is understood here
_NESTED = "jwt"  # RFC 7519, section 5.2: a token in a token


def is_of_login(header: Mapping[str, object], algorithms: Collection[str]) -> bool:
    """Whether a header is that of a token that tells who comes, signed as the owner chose.

    Args:
        header: Of a token whose signature is not checked yet.
        algorithms: That the owner takes, all of them with a public key.
    """
    algorithm, kind = header.get("alg"), header.get("typ", "JWT")
    return (
        isinstance(algorithm, str)
        and algorithm in algorithms
        and isinstance(kind, str)
        and kind.lower() in _TYPES
        and str(header.get("cty", "")).lower() != _NESTED
        and _REFUSED.isdisjoint(header)
    )
