"""Two ledgers that differ only in what another analyst asked: only replies that leave a row may reveal which."""

import shutil
from collections.abc import Callable, Collection, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noisycount.engines.memory import MemorySource
from noisycount.errors import BudgetError, NoisyCountError, ReuseError, SourceError
from noisycount.ledger.budget import Budget, ConcentratedBudget, PureBudget
from noisycount.ledger.entries import Analyst
from noisycount.ledger.ledger import Ledger
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk

RECORDS = [{"age": number % 7} for number in range(700)]
PRICES = ("0.1", "0.2", "0.3", "0.5", "0.9")
QUESTIONS = range(3)


@dataclass(frozen=True)
class Try:
    """A question at a price, or with an accuracy goal of at most that price, perhaps under a chosen key."""

    question: int
    price: str
    is_goal: bool = False
    key: str | None = None


def asked(desk: Desk, wanted: Try, *, is_gaussian: bool) -> Any:  # noqa: ANN401 - a release, or a table of one row
    """Ask at a desk."""
    where = f"age = {wanted.question}"
    if is_gaussian:
        return desk.release_many([where], rho=wanted.price, noise=DiscreteGaussian, key=wanted.key)
    if wanted.is_goal:
        return desk.release(where, within="50%", at_most=wanted.price, key=wanted.key)
    return desk.release(where, wanted.price, key=wanted.key)


def reply(desk: Desk, wanted: Try, *, is_gaussian: bool) -> str:
    """Return all that an analyst sees of a try; a key that nobody chose is random."""
    try:
        release = asked(desk, wanted, is_gaussian=is_gaussian)
    except NoisyCountError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    shown = release.to_dict()
    return repr({name: value for name, value in shown.items() if name != "key" or wanted.key is not None})


@dataclass
class World:
    """A ledger in a folder, and who asks there."""

    folder: Path
    budget: Budget
    quota: Budget | None = None  # of Ana
    sees_all: bool = False  # whether Ana may know what others asked
    is_gaussian: bool = False

    @contextmanager
    def desk(self, name: str) -> Any:  # noqa: ANN401 - a desk
        """Open the desk of an analyst."""
        analyst = Analyst(name, self.quota, sees_all=self.sees_all) if name == "ana" else Analyst(name)
        source = MemorySource(RECORDS, {"age": Kind.INTEGER})
        with Ledger.open(f"sqlite:///{self.folder}/ledger.db") as ledger:
            yield Desk(source, ledger, Dataset("survey", self.budget), analyst=analyst)

    def copy(self, folder: Path) -> "World":
        """Return the same world in another folder."""
        folder.mkdir()
        if (self.folder / "ledger.db").exists():
            shutil.copy(self.folder / "ledger.db", folder)
        return World(folder, self.budget, self.quota, self.sees_all, self.is_gaussian)

    def charged(self, name: str, wanted: Try) -> Fraction:
        """Ask for an analyst, who may be refused; return the charge."""
        with self.desk(name) as desk:
            try:
                charged = asked(desk, wanted, is_gaussian=self.is_gaussian).charged
            except NoisyCountError:
                return Fraction(0)
        return charged if isinstance(charged, Fraction) else charged.rho if self.is_gaussian else charged.epsilon

    def tried(self, folder: Path, wanted: Try) -> tuple[str, bool]:
        """Return Ana's reply in a copy of this world, and whether the try left a row there."""
        copied = self.copy(folder)
        with copied.desk("ana") as desk:
            before = len(desk.ledger.rows())
            told = reply(desk, wanted, is_gaussian=self.is_gaussian)
            return told, len(desk.ledger.rows()) > before


def require_alike(
    world: World, past: Sequence[tuple[str, Try]], secret: Sequence[Try], tries: Sequence[Try], folder: Path
) -> None:
    """Check each of Ana's tries in two worlds with one past: in one Ben asks in secret, in the other something else.

    Ben is charged the same in both. A reply that is not the same in both must have left a row in both.
    """
    for name, wanted in past:
        world.charged(name, wanted)
    one, other = world.copy(folder / "one"), world.copy(folder / "other")
    for place, wanted in enumerate(secret):
        if charged := one.charged("ben", wanted):
            assert other.charged("ben", Try(100 + place, str(charged))) == charged
    for place, wanted in enumerate(tries):
        (told, left), (told_other, left_other) = (
            each.tried(folder / f"{place}-{number}", wanted) for number, each in enumerate((one, other))
        )
        assert told == told_other or (left and left_other), (wanted, told, told_other)


a_try = st.builds(Try, st.sampled_from(QUESTIONS), st.sampled_from(PRICES), st.booleans())
a_past = st.lists(st.tuples(st.sampled_from(["ana", "ben"]), a_try), max_size=3)
WORLDS: dict[str, Callable[[Path], World]] = {
    "epsilon": lambda folder: World(folder, PureBudget(Fraction(1))),
    "quota": lambda folder: World(folder, PureBudget(Fraction(3)), PureBudget(Fraction(2, 5))),
    "rho": lambda folder: World(folder, ConcentratedBudget(Fraction(1)), is_gaussian=True),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(WORLDS))
@given(past=a_past, secret=st.lists(a_try, min_size=1, max_size=2), tries=st.lists(a_try, min_size=1, max_size=3))
@example(past=[], secret=[Try(0, "0.9")], tries=[Try(0, "0.9"), Try(1, "0.9"), Try(0, "0.9", is_goal=True)])
@example(past=[], secret=[Try(0, "0.9", is_goal=True)], tries=[Try(0, "0.9"), Try(0, "0.9", is_goal=True)])
@example(past=[("ana", Try(0, "0.3"))], secret=[Try(0, "0.5")], tries=[Try(0, "0.1"), Try(0, "0.9"), Try(0, "0.5")])
def test_what_ben_asks_changes_no_reply_that_leaves_no_row(
    name: str, past: list[tuple[str, Try]], secret: list[Try], tries: list[Try]
) -> None:
    """Ana's refusals, and the answers that she has already, are the same to the last character."""
    with TemporaryDirectory() as folder:
        begun = Path(folder, "begun")
        begun.mkdir()
        require_alike(WORLDS[name](begun), past, secret, tries, Path(folder))


@pytest.mark.parametrize(
    ("secret", "wanted"),
    [
        ([Try(0, "0.9")], Try(0, "0.9")),
        ([Try(0, "0.5")], Try(0, "0.9")),
        ([Try(0, "0.9", is_goal=True), Try(1, "0.5")], Try(0, "0.9", is_goal=True)),
    ],
)
def test_a_search_is_found(tmp_path: Path, secret: list[Try], wanted: Try) -> None:
    """An analyst who may see all questions finds the secret one at a price that is not left: the check sees that."""
    begun = tmp_path / "begun"
    begun.mkdir()
    with pytest.raises(AssertionError, match="BudgetError"):
        require_alike(World(begun, PureBudget(Fraction(1)), sees_all=True), [], secret, [wanted], tmp_path)


def test_a_question_of_another_is_free_for_who_could_pay(tmp_path: Path) -> None:
    """The repeat charges nothing, stands in the ledger, and makes the answer the analyst's own from then on."""
    world = World(tmp_path, PureBudget(Fraction(1)))
    assert world.charged("ben", Try(0, "0.4")) == Fraction(2, 5)
    with world.desk("ana") as desk:
        with pytest.raises(BudgetError, match=r"epsilon 0\.7 exceeds the 0\.6 that is left"):
            desk.release("age = 0", "0.7")
        assert desk.release("age = 0", "0.4").charged == 0
        (entry,) = desk.ledger.entries()
        assert entry.askers == ("ben", "ana")
        assert desk.release("age = 0", "0.7").charged == Fraction(3, 10)
        assert desk.release("age = 0", "0.4").charged == desk.release("age = 0", "0.7").charged == 0


def test_an_answer_stays_the_same_whatever_others_pay_for(tmp_path: Path) -> None:
    """Ben tops up Ana's answer: she gets hers again until she pays for a better one."""
    world = World(tmp_path, PureBudget(Fraction(1)))
    with world.desk("ana") as desk:
        first = desk.release("age = 0", "0.1")
    assert world.charged("ben", Try(0, "0.9")) == Fraction(4, 5)
    with world.desk("ana") as desk:
        again = desk.release("age = 0", "0.1")
        seen = {"charged": "0", "remaining": "0.1", "repeated": True}
        assert again.to_dict() == {**first.to_dict(), **seen}


@pytest.mark.parametrize("question", [0, 1])
def test_a_key_of_another_is_refused_alike(tmp_path: Path, question: int) -> None:
    """Whatever was asked under it."""
    world = World(tmp_path, PureBudget(Fraction(1)))
    world.charged("ben", Try(0, "0.1", key="mine"))
    with world.desk("ana") as desk, pytest.raises(ReuseError, match="'mine' was used by another analyst; choose"):
        desk.release(f"age = {question}", "0.1", key="mine")


@pytest.mark.parametrize("question", [0, 1])
def test_records_that_cannot_be_opened_refuse_alike(tmp_path: Path, question: int) -> None:
    """Before anything is charged, whether another analyst has the answer or not."""

    class Broken(MemorySource):
        __slots__ = ()

        def prepare(self, columns: Collection[str] | None = None) -> None:  # noqa: ARG002 - all are refused
            raise SourceError("the disk is gone")

    world = World(tmp_path, PureBudget(Fraction(1)))
    world.charged("ben", Try(0, "0.1"))
    with world.desk("ana") as desk:
        broken = Desk(Broken(RECORDS, {"age": Kind.INTEGER}), desk.ledger, desk.dataset, analyst=desk.analyst)
        with pytest.raises(SourceError, match="the disk is gone"):
            broken.release(f"age = {question}", "0.1")
        assert len(desk.ledger.rows()) == 2
