"""The target at each index of a sweep."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.sweep.indexes import BuildError, Indexes
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.target.opening import open_target
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import Settings, TargetSettings


def opened(tmp_path: Path, command: str | None = None, **target: Any) -> Indexes:
    folder = tmp_path / "results" / "sweep"
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings(rootdir=str(tmp_path), target=TargetSettings(retries=0, **target))
    return Indexes(
        settings,
        command=command,
        folder=folder,
        slots=Slots(2),
        environ=dict(os.environ),
        opening=partial(open_target, environ=os.environ),
    )


def test_a_command_builds_each_index_once_from_variables(tmp_path: Path) -> None:
    command = 'echo "$RAGEVAL_SWEEP_CHUNK_TOKENS $RAGEVAL_SWEEP_OCR" >> built'
    small, large = {"chunk_tokens": 200, "ocr": True}, {"chunk_tokens": 400, "ocr": False}
    with opened(tmp_path, command, url="http://127.0.0.1:9") as indexes:
        assert indexes.at(small).settings.index_build_version == "chunk_tokens=200, ocr=true"
        indexes.at(small)
        indexes.at(large)
    with opened(tmp_path, command, url="http://127.0.0.1:9") as indexes:  # another process
        indexes.at(large)
        assert indexes.n_built == 0
    log = (tmp_path / "results/sweep/build.log").read_text()  # of all builds, not of the last
    assert log == "".join(
        f"$ {command}   ({name})\n"
        for name in ("chunk_tokens=200, ocr=true", "chunk_tokens=400, ocr=false")
    )
    assert (tmp_path / "built").read_text().splitlines() == ["200 true", "400 false"]


def test_a_failed_build_shows_the_command_and_the_end_of_its_output(tmp_path: Path) -> None:
    command = "for n in $(seq 30); do echo line $n; done; echo no space left >&2; exit 3"
    with opened(tmp_path, command, url="http://127.0.0.1:9") as indexes:
        for _ in range(2):  # it is tried again
            with pytest.raises(BuildError) as caught:
                indexes.at({"size": "big"})
        assert indexes.n_built == 2
    assert "with size=big: exit code 3" in str(caught.value)
    text = caught.value.output
    assert text.endswith("  line 30\n  no space left")
    assert "line 12\n" in text
    assert "line 11\n" not in text
    assert "line 1\n" in (tmp_path / "results/sweep/build.log").read_text()


def test_embedded_servers_stand_side_by_side(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "long.md").write_text("# Long\n\n" + "A wall of tomatoes. " * 200, encoding="utf-8")
    with opened(tmp_path, vault="notes") as indexes:
        small, large = (indexes.at({"chunk_tokens": n}) for n in (100, 400))
        assert indexes.at({"chunk_tokens": 100}) is small
        assert small.settings.target.embedded == {"chunk_tokens": 100}
        request = AskRequest(question="Where are tomatoes?", k=1)
        lengths = [len(one.client.ask(request).retrieved_chunks[0].text) for one in (small, large)]  # type: ignore[attr-defined]
    assert lengths[0] < lengths[1] / 2
    assert indexes.n_built == 2
