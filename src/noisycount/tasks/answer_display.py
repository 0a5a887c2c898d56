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
from noisycount.query.grouping import are_person_values
from noisycount.release.dataset import next_price_words
from noisycount.release.goal import AccuracyGoal, StoppingSchedule
from noisycount.release.noise_plan import TablePlan
from noisycount.release.query_plan import GroupedPlan
from noisycount.release.results import Release
from noisycount.release.table_release import TableRelease
from noisycount.tasks.answer import Answer, PricedQuery, count_interval
from noisycount.tasks.preview import AnswerPreview
from noisycount.validation import exact_text

NEIGHBOURS = {NeighbourRelation.ADD_REMOVE: "adding or removing", NeighbourRelation.REPLACEMENT: "replacement"}


def query_facts(priced: PricedQuery) -> output.Facts:
    """Return the facts that head an answer or a preview: question, data set, and the columns with unreadable values."""
    is_list = priced.query.is_table and priced.query.by is None
    units = f"distinct values of {priced.unit}" if priced.unit else "rows"
    facts = [
        ("question", f"{len(priced.plan.predicates):,} questions" if is_list else priced.plan.words),
        ("data set", f"{redacted_name(priced.dataset_name)}, counting {units}"),
    ]
    if columns := " and ".join(priced.unreadable_as_missing):
        facts.append(("", f"cells of {columns} that could not be read count as missing"))
    return facts


def count_facts(answer: Answer, release: Release) -> output.Facts:
    """Return the facts of a published count: its answer, error, noise, privacy loss, price and hints."""
    goal = bound = ""
    if release.within is not None:
        share = f"±{percent(float(release.within))} of it"
        goal = f": {share}" if release.is_near else f"; {share} would cost more"
    size = answer.dataset.size
    low, high = count_interval(release, size)
    if release.answer < release.error:
        bound = f", so at most {signed(high)}"
    elif size is not None and release.answer + release.error > size:
        bound = f", so at least {signed(low)}"
    return [
        *query_facts(answer),
        ("answer", f"{signed(release.answer)} {plus_minus(release.error)}{bound}"),
        ("", f"with {percent(release.confidence)} confidence the true count is in this range{goal}"),
        ("noise", _count_noise(answer.noise)),
        *_privacy_facts(answer, answer.plan.loss.text),
        *_charge_facts(answer),
    ]


def _privacy_facts(priced: PricedQuery, price: str) -> output.Facts:
    """Return the odds at a price, and the running total of the data set unless this is its only answer."""
    return [("privacy", f"{price}: {priced.odds}"), *([("", priced.total_words)] if priced.total_words else [])]


def _charge_facts(answer: Answer) -> output.Facts:
    """Return the last facts of an answer: charge, ledger and hints."""
    remaining = remaining_words(answer.remains.remaining, answer.dataset.budget, answer.analyst)
    return [
        ("budget", f"charged {paid_words(answer)}; {remaining}"),
        ("ledger", ledger_words(answer.ledger)),
        *(("hint", hint) for hint in answer.hints),
    ]


def _count_noise(noise: TablePlan) -> str:
    """Return the noise of a count, with its exact scale."""
    mechanism = noise.levels[0].mechanism
    return f"{mechanism.name}, scale {approximately(mechanism.exact_scale)}"


def paid_words(answer: Answer) -> str:
    """Return the charge of a published answer in words, with the total price if it was topped up or is a repeat."""
    release, in_all = answer.release, answer.plan.loss.text
    if release.repeated:
        better = f"the best answer known is given, of {in_all}"
        return f"nothing: {better if _is_better(answer) else 'this was asked before'}"
    charged = release.charge_text
    if answer.analyst.name != ANALYST:
        charged = f"{charged} to {answer.analyst.name}"
    if isinstance(release, TableRelease) and release.parts:
        return f"{charged}: a draw of its own, which is combined with the earlier answers to {in_all}"
    return f"{charged}: it tops up an earlier answer to {in_all}" if release.replaces else charged


def _is_better(answer: Answer) -> bool:
    """Return True if the answer has a higher price than its query. False if the query states no price."""
    query, loss = answer.query, answer.plan.loss
    if query.epsilon is None and query.rho is None:
        return False
    is_hidden = answer.plan.noise.threshold is not None
    query_loss = TablePrice.from_amounts(
        query.noise_class, query.epsilon, query.rho, query.delta, is_hidden=is_hidden
    ).loss
    return query_loss.rho < loss.rho


def ledger_words(file: Path | None) -> str:
    """Return the name of the ledger file without its folder, or "on a server" if there is no file."""
    return "on a server" if file is None else redacted_name(file)


def preview_facts(preview: AnswerPreview) -> output.Facts:
    """Return the facts of a preview below its question: accuracy, noise, keys, privacy loss, price, budget, hints."""
    noise, is_table, is_open = preview.noise, preview.query.is_table, preview.plan.goal is not None
    noise_text = noise_words(noise) if is_table else _count_noise(noise)
    remaining = remaining_words(preview.remains.remaining, preview.dataset.budget, preview.analyst)
    return [
        ("error" if is_table else "answer", table_accuracy(preview) if is_table else _count_accuracy(preview)),
        ("noise", noise_text + " or more" * is_open),
        *_table_terms(preview, has_other=preview.query.other),
        *_privacy_facts(preview, f"{'at most ' * is_open}{noise.loss.text}"),
        ("price", _preview_price_text(preview)),
        ("budget", f"charged nothing: this was a dry run; {remaining}"),
        *(("hint", hint) for hint in preview.hints),
    ]


def _count_accuracy(preview: AnswerPreview) -> str:
    """Return the accuracy that the preview of a count promises."""
    error, goal, more = plus_minus(preview.error), preview.plan.goal, ""
    if goal is not None:
        share = f"±{percent(float(goal.within))}"
        more = f"; if {share} costs more than ε = {exact_text(goal.at_most)}, within {error}"
        error = share
    return f"would be within {error} of the true count with {percent(preview.confidence)} confidence{more}"


def table_accuracy(preview: AnswerPreview) -> str:
    """Return the accuracy that the preview of a table promises."""
    plan, sure = preview.plan, percent(preview.confidence)
    if plan.goal is None or preview.repeated:
        return f"with {sure} confidence each count would lie within its ± of the true count"
    share, which = percent(float(plan.goal.within)), StoppingSchedule(plan.goal, plan.noise).scope_text
    return (
        f"{which} would be within ±{share} of the true count with {sure} confidence; if that costs more than"
        f" ε = {exact_text(plan.goal.at_most)}, each count would have the error that the table states"
    )


def _preview_price_text(preview: AnswerPreview) -> str:
    """Return the charge that a preview predicts, or the reason why the question would be refused."""
    if preview.repeated:
        return "nothing: this was asked before, and is answered free of charge"
    cost = preview.charge.text
    if not preview.affordable:
        reason = preview.obstacle
        return f"it would be refused: {reason or f'{cost} exceeds the remaining budget'}"
    top_up_text, goal = preview.topped_up_words, preview.plan.goal
    top_up = "" if top_up_text is None else f": {top_up_text}"
    if top_up_text and goal is None and not preview.query.is_table:
        top_up += f", which becomes {plus_minus(preview.error)}"
    if goal is None:
        return f"{cost} would be charged{top_up}"
    return f"at most {cost} would be charged{top_up}; on average {_mean_prices(preview, goal)}"


def _mean_prices(preview: AnswerPreview, goal: AccuracyGoal) -> str:
    """Return the mean prices of an accuracy goal, in ε, for some counts."""
    from noisycount.tasks.plan import average_prices  # noqa: PLC0415 - only accuracy goals need it

    noise, base = preview.plan.noise, preview.topped_up
    stopping = StoppingSchedule(goal, noise, base)
    deciding_level, paid = noise.levels[stopping.deciding_level], 0.0 if base is None else float(stopping.prices[0])
    unit_price = float(deciding_level.sensitivity / deciding_level.share)  # price of the table per ε of one count
    prices = [
        f"{max(0.0, round(unit_price * mean - paid, 9)):.2g} for {signed(count)}"
        for count, mean in average_prices(stopping.rule)
    ]
    which = "a deciding count of" if goal.scope else "a count of"
    return f"{prices[0].replace('for', f'for {which}')}, {', '.join(prices[1:])}"


def remaining_words(largest: Fraction, budget: Budget, analyst: Analyst = Analyst()) -> str:  # noqa: B008 - frozen
    """Return the remaining budget in words, with the budgets that limit it.

    Args:
        largest: The largest ε of one more answer.
        budget: The budget of the data set.
        analyst: The analyst, who may have a budget too.
    """
    quota = analyst.budget
    if quota is None and budget.is_a_sum:
        return f"{approximately(largest)} of {budget.text} left"
    budgets = budget.text if quota is None else f"{budget.text}, and {analyst.name}'s own {quota.text}"
    return f"{next_price_words(largest)} (budget {budgets})"


NEAR = "*"  # marks a count that meets the accuracy goal
_MANY = 7  # number of levels from which on a range is shown, not a number for each level


def print_answer(answer: Answer, files: Sequence[Path] = ()) -> None:
    """Print an answer, and the names of the files that were written."""
    release = answer.release
    if isinstance(release, Release):
        output.print_facts(count_facts(answer, release))
        return
    output.print_facts(query_facts(answer))
    rows = _row_count(release)
    places = output.row_indices_to_show(rows)
    if places:
        output.print_rows(*_table_lines(release, places), rows)
    else:
        output.print_text("no key is shown: none reached the threshold")
    output.print_facts([*_table_facts(answer, release, len(places)), *output.file_facts(*files)])


def print_preview(preview: AnswerPreview) -> None:
    """Print the preview of an answer."""
    if not preview.query.is_table:
        output.print_facts([*query_facts(preview), *preview_facts(preview)])
        return
    output.print_facts(query_facts(preview))
    output.print_table(*level_rows(preview.noise, preview.confidence))
    output.print_facts(preview_facts(preview))


def accuracy_goal_text(release: TableRelease) -> str:
    """Return the number of counts that meet the accuracy goal, in words; empty if the price was fixed."""
    if release.within is None:
        return ""
    share, number = percent(float(release.within)), sum(int(is_near.sum()) for is_near in release.near)
    sentence = f"{number:,} of {len(release):,}, marked {NEAR}, within ±{share} of the true count"
    return sentence if release.is_near else f"{sentence}: more would cost more than {release.price.text}"


def _row_count(release: TableRelease) -> int:
    """Return the number of rows of a table; a cumulative table has one for each cell, not for its ranges."""
    has_sums = release.is_cumulative and release.is_additive
    return len(release.answers[0]) if has_sums else len(release)


def _table_lines(release: TableRelease, places: list[int]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the header of a table, and the cells of the rows at `places` with their numbers aligned."""
    rows = list(shown_rows(release, places))
    header = [*release.labels.names, f"answer ({percent(release.confidence)})"]
    answers = output.align_right([signed(row[1]) for row in rows])
    errors = output.align_right([plus_minus(row[2]) for row in rows])
    if release.near:
        marks = [NEAR if release.near[level][node] else " " for *_, (level, node) in rows]
        errors = [f"{error} {mark}" for error, mark in zip(errors, marks, strict=True)]
    columns = [[f"{answer} {error}" for answer, error in zip(answers, errors, strict=True)]]
    if sums := sums_so_far(release):
        header.append("sum so far")
        columns.append(output.align_right([estimate_words(*sums[place]) for place in places]))
    elif release.combined is not None and release.standard_errors is not None:
        header.append("combined")
        best = [(release.combined[level][node], release.standard_errors[level][node]) for *_, (level, node) in rows]
        columns.append(output.align_right([estimate_words(float(value), float(error)) for value, error in best]))
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
    """Yield, for each row index in `places`, the texts of the keys, the answer, its error, and (level, node)."""
    for level, node in map(release.place, places):
        keys = release.labels.texts(release.levels[level], node)
        yield keys, int(release.answers[level][node]), release.error_at(level, node), (level, node)


def estimate_words(value: float, error: float) -> str:
    """Return an estimate and its standard error in words."""
    return f"{signed(value, 1)} (s.e. {f'{error:#.3g}'.rstrip('.')})"


def _table_facts(answer: Answer, release: TableRelease, shown_rows_count: int) -> output.Facts:
    """Return the facts below a published table: error, noise, keys, privacy loss, charge, ledger and hints."""
    rows = _row_count(release)
    errors = dict(zip([level.name for level in release.levels], release.errors_of_all, strict=True))
    hidden_rows = f"{rows:,}, of which {rows - shown_rows_count:,} are not shown: --output FILE writes all"
    return [
        *([("rows", hidden_rows)] if rows > shown_rows_count else []),
        ("error", certainty_words(release.confidence, len(release), errors)),
        *([("near", accuracy_goal_text(release))] if release.near else []),
        *_estimate_notes(release),
        ("noise", noise_words(answer.noise)),
        *([("draws", draws_words(len(release.parts)))] if release.parts else []),
        *_table_terms(answer, has_other=release.has_other),
        *_privacy_facts(answer, f"{release.price.text} for the whole table"),
        *_charge_facts(answer),
    ]


def _table_terms(priced: PricedQuery, *, has_other: bool) -> Iterator[tuple[str, str]]:
    """Yield sentences on hidden keys, on the contribution bound, and on the records that sums and other keys include.

    A count has none of them.
    """
    noise, unit = priced.noise, priced.unit
    if noise.threshold is not None:
        surely, chance = noise.surely_shown(priced.confidence), noise.price.threshold_delta
        yield "keys", hidden_key_words(noise.threshold, chance, surely, unit, priced.confidence)
    if isinstance(priced.plan, GroupedPlan) and are_person_values(priced.plan.question.parts):
        yield "groups", "each person is in one group"
    elif unit is not None and noise.groups is not None:
        groups = "one of them" if noise.groups == 1 else f"{noise.groups:,} of them at most"
        yield "groups", f"a person in several groups counts in {groups}, always the same"
    sums = [level.name for level in noise.levels[1:] if not level.name.startswith(RANGES)]
    is_whole = TOTAL in sums and (has_other or noise.threshold is not None)
    sentences = [f"the {TOTAL} is of all that match"] * is_whole
    if len(sums) > is_whole:
        sentences.append(f"{'the others' if sentences else 'they'} are of the listed keys alone")
    if sentences:
        yield "sums", "; ".join(sentences)
    if has_other:
        yield "other", f"{OTHER_KEYS} counts all who are in no other row, missing keys too"


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
    words = f"with {percent(confidence)} confidence each true count is in its range"
    outside = (1 - confidence) * counts
    if outside >= 1:
        words += f": about {round(outside):,} of {counts:,} may lie outside"
    widths = {name: plus_minus(error) for name, error in errors_of_all.items()}
    if counts == 1 or not widths:
        return words
    if len(set(widths.values())) == 1:
        return f"{words}; all {counts:,} within {next(iter(widths.values()))} at once"
    if len(widths) >= _MANY:
        smallest, largest = min(errors_of_all.values()), max(errors_of_all.values())
        return f"{words}; all {counts:,} within ±{smallest:,} to ±{largest:,} at once"
    named = ", ".join(f"{width} ({name})" for name, width in widths.items())
    return f"{words}; all {counts:,} at once within {named}"


def draws_words(number: int) -> str:
    """Return a sentence that explains an answer that combines `number` independent draws."""
    return (
        f"each answer is the whole number nearest to the mean of {number} independent draws, weighted by their"
        " precisions: use it in place of the earlier answers, not beside them"
    )


def _estimate_notes(release: TableRelease) -> Iterator[tuple[str, str]]:
    """Yield a sentence that explains the estimates beside the answers, if there are any."""
    if release.standard_errors is None:
        return
    if release.is_cumulative:
        yield "sums", SUM_WORDS
    else:
        yield "combined", "the least squares estimates from all levels, which add up, with their standard errors"


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
    unit_plural, unit_singular = ("rows", "row") if unit is None else ("persons", "person")
    single = ""
    if chance is not None:
        single = f" one of a single {unit_singular} with a probability of {probability_bound(chance)} at most,"
    return (
        f"shown from a noisy count of {threshold:,} on:{single} one of {surely:,} {unit_plural} with"
        f" {percent(confidence)} at least"
    )


def simultaneous_errors(plan: TablePlan, confidence: float, counts: int | None = None) -> Sequence[int | None]:
    """Return, for each level, the error that holds for all its counts at once; None if their number is not known."""
    if plan.size is None and counts is None:
        return [None] * len(plan.levels)
    return plan.errors_of_all(confidence, counts)


def level_rows(plan: TablePlan, confidence: float, of_noise: str = "") -> output.Table:
    """Return a table with a row for each level: number of counts, error of each, error of all, share of the price."""
    error_header = f"{of_noise}each ({percent(confidence)})"
    header = ("counts by", "how many", error_header, "all at once", "share")
    rows = [
        (
            level.name,
            "hidden" if level.size is None else f"{level.size:,}",
            plus_minus(level.error(confidence)),
            "" if error is None else plus_minus(error),
            percent(float(f"{float(level.share):.3g}")),
        )
        for level, error in zip(plan.levels, simultaneous_errors(plan, confidence), strict=True)
    ]
    return header, rows


def noise_words(plan: TablePlan) -> str:
    """Return the name of the noise and its scale on each level; for many levels, the smallest and the largest scale."""
    name, scales = plan.levels[0].mechanism.name, [level.mechanism.exact_scale for level in plan.levels]
    if len(scales) == 1:
        return f"{name}, scale {scale_text(scales[0])}"
    if len(scales) >= _MANY:
        return f"{name}, scale {scale_text(min(scales))} to {scale_text(max(scales))} over {len(scales)} levels"
    level_scales = (f"{scale_text(scale)} for {level.name}" for level, scale in zip(plan.levels, scales, strict=True))
    return f"{name}, scale {', '.join(level_scales)}"
