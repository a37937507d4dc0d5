"""The names that ``import pytest_rageval`` offers to users."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import pytest_rageval

NAMES = [
    "AskRequest",
    "AskResponse",
    "Case",
    "CaseRecord",
    "Citation",
    "FolderSelection",
    "Judge",
    "JudgeFailure",
    "JudgeRequest",
    "Judgement",
    "RetrievedChunk",
    "Search",
    "Verdict",
    "__version__",
    "from_documents",
]


def test_the_public_names_are_these_and_no_others() -> None:
    assert pytest_rageval.__all__ == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_name_can_be_imported_and_is_listed(name: str) -> None:
    found = getattr(importlib.import_module("pytest_rageval"), name)
    assert found is not None
    assert name in dir(pytest_rageval)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'pytest_rageval' has no attribute 'Asked'"):
        getattr(pytest_rageval, "Asked")  # noqa: B009 - a type checker knows better


def test_the_import_loads_no_module_of_the_package() -> None:
    code = "import sys, pytest_rageval; print([m for m in sys.modules if 'pytest_rageval' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "['pytest_rageval']\n"
