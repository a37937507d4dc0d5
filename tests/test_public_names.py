"""The names that ``import pytest_rageval`` offers to users."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import pytest_rageval

NAMES = {
    "NA": None,
    "AskRequest": None,
    "AskResponse": None,
    "Bars": None,
    "Case": None,
    "CaseRecord": None,
    "Citation": None,
    "Comparison": None,
    "ConfigError": None,
    "DatasetError": None,
    "FolderSelection": None,
    "Judge": None,
    "JudgeFailure": None,
    "JudgeRequest": None,
    "Judgement": None,
    "RagEvalError": None,
    "RetrievedChunk": None,
    "Run": None,
    "Scored": None,
    "Search": None,
    "StorageError": None,
    "Table": None,
    "Verdict": None,
    "__version__": None,
    "compare_runs": "(base, new='last', *, root='.', ignore_invariants=False)",
    "evaluate": "(cases, target=None, *, judge=None, root='.', save=True, **options)",
    "from_documents": "(documents, *, path=None, root=None)",
    "load_cases": "(path)",
    "load_run": "(run='last', *, root='.')",
    "metric": "(key, *, title='', direction='higher', binary=False, scale=(0.0, 1.0), "
    "population='cases that were answered', version='1')",
    "run_metric": "(key, *, title='', direction='higher', scale=(0.0, None), version='1')",
    "score": "(cases, responses, *, judge='none', root='.', save=None, **options)",
    "section": "(title)",
}
"""Public names; of functions with their parameters."""

MEMBERS = {
    "Comparison": [
        "base", "comparable", "conclusion", "failed", "new", "newly_missed", "problem", "rows",
        "to_dict", "to_pandas", "to_polars", "verdict", "view",
    ],
    "Run": [
        "aggregate", "config", "folder", "gate", "means", "notes", "records", "rows", "run_id",
        "stored", "tags", "to_pandas", "to_polars",
    ],
}  # fmt: skip
"""Names of a class that are its own; those of records are in docs/python.md."""


def test_the_public_names_are_these_and_no_others() -> None:
    assert pytest_rageval.__all__ == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_can_be_imported_and_is_listed(name: str) -> None:
    found = getattr(importlib.import_module("pytest_rageval"), name)
    assert found is not None
    assert name in dir(pytest_rageval)


def parameters(function: object) -> str:
    """Parameters of a function with their defaults, without types."""
    found = inspect.signature(function)  # type: ignore[arg-type]
    bare = [one.replace(annotation=one.empty) for one in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def test_the_functions_take_what_was_promised() -> None:
    public = {name: getattr(pytest_rageval, name) for name in NAMES}
    found = {n: parameters(f) if inspect.isfunction(f) else None for n, f in public.items()}
    assert found == NAMES


@pytest.mark.parametrize("name", MEMBERS)
def test_the_views_have_the_members_that_were_promised(name: str) -> None:
    kind = getattr(pytest_rageval, name)
    named = {*dir(kind), *(field.name for field in dataclasses.fields(kind))}
    assert sorted(one for one in named if not one.startswith("_")) == MEMBERS[name]
    methods = [
        getattr(kind, one) for one in MEMBERS[name] if inspect.isfunction(vars(kind).get(one))
    ]
    assert {parameters(method) for method in methods} == {"(self)"}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'pytest_rageval' has no attribute 'Asked'"):
        getattr(pytest_rageval, "Asked")  # noqa: B009 - a type checker knows better


def test_the_import_loads_no_other_module_of_the_package_and_no_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import pytest_rageval; "
        "new = {name.split('.')[0] for name in sys.modules.keys() - before}; "
        "print(sorted(new - sys.stdlib_module_names), "
        "[name for name in sys.modules if name.startswith('pytest_rageval.')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "['pytest_rageval'] []\n"


def test_no_public_name_needs_pytest() -> None:
    code = (
        "import sys, pytest_rageval; [getattr(pytest_rageval, n) for n in pytest_rageval.__all__]; "
        "print([name for name in ('_pytest', 'pytest', 'pluggy') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


CONSUMER = Path(__file__).parent / "data" / "consumer" / "typed.py"
MYPY: Final = ("-m", "mypy", "--strict", f"--cache-dir={CONSUMER.parents[3] / '.mypy_cache/users'}")
"""Checks code of users, whose imports of ours take most of the time, once for all tests."""


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_project_that_uses_them_has_no_error_under_strict_types(
    tmp_path: Path, checker: str
) -> None:
    shutil.copy(CONSUMER, tmp_path)
    command = [sys.executable, *MYPY]
    if checker == "pyright":
        found = shutil.which("pyright")
        if found is None:
            assert "RAGEVAL_REQUIRE_PYRIGHT" not in os.environ
            pytest.skip("pyright is not installed")
        command = [found, "--pythonpath", sys.executable]
    checked = subprocess.run(
        [*command, CONSUMER.name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
