"""Rules about the parts of a query that go together. All interfaces share them, so that a query has one meaning.

`check_query` raises `QueryError` with the names of the parts; each interface writes these names in its own way. The
modules `query`, `grouping` and `table` check each part alone.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from noisycount.errors import QueryError
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import TOTAL
from noisycount.query.query import TABLE_NOISES, Query
from noisycount.query.typed import ColumnGrouping, parse_scope
from noisycount.validation import open_probability

Rules = Iterator[tuple[bool, str]]  # a condition that must not hold, and the error if it holds


def check_query(query: Query, columns: Sequence[str] | None = None, *, has_hidden_keys: bool | None = None) -> None:
    """Raise QueryError if parts of a query do not go together.

    A command calls it before it reads a file, and `plan_of` calls it again once the columns are known.

    Args:
        query: The query.
        columns: The columns by which a table groups; None: the columns that `by` names.
        has_hidden_keys: True if the keys of the table are hidden, and found in the records; None: unknown, since it
            depends on the columns. The next call then checks the rules about hidden keys.
    """
    if columns is None:
        columns = [item.column for item in query.by or () if isinstance(item, ColumnGrouping)]
    if query.delta is None or query.keys is not None:
        has_hidden_keys = False
    rules = [_rules_of_kind(query), _rules_of_price(query)]
    if query.noise is DiscreteGaussian or query.rho is not None:
        rules.append(_rules_of_gaussian_noise(query))
    if query.at_most is not None or query.of is not None:
        rules.append(_rules_of_goal(query, columns))
    if query.by is not None:
        rules.append(_rules_of_cells(query, columns))
    if query.delta is not None and has_hidden_keys is not None:
        rules.append(_rules_of_keys(query, columns, has_hidden_keys=has_hidden_keys))
    _check_rule(rules)
    open_probability(query.confidence, "confidence")


def check_unit(query: Query, unit: str | None, *, has_hidden_keys: bool) -> None:
    """Raise QueryError if a table by keys does not suit the privacy unit.

    Args:
        query: The query.
        unit: The column that names the person; None: each row is a privacy unit.
        has_hidden_keys: True if the keys of the table are hidden, and found in the records.
    """
    _check_rule([_rules_of_unit(query, unit, has_hidden_keys=has_hidden_keys)])


def _check_rule(rules: Sequence[Rules]) -> None:
    for is_broken, sentence in chain.from_iterable(rules):
        if is_broken:
            raise QueryError(sentence)


def _rules_of_kind(query: Query) -> Rules:
    """Yield the rules of a single count, of several counts and of a table by keys."""
    is_several = query.is_list or len(query.wheres) > 1
    yield query.by is not None and is_several, "give {by} with one {wheres}, or several {wheres} without {by}"
    grouped = {name: bool(getattr(query, name)) for name in ("other", "margins", "groups_per_unit", "cumulative")}
    for name, is_given in {"keys": query.keys is not None, **grouped}.items():
        yield is_given and query.by is None, f"{{{name}}} belongs to a table: add {{by}}"
    for name in ("noise", "rho", "delta"):
        is_wrong = getattr(query, name) is not None and not query.is_table
        yield is_wrong, f"{{{name}}} belongs to a table: add {{by}}, or several {{wheres}}"


def _rules_of_price(query: Query) -> Rules:
    """Yield the rules of the price, which is stated or follows from an accuracy."""
    is_noise = query.noise is None or query.noise in TABLE_NOISES.values()
    yield not is_noise, "{noise} must be DiscreteLaplace or DiscreteGaussian, the class"
    is_wrong = query.noise is DiscreteLaplace and query.rho is not None
    yield is_wrong, "{rho} is the price of Gaussian noise: choose {noise:gaussian}, or give {epsilon}"
    given = [f"{{{name}}}" for name in ("epsilon", "rho", "within", "error") if getattr(query, name) is not None]
    choices = "{epsilon}, or {within} with {at_most} or {guess}, such as {within:20%} and {at_most:0.5}"
    yield len(given) != 1, f"give one price: {choices}; got {' and '.join(given) or 'none'}"
    is_half = query.within is not None and (query.guess is None) == (query.at_most is None)
    yield is_half, "{within} needs either {at_most} or a public {guess}: {within:20%} and {at_most:0.5}"
    for name in ("guess", "at_most"):
        is_alone = getattr(query, name) is not None and query.within is None
        yield is_alone, f"{{{name}}} belongs to {{within}}: leave it out"


def _rules_of_gaussian_noise(query: Query) -> Rules:
    """Yield the rules of Gaussian noise."""
    is_wrong = query.epsilon is not None and query.delta is None
    yield is_wrong, "Gaussian noise needs {rho}, or {epsilon} with {delta:1e-6}"
    is_wrong = query.epsilon is None and query.rho is None and query.delta is not None
    yield is_wrong, "{within} finds the price of Gaussian noise in ρ: leave {delta} out"


def _rules_of_goal(query: Query, columns: Sequence[str]) -> Rules:
    """Yield the rules of an accuracy goal without a fixed price."""
    is_open, is_grouped = query.at_most is not None, query.by is not None
    is_wrong = query.of is not None and not (is_open and is_grouped)
    yield is_wrong, "{of} belongs to a table with {by}, {within} and {at_most}: leave it out"
    choices = "{of:largest}, {of:total} or {of:90%-of-cells}"
    yield is_open and is_grouped and query.of is None, f"{{of}} is missing: state which counts are meant, {choices}"
    for name, is_wrong in (
        ("rho", query.rho is not None),
        ("noise", query.noise_class is not DiscreteLaplace),
        ("delta", query.delta is not None),
    ):
        words = f"{{{name}}} does not go with {{at_most}}, which is for Laplace noise and known keys: leave it out"
        yield is_open and is_wrong, words
    yield is_open and query.cumulative, "{at_most} knows no sums of ranges: leave {cumulative} out, or give {epsilon}"
    if query.of is not None:
        try:
            decisive = parse_scope(query.of)
        except ValueError as error:
            raise QueryError("{of} {why}", why=str(error)) from None
        has_total = TOTAL not in columns and any(margin in {TOTAL, "all", ()} for margin in _margins_of_query(query))
        words = "{of:total} needs the total as an answer of its own: add {margins:total}, where no column has that name"
        yield decisive == TOTAL and not has_total, words


def _rules_of_cells(query: Query, columns: Sequence[str]) -> Rules:
    """Yield the rules of the cells and sums of a table by keys."""
    yield query.cumulative and len(columns) > 1, "{cumulative} needs one column in order: leave the others out of {by}"
    for name in ("margins", "other"):
        is_wrong = query.cumulative and bool(getattr(query, name))
        yield is_wrong, f"{{cumulative}} measures all sums of ranges: leave {{{name}}} out"
    groups = query.groups_per_unit
    is_bound = groups is None or (type(groups) is int and groups >= 1)
    yield not is_bound, f"{{groups_per_unit}} must be a whole number from 1, got {groups!r}"


def _rules_of_keys(query: Query, columns: Sequence[str], *, has_hidden_keys: bool) -> Rules:
    """Yield the rules of known keys, or of hidden keys."""
    if has_hidden_keys:
        for name in ("other", "cumulative"):
            yield bool(getattr(query, name)), f"{{{name}}} needs known keys: list {{keys}}, or leave it out"
        has_sums = any(
            margin not in {TOTAL, ()} and not (margin == "all" and len(columns) == 1)
            for margin in _margins_of_query(query)
        )
        yield has_sums, "with hidden keys {margins:total} is the only sum: leave the others out"
    else:
        yield query.rho is not None, "{delta} belongs to hidden keys, or to {epsilon}: leave it out"
        is_wrong = query.noise_class is DiscreteLaplace
        yield is_wrong, "{delta} is for hidden keys and Gaussian noise, and all keys are known: leave it out"


def _rules_of_unit(query: Query, unit: str | None, *, has_hidden_keys: bool) -> Rules:
    """Yield the rules of the contribution bound, the number of groups in which a person counts."""
    groups, is_person = query.groups_per_unit, unit is not None
    is_wrong = groups is not None and not is_person
    yield is_wrong, "{groups_per_unit} is for persons, and a row is in one group only: leave it out"
    words = "{groups_per_unit:1} where persons are counted: a person in several groups would be in a sum several times"
    yield is_person and query.cumulative and groups != 1, f"{{cumulative}} needs {words}"
    words = "state in how many hidden groups a person counts at most, such as {groups_per_unit:1}"
    yield is_person and has_hidden_keys and groups is None, f"{{groups_per_unit}} is missing: {words}"


def _margins_of_query(query: Query) -> list[str | tuple[str, ...]]:
    """Return the margins of a query, each as its name or as a tuple of columns."""
    margins = [query.margins] if isinstance(query.margins, str) else query.margins
    return [margin if isinstance(margin, str) else tuple(margin) for margin in margins]
