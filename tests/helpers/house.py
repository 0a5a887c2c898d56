"""The rooms of noisycount, and the directions in which they may import."""

EVERYBODY = {"errors", "frozen", "validation", "data", "display"}
BASE = {"model", "query", "ledger", "engines", "catalog", "release"}
ARROWS = {
    "": {"model", "analysis", "charts", "papers", "query", "tasks"},  # the public names
    **{name: set[str]() for name in (*EVERYBODY, "model")},
    "analysis": {"model"},
    "charts": {"model", "analysis"},
    "papers": {"model", "analysis", "charts"},
    "query": {"model"},
    "ledger": {"model"},
    "engines": {"model", "query"},
    "catalog": {"query", "ledger", "engines"},
    "release": BASE - {"release"} | {"analysis"},  # when answers are near enough to stop
    "config": BASE - {"model"},
    "readers": BASE | {"charts", "config"},
    "tasks": BASE | {"analysis", "charts", "papers", "config", "readers"},
    "service": BASE | {"charts", "config", "readers", "tasks"},
    "cli": BASE | {"analysis", "charts", "papers", "config", "readers", "tasks"} | {"service"},
    "__main__": {"cli"},
}
