"""Contenders of ``throughput.py``: the package, a script without it, and other tools.

Another tool is started in an environment of its own, a folder of its name in ``ENVIRONMENTS`` or in
what ``RAGEVAL_BENCH_ENVS`` names. It gets a home of its own and none of the caller's variables, so
that no account of theirs is used and no telemetry sent; the target and the judge are on loopback.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
RIVALS_FOLDER: Final = ROOT / "benchmarks" / "rivals"
ENVIRONMENTS: Final = ROOT / "benchmarks" / ".envs"
WORKERS: Final = 16
CASES: Final = "evals/eval_set.jsonl"
PYTEST: Final = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "TMPDIR")
_LEFT_OUT: Final = ("PYTHONDONTWRITEBYTECODE",)
"""With it a contender would compile all modules in each run, which nobody's second run does."""
_QUIET: Final = {
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "LANGSMITH_TRACING": "false",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "RAGAS_DO_NOT_TRACK": "true",
}
_NOWHERE: Final = {
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
    "PROMPTFOO_DISABLE_DEBUG_LOG": "1",
    "PROMPTFOO_DISABLE_ERROR_LOG": "1",
}
"""promptfoo reports that its telemetry is off. (In an httpx client a proxy would cost time.) It has
no logs, since it fails now and then by writing to one that it has closed."""

PLAIN_TEST: Final = """
import json, os, pathlib
import httpx, pytest

URL = os.environ["MOCK_URL"]
CASES = [json.loads(line) for line in pathlib.Path("evals/eval_set.jsonl").open(encoding="utf-8")]

@pytest.fixture(scope="session")
def target():
    with httpx.Client() as client:
        yield client

@pytest.fixture(scope="session")
def judge():
    with httpx.Client(base_url=f"{URL}/v1") as client:
        yield client

@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case, target, judge, record_property):
    answer = target.post(f"{URL}/ask", json={"question": case["question"], "k": 5}).json()
    chunks = answer["debug"]["retrieved_chunks"]
    verdicts = []
    for what in ("groundedness", "correctness"):
        prompt = f"Rate the {what}: {answer['answer']} " + " ".join(c["text"] for c in chunks)
        message = {"role": "user", "content": prompt}
        body = {"model": "m-1", "temperature": 0, "messages": [message]}
        reply = judge.post("/chat/completions", json=body).json()
        verdicts.append(json.loads(reply["choices"][0]["message"]["content"]))
    record_property("answer", json.dumps({"answer": answer, "verdicts": verdicts}))
    gold = {support["rel_path"] for support in case["gold_supports"]}
    assert gold <= {chunk["rel_path"] for chunk in chunks}
"""


def write_project(folder: Path, cases: int, *, missed: bool = False) -> None:
    """Write a project of so many cases, whose gold is found, or never is."""
    (folder / "evals").mkdir(parents=True)
    gold = "docs/elsewhere.md" if missed else "docs/d0.md"
    with (folder / CASES).open("w", encoding="utf-8") as file:
        for place in range(cases):
            case = {
                "id": f"c{place:06}",
                "question": f"What does fox number {place} – « le renard » – do?",
                "category": "single_hop",
                "gold_supports": [{"rel_path": gold}],
                "expected_key_facts": [f"fox number {place} – 速い狐 – jumps over the lazy dog"],
            }
            file.write(json.dumps(case, ensure_ascii=False) + "\n")
    (folder / "pyproject.toml").write_text("[tool.rageval]\n", encoding="utf-8")
    thresholds = "version = 1\n[overall]\nmrr = '>= 0.0'\n"
    (folder / "thresholds.toml").write_text(thresholds, encoding="utf-8")
    (folder / "plain_test.py").write_text(PLAIN_TEST, encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Somebody who asks and judges every case."""

    name: str
    command: Callable[[str, int], list[str]]
    """From the URL of the mock and what may be in flight."""
    most: int | None = None
    """Largest number of requests that it has in flight; None: as many as it is allowed."""
    missed: bool = False
    """No case finds its gold."""
    variables: Mapping[str, str] | None = None
    """That it gets in place of the caller's; None: it gets the caller's."""


def environment(contender: Contender, url: str, home: Path) -> dict[str, str]:
    """The variables that a contender is started with."""
    mock = {"MOCK_URL": url, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1"}
    if contender.variables is None:
        return {**{k: v for k, v in os.environ.items() if k not in _LEFT_OUT}, **mock}
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, **contender.variables, "HOME": str(home), **mock}


# --- ours, and by hand ---------------------------------------------------------------------------


def _ours(url: str, concurrency: int) -> list[str]:
    target = ["--rag-url", f"{url}/ask", "--rageval-concurrency", str(concurrency)]
    judge = ["--judge", "m-1", "--judge-base-url", f"{url}/v1"]
    return [sys.executable, *PYTEST, "evals", *target, *judge]


def _script(transport: str) -> Callable[[str, int], list[str]]:
    own = str(ROOT / "benchmarks" / "throughput_script.py")
    return lambda url, many: [sys.executable, own, url, CASES, str(many), "records", transport]


def _plain(url: str, concurrency: int) -> list[str]:
    workers = ["-n", str(min(concurrency, WORKERS)), "-p", "no:rageval"]
    return [sys.executable, *PYTEST, "plain_test.py", *workers]


CONTENDERS: Final[Mapping[str, Contender]] = {
    one.name: one
    for one in (
        Contender(name="ours", command=_ours),
        Contender(name="ours, all missed", command=_ours, missed=True),
        Contender(name="aiohttp script", command=_script("aiohttp")),
        Contender(name="openai script", command=_script("own")),
        Contender(name="plain pytest -n 16", command=_plain, most=WORKERS),
    )
}


# --- other tools ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another tool, of the versions that it was written for."""

    name: str
    requirements: tuple[str, ...]
    script: str
    """In ``rivals``: of Python, or the settings of promptfoo."""
    most: int | None = None
    """Largest number of requests that it has in flight."""

    @property
    def folder(self) -> str:
        """Name of the folder of its environment."""
        return self.name

    @property
    def of_node(self) -> bool:
        return self.script.endswith(".mjs")

    def program(self, folder: Path) -> Path:
        """Return the program to start, in the environment of a folder."""
        return folder / ("node_modules/.bin/promptfoo" if self.of_node else "bin/python")

    def installation(self, folder: Path) -> str:
        """The shell command that makes the environment."""
        if self.of_node:
            return shlex.join(["npm", "install", "--prefix", str(folder), *self.requirements])
        venv = [sys.executable, "-m", "venv", str(folder)]
        pip = [str(folder / "bin" / "pip"), "install", *self.requirements]
        return f"{shlex.join(venv)} && {shlex.join(pip)}"

    def contender(self, folder: Path) -> Contender:
        program, script = str(self.program(folder)), str(RIVALS_FOLDER / self.script)

        def python(url: str, concurrency: int) -> list[str]:
            return [program, script, url, CASES, str(concurrency), "records"]

        def node(url: str, concurrency: int) -> list[str]:
            limits = ["-j", str(concurrency), "--no-cache", "--no-share"]
            shown = ["--no-table", "--no-progress-bar", "-o", "records.json"]
            return [program, "eval", "-c", script, *limits, *shown]

        return Contender(
            name=self.name,
            command=node if self.of_node else python,
            most=self.most,
            variables={**_QUIET, **_NOWHERE} if self.of_node else _QUIET,
        )


RIVALS: Final[Mapping[str, Rival]] = {
    one.name: one
    for one in (
        Rival(
            name="deepeval",
            requirements=("deepeval==4.3.1", "httpx"),
            script="with_deepeval.py",
        ),
        Rival(
            name="pydantic-evals",
            requirements=("pydantic-evals==2.62.0", "openai", "httpx"),
            script="with_pydantic_evals.py",
        ),
        Rival(
            name="inspect-ai",
            requirements=("inspect-ai==0.3.285", "openai", "httpx"),
            script="with_inspect_ai.py",
        ),
        Rival(
            name="ragas",
            # It imports what later versions of langchain-community no longer have.
            requirements=("ragas==0.4.3", "langchain-community<0.4", "httpx"),
            script="with_ragas.py",
        ),
        Rival(
            name="pytest-evals",
            requirements=("pytest-evals==0.3.4", "pytest-xdist", "httpx"),
            script="with_pytest_evals.py",
            most=WORKERS,
        ),
        Rival(
            name="promptfoo",
            requirements=("promptfoo@0.121.20",),
            script="promptfoo.config.mjs",
        ),
    )
}


def environments() -> Path:
    """The folder of the environments, absolute."""
    return Path(os.environ.get("RAGEVAL_BENCH_ENVS") or ENVIRONMENTS).absolute()


def find_rivals(folder: Path) -> tuple[dict[str, Contender], dict[str, str]]:
    """Return the rivals whose environments exist, and of the others the command that makes it."""
    found, left_out = {}, {}
    for name, rival in RIVALS.items():
        own = folder / rival.folder
        if rival.program(own).exists():
            found[name] = rival.contender(own)
        else:
            left_out[name] = rival.installation(own)
    return found, left_out
