"""Which members of a class are shown: what a caller needs, also where it is inherited."""

from sphinx.application import Sphinx

from noisycount.display.values import Shown

__all__ = ["setup"]

_INSIDE = {
    # of mechanisms: what analysis asks of a noise
    *("check_answer", "error_with_tail", "errors", "exact_scale", "excess", "factor"),
    *("is_discrete", "is_log_concave", "likelihood", "log_density", "log_exceedance", "log_tail"),
    *("log_within", "name", "on_grid", "sampler", "scales", "tail", "variance_rounding"),
    # of populations: what analysis asks of a prior
    *("are_independent", "deep_prior", "exact_log_ratio_to_next", "expansion", "expected_positives"),
    *("has_chances", "kinks", "log_chances", "log_ratio_to_next", "log_ratios_to_next", "moments", "neighbours"),
    *("of_logs", "sample", "smooth_prior", "table", "worst_neighbours"),
    # of atoms
    *("checked", "patterns"),
}


def setup(app: Sphinx) -> dict[str, bool]:
    """The choice of members."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-skip-member", _skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _skipped(  # noqa: PLR0913, PLR0917 - as Sphinx calls it
    app: Sphinx, what: str, name: str, of: object, skip: object, options: object
) -> bool | None:
    """True for what is inside, None for Sphinx's own choice; `to_dict` of all is told once."""
    del app, skip, options
    return True if what == "class" and (name in _INSIDE or of is Shown.to_dict) else None
