"""The files of `deploy/` name paths, options and limits that exist."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from noisycount.cli import serve as cli
from noisycount.config.service import ServiceConfig
from tests.helpers.transcripts import blocks_of
from tests.release_trial.inventory import pinned_packages

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
CONFIGURATION, STATE = "/etc/noisycount/noisycount.toml", "/var/lib/noisycount"
USUAL = ServiceConfig()

pytestmark = pytest.mark.skipif(not DEPLOY.is_dir(), reason="the tests run outside the project's folder")


def text(name: str) -> str:
    """Give a file of the folder."""
    return (DEPLOY / name).read_text(encoding="utf-8")


def started(name: str) -> list[str]:
    """Give the words by which a file starts the service."""
    if name == "Containerfile":
        return list(re.findall(r'"([^"]+)"', text(name).rpartition("CMD ")[2]))
    return shlex.split(text(name).partition("ExecStart=")[2].partition("\n")[0])


def typed_for_the_container() -> list[list[str]]:
    """Give the words of the commands that its first lines show."""
    shown = text("Containerfile").partition("#\n")[0].replace("\\\n#", " ")
    return [shlex.split(line.removeprefix("# ")) for line in shown.splitlines()]


def after(option: str, words: list[str]) -> list[str]:
    """Give what stands after an option, each time."""
    return [value for word, value in pairwise(words) if word == option]


@pytest.mark.parametrize("name", ["noisycount.service", "Containerfile"])
def test_the_service_is_started_by_options_that_it_has(name: str) -> None:
    """At one port, with the one configuration."""
    program, serve, *words = started(name)
    parsed = cli.serve.make_parser(cli.serve.make_context("serve", [], resilient_parsing=True))
    options, rest, _ = parsed.parse_args(words)
    assert (program, serve, rest) == ("/opt/noisycount/bin/noisycount", "serve", [])
    assert (options["port"], options["configuration"]) == ("8000", CONFIGURATION)


def test_the_unit_and_the_container_keep_the_ledger_in_one_place() -> None:
    """Which is the only one that the service can write."""
    unit, container = text("noisycount.service"), text("Containerfile")
    assert f"StateDirectory={Path(STATE).name}\n" in unit
    assert f"WorkingDirectory={STATE}\n" in unit
    assert f"VOLUME {STATE}\n" in container
    assert f"WORKDIR {STATE}\n" in container
    for line in ("ProtectSystem=strict", "NoNewPrivileges=yes", "DynamicUser=yes"):
        assert f"{line}\n" in unit
    assert re.search(r"^USER [1-9]\d+$", container, re.MULTILINE)


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Containerfile with their arguments, without comments."""
    lines = [line for line in text("Containerfile").splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(name, " ".join(words.split())) for name, _, words in (line.partition(" ") for line in joined if line)]


def test_every_instruction_of_the_container_is_one() -> None:
    """Without an engine here, this reads the file: known instructions, two stages, commands as lists."""
    names = [name for name, _ in instructions()]
    assert set(names) <= {
        *(
            "ARG",
            "FROM",
            "COPY",
            "RUN",
            "ENV",
            "WORKDIR",
            "VOLUME",
            "USER",
            "EXPOSE",
            "STOPSIGNAL",
            "HEALTHCHECK",
            "CMD",
        ),
    }
    assert names.count("FROM") == 2
    assert names.count("CMD") == names.count("USER") == names.count("HEALTHCHECK") == 1
    said = dict(instructions())
    assert json.loads(said["CMD"])[:2] == ["/opt/noisycount/bin/noisycount", "serve"]
    assert json.loads(said["HEALTHCHECK"].partition("CMD ")[2])[1] == "-c"
    compile(json.loads(said["HEALTHCHECK"].partition("CMD ")[2])[2], "health", "exec")
    for name, words in instructions():
        assert name != "RUN" or subprocess.run(["sh", "-n", "-c", words], check=False).returncode == 0  # noqa: S603, S607


def test_the_container_is_built_from_files_with_hashes() -> None:
    """The base has a digest, packages are compared with their hashes, and the wheel is that of `make release`."""
    base = dict(instructions())["ARG"]
    assert re.fullmatch(r"BASE=docker\.io/library/python:3\.\d+-slim@sha256:[0-9a-f]{64}", base)
    assert [words for name, words in instructions() if name == "FROM"] == ["${BASE} AS built", "${BASE}"]
    copied, of_stage = (words for name, words in instructions() if name == "COPY")
    assert copied == "deploy/requirements.txt dist/noisycount-*.whl /source/"
    assert of_stage.startswith("--from=built ")
    (install,) = (words for name, words in instructions() if name == "RUN" and "pip install" in words)
    packages, wheel = re.findall(r"pip install ([^&]+)", install)
    assert "--require-hashes --requirement /source/requirements.txt" in packages
    assert "--no-index --no-deps /source/noisycount-*.whl" in wheel


def test_the_packages_of_the_container_are_those_of_its_extras() -> None:
    """Each has hashes, and a version that pyproject.toml allows; the service, PostgreSQL and charts are among them."""
    extras = re.findall(r"--extra (\w+)", (ROOT / "Makefile").read_text(encoding="utf-8").partition("requirements:")[2])
    assert extras == ["server", "postgres", "charts"]
    pinned = {name: version for name, version, hashes in pinned_packages(DEPLOY / "requirements.txt") if hashes}
    assert len(pinned) == len(pinned_packages(DEPLOY / "requirements.txt"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    for words in [*project["dependencies"], *(each for extra in extras for each in optional[extra])]:
        needed = Requirement(words)
        assert needed.specifier.contains(pinned[needed.name]), words


def test_the_container_is_run_closed_and_finds_what_the_page_configures() -> None:
    """It writes the folder of the ledger alone, and reads the configuration and the records."""
    _, run, _ = typed_for_the_container()
    assert {"--read-only", "no-new-privileges"} <= set(run)
    assert after("--cap-drop", run) == ["ALL"]
    mounted = [volume.split(":", maxsplit=1)[1] for volume in after("-v", run)]
    configurations = blocks_of(ROOT / "docs/how-to/production.md", "toml")
    (shown,) = (block for block in configurations if "[datasets.survey]" in block.text)
    survey = tomllib.loads(shown.text)["datasets"]["survey"]["source"]
    assert mounted == [STATE, f"{CONFIGURATION}:ro", f"{Path(survey).parent}:ro"]


def test_the_container_is_told_of_the_proxy_outside() -> None:
    """It comes from the gateway of a network, not from 127.0.0.1, and is not just anybody."""
    build, run, _ = typed_for_the_container()
    (address,) = re.findall(r'proxies = \["([\d.]+)"\]', text("Containerfile"))
    assert ip_address(address).is_private
    assert not ip_address(address).is_loopback
    (port,) = after("-p", run)
    assert port.startswith("127.0.0.1:")
    assert (after("-t", build), after("-f", build)) == ([run[-1]], ["deploy/Containerfile"])


def test_a_key_is_given_out_in_the_container_by_options_that_there_are() -> None:
    """By the program, which is on its path, at the configuration of the service."""
    _, run, given = typed_for_the_container()
    assert given[:4] == ["docker", "exec", *after("--name", run), "noisycount"]
    assert f"PATH={Path(started('Containerfile')[0]).parent}:$PATH" in text("Containerfile")
    name, *words = given[5:]
    add = cli.analysts.commands[name]
    parsed = add.make_parser(add.make_context(name, [], resilient_parsing=True))
    options, rest, _ = parsed.parse_args(words)
    assert (given[4], rest) == ("analysts", [])
    assert options["configuration"] == CONFIGURATION


def test_a_stop_waits_for_what_was_begun() -> None:
    """The manager waits longer than a query may take; so do the engine and the proxies."""
    waits = re.findall(
        r"(?:TimeoutStopSec=|--stop-timeout |response_header_timeout |proxy_read_timeout )(\d+)",
        "".join(map(text, ("noisycount.service", "Containerfile", "Caddyfile", "nginx.conf"))),
    )
    assert len(waits) == 4
    assert all(int(wait) > max(USUAL.deadline, 2 * USUAL.slot) + 1 for wait in waits)


@pytest.mark.parametrize("name", ["Caddyfile", "nginx.conf"])
def test_a_proxy_stands_before_the_port_of_the_unit(name: str) -> None:
    """At the address where the unit listens, and lets no larger body through than it takes."""
    words = started("noisycount.service")
    host, port = (words[words.index(option) + 1] for option in ("--host", "--port"))
    assert f"{host}:{port}" in text(name)
    (size,) = re.findall(r"(?:max_size|client_max_body_size) 1(MB|m)", text(name))
    assert 1_000_000 <= USUAL.body * (1 if size == "MB" else 2**20 / 1e6) < 1_100_000


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_takes_the_unit_and_finds_it_closed(tmp_path: Path) -> None:
    """Every line is known, and the exposure is below 2 of 10."""
    unit = tmp_path / "noisycount.service"
    here = text("noisycount.service").replace("/opt/noisycount/bin/noisycount", sys.executable)
    unit.write_text(here, encoding="utf-8")
    for words in (["verify"], ["security", "--offline=true", "--threshold=20"]):
        told = subprocess.run(  # noqa: S603 - our own words
            ["systemd-analyze", *words, str(unit)],  # noqa: S607 - wherever it is
            capture_output=True,
            text=True,
            check=False,
        )
        assert told.returncode == 0, told.stderr
        assert "noisycount.service:" not in told.stderr


def test_keys_of_a_container_are_in_its_volume() -> None:
    """With a ledger on a server, keys are beside the read-only configuration; there the image has a link."""
    (link,) = (words for name, words in instructions() if name == "RUN" and "ln -s" in words)
    assert f"ln -s {STATE} {Path(CONFIGURATION).parent}/noisycount.data" in " ".join(link.split())
    assert f"ln -s {STATE} {Path(CONFIGURATION).parent}/noisycount.data" in (
        block.text.strip() for block in blocks_of(ROOT / "docs/how-to/production.md", "sh")
    )
