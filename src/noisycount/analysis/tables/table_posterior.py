"""What are the counts of a table, given noisy answers about them and their sums?"""

import warnings
from collections.abc import Sequence

from noisycount.analysis.tables.answered import (
    TableAnswers,
    TableMechanisms,
    answered,
    checked_total,
)
from noisycount.analysis.tables.cell_solution import CellSolution, learned_cell_law
from noisycount.analysis.tables.learning import first_settings, learned
from noisycount.analysis.tables.level_answers import LevelAnswers, count_bounds
from noisycount.analysis.tables.likeliest import anchored
from noisycount.analysis.tables.likelihoods import likelihoods
from noisycount.analysis.tables.model import Model, Settings
from noisycount.analysis.tables.packed_solution import (
    PackedSolution,
    pack_size,
    packed_answers,
    packed_law,
)
from noisycount.analysis.tables.prior import CellLevel, PriorLevel, StatedLevel, TablePrior
from noisycount.analysis.tables.published import asked
from noisycount.analysis.tables.table_estimates import TablePosterior
from noisycount.analysis.tables.tree_solution import TreeSolution
from noisycount.model.populations.population import Population
from noisycount.model.tables.splits import Splits, level_splits
from noisycount.model.tables.tree import Tree

__all__ = ["table_posterior", "table_posterior_of"]

_FLAT = 2  # levels of a tree of cells and their total


def table_posterior(
    answers: TableAnswers,
    mechanism: TableMechanisms = None,
    tree: Tree | None = None,
    total: int | Population | None = None,
    prior: Splits | Sequence[Splits] | None = None,
) -> TablePosterior:
    """The exact laws of all counts of a table, given all its answers.

    The count of the root is `total`, or has that law; without one nothing is known of it. The count
    of a node divides among its children by a Dirichlet-multinomial law,
    P[k_1, …, k_m | k] = k!·Γ(A)/Γ(k + A)·Π_c Γ(k_c + a_c)/(k_c!·Γ(a_c)), A = Σ a_c. Answers are
    independent given the counts. The likelihood of a node's count is then a product of its own
    answers and one convolution of its children's, and two passes over the tree give every law.

    Args:
        answers: Of the cells, in records, shape (cells,); or {level or node: answers}: an int is a
            level, 0 that of the root and −1 that of the cells, with an array over its nodes; a node
            is (level, position) or a tuple of its keys, with a number or several. nan: no answer;
            `noisycount.below(t)`: less than t. Or a table that a desk released.
        mechanism: The law of an answer given the count: one, or one a level from the root, or a
            mapping with the keys of the answers. `noisycount.Exact()` for exact margins. None with
            a released table.
        tree: Which cells are added up. None: all, to the root; or the tree of a released table.
        total: The public number of records, or a population whose law of the count is that of the
            root; None: nothing is known.
        prior: How counts divide: `Splits` of the cells, or one for each level below the root. None:
            learned from the answers alone: for each level a mixture of concentrations, for a flat
            table a law of the count of a cell. What is learned is then taken as known. With a total
            cells are given their sum: the root has the law of the total, and the evidence is
            P[answers | total].

    Raises:
        ValueError: If answers, mechanism, tree, total and prior do not fit, nothing is answered, or
            no table can have these answers.

    Warns:
        UserWarning: If the answers contradict the prior, the total, or every table: see `warning`.

    Source: for one count Naldi and D'Acquisto (2014), eq. (8)-(11); the Dirichlet-multinomial law
    Mosimann (1962). docs/table-posteriors.md has the theorem and its proof.
    Numerical error: bounded as it is computed, see `rounding`: at each node laws are within 5e-11
    in total variation under a stated prior, within 1e-3 under a learned one of a tree, and within
    1e-12 where tables are small; the logarithm of the evidence as well, and within 1e-15 of the
    largest logarithm in it. However far answers contradict each other, the total or every whole
    count: logarithms are told relative to the likeliest table, exactly but for sums of noises.
    Without a total a learned prior of a tree divides packs of records where noise is wide: of 1/128
    of the narrowest scale for up to four cells, of 1/32 for 16 or more. Quantiles are then whole
    packs, and a deviation that is learned is at most √A/4 packs larger, A the concentration of all
    children. Of a flat table laws of cells are exact; that of a sum is within 1e-6 in each
    probability of up to a count.
    Refused is what would lose digits: contradictions of more than 1e6 nats in a tree of more than
    10,000 nodes, and an answer under a sum of noises at 1e5 nats.

    Example:
        >>> import noisycount as nc
        >>> noise, prior = nc.DiscreteLaplace(5), nc.Splits(1)
        >>> told = nc.table_posterior([52.0, 11, -4], noise, total=60, prior=prior)
        >>> told.mean.round(2).tolist(), told.low.tolist(), told.high.tolist()
        ([48.89, 8.64, 2.47], [39, 1, 0], [56, 17, 10])
    """
    told = table_posterior_of(answers, mechanism, tree, total, prior)
    if (odd := told.warning) is not None:
        warnings.warn(odd, UserWarning, stacklevel=2)
    return told


def table_posterior_of(
    answers: TableAnswers,
    mechanism: TableMechanisms = None,
    tree: Tree | None = None,
    total: int | Population | None = None,
    prior: Splits | Sequence[Splits] | None = None,
) -> TablePosterior:
    """The same as `table_posterior` without a warning, for whoever tells it in other ways."""
    given, laws, tree = asked(answers, mechanism, tree)
    known = checked_total(total)
    found = answered(given, laws, tree, known)
    if prior is None and known is None and (size := pack_size(found, tree.cells)) > 1:
        return _packed(tree, found, size)
    model = _model(tree, found, known)
    if prior is None and tree.depth == _FLAT and _has_cells(found):
        return _flat(model, found, is_free=known is None)
    levels, settings = _levels(model := anchored(model), prior)
    return _posterior(model, levels, TreeSolution.of(model, levels, settings))


def _model(tree: Tree, found: Sequence[LevelAnswers], known: int | Population | None) -> Model:
    """The table before its likeliest counts are known."""
    law = known if isinstance(known, Population) else None
    return Model(tree, likelihoods(found, count_bounds(found, tree, known)), law)


def _levels(
    model: Model, prior: Splits | Sequence[Splits] | None
) -> tuple[tuple[PriorLevel, ...], Settings]:
    """How counts divide, as stated or as learned, and settings of the passes that suit it."""
    settings = first_settings(model)
    if prior is None:
        return learned(model, settings)
    return tuple(StatedLevel(split) for split in level_splits(prior, model.tree)), settings


def _packed(tree: Tree, found: Sequence[LevelAnswers], size: int) -> TablePosterior:
    """That of noise so wide that counts are told in packs; of independent cells in records."""
    cells = [one for one in found if one.level]
    is_flat = tree.depth == _FLAT and bool(cells)
    if is_flat and len(cells) == len(found):
        return _flat(_model(tree, found, None), found, is_free=True)
    model = anchored(_model(tree, packed_answers(found, size), None))
    levels: tuple[PriorLevel, ...]
    if is_flat:
        law = learned_cell_law(cells)
        levels = (CellLevel(law, is_given=False),)
        own: tuple[PriorLevel, ...] = (CellLevel(packed_law(law, size), is_given=False),)
        settings = first_settings(model)
    else:
        levels, settings = _levels(model, None)
        own = levels
    solution = PackedSolution(TreeSolution.of(model, own, settings), tuple(found), size)
    return _posterior(model, levels, solution)


def _has_cells(found: Sequence[LevelAnswers]) -> bool:
    """Whether any cell is answered."""
    return any(one.level for one in found)


def _flat(model: Model, found: Sequence[LevelAnswers], *, is_free: bool) -> TablePosterior:
    """That of cells without a stated prior: independent but for what their sum is known to be."""
    cells = [one for one in found if one.level]
    law = learned_cell_law(cells)
    levels = (CellLevel(law, is_given=not is_free),)
    if is_free and len(cells) == len(found):
        return _posterior(model, levels, CellSolution.of(model.tree.cells, law, cells))
    model = anchored(model)
    return _posterior(model, levels, TreeSolution.of(model, levels, first_settings(model)))


def _posterior(
    model: Model,
    levels: tuple[PriorLevel, ...],
    solution: TreeSolution | CellSolution | PackedSolution,
) -> TablePosterior:
    """The posterior that a solution gives."""
    return TablePosterior(model.tree, TablePrior(levels, model.tree.names[1:]), solution)
