"""Certificates as they are kept: whole, private, and none that nobody could have got."""

import json
from pathlib import Path

import pytest

from noisycount.catalog.folder import EngineCertificates
from noisycount.engines.conformance.certificate import Certificate, Identity, require_certified
from noisycount.errors import SourceError

SUITE = "ab" * 32
MARIA = Identity("mariadb", "11.4", "utf8mb4_bin")
PASSED = Certificate(MARIA, "2026-01-31", SUITE, 30_000, ("the character NUL",))


def test_certificates_are_kept_as_they_are(tmp_path: Path) -> None:
    """A newer one of an engine is in the place of the older; others stay."""
    kept = EngineCertificates(tmp_path / "private")
    assert kept.all() == ()
    kept.keep(PASSED)
    other = Certificate(Identity("mysql", "8.4", "utf8mb4_bin"), "2026-01-31", SUITE, 1)
    newer = Certificate(MARIA, "2026-02-28", "cd" * 32, 31_000)
    kept.keep(other)
    kept.keep(newer)
    assert kept.all() == (other, newer)
    kept.withdraw(MARIA)
    assert kept.all() == (other,)
    assert kept.file is not None
    assert kept.file.stat().st_mode & 0o077 == 0


def test_nothing_is_kept_without_a_folder() -> None:
    """A ledger on a server may have none."""
    kept = EngineCertificates()
    kept.keep(PASSED)
    kept.withdraw(MARIA)
    assert (kept.all(), kept.file) == ((), None)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "7",
        "{}",
        "[7]",
        "[{}]",
        "\udcff",
        *(
            json.dumps([PASSED.parts | change])
            for change in (
                {"identity": "mariadb"},
                {"identity": {"engine": "mariadb", "version": "11.4"}},
                {"identity": {"engine": "mariadb", "version": 11.4, "collation": "bin"}},
                {"identity": {"engine": "", "version": "11.4", "collation": "bin"}},
                {"date": "yesterday"},
                {"date": 20260131},
                {"suite": "ab"},
                {"suite": None},
                {"answers": 0},
                {"answers": True},
                {"answers": "30000"},
                {"unheld": [7]},
                {"unheld": None},
                {"signed": "by nobody"},
            )
        ),
    ],
)
def test_forged_certificates_are_refused_with_their_file(tmp_path: Path, text: str) -> None:
    """A refusal is a single line with the file and the remedy; `doctor` then begins anew."""
    kept = EngineCertificates(tmp_path)
    (tmp_path / "certificates.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SourceError) as caught:
        kept.all()
    assert "certificates.json" in str(caught.value)
    assert str(caught.value).endswith("remove it, and make certificates anew by `noisycount doctor SOURCE`")
    assert len(str(caught.value).splitlines()) == 1
    kept.keep(PASSED)
    assert kept.all() == (PASSED,)


def test_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The folder is a file."""
    (tmp_path / "private").write_text("")
    with pytest.raises(SourceError, match="cannot be written: remove it"):
        EngineCertificates(tmp_path / "private").keep(PASSED)


def test_one_that_cannot_be_looked_for_is_not_withdrawn_in_silence(tmp_path: Path) -> None:
    """The name of its folder is one that no disk holds."""
    with pytest.raises(SourceError, match="cannot be read: remove it"):
        EngineCertificates(tmp_path / ("x" * 300)).withdraw(MARIA)


@pytest.mark.parametrize(
    ("identity", "suite", "why"),
    [
        (MARIA, "cd" * 32, "its certificate of 2026-01-31 is of another suite"),
        (Identity("mariadb", "11.5", "utf8mb4_bin"), SUITE, "is of mariadb 11.4 with utf8mb4_bin"),
        (Identity("mariadb", "11.4", "latin1"), SUITE, "is of mariadb 11.4 with utf8mb4_bin"),
        (Identity("oracle", "23", "BINARY"), SUITE, "it was never tested here"),
        (Identity("postgresql", "9.6", "C (UTF8)"), SUITE, "it was never tested here"),
        (Identity("postgresql", "15", "C (LATIN1)"), SUITE, "it was never tested here"),
        (Identity("spark", "3.5", "UTF8_BINARY"), SUITE, "it was never tested here"),
    ],
)
def test_certificate_is_of_one_engine_and_one_suite(identity: Identity, suite: str, why: str) -> None:
    """An engine that was not tested as it is now is refused by name, with what to do."""
    with pytest.raises(SourceError) as caught:
        require_certified("db#visits", identity, suite, [PASSED])
    message = str(caught.value)
    assert message.startswith(f"db#visits is on {identity}, which is not counted")
    assert why in message
    assert "noisycount doctor SOURCE" in message


def test_engines_of_our_own_tests_and_certified_ones_are_counted() -> None:
    """No refusal is the answer."""
    require_certified("db#visits", MARIA, SUITE, [PASSED])
    require_certified("db#visits", Identity("postgresql", "15", "C (UTF8)"), SUITE, [])
    require_certified("db#visits", Identity("spark", "4.3", "UTF8_BINARY"), SUITE, [])
