"""Change functions of the package in small ways, and say which changes their tests do not notice.

One session collects the tests of the folders that mirror those of the package, and runs them once
to see which functions each test calls. Then each sampled change is put into the loaded function in
a fork of the session, which runs the tests that call it until one fails. A function that no test
calls may be called at import: a new process imports it with its change, and runs the tests of its
folder. No file is written.

    nice python -m benchmarks.mutants --number 60 --seed 1
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, NamedTuple

import pytest

from tests.test_mirror import TESTED_BY

ROOT: Final = Path(__file__).parent.parent
FOLDERS: Final = ("metrics", "analysis/gate", "analysis/stats", "target", "runs")
PROPERTY: Final = "_hypothesis_internal_use_settings"
EXAMPLES: Final = 20
"""Most examples of a property: a change that only rare ones notice counts as not noticed."""
SECONDS: Final = 120
"""Longest time of the tests of one change; one that makes them take longer is noticed."""
OTHER: Final[dict[type[ast.AST], type[ast.AST]]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.USub: ast.UAdd, ast.Pow: ast.Mult},
}
EMPTY: Final = {"None", "''", "()", "[]", "{}", "False", "0"}
Name = tuple[str, str, int]
"""A function by its file, its qualified name and its first line."""


class Change(NamedTuple):
    """A node in a field of another within a function, and what takes its place."""

    file: str
    tree: ast.Module
    function: ast.FunctionDef | ast.AsyncFunctionDef
    parent: ast.AST
    field: str
    place: int | None
    old: ast.AST
    new: ast.AST
    number: int = 0
    """Among the changes of its file."""

    def put(self, node: ast.AST) -> None:
        """Set the field to a node."""
        if self.place is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.place] = node

    def made(self) -> CodeType:
        """Compile the module with the change."""
        self.put(ast.fix_missing_locations(ast.copy_location(self.new, self.old)))
        code = compile(self.tree, self.file, "exec")
        self.put(self.old)
        return code

    def __str__(self) -> str:
        around = self.parent if isinstance(self.parent, ast.expr) else None
        before = ast.unparse(around or self.old)
        self.put(self.new)
        after = ast.unparse(around or self.new)
        self.put(self.old)
        near = (getattr(node, "lineno", 0) for node in (self.old, self.parent, self.function))
        line = next(filter(None, near))
        return f"{Path(self.file).relative_to(ROOT)}:{line}: {before}  ->  {after}"


def instead(field: str, node: ast.AST) -> ast.AST | None:
    """Return the node that takes the place of one, if any."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return ast.Constant(value + 1)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) not in EMPTY:
            return ast.Return(ast.Constant(None))
        case ast.AugAssign() | ast.Raise() | ast.Expr(value=ast.Call() | ast.Await()):
            return ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return ast.Pass()
        case ast.Name() | ast.Attribute() | ast.Call() if field == "test":
            return ast.UnaryOp(ast.Not(), node)
    other = OTHER.get(type(node))
    return None if other is None else other()


def changes(file: str) -> Iterator[Change]:
    """Yield the changes of the functions of a file, in the order of its text."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)

    def below(parent: ast.AST, function: Any) -> Iterator[Change]:
        for field, value in ast.iter_fields(parent):
            for place, node in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(node, ast.AST) or field in {"annotation", "returns"}:
                    continue
                if isinstance(parent, functions) and field != "body":
                    continue
                new = None if function is None else instead(field, node)
                if new is not None:
                    at = place if isinstance(value, list) else None
                    yield Change(file, tree, function, parent, field, at, node, new)
                inner = node if isinstance(node, functions) and function is None else function
                yield from below(node, inner)

    return (one._replace(number=n) for n, one in enumerate(below(tree, None)))


def in_fork(work: Callable[[], object], seconds: float | None = None) -> Any:
    """Return what work returns in a fork of this process; None: it died or took too long."""
    with tempfile.TemporaryFile() as file:
        pid = os.fork()
        if pid == 0:
            os.setpgrp()
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            pickle.dump(work(), file)
            file.flush()
            os._exit(0)
        end = None if seconds is None else time.monotonic() + seconds
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            if end is not None and time.monotonic() > end:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return None
            time.sleep(0.01)
        file.seek(0)
        return pickle.loads(file.read() or pickle.dumps(None))


class Mutants:
    """Plugin that makes changes in place of running the tests once."""

    def __init__(self, folders: list[str], number: int, seed: int) -> None:
        self.folders, self.number, self.seed = folders, number, seed
        self.failed = False
        self.of, self.made = 0, 0
        self.survivors: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Make the changes."""
        from hypothesis import settings  # pytest rewrites what is imported later than itself

        for item in session.items:
            test = getattr(item, "obj", None)
            if (used := getattr(test, PROPERTY, None)) is not None:
                few = min(EXAMPLES, used.max_examples)
                setattr(test, PROPERTY, settings(used, max_examples=few, database=None))
        calls: dict[Name, list[int]] = in_fork(lambda: self._calls(session.items))
        places = [ROOT / "pytest_rageval" / folder for folder in self.folders]
        files = [
            str(path)
            for place in places
            for path in (sorted(place.rglob("*.py")) if place.is_dir() else [place])
        ]
        found = [change for file in files for change in changes(file)]
        chosen = random.Random(self.seed).sample(found, min(self.number, len(found)))
        self.of, self.made = len(found), len(chosen)
        for n, change in enumerate(chosen, start=1):
            items = [session.items[i] for i in calls.get(self._name(change), [])]
            if items:
                passed = in_fork(lambda: self._passes(change, items), SECONDS)  # noqa: B023
            else:
                passed = not run_imported(change)
            if passed:
                self.survivors.append(str(change))
                print(f"[{n}/{self.made}] {change} ({len(items)} tests)", file=sys.stderr)
        return True

    def _name(self, change: Change) -> Name:
        first = min([change.function, *change.function.decorator_list], key=lambda n: n.lineno)
        return change.file, change.function.name, first.lineno

    def _run(self, items: list[pytest.Item]) -> Iterator[bool]:
        """Run tests, and yield of each whether it passed."""
        for i, item in enumerate(items):
            following = items[i + 1] if i + 1 < len(items) else None
            self.failed = False
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            yield not self.failed

    def _calls(self, items: list[pytest.Item]) -> dict[Name, list[int]]:
        """Return the tests that pass and call each function, the quickest first."""
        seen: set[CodeType] = set()
        found: dict[Name, list[tuple[float, int]]] = {}

        def trace(frame: FrameType, event: str, arg: object) -> None:
            seen.add(frame.f_code)

        threading.settrace(trace)
        forget = Caches().forget
        forget()
        sys.settrace(trace)
        start = time.perf_counter()
        for i, passed in enumerate(self._run(items)):
            took = time.perf_counter() - start
            for code in seen.copy() if passed else ():
                found.setdefault(_name_of(code), []).append((took, i))
            seen.clear()
            forget()
            sys.settrace(trace)  # a test of deep recursion ends it
            start = time.perf_counter()
        return {name: [i for _, i in sorted(tests)] for name, tests in found.items()}

    def _passes(self, change: Change, items: list[pytest.Item]) -> bool:
        """Whether tests pass with a change."""
        name = self._name(change)
        new = next(code for code in _codes(change.made()) if _name_of(code) == name)
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and _name_of(one.__code__) == name:
                one.__code__ = new
        Caches().forget()
        return all(self._run(items))


class Caches:
    """Caches of the package's functions, in which results from before a change would hide it."""

    def __init__(self) -> None:
        self._modules = 0
        self._found: list[Any] = []

    def forget(self) -> None:
        """Empty them."""
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            self._found = [
                one
                for one in gc.get_objects()
                if isinstance(one, type(_folder))
                and getattr(one, "__module__", "").startswith("pytest_rageval.")
            ]
        for one in self._found:
            one.cache_clear()


@cache
def _folder(file: str) -> str:
    """The tests that mirror the folder of a file."""
    return str(ROOT / "tests" / Path(file).relative_to(ROOT / "pytest_rageval").parent)


def run_imported(change: Change) -> int:
    """Run the tests of a folder in a new process that imports a change, and return its code."""
    place = f"{change.file}:{change.number}"
    command = [sys.executable, "-m", "benchmarks.mutants", "--imported", place]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=SECONDS).returncode
    except subprocess.TimeoutExpired:
        return 1


def _imported(place: str) -> int:
    file, _, index = place.rpartition(":")
    code = next(islice(changes(file), int(index), None)).made()
    read = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        return code if loader.path == file else read(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]
    return int(pytest.main(["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", _folder(file)]))


def _name_of(code: CodeType) -> Name:
    return code.co_filename, code.co_name, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "folders", nargs="*", default=FOLDERS, help="folders or files of the package"
    )
    parser.add_argument("--number", type=int, default=200, help="changes to make (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default 1)")
    parser.add_argument("--json", action="store_true", help="print figures as one object")
    parser.add_argument("--imported", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.imported:
        return _imported(args.imported)
    mutants = Mutants(args.folders, args.number, args.seed)
    packages = tuple(one.removesuffix(".py").replace("/", ".") for one in args.folders)
    beside = [
        f"{file}.py"
        for file, modules in TESTED_BY.items()
        if any(module.startswith(packages) for module in modules.split())
    ]
    folders = [str(Path(one).parent if one.endswith(".py") else one) for one in args.folders]
    tests = [str(ROOT / "tests" / one) for one in (*folders, *beside)]
    options = ["-q", "-s", "-m", "not slow", "-p", "no:cacheprovider"]
    code = pytest.main([*options, *tests], plugins=[mutants])
    if code not in {0, 5}:
        return int(code)
    killed = mutants.made - len(mutants.survivors)
    if args.json:
        print(json.dumps({"made": mutants.made, "of": mutants.of, "killed": killed}))
        return 0
    print(f"{killed} of {mutants.made} changes noticed ({killed / mutants.made:.0%}), sampled")
    print(f"from {mutants.of} with seed {args.seed}. Not noticed:")
    print("\n".join(f"  {one}" for one in sorted(mutants.survivors)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
