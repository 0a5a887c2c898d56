"""Forms of a query in a ledger: the request that is charged, and the forms in which older ledgers hold it.

`ledger_forms` writes the JSON that `stored_question` reads without the records. `stored_answer` checks that a stored
answer has the form of a query.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from noisycount.engines.interface import Source
from noisycount.ledger.entries import Entry, Request, TableAnswer, asks_for_table
from noisycount.ledger.series import EDITION, FormerRequests
from noisycount.query.predicate import canonical_text
from noisycount.release.query_plan import CountPlan, ListPlan, QueryPlan
from noisycount.validation import exact_text

# Name of the data set, unit, versions (the present one first), edition, and True if the version is exact.
RecordsIdentity: TypeAlias = tuple[str, str | None, tuple[str, ...], str | None, bool]
# A request to a ledger, and the other forms in which the ledger may hold the same request.
Forms: TypeAlias = tuple[Request, Sequence[Request]]


def ledger_forms(plan: QueryPlan, dataset: str, source: Source) -> Forms:
    """Return the request of a query about records, and the former forms in which a ledger may hold it.

    Older ledgers hold a list of one condition as a table, a condition as the analyst wrote it, and the version of a
    file as its size and time. If such a ledger has answers both to a count and to a list of it, each query gets its
    own answer.
    """
    versions = (source.version, *source.former_versions)
    records: RecordsIdentity = dataset, source.unit, versions, source.edition, source.has_exact_version
    scales = [exact_text(level.mechanism.exact_scale) for level in plan.noise.levels]
    listed: dict[str, object] = {"table": plan.facts, "where": plan.where, "scales": scales}
    if not (isinstance(plan, ListPlan) and plan.equals_count):
        return _request_of_version(plan, records, listed), FormerRequests(
            lambda: _requests_of_versions(plan, records, [listed])
        )
    wordings = dict.fromkeys((plan.texts[0], canonical_text(plan.readings[0].asked)))
    counted = [{"where": text, "scale": scales[0]} for text in wordings]
    request, *reworded = [_request_of_version(plan, records, question) for question in counted]

    def build_formers() -> list[Request]:
        counts = _requests_of_versions(plan, records, counted)
        tables = _requests_of_versions(plan, records, [{**listed, "where": None}])
        return [*counts, *tables] if isinstance(plan, CountPlan) else [*tables, *counts]

    return request, FormerRequests(build_formers, reworded)


def _requests_of_versions(
    plan: QueryPlan, records: RecordsIdentity, questions: Sequence[Mapping[str, object]]
) -> list[Request]:
    """Return the request of each question for each version of the records, the present version first."""
    return [
        _request_of_version(plan, records, question, version)
        for version in _version_members(records)
        for question in questions
    ]


def _request_of_version(
    plan: QueryPlan,
    records: RecordsIdentity,
    question: Mapping[str, object],
    version: dict[str, str | None] | None = None,
) -> Request:
    """Return the request of a question for a version of the records; None: the present version."""
    price = plan.loss
    goal = {} if plan.goal is None else {"within": plan.goal.to_json()}
    shared = {"unit": records[1], "mechanism": plan.noise.levels[0].mechanism.name}
    text = json.dumps({**question, **goal, **shared, **(version or _version_members(records)[0])}, sort_keys=True)
    return Request(records[0], text, price.epsilon, price.rho if price.epsilon is None else None, price.delta)


def _version_members(records: RecordsIdentity) -> list[dict[str, str | None]]:
    """Return the members of a question that state the version of the records, the present version first."""
    _, _, versions, edition, is_exact = records
    members: list[dict[str, str | None]] = [{"version": version} for version in versions]
    if edition is not None or not is_exact:  # requests of older ledgers have no edition
        members.insert(0, {**members[0], EDITION: edition})
    return members


def stored_answer(plan: QueryPlan, entry: Entry) -> TableAnswer | None:
    """Return the stored answer of an entry; None if it has another form than the query.

    The form is the number of counts of each level, and the presence of keys for hidden keys. A list of one condition
    also takes the answer of a count.
    """
    answer, sizes = entry.answer, [level.size for level in plan.noise.levels]
    if isinstance(plan, ListPlan) and plan.equals_count and not asks_for_table(entry):
        return TableAnswer.from_levels([[answer]]) if isinstance(answer, int) else None
    if not isinstance(answer, TableAnswer) or len(sizes) != len(answer.levels):
        return None
    fits = all(size in {None, len(counts)} for size, counts in zip(sizes, answer.levels, strict=True))
    return answer if fits and (answer.keys is None) == (plan.noise.threshold is None) else None
