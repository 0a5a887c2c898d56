"""The forms in which a report is written."""

from collections.abc import Callable
from json import dumps

from noisycount.app.config.config import Config
from noisycount.app.report.markdown import report_markdown
from noisycount.app.report.page import report_page
from noisycount.app.report.registry import registry_objects
from noisycount.app.report.report import Report
from noisycount.app.report.sheet import report_sheet
from noisycount.app.report.wire import report_object

__all__ = ["FORMS", "MEDIA", "written_report"]


def _json(value: object) -> str:
    return f"{dumps(value, indent=2, ensure_ascii=False)}\n"


_WRITERS: dict[str, Callable[[Report, Config], str]] = {
    "html": report_page,
    "csv": lambda report, _: report_sheet(report),
    "md": report_markdown,
    "json": lambda report, configuration: _json(report_object(report, configuration)),
    "registry": lambda report, _: _json(registry_objects(report)),
}

FORMS = tuple(_WRITERS)
"""Their names."""

MEDIA = {
    "html": "text/html",
    "csv": "text/csv",
    "md": "text/markdown",
    "json": "application/json",
    "registry": "application/json",
}
"""What each form is to a browser."""


def written_report(report: Report, configuration: Config, form: str) -> str:
    """A report in a form.

    Args:
        report: The report.
        configuration: Where the ledger is.
        form: One of `FORMS`.
    """
    return _WRITERS[form](report, configuration)
