"""Numbers and consequences that the pages state are those of noisycount."""

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import noisycount as nc
from noisycount.analysis.within import knowing_price, mean_price, stopping_rule
from noisycount.data import survey_path
from noisycount.display.numbers import odds
from noisycount.ledger.budget import PureBudget
from noisycount.model.concentrated import epsilon_of_rho
from noisycount.model.half_width import error_within
from noisycount.query.public_values import MOST_VALUES
from noisycount.release.desk import Desk
from noisycount.tasks import demo
from tests.helpers.commands import Run, configure
from tests.helpers.transcripts import PROJECT, README, pages
from tests.test_architecture import LONGEST_FILE

pytestmark = pytest.mark.skipif(not README.is_file(), reason="the tests run outside the project's folder")


def page(name: str) -> str:
    """Return the text of a page, in one line."""
    return " ".join((PROJECT / name).read_text(encoding="utf-8").split())


@pytest.fixture(name="desk")
def desk_of_the_survey(here: Path) -> Iterator[Desk]:
    """Yield a desk of the survey with a budget of 2."""
    with nc.open_desk(survey_path(), unit="person", ledger=here / "statements.db") as desk:
        yield desk


def test_a_question_at_another_price(desk: Desk) -> None:
    """`reference/language.md`: a lower price returns the stored answer, a higher one draws a more accurate answer."""
    told = page("docs/reference/language.md")
    assert "At the same price, or a lower one, the stored answer is returned and nothing is charged." in told
    assert "At a higher price a more accurate answer is drawn" in told
    first = desk.release("age >= 50", "0.2")
    lower, higher = desk.release("not age < 50", "0.1"), desk.release("age >= 50", "0.4")
    assert (lower.answer, lower.charged) == (first.answer, 0)
    assert (higher.charged, higher.error < first.error) == (Fraction("0.2"), True)


def test_a_repeat_by_another_analyst_adds_a_row(run: Run, here: Path) -> None:
    """`reference/glossary.md`, purpose: one row with the name and the purpose; none for the same analyst."""
    told = page("docs/reference/glossary.md")
    assert "a row of the ledger records the name and the purpose of that analyst" in told
    assert "If the same analyst asks again, no row is added." in told
    configure(here, 'unit = "person"\nbudget = "1"\n[analysts.ana]\n[analysts.bo]')
    heads = []
    for analyst in ("ana", "ana", "bo"):
        words = ("--where", "age >= 50", "--epsilon", "0.1", "--purpose", f"for {analyst}")
        assert run("count", "survey", *words, "--analyst", analyst).status == 0
        heads.append(int(run("ledger", "verify", "--json").object["head"].split(":")[0]))
    assert [later - earlier for earlier, later in pairwise(heads)] == [0, 1]
    assert "for bo" in run("ledger", "show", "--json").output


def test_what_the_demonstration_spends() -> None:
    """`how-to/epsilon.md`: the largest price, and the mean price at a count of 100."""
    rule = stopping_rule("0.2", "0.95", demo.AT_MOST)
    sentence = (
        f"The demonstration spends at most ε = {float(demo.AT_MOST)}, and {mean_price(rule, 100):.2f} on average if "
        "the true count is 100."
    )
    assert sentence in page("docs/how-to/epsilon.md")


def test_the_prices_of_others_as_epsilon() -> None:
    """`how-to/epsilon.md`: each ρ of the table, converted at its δ."""
    told = page("docs/how-to/epsilon.md")
    published = re.findall(r"ρ = (\S+)[^|\n]* \| ([\d.]+) at δ = (\S+) \|", told)
    assert [rho for rho, *_ in published] == ["(542/339)²", "0.01505", "0.0006166", "0.0001546"]
    for rho, epsilon, delta in published:
        exact = Fraction(542, 339) ** 2 if rho == "(542/339)²" else Fraction(rho)
        assert f"{epsilon_of_rho(exact, float(delta)):.2f}" == epsilon


def test_the_starting_value_is_worth_what_the_page_states() -> None:
    """`how-to/epsilon.md`: the odds of the budget and of one count, the error of that count, and four years at 1/2."""
    told = page("docs/how-to/epsilon.md")
    one, all_answers, four_years = (odds(epsilon) for epsilon in (0.1, 1, 4 * 0.5))
    assert f"at most {all_answers} by all answers together, and {one} by one." in told
    assert f"lies within ±{error_within(nc.DiscreteLaplace.for_epsilon('0.1'), 0.95)} with 95 % confidence" in told
    assert f"four years cost ε = 2, and a 50:50 guess becomes at most {four_years}." in told


def test_the_picture_of_the_demonstration_shows_the_numbers_beside_it() -> None:
    """The picture, README and `start/install.md` have one answer, one estimate and one interval."""
    drawn = re.findall(r">([^<]*)<", (PROJECT / "docs/poor-health.svg").read_text(encoding="utf-8"))
    (answer,) = re.findall(r"the answer, (\d+) persons", " ".join(drawn))
    (estimate,) = re.findall(r"the estimate, ([\d.]+) persons", " ".join(drawn))
    low, high = re.findall(r"shaded: (\d+) to (\d+) persons", " ".join(drawn))[0]
    start, readme = page("docs/start/install.md"), page("README.md")
    assert f"3 The answer: {answer} ±" in start
    assert f"4 A better estimate: {estimate} persons" in start
    assert f"{low} to {high} with 95 %" in start
    assert f"answer {answer} ±" in readme
    assert f"mean {estimate} " in readme
    assert f"interval {low} to {high} with 95 %" in readme


def test_the_numbers_of_the_demonstration_belong_together() -> None:
    """`start/install.md`: the scale, the price, what is left and the estimate follow from one answer."""
    told = page("docs/start/install.md")
    (answer, error), charged = (
        re.findall(r"3 The answer: (\d+) ±(\d+) persons", told)[0],
        re.findall(r"It cost ε = ([\d.]+);", told)[0],
    )
    rule, scale = stopping_rule("0.2", "0.95", demo.AT_MOST), 1 / Fraction(charged)
    assert Fraction(charged) in rule.prices
    assert int(answer) >= rule.thresholds[rule.prices.index(Fraction(charged))]
    assert f"scale {scale} ≈ {float(scale):.2f}" in told
    assert f"{float(2 - Fraction(charged)):g} of the budget of 2 is left" in told
    low, high = rule.nearby_interval(int(answer))
    assert int(error) == max(int(answer) - low, high - int(answer))


def test_a_table_costs_as_one_count_without_a_public_size(here: Path) -> None:
    """`start/analyst.md`, `start/owner.md`: with a public size the noise of a table is twice as wide."""
    told = page("docs/start/analyst.md")
    assert "All groups together cost as much as one count if each person is in one group only." in told
    assert "a table at the same ε has noise that is twice as wide" in told
    errors = []
    for size in (None, 600):
        frame = pl.DataFrame({"person": range(600), "age": [20 + n % 60 for n in range(600)]})
        with nc.open_desk(frame, unit="person", size=size, ledger=here / f"{size}.db", name="frame") as desk:
            table = desk.release_table("age:0,50", epsilon="0.5", groups_per_unit=1)
            errors.append(table.errors)
    assert errors == [(nc.accuracy(nc.DiscreteLaplace(scale), 0.05) - 1,) for scale in (2, 4)]
    told = page("docs/start/owner.md")
    assert "by a factor of e¹ ≈ 2.72 at most." in told
    assert "the group of a person by e² ≈ 7.39, unless" in told


def test_the_length_of_a_list_of_public_values() -> None:
    """`reference/configuration.md`: the most values that a list may have."""
    assert f"A list has at most {MOST_VALUES:,} values." in page("docs/reference/configuration.md")


def test_the_length_of_files() -> None:
    """CONTRIBUTING: files have at most the length that a test allows."""
    low, high = map(int, re.findall(r"files of (\d+) to (\d+) lines", page("CONTRIBUTING.md"))[0])
    assert low < high <= LONGEST_FILE


@pytest.mark.thorough
def test_the_disk_that_an_entry_takes(here: Path) -> None:
    """`how-to/performance.md`: a debit with its answer, of a question about two columns."""
    told = page("docs/how-to/performance.md")
    (kilobytes,) = re.findall(r"([\d.]+) kB of the disk", told)
    assert re.search(rf"\| 2·10⁴ \| .* \| {10 * float(kilobytes):g} MB \|", told)
    frame = pl.DataFrame({"person": range(600), "age": [20 + n % 60 for n in range(600)], "health": ["good"] * 600})
    file, sizes = here / "long.db", []
    with nc.open_desk(frame, unit="person", ledger=file, name="frame", budget=PureBudget(Fraction(1000))) as desk:
        for number in range(201):
            if number in {100, 200}:
                sizes.append(file.stat().st_size)
            desk.release(f"age >= 30 and age < {40 + number} and health = 'good'", "0.01")
    assert (sizes[1] - sizes[0]) / 100 == pytest.approx(1000 * float(kilobytes), rel=0.1)


def test_the_paragraph_for_a_gdpr_file_has_the_odds_of_its_report(run: Run, here: Path) -> None:
    """`how-to/report.md`: the spent and the whole budget, and the odds of both."""
    told = page("docs/how-to/report.md").replace("> ", "")
    configure(here, 'unit = "person"\nbudget = "2"')
    for epsilon in ("0.1", "0.3"):
        assert run("count", "survey", "--where", "health = 'poor'", "--epsilon", epsilon).status == 0
    report = run("ledger", "report").words
    spent, budget, now, group, then, whole_group = re.findall(
        r"cost ε = (\S+) of a budget of ε = (\S+) that.* reaches at most (\S+), and about the group .* at most (\S+);"
        r" if the whole .* at most (\S+) and (\S+)\. A",
        told,
    )[0]
    assert f"ε = {spent} of ε = {budget} |" in report
    member, known = "a 50:50 guess whether one person is in the records becomes at most", "known to be in them, at most"
    assert re.search(rf"all answers so far, ε = {spent}: {member} {now}; [^|]* {known} {group} \|", report)
    assert re.search(rf"\*\*if all is spent\*\*: {member} {then}; [^|]* {known} {whole_group}\b", report)


GOALS = re.findall(
    r"^\| ±(\d+) % at (\d+) % \| ([\d.]+) \| ([\d.]+), ([\d.]+), ([\d.]+) \|$",
    (PROJECT / "docs/why/accuracy-first.md").read_text(encoding="utf-8") if README.is_file() else "",
    re.MULTILINE,
)


@pytest.mark.thorough
def test_the_slacks_and_prices_of_goals() -> None:
    """`why/accuracy-first.md`: each slack, and the mean price over that of knowing a count of 200, 1,000 and 5,000."""
    assert len(GOALS) == 5
    for within, confidence, slack, *ratios in GOALS:
        goal = str(Fraction(int(within), 100)), str(Fraction(int(confidence), 100))
        rule = stopping_rule(*goal, "0.5")
        found = [mean_price(rule, count) / knowing_price(*goal, count) for count in (200, 1000, 5000)]
        assert [f"{each:.2f}" for each in found] == ratios
        assert f"{rule.slack:.3f}" == slack


def test_pages_are_there() -> None:
    """This module reads the pages that readers see."""
    assert {each.name for each in pages()} >= {"language.md", "glossary.md", "performance.md", "CONTRIBUTING.md"}


SOURCE = PROJECT / "src/noisycount"
SHIPPED = {".py", ".toml", ".html", ".js"}


def test_nothing_that_is_installed_names_a_file_of_the_documentation() -> None:
    """Help, errors and docstrings name a page by its title, as an installed package has no folder `docs`."""
    titles = [each.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for each in pages()]
    named = set()
    for file in SOURCE.rglob("*.*"):
        if file.suffix in SHIPPED:
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"(?<![\w./])docs/[\w-]", text), file
            named |= set(re.findall(r"\bpage “([^”]+)”", " ".join(text.split())))
    assert len(named) > 5
    assert {name for name in named if not any(title.startswith(name) for title in titles)} == set()


def test_names_on_the_page_for_engineers_are_in_the_sources() -> None:
    """Each class, function and constant that the page of contributing names occurs in the source or in a test."""
    folders = [PROJECT / name for name in ("src", "tests", "audits", "benchmarks")]
    words = {
        word
        for folder in folders
        for file in folder.rglob("*.*")
        if file.suffix in {*SHIPPED, ".json"}
        for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))
    }
    page = (PROJECT / "docs/contributing.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`([A-Za-z_]\w+)`", prose)) - words == set()
