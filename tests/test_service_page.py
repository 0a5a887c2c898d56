"""The service behaves as `docs/service.md` shows."""

import re
import tomllib
from pathlib import Path

import pytest

from noisycount.config.config import load_config
from noisycount.config.service import ServiceConfig
from tests.helpers.service_process import Service

PAGE = Path(__file__).parents[1] / "docs/service.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


def block(language: str) -> str:
    """Give the one block of a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return str(found)


def test_the_configuration_is_one_and_says_what_holds_without_it(tmp_path: Path) -> None:
    """The page's configuration states every default of the service."""
    (tmp_path / "noisycount.toml").write_text(block("toml"), encoding="utf-8")
    assert load_config(tmp_path / "noisycount.toml").service == ServiceConfig()
    said = set(tomllib.loads(block("toml"))["server"])
    assert said == set(ServiceConfig.__dataclass_fields__) - {"oidc"}


@pytest.mark.thorough
def test_the_analyst_s_program_gets_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """It is charged once, and the same again."""
    with Service.running("2") as service:
        (key,) = service.keys(["ana"]).values()
        program = block("python").replace("https://counts.example.org", f"http://127.0.0.1:{service.port}")
        found: dict[str, object] = {}
        exec(compile(program.replace("nc_…", key), str(PAGE), "exec"), found)  # noqa: S102 - our page
    assert found["answer"] == found["again"]
    assert "±" in capsys.readouterr().out
