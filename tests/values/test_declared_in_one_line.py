"""One line adds a setting, a field of a case or a field of a reply; all else follows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ADDED = {
    "values/settings.py": (
        "    k: Annotated[Count,",
        "    tone: Annotated[Count | None, "
        'Setting("subject", "tone to ask for", "--rag-tone", "N")] = None\n',
    ),
    "values/case.py": ("    k: Count | None = None\n", "    audience: Count | None = None\n"),
    "values/reply.py": (
        "    session: Annotated[str | None, Read(read_name)] = None\n",
        "    mood: Annotated[str | None, Read(read_name)] = None\n",
    ),
}
"""By module the line before which one is added, and the added one."""

ASKED = """
import json
import sys
from pathlib import Path

import pytest_rageval
from docs.site.reference import _settings_page
from pytest_rageval.analysis.compare.settings import compare_configs, current_config
from pytest_rageval.cli.schemas import json_schema
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.project.case_reader import case_fields, case_hash, parse_case
from pytest_rageval.project.settings import load_settings, stored_settings
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.errors import ConfigError, DatasetError
import msgspec

here = Path(sys.argv[1])
flagged = load_settings(here, flags={"rageval_rag_tone": "3"}, environ={})
named = load_settings(here, flags={}, environ={"RAGEVAL_RAG_TONE": "4"})
try:
    load_settings(here, flags={"rageval_rag_tone": "0"}, environ={})
except ConfigError as error:
    refused = str(error)
case = parse_case({"id": "a", "question": "q", "audience": 2})
try:
    parse_case({"id": "a", "question": "q", "audience": 0})
except DatasetError as error:
    misread = str(error)
compared = compare_configs(current_config(flagged), current_config(named))
schemas = {kind: json_schema(kind, BUILT_IN) for kind in ("config", "case", "reply")}
print(json.dumps({
    "package": pytest_rageval.__file__,
    "read": [flagged.tone, named.tone, refused],
    "page": next(line for line in _settings_page().splitlines() if "--rag-tone" in line),
    "config.json": json.loads(msgspec.json.encode(stored_settings(flagged)))["tone"],
    "differing": [[one.name, one.base, one.new] for one in compared.config],
    "schemas": {
        "config": schemas["config"]["$defs"]["Settings"]["properties"]["tone"]["description"],
        "case": "audience" in schemas["case"]["properties"],
        "reply": "mood" in json.dumps(schemas["reply"]),
    },
    "case": [case.audience, case_fields(case)["audience"], misread],
    "hashed": case_hash(case) != case_hash(parse_case({"id": "a", "question": "q"})),
    "reply": parse_ask_response({"answer": "x", "debug": {"mood": "calm"}}).mood,
}))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package in which the lines are added."""
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "pytest_rageval", folder / "pytest_rageval", ignore=ignored)
    for name, (before, line) in ADDED.items():
        file = folder / "pytest_rageval" / name
        text = file.read_text(encoding="utf-8")
        assert text.count(before) == 1
        file.write_text(text.replace(before, line + before), encoding="utf-8")
    return folder


def run(package: Path, *arguments: str) -> str:
    path = os.pathsep.join([str(package), str(ROOT)])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        cwd=package,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_line_is_read_shown_described_stored_and_compared(
    package: Path, tmp_path: Path
) -> None:
    found: dict[str, Any] = json.loads(run(package, "-c", ASKED, str(tmp_path)))
    assert found.pop("package") == str(package / "pytest_rageval" / "__init__.py")
    page = found.pop("page")
    assert all(part in page for part in ("RAGEVAL_RAG_TONE", "at least 1", "tone to ask for"))
    assert found == {
        "read": [3, 4, "--rag-tone: got '0', expected an integer of at least 1"],
        "config.json": 3,
        "differing": [["tone", 3, 4]],
        "schemas": {"config": "tone to ask for", "case": True, "reply": True},
        "case": [2, 2, "audience: got 0, expected an integer of at least 1"],
        "hashed": True,
        "reply": "calm",
    }


def test_the_flag_of_one_line_is_in_the_help_of_pytest(package: Path) -> None:
    shown = " ".join(run(package, "-m", "pytest", "--help").split())
    assert "--rag-tone=N tone to ask for [RAGEVAL_RAG_TONE]" in shown
