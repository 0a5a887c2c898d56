"""The suite that every engine passes, on a real server of PostgreSQL."""

import pytest

from noisycount.engines.conformance.certificate import require_certified
from noisycount.engines.sql.bench import SqlBench
from noisycount.errors import SourceError
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.postgresql import Server


def test_a_bench_needs_no_right_but_to_make_temporary_tables(postgresql: Server) -> None:
    """An account that may read and make nothing else is enough; nothing is left behind."""
    name = postgresql.database()
    with postgresql.shell(name) as shell:
        shell.execute("CREATE ROLE tester LOGIN; REVOKE ALL ON SCHEMA public FROM public")
        shell.execute(f"REVOKE ALL ON DATABASE {name} FROM public".encode())
        shell.execute(f"GRANT CONNECT ON DATABASE {name} TO tester".encode())
    bench = SqlBench(postgresql.url(name, "tester"))
    with pytest.raises(SourceError, match="let its owner grant TEMPORARY of the database"):
        bench.source([], {"age": Kind.INTEGER}).__enter__()
    with postgresql.shell(name) as shell:
        shell.execute(f"GRANT TEMPORARY ON DATABASE {name} TO tester".encode())
    with bench.source([{"age": 31}], {"age": Kind.INTEGER}) as source:
        assert source.count([parse("age = 31", source.schema)]) == [1]
    with postgresql.shell(name) as shell:
        left = shell.execute("SELECT count(*) FROM pg_class WHERE relpersistence = 't'").fetchone()
    assert left == (0,)


def test_the_servers_of_our_tests_are_certified(postgresql: Server) -> None:
    """Whatever the collation of a database, its texts are compared by their code points."""
    identity = SqlBench(postgresql.url("postgres")).identity
    assert (identity.engine, identity.collation) == ("postgresql", "C (UTF8)")
    require_certified("records", identity, "", [])


def test_another_encoding_is_another_engine(postgresql: Server) -> None:
    """Bytes are in the order of code points in UTF-8 alone."""
    with postgresql.shell("postgres") as shell:
        shell.execute("CREATE DATABASE western ENCODING LATIN1 TEMPLATE template0")
    identity = SqlBench(postgresql.url("western")).identity
    assert identity.collation == "C (LATIN1)"
    with pytest.raises(SourceError, match="which is not counted, as it was never tested here"):
        require_certified("records", identity, "", [])


def test_server_answers_no_question_of_a_closed_bench(postgresql: Server) -> None:
    """A source outside its block counts nothing."""
    with SqlBench(postgresql.url("postgres")).source([], {"age": Kind.INTEGER}) as source:
        pass
    with pytest.raises(SourceError, match="is closed: open it again"):
        source.prepare()


def test_wrong_types_are_refused_in_one_line(postgresql: Server) -> None:
    """What a server cannot hold is withheld, as every text of a server is."""
    bench = SqlBench(postgresql.url("postgres"))
    with pytest.raises(SourceError) as caught:
        bench.source([{"note": "canary\0"}], {"note": Kind.TEXT}).__enter__()
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
