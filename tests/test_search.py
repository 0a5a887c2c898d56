"""The standing search of `make audit` in small: it covers everything, runs, and finds faults."""

from functools import partial
from typing import Any

import pytest
from audits.search import Refusal, Setting, finding, settings
from audits.searched import SEARCHED, not_searched

import noisycount as nc
from noisycount.analysis.posterior.posterior import Estimates

NUMBER, FEW = 2 * len(SEARCHED), len(SEARCHED)
WRONG = 1 + 1e-6  # times what is right

FUNCTIONS = [
    "amplified_delta",
    "chan_bound",
    "failure_probability",
    "mean_absolute_error",
    "probability_greater",
    "relative_error",
    "utility_loss",
]


def found_of(name: str, number: int) -> list[str]:
    """Return the findings of a search of a single name."""
    draws = settings({name: SEARCHED[name]}, range(number), "few")
    return [str(fault) for fault in (finding(*one) for one in draws) if fault]


def test_every_public_name_is_searched() -> None:
    """A new public function, or a new thing that a public class tells, needs a draw of its own."""
    assert not_searched() == []


def test_a_name_without_a_search_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison finds a new function, and a new method."""
    monkeypatch.setattr(nc, "__all__", [*nc.__all__, "newest"])
    monkeypatch.setattr(nc, "newest", lambda: 1, raising=False)
    monkeypatch.setattr(nc.PrivacyCurve, "newest", lambda _: 1, raising=False)
    assert not_searched() == ["PrivacyCurve.newest", "newest"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "numbers", [range(FEW), pytest.param(range(FEW, NUMBER), marks=pytest.mark.thorough)], ids=["first", "others"]
)
def test_some_settings_hold(numbers: range) -> None:
    """Always the same ones: what decides whether a change lands is the same for all changes."""
    faults = [finding(*one) for one in settings(SEARCHED, numbers, "few")]
    assert [str(fault) for fault in faults if fault] == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_is_wrong_by_a_millionth_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty settings are enough."""
    right = getattr(nc, name)
    monkeypatch.setattr(nc, name, lambda *given: right(*given) * WRONG)
    assert found_of(name, 30)


@pytest.mark.thorough
def test_a_mean_that_is_wrong_by_a_millionth_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search finds it for posteriors, differences and nodes of tables."""
    monkeypatch.setattr(Estimates, "mean", property(lambda told: told.law.mean * WRONG))
    assert found_of("Posterior.mean", 30)
    assert found_of("Difference.mean", 30)


def fault_of(line: str, refusal: Refusal = Refusal.NEVER, seconds: float = 10.0) -> Any:  # noqa: ANN401
    """Return the finding about a line whose value is always right."""
    return finding("", Setting(line, lambda _: "", refusal), seconds)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("[][0]", "foreign"),
        ("np.float64(1e308) * 10", "foreign"),
        ("nc.Binomial(10, 2)", "false"),
        ("[None for _ in iter(int, 1)]", "slow"),
        ("int('x', 40)", "foreign"),
    ],
)
def test_what_is_foreign_false_or_slow_is_told(line: str, kind: str) -> None:
    """Errors of others, warnings of numbers, refusals of what is fine, loops without end."""
    refusal = Refusal.MAYBE if kind == "foreign" else Refusal.NEVER
    assert fault_of(line, refusal, 0.2).kind == kind


def test_answers_to_what_must_be_refused_are_told() -> None:
    """And a refusal that names its value is fine there."""
    assert fault_of("nc.Binomial(10, 0.5)", Refusal.ALWAYS).kind == "false"
    assert fault_of("nc.Binomial(10, 2)", Refusal.ALWAYS) is None


def test_a_reference_that_fails_is_told() -> None:
    """A setting that nobody judged is no setting that holds."""
    broken = Setting("1", partial(lambda table, _: table[1], []))
    assert finding("", broken).kind == "unjudged"
