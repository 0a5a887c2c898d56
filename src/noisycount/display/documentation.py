"""Titles of pages of the documentation that help texts, errors and pages of the service name.

A page has an address such as `how-to/keys`, which `noisycount docs` opens; the service shows it at
`/docs/how-to/keys.html`. `noisycount.tasks.documentation` finds the pages.
"""

__all__ = ["BUDGET_PAGE", "TITLES"]

# A test compares the titles with those of the pages.
TITLES = {
    "index": "noisycount",
    "papers": "Papers: claims, figures and errata",
    "how-to/backup": "Back up, restore, monitor",
    "how-to/disclosure": "Assess what an answer reveals",
    "how-to/epsilon": "Choose ε and a budget",
    "how-to/keys": "Keys and OpenID Connect",
    "how-to/pages": "Web pages",
    "how-to/production": "Run a service in production",
    "how-to/refine": "Refine published counts",
    "how-to/report": "Report, DPIA, registry entry",
    "how-to/servers": "PostgreSQL, Spark, object stores",
    "how-to/tables": "Make a table",
    "how-to/troubleshooting": "Troubleshooting and questions",
    "how-to/your-own-file": "Count your own file",
    "start/analyst": "Analysts",
    "start/differential-privacy": "Differential privacy in ten minutes",
    "start/install": "Install and first count",
}

BUDGET_PAGE = f"{TITLES['how-to/epsilon']}: noisycount docs how-to/epsilon"  # in errors about a spent budget
