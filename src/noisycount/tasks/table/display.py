"""A table in words: rows above, and what is to be known of all of them below."""

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.display.output import Facts, file_facts, print_facts, print_table, print_text
from noisycount.display.texts import OTHER_KEYS
from noisycount.frozen import frozen
from noisycount.model.tables.levels import RANGES, TOTAL
from noisycount.release.results import TablePlan, TableRelease
from noisycount.tasks.answer import Answer
from noisycount.tasks.answer_display import ShownLevel, accepted, account, counted, ledger_words, left, shown_levels

MANY = 7  # levels, which are not told one by one


@frozen
class ShownRow:
    """One count of a table."""

    labels: tuple[str, ...]  # what stands for each key
    answer: int  # the noisy count, in units
    error: int  # it lies within ±error of the true one with the confidence of the table
    # the best estimate from all levels together, and its standard error; None where there is none
    combined: tuple[float, float] | None = None


def shown_rows(release: TableRelease, places: Sequence[int]) -> list[ShownRow]:
    """Some of the counts."""
    errors, estimates, deviations = release.errors, release.combined, release.standard_errors
    rows = []
    for place in places:
        level, node = release.place(place)
        best = None
        if estimates is not None and deviations is not None:
            best = float(estimates[level][node]), float(deviations[level][node])
        answer = int(release.answers[level][node])
        labels = release.labels.texts(release.levels[level], node)
        rows.append(ShownRow(labels, answer, errors[level], best))
    return rows


_ON_TERMINAL, _IN_FILE = 60, 1000  # rows that are shown at most
Lines = list[tuple[str, ...]]


def print_table_answer(answer: Answer, files: Sequence[Path] = ()) -> None:
    """A published table on standard output, and the files that were written of it."""
    release = answer.table
    print_facts(table_head(answer))
    places = _places(release)
    if places:
        header, lines = _lines(release, places)
        print_table(header, lines)
    else:
        print_text("no key is shown: none reached the threshold")
    print_facts([*table_facts(answer, len(places)), *file_facts(*files)])


def print_preview(answer: Answer) -> None:
    """What a table would cost and give."""
    print_facts(table_head(answer))
    print_table(*level_rows(shown_levels(answer.noise, answer.confidence), answer.confidence))
    print_facts(preview_facts(answer))


def preview_facts(answer: Answer) -> Facts:
    """What is to be known of all rows that there would be."""
    plan, sure = answer.noise, percent(answer.confidence)
    price = f"{plan.loss.text} would be charged"
    if answer.repeated:
        price = "nothing: this was asked before, and is answered free of charge"
    elif not answer.affordable:
        price = f"{plan.loss.text} is more than the budget pays for: it would be refused"
    remaining = left(answer.remains.remaining, answer.dataset.budget, answer.analyst)
    return [
        ("error", f"each count would lie that near to the true one with {sure} confidence"),
        ("noise", noise_words(shown_levels(plan, answer.confidence))),
        *_keys(plan, answer.confidence, answer.unit),
        *_groups(plan, answer.unit),
        *_sums(plan, has_other=answer.query.other),
        ("privacy", f"{plan.loss.text}: {answer.odds}"),
        ("price", price),
        ("budget", f"charged nothing: this was a dry run; {remaining}"),
        *(("hint", hint) for hint in answer.hints),
    ]


def table_head(answer: Answer) -> Facts:
    """What is counted."""
    plan, name = answer.plan, answer.dataset.name
    if answer.release is not None:
        name = answer.release.dataset
    where = "all records" if plan.where is None else f"{plan.where}  ({plan.meaning})"
    if answer.query.by is None:
        where = f"{len(plan.predicates):,} questions"
    return [
        ("question", where),
        ("data set", counted(name, answer.unit)),
        *(("", words) for words in accepted(answer.unreadable_as_missing)),
    ]


def _places(release: TableRelease) -> list[int]:
    """Which counts are shown: all, or the first and the last where nobody reads them all."""
    counts = _told(release)
    most = _ON_TERMINAL if sys.stdout.isatty() else _IN_FILE
    if counts <= most:
        return list(range(counts))
    return [*range(most // 2), *range(counts - most // 2, counts)]


def _told(release: TableRelease) -> int:
    has_sums = release.is_cumulative and release.is_additive
    return len(release.answers[0]) if has_sums else len(release)


def _lines(release: TableRelease, places: list[int]) -> tuple[list[str], Lines]:
    rows = shown_rows(release, places)
    header = [*release.labels.names, f"answer ({percent(release.confidence)})"]
    sums, errors = release.cumulative, release.cumulative_errors
    others: list[list[str]] = []
    if sums is not None and errors is not None:
        header.append("sum so far")
        others = [[_estimate(float(sums[place]), float(errors[place])) for place in places]]
    elif rows[0].combined is not None:
        header.append("combined")
        others = [[_estimate(*row.combined) for row in rows if row.combined is not None]]
    lines = _aligned(rows, others)
    if len(lines) < _told(release):
        lines.insert(len(lines) // 2, ("…",) * len(header))
    return header, lines


def _aligned(rows: Sequence[ShownRow], others: Sequence[Sequence[str]]) -> Lines:
    """A line for each row, its numbers below each other."""
    answers = _padded([signed(row.answer) for row in rows])
    errors = _padded([plus_minus(row.error) for row in rows])
    told = [f"{answer} {error}" for answer, error in zip(answers, errors, strict=True)]
    columns = [told, *map(_padded, others)]
    return [(*row.labels, *numbers) for row, numbers in zip(rows, zip(*columns, strict=True), strict=True)]


def _estimate(value: float, error: float) -> str:
    return f"{signed(value, 1)} (s.e. {f'{error:#.3g}'.rstrip('.')})"


def _padded(texts: Sequence[str]) -> list[str]:
    widest = max(map(len, texts), default=0)
    return [text.rjust(widest) for text in texts]


def table_facts(answer: Answer, shown: int) -> Facts:
    """What is to be known of all rows."""
    release, plan = answer.table, answer.noise
    levels = shown_levels(plan, answer.confidence, len(release))
    paid = "nothing: this was asked before"
    if not release.repeated:
        paid = f"{release.charged.text}{account(answer.analyst)}"
    remaining = left(release.remaining, answer.dataset.budget, answer.analyst)
    return [
        *_rows_left_out(_told(release), shown),
        ("error", _errors(release, levels)),
        *_combined(release),
        ("noise", noise_words(levels)),
        *_keys(plan, answer.confidence, answer.unit),
        *_groups(plan, answer.unit),
        *_sums(plan, has_other=release.has_other),
        ("privacy", f"{release.price.text} for the whole table: {answer.odds}"),
        ("budget", f"charged {paid}; {remaining}"),
        ("ledger", ledger_words(answer)),
        *(("hint", hint) for hint in answer.hints),
    ]


def _rows_left_out(rows: int, shown: int) -> Iterator[tuple[str, str]]:
    """How to get the rows that are not shown."""
    if rows > shown:
        yield "rows", f"{rows:,}, of which {rows - shown:,} are not shown: --output FILE writes all"


def _errors(release: TableRelease, levels: Sequence[ShownLevel]) -> str:
    sure = f"with {percent(release.confidence)} confidence each true count lies that near"
    if len(release) < 2:  # noqa: PLR2004 - one count has no others
        return sure
    each = [plus_minus(level.error_of_all or 0) for level in levels]
    if len(set(each)) == 1:
        return f"{sure}; all {len(release):,} within {each[0]} at once"
    widths = [level.error_of_all or 0 for level in levels]
    if len(levels) >= MANY:
        return f"{sure}; all {len(release):,} within ±{min(widths):,} to ±{max(widths):,} at once"
    named = ", ".join(f"{width} ({level.name})" for width, level in zip(each, levels, strict=True))
    return f"{sure}; all {len(release):,} at once within {named}"


def _combined(release: TableRelease) -> Iterator[tuple[str, str]]:
    """What the estimates are that stand beside the answers."""
    if release.standard_errors is None:
        return
    if release.is_cumulative:
        yield ("sums", ("“sum so far” is the least squares estimate from all ranges, with its standard error"))
        return
    yield ("combined", "the least squares estimates from all levels, which add up, with their standard errors")


def _keys(plan: TablePlan, confidence: float, unit: str | None) -> Iterator[tuple[str, str]]:
    surely = plan.surely_shown(confidence)
    if plan.threshold is None or surely is None:
        return
    many, one = ("rows", "row") if unit is None else ("persons", "person")
    yield (
        "keys",
        (
            f"shown from a noisy count of {plan.threshold:,} on: one of a single {one} with a "
            f"probability of {float(plan.price.threshold_delta):.3g} at most, one of {surely:,} "
            f"{many} with {percent(confidence)} at least"
        ),
    )


def _groups(plan: TablePlan, unit: str | None) -> Iterator[tuple[str, str]]:
    """What becomes of persons in many groups."""
    if unit is not None and plan.groups is not None:
        kept = "one of them" if plan.groups == 1 else f"{plan.groups:,} of them at most"
        yield "groups", f"a person in several groups counts in {kept}, always the same"


def _sums(plan: TablePlan, *, has_other: bool) -> Iterator[tuple[str, str]]:
    """Of whom sums are, and who is in the row of all others."""
    names = [one.name for one in plan.levels[1:] if not one.name.startswith(RANGES)]
    is_whole = TOTAL in names and (has_other or plan.threshold is not None)
    told = [f"the {TOTAL} is of all that match"] * is_whole
    if len(names) > is_whole:
        told.append(f"{'the others' if told else 'they'} are of the listed keys alone")
    if told:
        yield "sums", "; ".join(told)
    if has_other:
        yield "other", f"{OTHER_KEYS} is whoever is in no other row, missing keys too"


def level_rows(
    levels: Sequence[ShownLevel], confidence: float, of_noise: str = ""
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The names of columns, and a row for each level."""
    each = f"{of_noise}each ({percent(confidence)})"
    header = ("counts by", "how many", each, "all at once", "share")
    rows = [
        (
            level.name,
            "hidden" if level.counts is None else f"{level.counts:,}",
            plus_minus(level.error),
            "" if level.error_of_all is None else plus_minus(level.error_of_all),
            percent(float(f"{float(level.share):.3g}")),
        )
        for level in levels
    ]
    return header, rows


def noise_words(levels: Sequence[ShownLevel]) -> str:
    """The noise of each level, or the range of it where there are many."""
    name, scales = levels[0].mechanism, [level.scale for level in levels]
    if len(levels) == 1:
        return f"{name}, scale {_short(scales[0])}"
    if len(levels) >= MANY:
        ends = f"{_short(min(scales))} to {_short(max(scales))}"
        return f"{name}, scale {ends} over {len(levels)} levels"
    each = (f"{_short(level.scale)} for {level.name}" for level in levels)
    return f"{name}, scale {', '.join(each)}"


def _short(scale: Fraction) -> str:
    return f"{float(scale):,.4g}"
