"""Checks and files before the first case of a run, and labels: human scores, read from JSONL.

A file gives all of its labels or one error with all of its faults.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, Required

from typing_extensions import TypedDict

from pytest_rageval.analysis.trust.calibration import LABELS, LEFT_OUT, OWN_LABELS, LabelledAnswer
from pytest_rageval.analysis.trust.reliability import SCALE, HumanLabel, JudgeLabels, labels_by_case
from pytest_rageval.metrics.judged import valid_score
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.project.case_reader import LoadedSet, read_set
from pytest_rageval.project.settings import target_kind
from pytest_rageval.project.threshold_keys import KnownNames
from pytest_rageval.project.thresholds import project_thresholds
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.jsonl import ObjectLine, read_objects, repeated_id
from pytest_rageval.support.process import raise_open_files
from pytest_rageval.support.reading import unfit_at
from pytest_rageval.support.text import did_you_mean, shown_json
from pytest_rageval.values.case import NotBlank
from pytest_rageval.values.errors import ConfigError, DatasetError, Fault
from pytest_rageval.values.gate import Thresholds
from pytest_rageval.values.settings import Settings, TargetSettings

_ANSWER_LINE: Final = ObjectLine[LabelledAnswer](
    type=LabelledAnswer,
    shape='{"id": ..., "question": ..., "answer": ..., "label": ...}',
)


def load_labels(path: Path, rubric: str) -> tuple[LabelledAnswer, ...]:
    """Read a whole file of labelled answers.

    Every line is an object with ``id``, ``question`` (may be empty), ``answer`` and ``label``, and
    where known ``context``, ``history``, ``reference`` and ``source`` (by default the name of the
    file); other fields are ignored.

    Args:
        path: a JSONL file in UTF-8; a BOM, CRLF and blank lines are fine.
        rubric: of the expected labels, or the key of a metric of a user's rubric.

    Raises:
        DatasetError: with every fault of the file, one a line, or it holds no row.
    """
    known = (*LABELS.get(rubric, OWN_LABELS), *LEFT_OUT.get(rubric, ()))
    expected = f"{', '.join(known[:-1])} or {known[-1]}"
    first_line: dict[str, int] = {}

    def rules(number: int, line: Mapping[str, Any], faulty: object) -> Iterator[Fault]:
        label = line.get("label")
        if label not in known:
            others = [other for other, labels in LABELS.items() if label in labels]
            hint = f", or --rubric {others[0]}" if others else did_you_mean(label, known)
            if isinstance(label, int | float):
                hint = "; a score of a case is for --judge-labels"
            if "label" in line:
                yield unfit_at(("label",), shown_json(label), f"{expected}{hint}")
            else:
                facts = {"expected": expected}
                yield Fault(code="missing", facts=facts, loc=("label",), field="label")
        yield from repeated_id(line, number, first_line)

    found = read_objects(path, _ANSWER_LINE, rules, display=path.as_posix())
    return tuple(replace(one, source=one.source or path.stem) for _, one in found)


_SCORE: Final = f"a number from {SCALE[0]:g} to {SCALE[1]:g}, or true or false"


class _ScoreLine(TypedDict, total=False):
    id: Required[NotBlank]
    rubric: Required[Literal["groundedness", "correctness"]]
    label: Required[Any]
    file: NotBlank | None
    answer: str | None


_SCORE_LINE: Final = ObjectLine[_ScoreLine](
    type=_ScoreLine,
    shape='{"id": case id, "rubric": "groundedness", "label": 4}',
)


def load_judge_labels(path: Path, *, display: str) -> JudgeLabels:
    """Read a whole file of human scores of cases.

    Every line is an object with ``id`` (of a case), ``rubric`` (``groundedness`` or
    ``correctness``) and ``label`` (a score from 0 to 5, or true or false), and ``file`` (the case
    file) where several files have the id, and ``answer``, without which a label counts for any
    answer; other fields are ignored. The labels of one rubric are all of one kind.

    Args:
        path: a JSONL file in UTF-8; a BOM, CRLF and blank lines are fine.
        display: the path as shown in messages.

    Raises:
        DatasetError: with every fault of the file, one a line, or it holds no label.
    """
    firsts: dict[str, tuple[bool, int]] = {}

    def rules(
        number: int, line: Mapping[str, Any], faulty: Collection[int | str]
    ) -> Iterator[Fault]:
        label = line.get("label")
        decides = isinstance(label, bool)
        if "label" in line and not decides and valid_score(label, SCALE) is None:
            hint = "; a labelled answer is for rageval calibrate" if "answer" in line else ""
            yield unfit_at(("label",), shown_json(label), f"{_SCORE}{hint}")
        elif not faulty:
            first_decides, first = firsts.setdefault(line["rubric"], (decides, number))
            if first_decides != decides:
                expected = "true or false" if first_decides else "a score"
                expected += (
                    f" as in line {first}: the labels of {line['rubric']} are all of one kind"
                )
                yield unfit_at(("label",), shown_json(label), expected)

    labels = tuple(
        HumanLabel(
            case_id=line["id"],
            rubric=line["rubric"],
            label=line["label"] if isinstance(line["label"], bool) else float(line["label"]),
            file=line.get("file"),
            answer=line.get("answer"),
            line=number,
        )
        for number, line in read_objects(path, _SCORE_LINE, rules, display=display)
    )
    return JudgeLabels(labels=labels, display=display)


_OPEN_FILES: Final = 20
"""Files open beside the connections of cases: standard streams, the run, its lock and databases."""


def read_sets(
    files: Iterable[Path], rootdir: Path, sent: frozenset[str]
) -> tuple[dict[Path, LoadedSet], dict[Path, DatasetError]]:
    """Read case files; return those that could be loaded, and the faults of the others."""
    found = {file: read_set(file, rootdir, sent) for file in files}
    sets = {file: loaded for file, loaded in found.items() if isinstance(loaded, LoadedSet)}
    return sets, {file: bad for file, bad in found.items() if not isinstance(bad, LoadedSet)}


def check_target(target: TargetSettings, environ: Mapping[str, str]) -> None:
    """Check the settings of the target that each request would need.

    Raises:
        ConfigError: a header names no variable, or an expression is wrong.
    """
    if target.url is not None:
        from pytest_rageval.support.http.address import resolve_headers, resolve_request
        from pytest_rageval.target.variables import check_placeholders

        resolve_headers(target.headers, environ)
        resolve_request(target.request, environ)
        check_placeholders(target)
    if target.request is not None or target.response is not None:
        from pytest_rageval.target.mapping import compile_mapping

        compile_mapping(target.request, "request")
        compile_mapping(target.response, "response")


def check_results_dir(settings: Settings) -> None:
    """Check that the run can be written.

    Raises:
        ConfigError: a file, or a link that leads nowhere, stands in the place of a folder, or it
            cannot be written.
    """
    rootdir, results_dir = Path(settings.rootdir), settings.results_dir
    folder = rootdir / results_dir
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    effective = os.access in os.supports_effective_ids
    if there.is_dir() and not os.access(there, os.W_OK | os.X_OK, effective_ids=effective):
        raise ConfigError.of("results", "results_unwritable", found=there)
    for path in (folder, *folder.parents):
        if os.path.lexists(path) and not path.is_dir():
            raise ConfigError.of("results", "no_results_folder", found=shown_below(path, rootdir))


def check_open_files(settings: Settings, n_cases: int) -> None:
    """Check that files and connections can be open at once; raise the process's limit if needed.

    Raises:
        ConfigError: the system allows too few.
    """
    at_once = min(settings.concurrency, n_cases)
    ends = 2 if target_kind(settings) == "vault" else 1  # the embedded server has the other one
    # Measured: a run of one case at a time needs 22 with the embedded server.
    least = _OPEN_FILES + ends * at_once
    # Twice as many, for the judge's connections; a shell of macOS allows 256, most others 1,024.
    limit = raise_open_files(256 + 2 * ends * at_once)
    if limit < least:
        raise ConfigError.of(
            "--rageval-concurrency", "open_files", n=limit, found=settings.concurrency, least=least
        )


def refuse_select(settings: Settings) -> None:
    """Refuse a selection, such as that of a tier, where it would be passed over.

    Raises:
        ConfigError: there is one.
    """
    if settings.select:
        raise ConfigError.of("select", "tier_select", found=", ".join(settings.select))


def run_thresholds(
    settings: Settings,
    registry: Registry,
    sets: Iterable[LoadedSet],
    *,
    whole: bool,
    more: bool = False,
) -> Thresholds:
    """Read the gate of a run.

    Args:
        settings: of the run.
        registry: the metrics of the run.
        sets: the case files.
        whole: whether all of them could be read; else any category and tag is accepted, because a
            faulty file may hold it.
        more: whether a conftest.py may register further metrics.

    Raises:
        ConfigError: with every fault.
    """
    cases = [c.case for s in sets for c in s.cases]
    return project_thresholds(
        settings,
        gates=settings.extra_gates,
        judge_configured=settings.judged,
        known=KnownNames(
            registry=registry,
            more=more,
            categories={c.category for c in cases} if whole else None,
            tags={t for c in cases for t in c.tags} if whole else None,
        ),
    )


def read_labels(settings: Settings, sets: Iterable[LoadedSet]) -> JudgeLabels | None:
    """Read people's labels of the cases; None without labels, or if nothing is judged.

    Raises:
        ConfigError: the file is wrong, or a label matches several cases.
    """
    if not settings.judged:
        return None
    return read_labels_of([(s.display, one.case.id) for s in sets for one in s.cases], settings)


def read_labels_of(cases: Iterable[tuple[str, str]], settings: Settings) -> JudgeLabels | None:
    """Read people's labels of cases, by file and id; None if absent.

    Raises:
        ConfigError: the file is wrong, or a label matches several cases.
    """
    given = settings.judging.labels
    if given is None:
        return None

    try:
        labels = load_judge_labels(Path(settings.rootdir) / given, display=given)
        labels_by_case(labels, cases)
    except DatasetError as error:
        # The fault is in a file that a setting names, not in a case file.
        raise ConfigError.of_faults(error.faults) from error
    return labels
