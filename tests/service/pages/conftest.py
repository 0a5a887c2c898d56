from collections.abc import Iterator

import pytest

from tests.helpers.browser import chromium
from tests.helpers.running_service import ANALYST, OFFICER, OWNER, SURVEY, Service, configured, served

__all__ = ["chromium", "service"]

MORE = """
budget = "20"

[datasets.payroll]
source = "payroll.csv"
unit = "person"
purpose = "required"
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service over the survey, whose budget the tests of a module share."""
    folder = tmp_path_factory.mktemp("service")
    configuration = configured(folder, f"{SURVEY}{MORE}")
    folder.joinpath("payroll.csv").write_text("person,pay\n1,10\n2,20\n", encoding="utf-8")
    with served(configuration, OWNER, ANALYST, OFFICER) as running:
        yield running
