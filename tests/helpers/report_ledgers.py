"""A ledger of many debits, told entry by entry."""

import json
from fractions import Fraction
from pathlib import Path
from random import Random

from noisycount.config.config import Config, load_config
from noisycount.ledger.budget import ConcentratedBudget
from noisycount.ledger.entries import Analyst, Request, TableAnswer
from noisycount.ledger.ledger import Ledger

BUDGET = ConcentratedBudget(Fraction(1000))
HOSTILE = "=cmd|' /C calc'!A0 <script>alert(1)</script> `x` **b** [a](javascript:1) & \"q\""
NAMES = ("survey", "visits")


def configured(folder: Path) -> Config:
    """A configuration of two data sets, neither of which needs its file."""
    text = '[ledger]\nurl = "sqlite:///ledger.db"\n' + "".join(
        f'[datasets.{name}]\nsource = "{name}.csv"\nunit = "person"\nbudget = {{ rho = "1000" }}\n' for name in NAMES
    )
    (folder / "noisycount.toml").write_text(f"{text}size = 5912\n", encoding="utf-8")
    return load_config(folder / "noisycount.toml")


def asked(number: int, dataset: str, price: Fraction, text: str = "age >= 65") -> Request:
    """A count, or a table with a total, as a desk writes it."""
    question: dict[str, object] = {"where": f"{text} {number}", "unit": "person", "version": "sha256:" + "0" * 64}
    if number % 3:
        told = {**question, "mechanism": "discrete Laplace", "scale": str(1 / price)}
        return Request(dataset, json.dumps(told), price)
    table = {"by": ["town"], "keys": {"grid": [["Bern", "Genf"]]}, "margins": [[]]}
    told = {**question, "table": table, "mechanism": "discrete Gaussian", "scales": ["7/3", "20"]}
    return Request(dataset, json.dumps(told), None, rho=price)


def filled(configuration: Config, debits: int, seed: int = 7) -> list[Request]:
    """Requests that were charged to the ledger; every fifth one was never answered."""
    random, made = Random(seed), list[Request]()  # noqa: S311 - prices of a test
    with Ledger.open(configuration.ledger_url) as ledger:
        for number in range(debits):
            price = Fraction(random.randint(1, 99), random.choice([10, 77, 1000, 333]))
            text = HOSTILE if number == 1 else "age >= 65"
            request = asked(number, NAMES[number % 2], price, text)
            purpose = HOSTILE if number == 1 else None if number % 4 else f"report {number}"
            analyst = Analyst(f"analyst {number % 3}")
            entry, _ = ledger.reserve(f"key {number}", request, BUDGET, analyst, purpose=purpose)
            if number % 5:
                answer = TableAnswer.from_levels([[3, -4], [-1]])
                ledger.store(entry, number - 9 if number % 3 else answer)
            made.append(request)
    return made
