"""A made-up hospital: seven tables of 4,000 patients, for trying questions about persons."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from random import Random
from typing import Final

PATIENTS: Final = 4000
_COLUMNS: Final = {
    "patients": ("patient", "sex", "born", "smoker"),
    "visits": ("patient", "visit_id", "ward_id", "day"),
    "diagnoses": ("patient", "code", "day"),
    "drugs": ("patient", "drug", "day", "doses"),
    "labs": ("patient", "test", "value", "day"),
    "notes": ("visit_id", "word"),
    "wards": ("ward_id", "name", "beds"),
}
_FIRST_DAY: Final = date(2024, 1, 1)
_DAYS: Final = 700  # visits, diagnoses and labs are in so many days from the first on


def hospital_tables() -> Mapping[str, Sequence[Sequence[object]]]:
    """Return the rows of each table by its name, first the names of the columns. None is a missing value.

    The tables are the same at each call. One lab in 20 has no value, and one patient in 20 no entry about smoking.

    Example:
        >>> tables = hospital_tables()
        >>> list(tables)
        ['patients', 'visits', 'diagnoses', 'drugs', 'labs', 'notes', 'wards']
        >>> tables["wards"]
        [('ward_id', 'name', 'beds'), ('W1', 'ICU', 12), ('W2', 'surgery', 40), ('W3', 'medicine', 60)]
    """
    draws = Random(2025)  # noqa: S311 - made-up records
    tables: dict[str, list[tuple[object, ...]]] = {name: [columns] for name, columns in _COLUMNS.items()}
    tables["wards"] += [("W1", "ICU", 12), ("W2", "surgery", 40), ("W3", "medicine", 60)]

    def day() -> date:
        return _FIRST_DAY + timedelta(draws.randrange(_DAYS))

    def rarely_missing(value: object) -> object:
        return None if draws.random() < 1 / 20 else value

    for patient in range(1, PATIENTS + 1):
        smoker = rarely_missing(draws.choice(["true", "false", "false"]))
        tables["patients"].append((patient, draws.choice("FM"), draws.randint(1930, 2010), smoker))
        for _ in range(draws.choice([0, 1, 1, 2, 3, 6])):
            visit = len(tables["visits"])
            tables["visits"].append((patient, visit, draws.choice(["W1", "W2", "W3"]), day()))
            tables["notes"].append((visit, draws.choice(["fall", "pain", "home"])))
        for code in draws.sample(["I21", "E11", "J45"], draws.randint(0, 2)):
            start = day()
            tables["diagnoses"].append((patient, code, start))
            prescribed = start + timedelta(draws.randrange(90))
            tables["drugs"].append((patient, draws.choice(["B01", "A10"]), prescribed, draws.randint(1, 8)))
        for _ in range(draws.randint(0, 3)):
            value = rarely_missing(draws.randint(4, 12))
            tables["labs"].append((patient, draws.choice(["HbA1c", "CRP"]), value, day()))
    return tables
