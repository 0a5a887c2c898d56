"""Every example about the shipped survey counts something that its noise does not hide."""

import ast
import doctest
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisycount.cli.count import count
from noisycount.service.questions import Question
from tests.helpers.commands import Run, configure
from tests.helpers.transcripts import PROJECT, page_name, pages

PAGES = pages() if (PROJECT / "docs").is_dir() else []
NOTEBOOKS = sorted((PROJECT / "docs/notebooks").glob("*.ipynb"))
COMMAND = re.compile(r"noisycount count survey(?:\.parquet)? ((?:[^`\n]*\\\n)*[^`\n]*)")
BODY = re.compile(r"\{\"where\":[^{}\n]*\}")
SURVEY = 'budget = {epsilon = "100000", delta = "1e-5"}\nunit = "person"'
COUNTED = {"--where", "--by", "--keys", "--groups-per-unit", "--margins", "--delta"}
PRICED = {"--epsilon", "--rho", "--noise", "--within", "--at-most", "--guess", "--of", "--confidence"}
ENOUGH = 2  # times the error: below, an answer of such a count hardly differs from one of nobody
ON_PURPOSE = {
    "--where health = 'Poor'": "shows a question that no record matches",
    "--where aeg > 40": "shows a refusal",
    "--where female and count(doctor_visits > 10) >= 2": "shows a refusal",
    "--by site,health": "shows how the counts of small cells are refined",
}

HOSPITAL = re.compile(r"\b(patients|visits)\b")  # tables of the made-up hospital, which are no part of the survey

pytestmark = pytest.mark.skipif(not PAGES, reason="the tests run outside the project's folder")

Example = tuple[str, ...]


def of_command(text: str) -> Example:
    """Return the words of a command that say what is counted, at which price."""
    words = shlex.split(text.replace("\\\n", " "), comments=True)
    flags = {name for option in count.params if getattr(option, "is_flag", False) for name in option.opts}
    kept: list[str] = []
    while words and words[0].startswith("--"):
        name = words.pop(0)
        value = [] if name in flags else [words.pop(0)]
        kept += [name, *value] if name in COUNTED | PRICED else []
    return tuple(kept)


def of_request(body: dict[str, object]) -> Example:
    """Return the same words of a request of HTTP or of a call."""
    words: list[str] = []
    for name, value in body.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, dict):
            words += ["--keys", " ".join(f"{key}={','.join(map(str, keys))}" for key, keys in value.items())]
        elif option == "--by":
            words += [option, value if isinstance(value, str) else ",".join(map(str, value))]
        elif option in COUNTED | PRICED:
            words += [word for each in (value if isinstance(value, list) else [value]) for word in (option, str(each))]
    return tuple(words)


def calls(code: str) -> Iterator[Example]:
    """Yield the releases of a program whose arguments are written out."""
    first = {"release": "where", "release_many": "where", "release_table": "by"}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in first:
            if node.args and isinstance(literal(node.args[0]), int):  # a mechanism releases a count
                continue
            names = [first[node.func.attr], "keys" if node.func.attr == "release_table" else "epsilon"]
            pairs = [*zip(names, node.args, strict=False), *((each.arg, each.value) for each in node.keywords)]
            yield of_request({name: literal(value) for name, value in pairs if name})


def literal(node: ast.expr) -> object:
    """Return the value that is written, or else its code."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def examples() -> dict[Example, str]:
    """Return every example about the survey, with the place that shows it."""
    found: dict[Example, str] = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("'\"'", "'")  # as in a shell
        parsed = doctest.DocTestParser().get_examples(re.sub(r"^ *```.*$", "", text, flags=re.MULTILINE))
        shown = [
            *(of_command(each) for each in COMMAND.findall(text)),
            *(of_request(json.loads(each)) for each in BODY.findall(text)),
            *calls("".join(each.source for each in parsed)),
        ]
        found |= dict.fromkeys(shown, page_name(page))
    for notebook in NOTEBOOKS:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        found |= dict.fromkeys(calls(code), notebook.name)
    bodies = Question.model_json_schema()["examples"]
    return found | dict.fromkeys(map(of_request, bodies), "the OpenAPI document")


def told(run: Run, *words: str) -> dict:
    """Return what a count of the survey prints as JSON."""
    done = run("count", "survey", *words, "--json")
    assert done.status == 0, (words, done.errors)
    return json.loads(done.output)


def counted(example: Example, run: Run, plans: dict[Example, dict]) -> list[tuple[int, int]]:
    """Return each true count of an example, from noise of no width, and the error of its answer.

    The error of a single count follows from its price alone, so that examples at one price share a plan.
    """
    pairs = list(zip(example[::2], example[1::2], strict=True))
    asked, price = (tuple(word for pair in pairs if pair[0] in names for word in pair) for names in (COUNTED, PRICED))
    true = told(run, *asked, "--epsilon", "1000")
    planned = example if "rows" in true else price
    if planned not in plans:
        plans[planned] = told(run, *planned, "--dry-run")
    plan = plans[planned]
    if "rows" not in true:
        return [(true["answer"], plan["error"])]
    level = plan["levels"][0]
    return [(row["answer"], level["error"]) for row in true["rows"] if row["level"] == level["level"]]


EXAMPLES = examples() if PAGES else {}
ASKED = [
    each
    for each in EXAMPLES
    if each and not HOSPITAL.search(" ".join(each)) and not any(words in " ".join(each) for words in ON_PURPOSE)
]


def test_examples_are_found_wherever_they_are_shown() -> None:
    """In commands, help, requests, calls, notebooks and the OpenAPI document; and each exception is one."""
    places = set(EXAMPLES.values())
    assert places > {
        "docs/reference/commands.md",
        "docs/how-to/backup.md",
        "docs/how-to/tables.md",
        "one-noisy-count.ipynb",
    }
    assert "the OpenAPI document" in places
    assert len(ASKED) >= 25
    for words in ON_PURPOSE:
        assert any(words in " ".join(each) for each in EXAMPLES), words


@pytest.mark.thorough
def test_an_example_counts_more_than_its_noise(run: Run, here: Path) -> None:
    """Each true count is at least twice the error of its answer."""
    configure(here, SURVEY)
    plans: dict[Example, dict] = {}
    found = {f"{EXAMPLES[example]}: {' '.join(example)}": counted(example, run, plans) for example in ASKED}
    hidden = {name: cells for name, cells in found.items() if any(true < ENOUGH * error for true, error in cells)}
    assert hidden == {}
    assert all(found.values())


@pytest.mark.parametrize(
    "words", ["--where 'age >= 65' --epsilon 0.1", "--by age:0,18,65 --groups-per-unit 1 --epsilon 0.5"]
)
def test_an_example_that_counts_nobody_is_found(words: str, run: Run, here: Path) -> None:
    """The oldest person of the survey is 64."""
    configure(here, SURVEY)
    assert counted(of_command(words), run, {})[-1][0] == 0
