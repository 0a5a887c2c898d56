"""Materialised views of Spark: their definitions are not read, so their owner vouches for them."""

from types import SimpleNamespace

import pytest

from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError

KINDS = {"MANAGED": True, "EXTERNAL": True, "MATERIALIZED_VIEW": False, "STREAMING_TABLE": False}
VOUCHED = UnitClaim("person", vouched="one row a person")


@pytest.mark.parametrize("kind", KINDS)
def test_a_materialised_view_is_refused_unless_its_owner_vouches(kind: str) -> None:
    """JointCounts are tables, whose records are their owner's."""
    table = pytest.importorskip("noisycount.engines.spark.table")
    session = SimpleNamespace(shown="'visits'", run=lambda *_: kind)
    table.SparkRelation(session, "visits", claim=VOUCHED)._require_stored(1.0)  # noqa: SLF001 - no cluster has them here
    relation = table.SparkRelation(session, "visits", claim=UnitClaim("person"))
    if KINDS[kind]:
        relation._require_stored(1.0)  # noqa: SLF001 - as above
    else:
        with pytest.raises(SourceError, match=r"'visits' is a view.* its definition is not read on Spark"):
            relation._require_stored(1.0)  # noqa: SLF001 - as above
