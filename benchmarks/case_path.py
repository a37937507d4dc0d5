"""Count the modules that one case passes on its way from its line to its row on the page.

Runs one case of ``evals/`` through pytest in this process, with the embedded server and the
offline judge, once to have a baseline and once more, measured, compared with that baseline. Every
call and every return of every thread is looked at. A module counts where one of its functions is
called with, or returns, the case or a value made of it (``VALUES``), by itself or as an item of a
container. The server does not count: it is the target. What works on a part of the case alone, on
numbers or on the settings does not count either; a second figure has every module in which
anything ran from the first sight of the case to the end of the session.

    python -m benchmarks.case_path --list

To measure another tree, run this file by its path with that tree first in ``PYTHONPATH``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

PACKAGE: Final = "pytest_rageval"
SERVER: Final = (f"{PACKAGE}.server", f"{PACKAGE}.reference")
"""The target, under its name of today and an earlier one."""
VALUES: Final = frozenset(
    {
        # the line, the case and the item
        *("Case", "LocatedCase", "EditableCase", "CaseItem"),
        # asking
        *("AskRequest", "AskResponse", "AskResult", "Trial", "Evaluated", "_Task"),
        # judging and scoring
        *("JudgeRequest", "Judgement", "Verdict", "JudgeFailure", "Judged", "Verdicts"),
        *("CaseView", "CaseScores"),
        # the record, and what the run's figures, its comparison and its page make of it
        *("CaseRecord", "CaseGroup", "CasePair", "CaseFlip", "MetricFlip"),
        *("Explanation", "CaseDetail", "BaseDetail", "FlipView"),
    }
)
"""Classes of the package, by name: earlier trees have them in other modules."""
_CONTAINERS: Final = (list, tuple, set, frozenset, dict)
_LOOKED_AT: Final = 50
"""Items of a container: the set holds one case, so a long one holds none."""
_LIMITS: Final = """version = 1
[cases]
on_miss = "report"
[overall]
hit_at_k = ">= 0.7"
mrr = { max_drop = 0.1 }
latency_ms.p95 = "<= 5000"
error_rate = "<= 0"
[category.factual]
recall_at_k = { min = 0.4 }
"""

ROOT: Final = Path(__file__).resolve().parent.parent


class Watch:
    """Looks at calls and returns, and keeps which functions saw the case, by module."""

    def __init__(self) -> None:
        self.seen: dict[str, set[str]] = {}
        self.entered: set[str] = set()
        """Modules of which any function ran since the case was first seen."""
        self._names: dict[CodeType, tuple[str, ...]] = {}

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        """Look at one event; see ``sys.setprofile``."""
        if event not in {"call", "return"}:
            return
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(PACKAGE) or module.startswith(SERVER):
            return
        code = frame.f_code
        if self.seen:
            self.entered.add(module)
        if code.co_name == "<module>" or code.co_name in self.seen.get(module, ()):
            return
        if event == "return":
            found = _made_of_a_case(value)
        else:
            names = frame.f_locals
            found = any(_made_of_a_case(names.get(name)) for name in self._parameters(code))
        if found:
            self.seen.setdefault(module, set()).add(code.co_name)

    def _parameters(self, code: CodeType) -> tuple[str, ...]:
        if code not in self._names:
            n = code.co_argcount + code.co_kwonlyargcount
            n += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # *args, **kwargs
            self._names[code] = code.co_varnames[:n]
        return self._names[code]


def _made_of_a_case(value: object) -> bool:
    if _is_value(value):
        return True
    if not isinstance(value, _CONTAINERS):
        return False
    items = [*value, *value.values()] if isinstance(value, dict) else list(value)
    return any(_is_value(item) for item in items[:_LOOKED_AT])


def _is_value(value: object) -> bool:
    kind = type(value)
    return kind.__name__ in VALUES and kind.__module__.startswith(PACKAGE)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Look at what this thread, and every thread that is started meanwhile, calls."""
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def write_project(folder: Path, case_id: str | None) -> None:
    """Write a project with one case of ``evals/``, its vault and its limits."""
    lines = (ROOT / "evals" / "eval_set.jsonl").read_text(encoding="utf-8").splitlines()
    wanted = (line for line in lines if case_id in {None, json.loads(line)["id"]})
    line = next(wanted, None)
    if line is None:
        raise SystemExit(f"--case {case_id}: not in evals/eval_set.jsonl")
    shutil.copytree(ROOT / "evals" / "vault", folder / "evals" / "vault")
    (folder / "evals" / "eval_set.jsonl").write_text(line + "\n", encoding="utf-8")
    (folder / "thresholds.toml").write_text(_LIMITS, encoding="utf-8")
    (folder / "pyproject.toml").write_text(
        '[tool.rageval.target]\nvault = "evals/vault"\n', encoding="utf-8"
    )


def _arguments(*options: str) -> list[str]:
    # Not by its entry point, which leads to the tree that is installed.
    spec = find_spec(f"{PACKAGE}.plugin")
    nested = spec is not None and spec.submodule_search_locations is not None
    plugin = f"{PACKAGE}.plugin.hooks" if nested else f"{PACKAGE}.plugin"
    return ["evals/", "-q", "-p", plugin, "-p", "no:cacheprovider", *options]


def measure(case_id: str | None) -> Watch:
    """Return which functions saw the case in a run that is compared with an earlier one."""
    watch = Watch()
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="rageval-case-path-") as name:
        write_project(Path(name), case_id)
        os.chdir(name)
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        try:
            # In a process of its own: what is kept after the first use would not be called again.
            first = _arguments("--rageval-run-id", "first")
            subprocess.run([sys.executable, "-m", "pytest", *first], check=True)
            second = _arguments("--rageval-run-id", "second", "--rageval-baseline", "first")
            with watching(watch):
                code = pytest.main(second)
        finally:
            os.chdir(before)
    if code != 0:
        raise SystemExit(f"pytest ended with exit code {code}")
    return watch


def main() -> None:
    """Measure, and print the count by package."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--case", metavar="ID", help="of evals/eval_set.jsonl, factual (default: its first)"
    )
    parser.add_argument("--list", action="store_true", help="name every module and its functions")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    watch = measure(options.case)
    seen = watch.seen
    if options.json:
        listed = {module: sorted(names) for module, names in sorted(seen.items())}
        print(
            json.dumps(
                {"modules": len(seen), "entered": len(watch.entered), "functions": listed}, indent=2
            )
        )
        return
    print(f"\n{len(seen)} modules see the case; {len(watch.entered)} run on its way")
    folders = Counter(module.split(".")[1] if "." in module else module for module in seen)
    for folder, n in sorted(folders.items()):
        print(f"{n:4}  {folder}")
        if options.list:
            for module in sorted(m for m in seen if f"{m}.".startswith(f"{PACKAGE}.{folder}.")):
                print(f"        {module}: {', '.join(sorted(seen[module]))}")


if __name__ == "__main__":
    main()
