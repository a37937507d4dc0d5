"""The example notebook runs from its first cell to its last, and is stored without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.build.projects import clear_settings

NOTEBOOK = Path(__file__).parents[2] / "examples/notebook.ipynb"


def test_the_notebook_is_stored_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)
    assert len(code) >= 4


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_every_cell_of_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient: Any = pytest.importorskip("nbclient")
    nbformat: Any = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    clear_settings(monkeypatch)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(NOTEBOOK.parent)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    shown = {cell["id"]: cell.get("outputs", []) for cell in notebook.cells}
    assert "recall" in shown["run"][0]["data"]["text/html"]
    assert "paired cases" in shown["comparison"][0]["data"]["text/html"]
    assert "passed" in shown["rows"][0]["data"]["text/plain"]
