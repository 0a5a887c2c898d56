"""Display of a ledger: accounts, stored questions and their answers, as text and as JSON.

It also finds a stored answer by its key.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from noisycount.config.config import DEFAULT_BUDGET, Config
from noisycount.display.numbers import counted_noun, signed
from noisycount.display.output import Table, shortest_path_text
from noisycount.display.texts import redacted_name
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.address import LedgerAddress, require_no_row
from noisycount.ledger.budget import Budget, Loss
from noisycount.ledger.entries import Entry, Head, TableAnswer, asks_for_table
from noisycount.ledger.verification import Verification
from noisycount.release.dataset import AvailableBudget
from noisycount.release.stored_question import StoredQuestion
from noisycount.tasks.opening import existing_ledger
from noisycount.validation import exact_text, optional_text


def debits(configuration: Config) -> list[Entry]:
    """Return all debits, oldest first; none if there is no ledger."""
    with existing_ledger(configuration) as ledger:
        return ledger.entries() if ledger else []


def verification(configuration: Config, known_head: Head | None) -> Verification | None:
    """Verify the whole ledger; None if there is none yet."""
    with existing_ledger(configuration, anchored=False) as ledger:
        if ledger is not None:
            return ledger.verify(known_head)
    require_no_row(known_head)
    return None


@frozen
class Account:
    """Account of a data set or an analyst: the budget, and the loss of all answers so far."""

    name: str  # name of the data set in the ledger, or of the analyst
    budget: Budget | None  # None: the account has no budget
    spent: Loss  # total loss of all answers

    @property
    def in_epsilon(self) -> bool:
        """True if the budget is a sum of ε, or if there is no budget."""
        return self.budget is None or self.budget.is_a_sum

    @property
    def left(self) -> Fraction | None:
        """Largest ε of one more answer; None if there is no budget."""
        return None if self.budget is None else self.budget.left(self.spent)

    @property
    def words(self) -> tuple[str, str, str]:
        """Budget, spent loss and remaining budget, as texts."""
        if self.budget is None or self.left is None:
            return "none", self._spent_text, "-"
        if self.in_epsilon:
            return self.budget.text, self._spent_text, exact_text(self.left)
        return self.budget.text, self._spent_text, AvailableBudget(self.budget, self.spent).words

    @property
    def _spent_text(self) -> str:
        """Spent loss as text: ε alone if the budget is in ε and no δ was spent, else every sum that is defined."""
        spent, sums = self.spent, []
        if self.in_epsilon and spent.epsilon is not None and not spent.delta:
            return exact_text(spent.epsilon)
        if spent.epsilon is not None:
            sums.append(f"ε = {exact_text(spent.epsilon)}")
        sums.append(f"ρ = {float(spent.rho):.4g}")
        if spent.delta:
            sums.append(f"δ = {float(spent.delta):.4g}")
        return ", ".join(sums)


def accounts_of_datasets(configuration: Config, entries: Sequence[Entry]) -> list[Account]:
    """Return the account of each data set that is configured or has answers."""
    losses = {entry.request.dataset: entry.spent for entry in entries}
    budgets = {dataset.account: dataset.budget for dataset in configuration.datasets.values()}
    return [
        Account(name, budgets.get(name, DEFAULT_BUDGET), losses.get(name, Loss()))
        for name in dict.fromkeys([*budgets, *losses])
    ]


def accounts_of_analysts(configuration: Config, entries: Sequence[Entry]) -> list[Account]:
    """Return the account of each analyst who is configured or has asked a question."""
    losses = {entry.analyst: entry.analyst_spent for entry in entries}
    budgets = {name: analyst.budget for name, analyst in configuration.analysts.items()}
    return [Account(name, budgets.get(name), losses.get(name, Loss())) for name in dict.fromkeys([*budgets, *losses])]


def place_words(configuration: Config) -> str:
    """Return the location of the ledger: its path, or the host and the name of its database."""
    file = configuration.ledger_file
    if file is not None:
        return shortest_path_text(file)
    return f"{LedgerAddress.read(configuration.ledger_url).place.removeprefix('ledger ')} on a server"


def absent_words(configuration: Config) -> str:
    """Return the message for a missing ledger. It must not read as if a ledger had been verified."""
    file = configuration.ledger_file
    where = "on the server" if file is None else f"at {shortest_path_text(file)}"
    return (
        f"There is no ledger {where} yet: nothing was asked, and nothing was verified. If something"
        " was asked, this is not where its ledger is: look for the noisycount.toml that names it."
    )


def intact_words(verification: Verification, known_head: Head | None) -> str:
    """Return a sentence about a ledger that was verified and has no broken row.

    An adversary who can write to a ledger can delete its newest rows, and the remaining rows are consistent. Only a
    comparison with a head that was stored elsewhere detects the missing rows.
    """
    rows, replies = _rows_words(verification.head, known_head), verification.older_replies
    if not replies:
        return rows
    return (
        f"{rows}; {replies:,} of the replies of a service {'are' if replies > 1 else 'is'} older than the rows for "
        "replies: each repeats an answer of the ledger, and whether its other words were changed cannot be checked"
    )


def _rows_words(newest: Head, known_head: Head | None) -> str:
    if not newest.number:
        return "no row: nothing was asked yet, and nothing was verified"
    rows = counted_noun("row", newest.number)
    if known_head is None:
        themselves = "itself" if newest.number == 1 else "themselves"
        return f"{rows}, consistent in {themselves}; not compared with a saved head"
    later = newest.number - known_head.number
    if not later:
        return f"{rows}, each as it was written: the last has the saved head"
    after = "1 after it is consistent in itself" if later == 1 else f"{later:,} after it are consistent in themselves"
    return f"{rows}, each as it was written up to row {known_head.number:,}, which has the saved head; the {after}"


def account_table(owner: str, accounts: Sequence[Account]) -> Table:
    """Return a table of the accounts. Its header says "budget ε" if every budget is a sum of ε."""
    is_pure = all(account.in_epsilon for account in accounts)
    rows = [(shortest_path_text(account.name), *account.words) for account in accounts]
    return (owner, "budget ε" if is_pure else "budget", "spent", "left"), rows


def entry_table(entries: Sequence[Entry]) -> Table:
    """Return a table of the debits, oldest first.

    It has a column of analysts if there are several, and a column of purposes if any is stated.
    """
    has_several = any(entry.analyst != entries[0].analyst for entry in entries)
    has_purposes = any(entry.purpose is not None for entry in entries)
    datasets = {dataset: shortest_path_text(dataset) for dataset in {entry.request.dataset for entry in entries}}
    rows = [
        (
            f"{entry.made:%Y-%m-%d %H:%M}",
            *([entry.analyst] if has_several else []),
            datasets[entry.request.dataset],
            StoredQuestion(entry).words,
            price_words(entry),
            answer_words(entry),
            *([entry.purpose or ""] if has_purposes else []),
        )
        for entry in entries
    ]
    analyst, purpose = ["analyst"] * has_several, ["purpose"] * has_purposes
    return ("when (UTC)", *analyst, "data set", "question", price_name(entries), "answer", *purpose), rows


def price_name(entries: Sequence[Entry]) -> str:
    """Return the header of the column of prices: "ε" if every price is an ε without δ, else "price"."""
    is_pure = all(entry.request.epsilon and not entry.request.delta for entry in entries)
    return "ε" if is_pure else "price"


def price_words(entry: Entry) -> str:
    """Return the charge of an entry as text: ε as a number if there is no δ, with a plus sign for a top-up."""
    request = entry.request
    plus = "+" if entry.replaces else ""
    if request.epsilon is None or request.delta:
        return f"{plus}{request.price.text}"
    return f"{plus}{exact_text(request.epsilon)}"


def answer_words(entry: Entry) -> str:
    """Return the answer of an entry without its error: a count, or the number of keys or counts of a table."""
    if not isinstance(entry.answer, TableAnswer):
        return "not given" if entry.answer is None else signed(entry.answer)
    if entry.answer.keys is not None:
        return counted_noun("key", len(entry.answer.keys)) + " shown"
    return counted_noun("count", sum(map(len, entry.answer.levels)))


Object = dict[str, Any]


def ledger_json(configuration: Config, entries: Sequence[Entry]) -> Object:
    """Return every debit, and the accounts of data sets and analysts, as JSON."""
    datasets = accounts_of_datasets(configuration, entries)
    analysts = accounts_of_analysts(configuration, entries)
    return {
        "ledger": _ledger_path(configuration),
        "datasets": accounts_json("dataset", datasets),
        "analysts": accounts_json("analyst", analysts),
        "entries": _entries_json(entries),
    }


def verification_json(configuration: Config, verification: Verification | None, known_head: Head | None) -> Object:
    """Return the result of a verification as JSON. Every member except the path is null if there is no ledger.

    `compared` is the head that the rows were compared with; null if none was given.
    """
    if verification is None:
        names = ("intact", "compared", "head", "broken", "why", "older_replies")
        return {"ledger": _ledger_path(configuration), **dict.fromkeys(names)}
    return {
        "ledger": _ledger_path(configuration),
        "intact": verification.broken is None,
        "compared": None if known_head is None else str(known_head),
        "head": str(verification.head),
        "broken": verification.broken,
        "why": verification.why or None,
        "older_replies": verification.older_replies,
    }


def rows_json(rows: Sequence[Object]) -> Object:
    """Return every row of a ledger, and its head, as JSON."""
    head = Head(rows[-1]["number"], rows[-1]["hash"]) if rows else Head()
    return {"head": str(head), "rows": list(rows)}


def _ledger_path(configuration: Config) -> str | None:
    file = configuration.ledger_file
    return None if file is None else str(file)


def accounts_json(kind: str, accounts: Sequence[Account]) -> list[Object]:
    """Return the accounts as JSON; `remaining` is the largest ε of one more answer, null if there is no budget."""
    return [
        {
            kind: account.name,
            "budget": None if account.budget is None else account.budget.written,
            **_spent_json(account.spent),
            "remaining": None if account.left is None else exact_text(account.left),
        }
        for account in accounts
    ]


def _entries_json(entries: Sequence[Entry]) -> list[Object]:
    return [
        {
            **entry_json(entry),
            "dataset": entry.request.dataset,
            "question": StoredQuestion(entry).text,
            **_spent_json(entry.spent),
            "analyst_spent": optional_text(entry.analyst_spent.epsilon),
            "purpose": entry.purpose,
            "repeats": repeats_json(entry),
        }
        for entry in entries
    ]


def repeats_json(entry: Entry) -> list[Object]:
    """Return the repeats of an entry as JSON: later requests for the same answer, free of charge."""
    return [
        {"analyst": repeat.analyst, "made": repeat.made.isoformat(), "purpose": repeat.purpose}
        for repeat in entry.repeats
    ]


def _price_json(entry: Entry) -> Object:
    """Return the charge of an entry as JSON: ε, or null and ρ if it has no ε; and δ if it is above 0.

    A top-up also has the total price, and the key of the answer that it tops up.
    """
    request = entry.request
    members: Object = {"epsilon": optional_text(request.epsilon)}
    if request.epsilon is None:
        members["rho"] = exact_text(request.price.rho)
    if request.delta:
        members["delta"] = exact_text(request.delta)
    if entry.replaces:
        in_all = entry.loss
        of_all = {"rho_in_all": exact_text(in_all.rho)} if in_all.epsilon is None else {}
        members |= {"epsilon_in_all": optional_text(in_all.epsilon), **of_all, "replaces": entry.replaces[0]}
    return members


def entry_json(entry: Entry) -> Object:
    """Return an entry as JSON: its time, analyst, key and charge, and its answer.

    The answer is a count, or the counts of each level of a table with its hidden keys.
    """
    answer: Object = {"answer": entry.answer}
    if isinstance(entry.answer, TableAnswer):
        answer = {"answer": [level.tolist() for level in entry.answer.levels]}
        if entry.answer.keys is not None:
            answer["keys"] = entry.answer.keys
    return {
        "made": entry.made.isoformat(),
        "key": entry.key,
        "analyst": entry.analyst,
        **_price_json(entry),
        **answer,
    }


def _spent_json(spent: Loss) -> Object:
    """Return the total loss as JSON; δ only if it is above 0."""
    members: Object = {"spent": optional_text(spent.epsilon), "spent_rho": exact_text(spent.rho)}
    if spent.delta:
        members["spent_delta"] = exact_text(spent.delta)
    return members


SHORTEST_KEY = 6  # smallest number of characters by which a key can be abbreviated


def stored_count_as_guess(key: str, configuration: Config) -> tuple[int, str]:
    """Return a stored count as a guess for `--guess-from`, and a sentence about it.

    Raises NoisyCountError if the key belongs to a table, or if its answer is missing or not above 0.
    """
    entry = entry_under_key(key, configuration, "--guess-from")
    if isinstance(entry.answer, TableAnswer) or asks_for_table(entry):
        raise NoisyCountError(f"--guess-from {key!r}: that is a table, and a guess is one count: give --guess instead")
    if entry.answer is None or entry.answer <= 0:
        answer = "there is no answer yet" if entry.answer is None else f"{entry.answer} is no guess"
        raise NoisyCountError(f"--guess-from {key!r}: {answer}, as a guess is above 0: give --guess instead")
    return entry.answer, answered_words(entry)


def entry_under_key(key: str, configuration: Config, option: str) -> Entry:
    """Return the debit whose key is `key`, or begins with `key` if that has at least `SHORTEST_KEY` characters.

    Raises NoisyCountError, which names the option, if no debit matches, or several.
    """
    entries = debits(configuration)
    matches = [entry for entry in entries if entry.key == key]
    if not matches and len(key) >= SHORTEST_KEY:
        matches = [entry for entry in entries if entry.key.startswith(key)]
    if len(matches) == 1:
        return matches[0]
    if len(key) < SHORTEST_KEY:
        raise NoisyCountError(
            f"{option} {key!r}: an abbreviated key needs at least {SHORTEST_KEY} characters; "
            "`noisycount ledger show --json` lists the keys"
        )
    several = "the keys of several answers begin so" if matches else "the ledger has no such key"
    raise NoisyCountError(f"{option} {key!r}: {several}; `noisycount ledger show --json` lists the keys")


def answered_words(entry: Entry) -> str:
    """Return a sentence about a stored answer: its count, date, question and data set."""
    answer = "nothing" if entry.answer is None else answer_words(entry)
    return (
        f"{answer} was answered on {entry.made:%Y-%m-%d} and is paid for: {StoredQuestion(entry).words} "
        f"in {redacted_name(entry.request.dataset)}"
    )


def spent_of(name: str, configuration: Config) -> Loss:
    """Return the total loss of all answers about a data set."""
    dataset = configuration.dataset(name)
    spent = [entry.spent for entry in debits(configuration) if entry.request.dataset == dataset.account]
    return spent[-1] if spent else Loss()
