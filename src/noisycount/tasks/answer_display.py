"""Text of an answer on the command line: a count or a table, published or previewed.

The other tasks and the web pages use the same phrases for prices, budgets, errors and noise.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from noisycount.display import output
from noisycount.display.numbers import approximately, percent, plus_minus, probability_bound, scale_text, signed
from noisycount.display.texts import OTHER_KEYS, redacted_name
from noisycount.ledger.budget import Budget, NeighbourRelation
from noisycount.ledger.entries import ANALYST, Analyst
from noisycount.ledger.price import TablePrice
from noisycount.model.tables.levels import RANGES, TOTAL
from noisycount.release.dataset import next_words
from noisycount.release.goal import Stopping
from noisycount.release.noise_plan import TablePlan
from noisycount.release.table_release import TableRelease
from noisycount.tasks.answer import Answer
from noisycount.validation import exact_text

NEIGHBOURS = {NeighbourRelation.ADD_REMOVE: "adding or removing", NeighbourRelation.REPLACEMENT: "replacement"}


def count_facts(answer: Answer) -> output.Facts:
    """Return the facts of a count: its answer, error, noise, privacy loss, price and hints; or those of its preview."""
    plan, sure = answer.count_plan, f"with {percent(answer.confidence)} confidence"
    near = plus_minus(answer.error)
    if answer.release is None:
        told = [("answer", f"would be within {_promised(answer, near)} of the true count {sure}")]
    else:
        told = [
            ("answer", f"{signed(answer.count.answer)} {near}{_bound(answer)}"),
            ("", f"{sure} the true count lies that near{_nearness(answer)}"),
        ]
    scale = approximately(plan.mechanism.scale)
    more, most = ("", "") if answer.release is not None or plan.goal is None else (" or more", "at most ")
    return [
        ("question", plan.words),
        ("data set", _counted_words(answer.dataset_name, answer.unit)),
        *told,
        *(("", words) for words in _unreadable_words(answer.unreadable_as_missing)),
        ("noise", f"{plan.mechanism.name}, scale {scale}{more}"),
        ("privacy", f"{most}ε = {exact_text(plan.epsilon)}: {answer.odds}"),
        *_total(answer),
        *_payment(answer),
        *(("hint", hint) for hint in answer.hints),
    ]


def _promised(answer: Answer, near: str) -> str:
    """Return the error that a preview of a count promises; `near` is the largest error as text."""
    goal = answer.plan.goal
    if goal is None:
        return near
    share, most = percent(float(goal.within)), exact_text(goal.at_most)
    return f"±{share}, or {near} where that costs more than ε = {most},"


def _nearness(answer: Answer) -> str:
    """Return whether a count meets its accuracy goal, in words; empty if its price was fixed."""
    if answer.count.within is None:
        return ""
    share = f"±{percent(float(answer.count.within))} of it"
    return f": within {share}" if answer.count.is_near else f"; {share} would cost more"


def _payment(answer: Answer) -> output.Facts:
    remaining = remaining_words(answer.remains.remaining, answer.dataset.budget, answer.analyst)
    if answer.release is None:
        return [("price", _price(answer)), ("budget", f"charged nothing: this was a dry run; {remaining}")]
    return [("budget", f"charged {paid_words(answer)}; {remaining}"), ("ledger", ledger_words(answer.ledger))]


def _total(answer: Answer) -> output.Facts:
    """Return the running total of the data set as a fact; empty if this is its only answer."""
    return [("", answer.total_words)] if answer.total_words else []


def paid_words(answer: Answer) -> str:
    """Return the charge of a published answer in words, with the total price if it was topped up or is a repeat."""
    assert answer.release is not None  # noqa: S101 - a preview is charged nothing
    release, in_all = answer.release, answer.plan.loss.text
    if release.repeated:
        is_better = f"the best answer known is given, of {in_all}"
        return f"nothing: {is_better if _is_better(answer) else 'this was asked before'}"
    charged = release.charge_text
    told = charged if answer.analyst.name == ANALYST else f"{charged} to {answer.analyst.name}"
    if isinstance(release, TableRelease) and release.parts:
        return f"{told}: a draw of its own, which is combined with what was known to {in_all}"
    return f"{told}: it tops up an earlier answer to {in_all}" if release.replaces else told


def _is_better(answer: Answer) -> bool:
    """Return True if the answer has a higher price than its query. False if the query states no price."""
    query, loss = answer.query, answer.plan.loss
    if query.epsilon is None and query.rho is None:
        return False
    is_hidden = answer.plan.noise.threshold is not None
    asked = TablePrice.of(query.noise_class, query.epsilon, query.rho, query.delta, is_hidden=is_hidden).loss
    return asked.rho < loss.rho


def ledger_words(file: Path | None) -> str:
    """Return the name of the ledger file without its folder, or "on a server" if there is no file."""
    return "on a server" if file is None else redacted_name(file)


def _price(answer: Answer) -> str:
    """Return the charge that a preview predicts, or the reason why the question would be refused."""
    if answer.repeated:
        return "nothing: this was asked before, and is answered free of charge"
    if not answer.affordable:
        why = answer.obstacle
        return f"it would be refused: {why}" if why else f"{answer.cost_text} exceeds what is left: it would be refused"
    is_open = answer.plan.goal is not None
    known = "" if answer.known_words is None else f": {answer.known_words}"
    if known and not is_open and not answer.query.is_table:
        known += f", which becomes {plus_minus(answer.error)}"
    return f"{'at most ' * is_open}{answer.cost_text} would be charged{known}{_by_counts(answer)}"


def _by_counts(answer: Answer) -> str:
    """Return the mean prices, in ε, for some counts if the query has an accuracy goal; else an empty text."""
    plan = answer.plan
    if plan.goal is None:
        return ""
    from noisycount.tasks.open_plan import average_prices  # noqa: PLC0415 - only accuracy goals need it

    stopping = Stopping(plan.goal, plan.noise, answer.known)
    decisive, paid = plan.noise.levels[stopping.place], 0.0 if answer.known is None else float(stopping.prices[0])
    unit = float(decisive.sensitivity / decisive.share)  # price of the table per ε of one count
    prices = [
        f"{max(0.0, round(unit * mean - paid, 9)):.2g} for {signed(count)}"
        for count, mean in average_prices(stopping.rule)
    ]
    which = "a count of" if not plan.goal.of else "a count that decides of"
    return f"; on average {prices[0].replace('for', f'for {which}')}, {', '.join(prices[1:])}"


def _unreadable_words(columns: Sequence[str]) -> Iterator[str]:
    """Yield a sentence that names the columns whose unreadable values count as missing, if there are any."""
    if columns:
        yield f"cells of {' and '.join(columns)} that could not be read count as missing"


def _bound(answer: Answer) -> str:
    """Return the bound that remains if the interval extends below 0 or above the public size; else an empty text."""
    low, high = answer.interval
    if answer.count.answer < answer.error:
        return f", so at most {signed(high)}"
    size = answer.dataset.size
    is_cut = size is not None and answer.count.answer + answer.error > size
    return f", so at least {signed(low)}" if is_cut else ""


def _counted_words(dataset: str, unit: str | None) -> str:
    """Return the name of the data set and its privacy unit: rows, or distinct values of a column."""
    by = f"distinct values of {unit}" if unit else "rows"
    return f"{redacted_name(dataset)}, counting {by}"


def remaining_words(largest: Fraction, budget: Budget, analyst: Analyst = Analyst()) -> str:  # noqa: B008 - frozen
    """Return the remaining budget in words, with the budgets that limit it.

    Args:
        largest: The largest ε of one more answer.
        budget: The budget of the data set.
        analyst: The analyst, who may have a budget too.
    """
    own = analyst.budget
    if own is None and budget.is_a_sum:
        return f"{approximately(largest)} of {budget.text} left"
    budgets = budget.text if own is None else f"{budget.text}, and {analyst.name}'s own {own.text}"
    return f"{next_words(largest)} (budget {budgets})"


NEAR = "*"  # marks a count that meets the accuracy goal
_MANY = 7  # number of levels from which on a range is shown, not a number for each level


def print_answer(answer: Answer, files: Sequence[Path] = ()) -> None:
    """Print an answer or its preview, and the names of the files that were written."""
    if not answer.query.is_table:
        output.print_facts(count_facts(answer))
    elif answer.release is None:
        output.print_facts(table_head(answer))
        output.print_table(*level_rows(answer.noise, answer.confidence))
        output.print_facts(preview_facts(answer))
    else:
        _print_table(answer, files)


def _print_table(answer: Answer, files: Sequence[Path]) -> None:
    release = answer.table
    output.print_facts(table_head(answer))
    counts = _told(release)
    places = output.shown_places(counts)
    if places:
        output.print_rows(*_lines(release, places), counts)
    else:
        output.print_text("no key is shown: none reached the threshold")
    output.print_facts([*_table_facts(answer, len(places)), *output.file_facts(*files)])


def preview_facts(answer: Answer) -> output.Facts:
    """Return the facts of the preview of a table: error, noise, keys, privacy loss, price, budget and hints."""
    plan = answer.noise
    more, most = ("", "") if answer.plan.goal is None else (" or more", "at most ")
    remaining = remaining_words(answer.remains.remaining, answer.dataset.budget, answer.analyst)
    return [
        ("error", table_promise(answer)),
        ("noise", f"{noise_words(plan)}{more}"),
        *_keys(plan, answer.confidence, answer.unit),
        *_groups(plan, answer.unit),
        *_sums(plan, has_other=answer.query.other),
        ("privacy", f"{most}{plan.loss.text}: {answer.odds}"),
        *_total(answer),
        ("price", _price(answer)),
        ("budget", f"charged nothing: this was a dry run; {remaining}"),
        *(("hint", hint) for hint in answer.hints),
    ]


def table_promise(answer: Answer) -> str:
    """Return the accuracy that the preview of a table promises."""
    plan, sure = answer.plan, percent(answer.confidence)
    if plan.goal is None or answer.repeated:
        return f"each count would lie that near to the true one with {sure} confidence"
    share, which = percent(float(plan.goal.within)), Stopping(plan.goal, plan.noise).words
    return (
        f"{which} would be within ±{share} of the true count with {sure} confidence; where that costs more than"
        f" ε = {exact_text(plan.goal.at_most)}, each count as near as the table says"
    )


def table_nearness(release: TableRelease) -> str:
    """Return how many counts meet the accuracy goal, in words; empty if the price was fixed."""
    if release.within is None:
        return ""
    share, number = percent(float(release.within)), sum(int(of.sum()) for of in release.near)
    told = f"{number:,} of {len(release):,}, marked {NEAR}, within ±{share} of the true count"
    return told if release.is_near else f"{told}: more would cost more than {release.price.text}"


def table_head(answer: Answer) -> output.Facts:
    """Return the facts that head a table: question, data set, and the columns with unreadable values."""
    plan = answer.plan
    where = f"{len(plan.predicates):,} questions" if answer.query.by is None else plan.words
    return [
        ("question", where),
        ("data set", _counted_words(answer.dataset_name, answer.unit)),
        *(("", words) for words in _unreadable_words(answer.unreadable_as_missing)),
    ]


def _told(release: TableRelease) -> int:
    has_sums = release.is_cumulative and release.is_additive
    return len(release.answers[0]) if has_sums else len(release)


def _lines(release: TableRelease, places: list[int]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the header of a table, and the cells of the rows at `places` with their numbers aligned."""
    rows = list(shown_rows(release, places))
    header = [*release.labels.names, f"answer ({percent(release.confidence)})"]
    answers = output.padded([signed(row[1]) for row in rows])
    errors = output.padded([plus_minus(row[2]) for row in rows])
    if release.near:
        marks = [NEAR if release.near[level][node] else " " for *_, (level, node) in rows]
        errors = [f"{error} {mark}" for error, mark in zip(errors, marks, strict=True)]
    columns = [[f"{answer} {error}" for answer, error in zip(answers, errors, strict=True)]]
    if sums := sums_so_far(release):
        header.append("sum so far")
        columns.append(output.padded([estimate_words(*sums[place]) for place in places]))
    elif release.combined is not None and release.standard_errors is not None:
        header.append("combined")
        best = [(release.combined[level][node], release.standard_errors[level][node]) for *_, (level, node) in rows]
        columns.append(output.padded([estimate_words(float(value), float(error)) for value, error in best]))
    return header, [(*row[0], *numbers) for row, numbers in zip(rows, zip(*columns, strict=True), strict=True)]


SUM_NAMES = ("sum_so_far", "sum_so_far_standard_error")
SUM_WORDS = "“sum so far” is the least squares estimate from all ranges, with its standard error"


def sums_so_far(release: TableRelease) -> list[tuple[float, float]]:
    """Return for each cell of a cumulative table the sum of the cells up to it, and its standard error.

    Return [] for any other table.
    """
    if release.cumulative is None or release.cumulative_errors is None:
        return []
    return list(zip(release.cumulative.tolist(), release.cumulative_errors.tolist(), strict=True))


def shown_rows(
    release: TableRelease, places: Iterable[int]
) -> Iterator[tuple[tuple[str, ...], int, int, tuple[int, int]]]:
    """Yield the rows at `places`: the texts of the keys, the answer, its error, and (level, node)."""
    for level, node in map(release.place, places):
        keys = release.labels.texts(release.levels[level], node)
        yield keys, int(release.answers[level][node]), release.error_at(level, node), (level, node)


def estimate_words(value: float, error: float) -> str:
    """Return an estimate and its standard error in words."""
    return f"{signed(value, 1)} (s.e. {f'{error:#.3g}'.rstrip('.')})"


def _table_facts(answer: Answer, shown: int) -> output.Facts:
    """Return the facts below a published table: error, noise, keys, privacy loss, charge, ledger and hints."""
    release, plan = answer.table, answer.noise
    remaining = remaining_words(release.remaining, answer.dataset.budget, answer.analyst)
    rows = _told(release)
    left_out = f"{rows:,}, of which {rows - shown:,} are not shown: --output FILE writes all"
    return [
        *([("rows", left_out)] if rows > shown else []),
        ("error", certainty_words(release.confidence, len(release), _errors_of_levels(release))),
        *([("near", table_nearness(release))] if release.near else []),
        *_combined(release),
        ("noise", noise_words(plan)),
        *([("draws", draws_words(len(release.parts)))] if release.parts else []),
        *_keys(plan, answer.confidence, answer.unit),
        *_groups(plan, answer.unit),
        *_sums(plan, has_other=release.has_other),
        ("privacy", f"{release.price.text} for the whole table: {answer.odds}"),
        *_total(answer),
        ("budget", f"charged {paid_words(answer)}; {remaining}"),
        ("ledger", ledger_words(answer.ledger)),
        *(("hint", hint) for hint in answer.hints),
    ]


def certainty_words(confidence: float, counts: int, errors_of_all: Mapping[str, int]) -> str:
    """Return the meaning of the errors of a table: for each count, and for all counts at once.

    Args:
        confidence: The confidence of the errors.
        counts: The number of counts.
        errors_of_all: For each level, the largest error of its counts if all counts of the table hold at once. Empty if
            the errors are not known.

    Example:
        >>> certainty_words(0.95, 500, {"town": 37}).partition(": ")[2]
        'about 25 of 500 may lie outside; all 500 within ±37 at once'
    """
    words = f"with {percent(confidence)} confidence each true count lies that near"
    outside = (1 - confidence) * counts
    if outside >= 1:
        words += f": about {round(outside):,} of {counts:,} may lie outside"
    widths = {name: plus_minus(error) for name, error in errors_of_all.items()}
    if counts == 1 or not widths:
        return words
    if len(set(widths.values())) == 1:
        return f"{words}; all {counts:,} within {next(iter(widths.values()))} at once"
    if len(widths) >= _MANY:
        least, most = min(errors_of_all.values()), max(errors_of_all.values())
        return f"{words}; all {counts:,} within ±{least:,} to ±{most:,} at once"
    named = ", ".join(f"{width} ({name})" for name, width in widths.items())
    return f"{words}; all {counts:,} at once within {named}"


def draws_words(number: int) -> str:
    """Return a sentence that explains an answer that combines `number` independent draws."""
    return (
        f"each answer is the whole number nearest to the mean of {number} independent draws, weighted by their"
        " precisions: use it in place of the earlier answers, not beside them"
    )


def _combined(release: TableRelease) -> Iterator[tuple[str, str]]:
    """Yield a sentence that explains the estimates beside the answers, if there are any."""
    if release.standard_errors is None:
        return
    if release.is_cumulative:
        yield "sums", SUM_WORDS
    else:
        yield "combined", "the least squares estimates from all levels, which add up, with their standard errors"


def _errors_of_levels(release: TableRelease) -> dict[str, int]:
    """Return for each level the error that holds for all counts of the table at once."""
    return dict(zip([level.name for level in release.levels], release.errors_of_all, strict=True))


def _keys(plan: TablePlan, confidence: float, unit: str | None) -> Iterator[tuple[str, str]]:
    """Yield a sentence that explains which hidden keys are shown, if the table has hidden keys."""
    if plan.threshold is not None:
        surely, chance = plan.surely_shown(confidence), plan.price.threshold_delta
        yield "keys", hidden_key_words(plan.threshold, chance, surely, unit, confidence)


def hidden_key_words(
    threshold: int, chance: Fraction | None, surely: int | None, unit: str | None, confidence: float
) -> str:
    """Return a sentence that explains which hidden keys are shown.

    Args:
        threshold: The smallest noisy count of a key that is shown.
        chance: Largest probability that a key of a single unit is shown; None if it is not known.
        surely: The smallest count whose key is shown with the confidence. None if an earlier, coarser answer decided
            which keys are shown.
        unit: The column that identifies a person; None if rows are counted.
        confidence: The confidence.
    """
    if surely is None:
        return f"those that the first, coarser answer showed, from a noisy count of {threshold:,} on"
    many, one = ("rows", "row") if unit is None else ("persons", "person")
    single = (
        "" if chance is None else f" one of a single {one} with a probability of {probability_bound(chance)} at most,"
    )
    return (
        f"shown from a noisy count of {threshold:,} on:{single} one of {surely:,} {many} with"
        f" {percent(confidence)} at least"
    )


def _groups(plan: TablePlan, unit: str | None) -> Iterator[tuple[str, str]]:
    """Yield the contribution bound in words, if persons are counted and their number of groups is bounded."""
    if unit is not None and plan.groups is not None:
        kept = "one of them" if plan.groups == 1 else f"{plan.groups:,} of them at most"
        yield "groups", f"a person in several groups counts in {kept}, always the same"


def _sums(plan: TablePlan, *, has_other: bool) -> Iterator[tuple[str, str]]:
    """Yield sentences that explain which records the sums and the row of all other keys include."""
    names = [one.name for one in plan.levels[1:] if not one.name.startswith(RANGES)]
    is_whole = TOTAL in names and (has_other or plan.threshold is not None)
    told = [f"the {TOTAL} is of all that match"] * is_whole
    if len(names) > is_whole:
        told.append(f"{'the others' if told else 'they'} are of the listed keys alone")
    if told:
        yield "sums", "; ".join(told)
    if has_other:
        yield "other", f"{OTHER_KEYS} is whoever is in no other row, missing keys too"


def errors_of_all(plan: TablePlan, confidence: float, counts: int | None = None) -> Sequence[int | None]:
    """Return for each level the error that holds for all counts at once; None if the number of counts is not known."""
    if plan.size is None and counts is None:
        return [None] * len(plan.levels)
    return plan.errors_of_all(confidence, counts)


def level_rows(plan: TablePlan, confidence: float, of_noise: str = "") -> output.Table:
    """Return a table with a row for each level: number of counts, error of each, error of all, share of the price."""
    each = f"{of_noise}each ({percent(confidence)})"
    header = ("counts by", "how many", each, "all at once", "share")
    rows = [
        (
            level.name,
            "hidden" if level.size is None else f"{level.size:,}",
            plus_minus(level.error(confidence)),
            "" if error is None else plus_minus(error),
            percent(float(f"{float(level.share):.3g}")),
        )
        for level, error in zip(plan.levels, errors_of_all(plan, confidence), strict=True)
    ]
    return header, rows


def noise_words(plan: TablePlan) -> str:
    """Return the name of the noise and its scale on each level; for many levels, the smallest and the largest scale."""
    name, scales = plan.levels[0].mechanism.name, [level.mechanism.exact_scale for level in plan.levels]
    if len(scales) == 1:
        return f"{name}, scale {scale_text(scales[0])}"
    if len(scales) >= _MANY:
        return f"{name}, scale {scale_text(min(scales))} to {scale_text(max(scales))} over {len(scales)} levels"
    each = (f"{scale_text(scale)} for {level.name}" for level, scale in zip(plan.levels, scales, strict=True))
    return f"{name}, scale {', '.join(each)}"
