"""Figures as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noisycount.app.figures.sections import Section

__all__ = ["figures_object"]


def figures_object(
    sections: Sequence[Section], page: Path, files: Sequence[Path]
) -> dict[str, Any]:
    """The figures of each paper with their data and claims, its other claims, and the files."""
    return {
        "page": str(page),
        "files": [str(file) for file in files],
        "papers": [
            {
                "paper": section.paper.key,
                "name": section.paper.name,
                "reference": section.paper.reference,
                "figures": [figure.to_dict() for figure in section.figures],
                "claims": [claim.to_dict() for claim in section.claims],
            }
            for section in sections
        ],
    }
