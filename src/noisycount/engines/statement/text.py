"""A statement as text with named values, for engines that take no statement of SQLAlchemy."""

from typing import Any, ClassVar

from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement
from sqlalchemy.types import NullType, TypeEngine


class TextCompiler(SQLCompiler):
    """What writes a statement: each value is bound by its name, and cast to its type."""

    def bindparam_string(  # type: ignore[override]  # of its many options these are of use
        self, name: str, *, bindparam_type: TypeEngine[Any] | None = None, **_: object
    ) -> str:
        """A value where it is used."""
        marked = f"{self.dialect.mark}{name}"  # type: ignore[attr-defined]  # of ours
        if bindparam_type is None or isinstance(bindparam_type, NullType):
            return marked
        return f"CAST({marked} AS {self.dialect.type_compiler_instance.process(bindparam_type)})"


class TextDialect(DefaultDialect):
    """What SQLAlchemy is to know of such an engine."""

    mark: ClassVar[str] = ":"  # what stands before the name of a value
    statement_compiler = TextCompiler
    supports_native_boolean = True

    def __init__(self) -> None:
        super().__init__(paramstyle="named")


def text_of(statement: ClauseElement, dialect: TextDialect) -> tuple[str, dict[str, Any]]:
    """The text of a statement, and its values by their names."""
    compiled = statement.compile(dialect=dialect)
    return str(compiled), dict(compiled.params)
