"""The owner's statement about the rows of the views of a source."""

from noisycount.frozen import frozen


@frozen
class UnitClaim:
    """The owner's statement about the rows of a view."""

    unit: str | None = None  # the column that names the unit; None: every row is a unit
    public_tables: tuple[str, ...] = ()  # tables and views that hold no private records
    vouched: str | None = None  # why each row is of one unit, in the owner's words; None: the definition must prove it
    is_stated: bool = True  # False: the unit is not stated yet, so nothing is proved

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Statements beyond the unit, as pairs of a name and its words."""
        public = [("public tables", ", ".join(self.public_tables))] if self.public_tables else []
        return public if self.vouched is None else [*public, ("vouched", self.vouched)]
