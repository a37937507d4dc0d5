"""Labels: human scores, read from JSONL.

A file gives all of its labels or one error with all of its faults.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, Required

from typing_extensions import TypedDict

from pytest_rageval.analysis.trust.calibration import LABELS, LEFT_OUT, OWN_LABELS, LabelledAnswer
from pytest_rageval.analysis.trust.judge import SCALE
from pytest_rageval.analysis.trust.reliability import HumanLabel, JudgeLabels
from pytest_rageval.metrics.judged import valid_score
from pytest_rageval.support.jsonl import ObjectLine, read_objects, repeated_id
from pytest_rageval.support.reading import unfit_at
from pytest_rageval.support.text import did_you_mean, shown_json
from pytest_rageval.values.case import NotBlank
from pytest_rageval.values.errors import Fault

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
