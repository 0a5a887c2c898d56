"""What a question means, and the records of a data set and the ledger that pays, opened to answer it."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from noisycount.catalog.catalog import ROW, Catalog, DatasetSettings
from noisycount.catalog.sources import CheckedFiles
from noisycount.config.config import Config, DatasetConfig
from noisycount.errors import ConfigError, LedgerError, NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.address import LedgerAddress, require_no_row
from noisycount.ledger.budget import ApproximateBudget, Loss, NeighbourRelation
from noisycount.ledger.entries import Analyst, Entry, Head
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.price import RunningTotal, TablePrice
from noisycount.ledger.series import covers
from noisycount.ledger.verification import Verification
from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scalar import as_written
from noisycount.model.tables.levels import TOTAL
from noisycount.query.grouping import resolve_group_by
from noisycount.query.public_values import public_keys
from noisycount.query.query import ColumnGrouping, Query
from noisycount.query.schema import Kind, did_you_mean, public_of
from noisycount.release.desk import Attach, Desk
from noisycount.release.noise_plan import TablePlan
from noisycount.release.query_plan import Forms, QueryPlan
from noisycount.release.records import Records
from noisycount.release.reply_tick import ReplyTick
from noisycount.release.table_plan import plan_of
from noisycount.tasks.plan import planned


@frozen
class TableFiles:
    """The files that go with a table."""

    keys: Path | None = None  # its keys: one row a cell, or the keys of one column
    questions: Path | None = None  # more questions, one a line
    plot: Path | None = None  # to be made: a picture
    output: Path | None = None  # to be made: its rows


def check_query(query: Query, files: TableFiles = TableFiles()) -> None:  # noqa: B008 - frozen
    """The refusal of options that do not belong together."""
    for rules in (_rules_of_kind, _rules_of_keys, _rules_of_noise, _rules_of_price):
        for is_wrong, refusal in rules(query, files):
            if is_wrong:
                raise click.UsageError(refusal)


Rules = Iterator[tuple[bool, str]]  # whether something is wrong, and what


def _items(query: Query) -> list[ColumnGrouping]:
    return [item for item in query.by or () if isinstance(item, ColumnGrouping)]


def _has_hidden_keys(query: Query, files: TableFiles) -> bool:
    """Whether only the records know the keys of a column."""
    is_listed = query.keys or files.keys or all(item.grouping for item in _items(query))
    return query.delta is not None and not is_listed


def _rules_of_kind(query: Query, files: TableFiles) -> Rules:
    """One count, a table by groups, or several questions."""
    yield bool(query.by) and query.is_list, "give --by with one --where, or several --where without --by"
    grouped: dict[str, object] = {
        "--keys": query.keys,
        "--keys-from": files.keys,
        "--other": query.other,
        "--margins": query.margins,
    }
    grouped |= {"--groups-per-unit": query.groups_per_unit, "--cumulative": query.cumulative}
    for option, value in grouped.items():
        yield bool(value) and not query.by, f"{option} belongs to a table: add --by COLUMNS"
    tabled: dict[str, object] = {"--noise": query.noise, "--rho": query.rho, "--delta": query.delta}
    for option, value in {**tabled, "--plot": files.plot, "--output": files.output}.items():
        is_wrong = value is not None and not query.is_table
        yield is_wrong, f"{option} belongs to a table: add --by COLUMNS, or --where again"


def _rules_of_keys(query: Query, files: TableFiles) -> Rules:
    """Keys of columns of the table, or none where they are hidden."""
    columns = {item.column.lower(): item.column for item in _items(query)}
    for name in query.keys if isinstance(query.keys, Mapping) else ():
        is_wrong = name.lower() not in columns
        yield is_wrong, f"--keys names {name!r}, which is not in --by: {did_you_mean(name, list(columns.values()))}"
    is_gaussian = query.noise_class is DiscreteGaussian
    for option, value in {"--keys": query.keys, "--keys-from": files.keys}.items():
        is_wrong = bool(value) and query.delta is not None and not is_gaussian
        yield is_wrong, f"--delta is for hidden keys, and {option} lists them: leave one of them out"
    hidden = _has_hidden_keys(query, files)
    yield hidden and query.other, "--other belongs to listed keys: leave out --delta, or --other"
    yield hidden and query.cumulative, "--cumulative needs listed keys: leave out --delta"
    is_wrong = hidden and any(name != "total" for name in query.margins)
    yield is_wrong, "with hidden keys only --margins total is a sum that everybody may ask for"
    is_wrong = query.cumulative and len(query.by or ()) > 1
    yield is_wrong, "--cumulative needs one column in order: leave the others out of --by"
    yield query.cumulative and bool(query.margins), "--cumulative measures all sums of ranges: leave out --margins"


def _rules_of_noise(query: Query, files: TableFiles) -> Rules:
    """A price in the currency of the noise."""
    is_wrong = query.noise is DiscreteLaplace and query.rho is not None
    yield is_wrong, "--rho is the price of Gaussian noise: add --noise gaussian, or give --epsilon"
    is_wrong = bool(query.rho and query.delta and query.by and not _has_hidden_keys(query, files))
    yield is_wrong, "--delta belongs to hidden keys, or to --epsilon: leave it out beside --rho"
    is_gaussian = query.noise_class is DiscreteGaussian
    is_wrong = query.is_list and not query.by and query.delta is not None and not is_gaussian
    yield is_wrong, "--delta belongs to --by without keys, or to --noise gaussian: leave it out"


def _rules_of_price(query: Query, _: TableFiles) -> Rules:
    """One price."""
    is_gaussian = query.noise_class is DiscreteGaussian
    is_wrong = query.rho is not None and (query.epsilon is not None or query.within is not None)
    yield is_wrong, "give one price: --rho, or --epsilon, or --within with --guess"
    is_wrong = is_gaussian and query.epsilon is not None and query.delta is None
    yield is_wrong, "--noise gaussian needs --rho R, or --epsilon E with --delta D"
    is_wrong = is_gaussian and query.within is not None and query.delta is not None
    yield is_wrong, "--within finds the price of Gaussian noise in ρ: leave out --delta"
    is_open = query.at_most is not None
    is_wrong = query.of is not None and not (is_open and query.by)
    yield is_wrong, "--of belongs to a table with --by, --within and --at-most: leave it out"
    is_wrong = is_open and bool(query.by) and query.of is None
    words = "--of largest, --of total or --of 90%-of-cells: which counts shall be so near"
    yield is_wrong, f"--at-most of a table needs {words}"
    is_wrong = is_open and (is_gaussian or query.delta is not None)
    yield is_wrong, "--at-most is for Laplace noise and listed keys: leave out --noise, --rho and --delta"
    yield is_open and query.cumulative, "--at-most knows no sums of ranges: leave out --cumulative, or give --epsilon"
    is_wrong = query.of == TOTAL and not {TOTAL, "all"} & {*query.margins}
    yield is_wrong, "--of total needs the total as an answer of its own: add --margins total"


def plan_in(
    query: Query,
    schema: Mapping[str, Kind],
    unit: str | None,
    *,
    is_replacement: bool,
    for_keys: Fraction = Fraction(0),
) -> QueryPlan:
    """The plan of a question, at the price that it needs, from what is public of records."""
    if query.by is not None:
        query = replace(query, keys=known_keys(query))
        _check_groups(query, schema, unit, for_keys)
    if query.within is None or query.at_most is not None:
        return plan_of(query, schema, unit, is_replacement=is_replacement)
    priced = replace(query, within=None, guess=None)
    if not query.is_table:
        goal = planned(float(query.guess or 0), float(query.within), query.confidence)
        priced = replace(priced, epsilon=goal.epsilon)
        return plan_of(priced, schema, unit, is_replacement=is_replacement)
    currency = "rho" if query.noise_class is DiscreteGaussian else "epsilon"
    priced = replace(priced, **{currency: Fraction(1)})  # type: ignore[arg-type]  # a price
    plan = plan_of(priced, schema, unit, is_replacement=is_replacement)
    priced = replace(priced, **{currency: _row_price(query, plan.noise)})  # type: ignore[arg-type]
    return plan_of(priced, schema, unit, is_replacement=is_replacement)


def _row_price(query: Query, plan: TablePlan) -> Fraction:
    """The smallest price in two digits at which every row lies as near as its goal wants."""
    within, guess = float(query.within or 0), float(query.guess or 0)
    width = math.floor(as_written(within, "within") * as_written(guess, "guess"))
    noise = plan.price.noise

    def is_kept(price: Fraction) -> bool:
        epsilon, rho = (None, price) if noise is DiscreteGaussian else (price, None)
        paid = TablePrice.of(noise, epsilon, rho, None, is_hidden=False)
        mechanisms = (paid.mechanism(level.sensitivity, level.share) for level in plan.levels)
        return all(error_within(each, query.confidence) <= width for each in mechanisms)

    prices = list(_readable())
    place = bisect_left(prices, True, key=is_kept)  # noqa: FBT003
    if place == len(prices):
        raise NoisyCountError(
            f"--within {within:g} of --guess {guess:g} for each row needs a price above 1e6: choose another goal"
        )
    return prices[place]


def _readable() -> Iterator[Fraction]:
    """Every price of two digits that a ledger keeps, rising."""
    for exponent in range(-10, 5):
        for digits in range(10, 100):
            price = Fraction(Decimal(digits).scaleb(exponent))
            if Fraction(1, 10**9) <= price <= 10**6:
                yield price
    yield Fraction(10**6)


def known_keys(query: Query) -> Any:  # noqa: ANN401 - as a query has them
    """The keys, of which columns may be named in small letters as well."""
    if not isinstance(query.keys, Mapping):
        return query.keys
    names = [each.column for each in query.by or () if isinstance(each, ColumnGrouping)]
    columns = {name.lower(): name for name in names}
    return {columns.get(name.lower(), name): keys for name, keys in query.keys.items()}


def _check_groups(query: Query, schema: Mapping[str, Kind], unit: str | None, for_keys: Fraction) -> None:
    """The refusal of keys that nobody lists, or of which nobody knows how many a person has."""
    parts = resolve_group_by(query.by or (), schema, unit)
    public = public_of(schema) if query.delta is None else {}
    follow = [part.known_keys or public_keys(part, public.get(part.column.name)) for part in parts]
    unknown = next((part for part, keys in zip(parts, follow, strict=True) if keys is None), None)
    if unknown is None:
        return
    needs_keys = query.other or query.cumulative or query.noise_class is DiscreteGaussian
    is_listed = query.keys or needs_keys or {*query.margins} - {"total"}
    if for_keys and query.delta is None and not is_listed:
        groups = "" if unit is None else " --groups-per-unit 1"
        raise NoisyCountError(
            f"keys of {unknown.text} are missing: list them, --keys {unknown.column.name}={unknown.keys_example}, "
            f"or show only the keys of many, --delta {float(for_keys / 10):.1g}{groups}"
        )
    is_hidden = query.delta is not None and not query.keys
    if is_hidden and unit is not None and query.groups_per_unit is None:
        raise NoisyCountError(
            "--groups-per-unit is missing: nobody knows in how many hidden groups a person is, so "
            "say in how many one counts, such as 1"
        )


def dataset_asked(configuration: Config, source: str, unit: str | None, option: str = "--unit") -> DatasetConfig:
    """The data set that SOURCE means, counted by the unit that the asker names."""
    dataset = configuration.dataset(source)
    if unit is None or unit == dataset.unit:
        return dataset
    if not dataset.is_path:
        chosen = "counts rows" if dataset.unit == ROW else f"counts distinct {dataset.unit!r}"
        raise ConfigError(
            f"{option} {unit!r}: data set {dataset.name!r} {chosen}, as its owner configured it; leave {option} out"
        )
    return replace(dataset, unit=unit)


def catalog_of(ledger: Ledger | None, configuration: Config, *, makes: bool = False) -> Catalog:
    """What was written down of data sets; where no ledger is or comes to be, no folder does."""
    return Catalog.of(ledger, configuration.data_folder if ledger or makes else None)


def records_of(
    dataset: DatasetConfig, catalog: Catalog, checked: CheckedFiles | None = None, *, renews: bool = False
) -> Records:
    """Return the open records of a data set. `checked`: a check just before, so that no file is read again."""
    return Records.open(dataset.source, statement_of(dataset, renews=renews), catalog, checked)


def as_configured(dataset: DatasetConfig, configuration: Config, catalog: Catalog) -> DatasetConfig:
    """The data set as its owner configured it, where a path holds the same records.

    A copy of a file is the data set that the ledger has by its content: what its owner configured
    of that (the columns, the budget, the size) holds for the copy too.
    """
    if not dataset.is_path or dataset.account != dataset.name:
        return dataset
    account = Records.account_of(dataset.source, statement_of(dataset), catalog)
    owned = (each for each in configuration.datasets.values() if each.account == account)
    found = next(owned, None)
    if account == dataset.account or found is None:
        return replace(dataset, account=account)
    return replace(found, source=dataset.source, unit=dataset.unit or found.unit)


def statement_of(dataset: DatasetConfig, *, renews: bool = False) -> DatasetSettings:
    """What the owner of a data set says of its records."""
    return DatasetSettings(
        name=dataset.account,
        is_path=dataset.is_path and dataset.account == dataset.name,
        unit=dataset.unit,
        columns=dataset.columns,
        table=dataset.table,
        kinds=dataset.kinds,
        form=dataset.form,
        values=dataset.values,
        claim=dataset.claim,
        renews=renews,
    )


def debits(configuration: Config) -> list[Entry]:
    """Every debit, oldest first; none where nothing was asked yet."""
    with existing_ledger(configuration) as ledger:
        return ledger.entries() if ledger else []


def verification(configuration: Config, known_head: Head | None) -> Verification | None:
    """What became of reading the whole ledger; None: there is none yet."""
    with existing_ledger(configuration, anchored=False) as ledger:
        if ledger is not None:
            return ledger.verify(known_head)
    require_no_row(known_head)
    return None


@contextmanager
def existing_ledger(configuration: Config, *, anchored: bool = True, makes: bool = False) -> Iterator[Ledger | None]:
    """The ledger; None where nothing was asked yet."""
    place = LedgerAddress.read(configuration.ledger_url).file  # refuses what `Ledger.open` would
    known_head = configuration.known_head if anchored else None
    # A link that leads nowhere may lead to a disk not mounted: that is for the ledger to refuse.
    if place is not None and not _is_there(place) and known_head is None:
        yield None
        return
    create = makes and place is not None and known_head is None
    with Ledger.open(configuration.ledger_url, create=create, known_head=known_head) as ledger:
        yield ledger if ledger.is_made() else None


def _is_there(place: Path) -> bool:
    """Whether something lies there, be it a link that leads nowhere."""
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        shown = repr(str(place))
        raise LedgerError(f"ledger {shown} cannot be opened ({error.strerror}): mend that") from None
    return True


@frozen
class DatasetSession:
    """What is open while a data set is asked; whoever opened it closes it."""

    dataset: DatasetConfig  # as its owner configured it
    records: Records  # the open records
    ledger: Ledger | None  # the open ledger; None where nothing was asked yet
    configuration: Config  # where the ledger is

    @property
    def account(self) -> DatasetConfig:
        """The data set under the name by which the ledger books its spending."""
        return replace(self.dataset, account=self.records.name)

    def running_total(self, more: Loss | None = None, which: str = "so far") -> RunningTotal:
        """Return the running total of the data set, with the price of an answer that is previewed if one is given.

        Args:
            more: The price of that answer.
            which: Which answers the total is of, in words.
        """
        spent = Loss() if self.ledger is None else self.ledger.paid(self.records.name)
        return RunningTotal(
            spent if more is None else spent + more,
            "row" if self.records.unit is None else "person",
            is_replacement=self.dataset.size is not None,
            rho_delta=self.dataset.budget.rho_delta,
            which=which,
        )

    def plan(self, query: Query, analyst: Analyst | None = None) -> QueryPlan:
        """The plan of a question, at the price that it needs."""
        dataset, records = self.dataset, self.records
        budgets = [dataset.budget, *filter(None, [analyst and analyst.budget])]
        for_keys = min(each.for_keys if isinstance(each, ApproximateBudget) else Fraction(0) for each in budgets)
        is_replacement = NeighbourRelation.of_size(dataset.size) is NeighbourRelation.REPLACEMENT
        return plan_in(query, records.schema, records.unit, is_replacement=is_replacement, for_keys=for_keys)

    def require_possible(self, plan: QueryPlan, analyst: Analyst) -> list[str]:
        """What no record can satisfy of a question that the analyst paid for."""
        requests = self.records.requests(plan)
        return plan.require_possible(
            self.records.schema.public,
            lambda: any(covers(entry, requests[0]) for entry in self.asked(analyst, requests)),
        )

    def asked(self, analyst: Analyst, requests: Forms) -> list[Entry]:
        """Return the debits of the same question at any price that an analyst may know."""
        return [] if self.ledger is None else self.ledger.entries_asking(*requests, analyst)

    def desk(self, analyst: Analyst, slot: ReplyTick | None = None, attach: Attach | None = None) -> Desk:
        """The desk that charges an analyst's questions to an open ledger."""
        if self.ledger is None:
            raise ValueError("ledger must be open before a desk is, got None: make it first")
        paying = self.dataset.for_desk(self.records.name)
        return self.records.desk(self.ledger, paying, slot, analyst, attach)

    @contextmanager
    def charging(self, plan: QueryPlan | None = None) -> Iterator["DatasetSession"]:
        """Open the session with a ledger, which is made for the first question, if that can be counted."""
        if self.ledger is not None:
            yield self
            return
        self.records.prepare(set() if plan is None else {column.name for column in plan.read})
        self.configuration.make_ledger_folder()
        with Ledger.open(self.configuration.ledger_url) as ledger:
            yield replace(self, ledger=ledger)


@contextmanager
def session_of(dataset: DatasetConfig, configuration: Config, *, makes: bool = False) -> Iterator[DatasetSession]:
    """The session of a data set; its records and its ledger are closed with it."""
    with ExitStack() as opened:
        ledger = opened.enter_context(existing_ledger(configuration, makes=makes))
        catalog = catalog_of(ledger, configuration, makes=makes)
        dataset = as_configured(dataset, configuration, catalog)
        records = opened.enter_context(records_of(dataset, catalog))
        yield DatasetSession(dataset, records, ledger, configuration)
