"""The page on calibration agrees with the code: its sessions and its links."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from pytest_rageval.engine.preparing import load_judge_labels
from pytest_rageval.values.numbers import CorrectedMean, JudgeReliability, SpotCheck
from tests.docs.examples import read_document

PAGE = read_document("calibration.md")


def test_the_label_lines_are_valid(tmp_path: Path) -> None:
    (block,) = (b for b in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL) if "refunds_001" in b)
    path = tmp_path / "labels.jsonl"
    path.write_text(block, encoding="utf-8")
    assert [label.label for label in load_judge_labels(path, display="labels.jsonl").labels] == [
        4.0,
        True,
    ]


def test_every_field_of_the_reliability_is_named() -> None:
    named = {
        name.name for kind in (JudgeReliability, SpotCheck, CorrectedMean) for name in fields(kind)
    }
    assert [field for field in sorted(named) if f"`{field}`" not in PAGE] == ["corrected"]
    assert "`judge_reliability.corrected`" in PAGE
