"""What ``rageval judge`` is told beside the judge: a second one, and people's labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_rageval.analysis.trust.reliability import JudgeLabels
    from pytest_rageval.judges.spot_check import CaseKey
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.settings import Settings


def with_trust(settings: Settings, spot_check: int, labels: str | None) -> Settings:
    """Return the settings with a spot check of this command's own and these labels.

    Args:
        settings: of the project, whose spot check is one of its runs and has no part here.
        spot_check: how many cases a second judge judges too.
        labels: file, relative to the working folder; None: the project's.

    Raises:
        ConfigError: the spot check could tell nothing.
    """
    from pytest_rageval.judges.spot_check import check_second_judge

    judging = replace(settings.judging, spot_check=spot_check)
    if labels is not None:
        judging = replace(judging, labels=labels)
    settings = replace(settings, judging=judging)
    check_second_judge(settings)
    return settings


def chosen_cases(records: Sequence[CaseRecord], settings: Settings) -> frozenset[CaseKey]:
    """Return file and id of the cases that are judged twice."""
    from pytest_rageval.judges.spot_check import choose_cases

    return choose_cases(((r.file, r.case) for r in records if r.case is not None), settings)


def read_labels(records: Sequence[CaseRecord], settings: Settings) -> JudgeLabels | None:
    """Read people's labels before anybody is asked; None: there are none.

    Raises:
        DatasetError: the file is wrong, or does not say which case a label is about.
    """
    from pytest_rageval.analysis.trust.reliability import labels_by_case
    from pytest_rageval.engine.judge_labels import load_judge_labels

    given = settings.judging.labels
    if given is None:
        return None
    labels = load_judge_labels(Path(settings.rootdir) / given, display=given)
    labels_by_case(labels, dict.fromkeys((r.file, r.case_id) for r in records))
    return labels
