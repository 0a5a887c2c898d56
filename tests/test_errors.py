import re

from noisycount import errors
from noisycount.errors import NoisyCountError


def subclasses(error: type[NoisyCountError], depth: int = 0) -> list[tuple[int, str]]:
    """Return each error below another with its depth, in the order of their definitions."""
    below = [(depth, error.__name__)]
    for one in error.__subclasses__():
        if one.__module__ == errors.__name__:
            below += subclasses(one, depth + 1)
    return below


def test_the_module_opens_with_the_tree_of_all_errors() -> None:
    """Every error stands below the one that it is a kind of."""
    lines = re.findall(r"^    ([│├└─ ]*)(\w+(?:Error))\b", errors.__doc__ or "", re.MULTILINE)
    assert [(len(branches) // 4, name) for branches, name in lines] == subclasses(NoisyCountError)
