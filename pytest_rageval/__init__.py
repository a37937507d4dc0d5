"""A pytest plugin that treats the evaluation cases of a RAG chatbot as tests.

The names in ``__all__`` are public, for clients, judges, tests, scripts and notebooks of your own;
each is imported at first use, so that ``import pytest_rageval`` loads nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

__version__ = "0.1.0"

__all__ = [
    "NA",
    "AskRequest",
    "AskResponse",
    "Bars",
    "Case",
    "CaseRecord",
    "Citation",
    "Comparison",
    "ConfigError",
    "DatasetError",
    "FolderSelection",
    "Judge",
    "JudgeFailure",
    "JudgeRequest",
    "Judgement",
    "RagEvalError",
    "RetrievedChunk",
    "Run",
    "Scored",
    "Search",
    "StorageError",
    "Table",
    "Verdict",
    "__version__",
    "compare_runs",
    "evaluate",
    "from_documents",
    "load_cases",
    "load_run",
    "metric",
    "run_metric",
    "score",
    "section",
]

_MODULES: Final = {
    "api.cases": ("load_cases",),
    "api.decorators": ("metric", "run_metric", "section"),
    "api.evaluation": ("evaluate", "score"),
    "api.run": ("Comparison", "Run", "compare_runs", "load_run"),
    "target.adapters": ("from_documents",),
    "values.case": ("Case",),
    "values.errors": ("ConfigError", "DatasetError", "RagEvalError", "StorageError"),
    "values.own_code": ("NA", "Bars", "Scored", "Table"),
    "values.record": ("CaseRecord",),
    "values.reply": (
        "AskRequest", "AskResponse", "Citation", "FolderSelection", "RetrievedChunk", "Search",
    ),
    "values.verdict": ("Judge", "JudgeFailure", "JudgeRequest", "Judgement", "Verdict"),
}  # fmt: skip
"""Modules below this package and the public names that they define."""


if TYPE_CHECKING:
    from pytest_rageval.api.cases import load_cases as load_cases
    from pytest_rageval.api.decorators import metric as metric
    from pytest_rageval.api.decorators import run_metric as run_metric
    from pytest_rageval.api.decorators import section as section
    from pytest_rageval.api.evaluation import evaluate as evaluate
    from pytest_rageval.api.evaluation import score as score
    from pytest_rageval.api.run import Comparison as Comparison
    from pytest_rageval.api.run import Run as Run
    from pytest_rageval.api.run import compare_runs as compare_runs
    from pytest_rageval.api.run import load_run as load_run
    from pytest_rageval.target.adapters import from_documents as from_documents
    from pytest_rageval.values.case import Case as Case
    from pytest_rageval.values.errors import ConfigError as ConfigError
    from pytest_rageval.values.errors import DatasetError as DatasetError
    from pytest_rageval.values.errors import RagEvalError as RagEvalError
    from pytest_rageval.values.errors import StorageError as StorageError
    from pytest_rageval.values.own_code import NA as NA
    from pytest_rageval.values.own_code import Bars as Bars
    from pytest_rageval.values.own_code import Scored as Scored
    from pytest_rageval.values.own_code import Table as Table
    from pytest_rageval.values.record import CaseRecord as CaseRecord
    from pytest_rageval.values.reply import AskRequest as AskRequest
    from pytest_rageval.values.reply import AskResponse as AskResponse
    from pytest_rageval.values.reply import Citation as Citation
    from pytest_rageval.values.reply import FolderSelection as FolderSelection
    from pytest_rageval.values.reply import RetrievedChunk as RetrievedChunk
    from pytest_rageval.values.reply import Search as Search
    from pytest_rageval.values.verdict import Judge as Judge
    from pytest_rageval.values.verdict import JudgeFailure as JudgeFailure
    from pytest_rageval.values.verdict import Judgement as Judgement
    from pytest_rageval.values.verdict import JudgeRequest as JudgeRequest
    from pytest_rageval.values.verdict import Verdict as Verdict
else:  # A type checker that sees this function takes every name for a public one.

    def __getattr__(name: str) -> Any:
        import importlib

        for module, names in _MODULES.items():
            if name in names:
                return getattr(importlib.import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
