"""Notes on the judges of a run: verdicts that failed, and whether people agree with the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pytest_rageval.analysis.trust.judge import validation_of
from pytest_rageval.judges.calibrations import calibration_folder, read_calibrations
from pytest_rageval.report.explain.verdict import judge_error
from pytest_rageval.support.text import counted, cut
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings

_MESSAGE_CHARS: Final = 300


def judge_notes(records: Iterable[CaseRecord], settings: Settings) -> list[str]:
    """Describe for every judge of a run why verdicts failed, and its agreement with people.

    Args:
        records: of the run.
        settings: with the folder of calibrations and the name by which the judge was asked for.
    """
    versions: dict[str, dict[str, str]] = {}
    failures: dict[str, Counter[str]] = {}
    asked = second = False
    for record in records:
        second = second or (record.spot_check or {}).get("level") not in {None, "offline"}
        for rubric, found in record.judgements.items():
            # The metrics of a user's rubric are calibrated one by one.
            for name in (rubric, *found["scores"]) if found.get("scores") else ():
                versions.setdefault(found["judge"], {})[name] = found["rubric_version"]
            asked = asked or found.get("level") not in {None, "offline"}
            if error := judge_error(found):
                failures.setdefault(found["judge"], Counter())[error] += 1
    notes = [*_failures(failures), *_validations(versions, settings)]
    notes += _alias(settings.judge) if asked else ()
    named = settings.judging.spot_check_model
    return [*notes, *(_alias(named) if second and named is not None else ())]


def _failures(failures: Mapping[str, Counter[str]]) -> Iterator[str]:
    for judge, errors in sorted(failures.items()):
        ((error, n),) = errors.most_common(1)
        total = errors.total()
        most = "" if n == total else f", {n} of them"
        yield f"{judge}: {counted(total, 'verdict')} failed{most}: {cut(error, _MESSAGE_CHARS)}"


def _validations(versions: dict[str, dict[str, str]], settings: Settings) -> Iterator[str]:
    if not versions:
        return
    try:
        calibrations = read_calibrations(calibration_folder(settings))
    except StorageError as error:
        yield str(error)
        calibrations = []
    for judge, rubrics in sorted(versions.items()):
        yield f"{judge}: {validation_of(judge, calibrations, rubric_versions=rubrics)}"


def _alias(model: str) -> Iterator[str]:
    from pytest_rageval.judges.model.memory import unpinned_alias

    warning = unpinned_alias(model)
    if warning:
        yield warning
