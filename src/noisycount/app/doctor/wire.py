"""A diagnosis as JSON."""

from typing import Any

from noisycount.app.doctor.diagnosis import Diagnosis

__all__ = ["diagnosis_object"]


def diagnosis_object(diagnosis: Diagnosis) -> dict[str, Any]:
    """All of it; of what it took, whole seconds."""
    examination, certificate = diagnosis.examination, diagnosis.certificate
    return {
        "certified": certificate is not None,
        "server": diagnosis.place,
        "engine": examination.identity.engine,
        "version": examination.identity.version,
        "collation": examination.identity.collation,
        "date": None if certificate is None else certificate.date,
        "suite": examination.suite,
        "answers": examination.answers,
        "differences": [
            {
                "records": each.records,
                "question": each.question,
                "expected": each.expected,
                "found": each.found,
            }
            for each in examination.differences
        ],
        "unheld": list(examination.unheld),
        "seconds": round(examination.seconds),
        "file": None if diagnosis.file is None else str(diagnosis.file),
    }
