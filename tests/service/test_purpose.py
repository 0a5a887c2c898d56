from pathlib import Path

import pytest

from noisycount.config.file import load
from noisycount.errors import ConfigError
from tests.service.callers import ANA, calling, configured, serving

QUESTION = {"where": "age >= 65", "epsilon": "0.1"}


def test_a_service_may_want_a_purpose(tmp_path: Path) -> None:
    """Of every spend: one without is charged nothing, whatever the data set says."""
    with serving(configured(tmp_path, purpose=True)) as state:
        caller = calling(state, ANA)
        refused = caller.ask(QUESTION, "first")
        assert refused.status_code == 422
        assert refused.json()["detail"].startswith("purpose is missing: say what the answer is for")
        assert state.ledger.entries() == []
        assert caller.ask({**QUESTION, "purpose": "a report"}, "second").status_code == 201
        assert [entry.purpose for entry in state.ledger.entries()] == ["a report"]


def test_the_setting_is_a_truth(tmp_path: Path) -> None:
    """Left out: none is wanted."""
    path = tmp_path / "noisycount.toml"
    for text, wanted in (("", False), ("purpose = true", True), ("purpose = false", False)):
        path.write_text(f"[server]\n{text}\n", encoding="utf-8")
        assert load(path).service.purpose is wanted
    path.write_text('[server]\npurpose = "yes"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="must be true or false"):
        load(path)
