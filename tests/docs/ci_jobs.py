"""Runs the jobs of a CI configuration on this machine: its shell steps as they are, in order.

What the services themselves do is played by plain copying within a folder: checkout, artifacts and
caches of GitHub Actions, and the commands ``gh`` and ``pip`` by small scripts that are
found first. An expression, action or input that is not known here is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

INPUTS: Final[Mapping[str, frozenset[str]]] = {
    "actions/checkout@v6": frozenset({"ref", "fetch-depth"}),
    "actions/setup-python@v6": frozenset({"python-version", "cache"}),
    "actions/cache/restore@v5": frozenset({"path", "key", "restore-keys"}),
    "actions/cache/save@v5": frozenset({"path", "key"}),
    "actions/upload-artifact@v6": frozenset({"name", "path", "overwrite", "retention-days"}),
    "actions/download-artifact@v7": frozenset(
        {"name", "path", "pattern", "run-id", "github-token"}
    ),
}
"""Inputs that these majors have, as far as they are used."""

_TOOLS: Final = {
    "pip": '[ "$*" = "install -r requirements.txt" ] || exit 64\n',
    "gh": """\
[ -n "$GH_TOKEN" ] || { echo "no GH_TOKEN" >&2; exit 4; }
wanted="run list --workflow evals.yml --branch main --event push --status success"
wanted="$wanted --limit 1 --json databaseId --jq .[0].databaseId // empty"
[ "$*" = "$wanted" ] || { echo "$*" > "$FORGE/misused"; exit 64; }
[ -f "$FORGE/workflow-is-known" ] || { echo "could not find any workflows" >&2; exit 1; }
cat "$FORGE/good-run-of-main" 2>/dev/null || true
""",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """Result of a job."""

    ok: bool
    codes: Mapping[str, int]
    """Exit code of every shell step that ran, by name or command."""
    log: str
    summary: str
    """The summaries of all steps."""
    workspace: Path


@dataclass
class Forge:
    """Holds what outlives a job: artifacts, caches, and which run of main was good.

    Args:
        root: an empty folder for all of it.
        project: what a checkout brings.
    """

    root: Path
    project: Path
    secrets: dict[str, str] = field(default_factory=dict)
    _runs: int = 0

    def __post_init__(self) -> None:
        tools = self.root / "tools"
        tools.mkdir(parents=True)
        for name, script in _TOOLS.items():
            (tools / name).write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
            (tools / name).chmod(0o755)

    @property
    def misused(self) -> str:
        """Arguments that a tool did not know; empty: there were none."""
        path = self.root / "misused"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def run_workflow(
        self, workflow: Mapping[str, Any], *, branch: str, attempt: int = 1
    ) -> dict[str, JobResult]:
        """Run the jobs of a workflow in the order that they stand in, each part of a matrix apart.

        Args:
            workflow: as its file says.
            branch: ``main``, or that of a pull request.
            attempt: above 1: the workflow run before is run again.
        """
        self._runs += attempt == 1
        results: dict[str, JobResult] = {}
        for name, job in workflow["jobs"].items():
            if not all(results[need].ok for need in _needed(job, results)) and "if" not in job:
                continue
            for matrix in _matrices(job):
                label = "-".join([name, *(str(v) for v in matrix.values())])
                run = _Job(self, self.root / f"{self._runs}-{attempt}-{label}")
                run.context |= {
                    "github.token": "token",
                    "github.run_id": str(self._runs),
                    "github.run_attempt": str(attempt),
                    **{f"secrets.{k}": v for k, v in self.secrets.items()},
                    **{f"matrix.{k}": str(v) for k, v in matrix.items()},
                }
                results[label] = run.run(job)
        if branch == "main":
            (self.root / "workflow-is-known").touch()
            if all(result.ok for result in results.values()):
                (self.root / "good-run-of-main").write_text(f"{self._runs}\n", encoding="utf-8")
        return results

    def run_gitlab_job(
        self,
        job: Mapping[str, Any],
        *,
        environ: Mapping[str, str] = {},
        needs: Sequence[JobResult] = (),
    ) -> JobResult:
        """Run the script of a GitLab job, with the runs that the jobs which it needs keep."""
        self._runs += 1
        run = _Job(self, self.root / f"{self._runs}-gitlab")
        shutil.copytree(self.project, run.workspace)
        results = "evals/results"
        for one in needs:
            shutil.copytree(one.workspace / results, run.workspace / results, dirs_exist_ok=True)
        run.environ |= {
            **self.secrets,
            **environ,
        }
        ok = run.shell("script", "\n".join(job["script"])) == 0
        artifacts = job["artifacts"]
        kept = [*artifacts["paths"], *artifacts.get("reports", {}).values()]
        assert all([*run.workspace.glob(path)] for path in kept)
        return run.result(ok=ok)

    def artifact(self, run_id: str, name: str) -> Path:
        """Folder of an artifact."""
        return self.root / "artifacts" / run_id / name

    @property
    def caches(self) -> Path:
        """Folder of all caches, each named by its key."""
        return self.root / "caches"


def _needed(job: Mapping[str, Any], results: Mapping[str, JobResult]) -> Iterator[str]:
    needs = job.get("needs", [])
    for need in [needs] if isinstance(needs, str) else needs:
        yield from (label for label in results if label == need or label.startswith(f"{need}-"))


def _matrices(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    matrix = job.get("strategy", {}).get("matrix", {})
    assert len(matrix) <= 1, "one axis is all that is played here"
    return [{axis: value} for axis, values in matrix.items() for value in values] or [{}]


class _Job:
    """One job on a machine of its own."""

    def __init__(self, forge: Forge, machine: Path) -> None:
        self.forge = forge
        self.workspace, self.temp = machine / "workspace", machine / "temp"
        self.temp.mkdir(parents=True)
        self.context: dict[str, str] = {"runner.temp": str(self.temp)}
        tools = f"{forge.root / 'tools'}{os.pathsep}{Path(sys.executable).parent}"
        self.environ = {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(machine),
            "FORGE": str(forge.root),
            "RUNNER_TEMP": str(self.temp),
            "COLUMNS": "80",
        }
        self.codes: dict[str, int] = {}
        self.log: list[str] = []
        self.summary: list[str] = []

    def result(self, *, ok: bool) -> JobResult:
        return JobResult(
            ok=ok,
            codes=self.codes,
            log="".join(self.log),
            summary="".join(self.summary),
            workspace=self.workspace,
        )

    def run(self, job: Mapping[str, Any]) -> JobResult:
        self.workspace.mkdir()
        self.environ |= self._expanded(job.get("env", {}))
        ok = True
        for step in job["steps"]:
            if self._wanted(step.get("if"), ok=ok):
                ok = (self._step(step) or step.get("continue-on-error", False)) and ok
        return self.result(ok=ok)

    # --- expressions

    def _expanded(self, values: Mapping[str, Any]) -> dict[str, str]:
        return {key: self._expand(str(value)) for key, value in values.items()}

    def _expand(self, text: str) -> str:
        found = re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda name: self._value(name[1]), text)
        assert "${{" not in found, f"an expression that is not known here: {found}"
        return found

    def _value(self, name: str) -> str:
        if name.startswith(("steps.", "secrets.")):
            return self.context.get(name, "")
        return self.context[name]

    def _wanted(self, condition: str | None, *, ok: bool) -> bool:
        if condition is None:
            return ok
        text = condition.removeprefix("${{ ").removesuffix(" }}")
        if text in {"!cancelled()", "always()"}:
            return True
        name, operator, value = text.split()
        found = self._value(name)
        compared = {"!=": found != value.strip("'"), ">": found > value}
        return ok and compared[operator]

    # --- steps

    def _step(self, step: Mapping[str, Any]) -> bool:
        if "run" in step:
            name = step.get("name", step["run"])
            environ = self._expanded(step.get("env", {}))
            return self.shell(name, self._expand(step["run"]), step.get("id"), environ) == 0
        given = self._expanded(step.get("with", {}))
        unknown = given.keys() - INPUTS[step["uses"]]
        assert not unknown, f"{step['uses']} has no input {sorted(unknown)}"
        action = step["uses"].removeprefix("actions/").rpartition("@")[0]
        return bool(getattr(self, f"_{re.sub('[-/]', '_', action)}")(given))

    def shell(
        self, name: str, script: str, step: str | None = None, environ: Mapping[str, str] = {}
    ) -> int:
        files = {n: self.temp / n for n in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            path.write_text("", encoding="utf-8")
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.workspace,
            env={**self.environ, **environ, **{n: str(p) for n, p in files.items()}},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        self.codes[name] = done.returncode
        self.log.append(done.stdout)
        self.summary.append(files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8"))
        for key, value in _assignments(files["GITHUB_OUTPUT"]):
            self.context[f"steps.{step}.outputs.{key}"] = value
        self.environ |= dict(_assignments(files["GITHUB_ENV"]))
        return done.returncode

    # --- actions

    def _checkout(self, given: Mapping[str, str]) -> bool:
        shutil.copytree(self.forge.project, self.workspace, dirs_exist_ok=True)
        return True

    def _setup_python(self, given: Mapping[str, str]) -> bool:
        return True

    def _cache_restore(self, given: Mapping[str, str]) -> bool:
        found = [self.forge.caches / given["key"]]
        if not found[0].is_dir():
            found = sorted(
                self.forge.caches.glob(f"{given['restore-keys']}*"),
                key=lambda path: path.stat().st_mtime,
            )
        if found:
            shutil.copytree(found[-1], self.workspace / given["path"], dirs_exist_ok=True)
        return True

    def _cache_save(self, given: Mapping[str, str]) -> bool:
        source, target = self.workspace / given["path"], self.forge.caches / given["key"]
        # One that is there is never changed, and without anything to keep there is a warning.
        if source.exists() and not target.exists():
            shutil.copytree(source, target)
        return True

    def _upload_artifact(self, given: Mapping[str, str]) -> bool:
        source = self.workspace / given["path"]
        target = self.forge.artifact(self.context["github.run_id"], given["name"])
        if target.exists():
            if given.get("overwrite") != "True":
                return False
            shutil.rmtree(target)
        if source.is_file():
            target.mkdir(parents=True)
            shutil.copy(source, target)
        elif source.is_dir():  # a path that is not there is a warning
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*"))
        return True

    def _download_artifact(self, given: Mapping[str, str]) -> bool:
        run_id = given.get("run-id", self.context["github.run_id"])
        assert run_id == self.context["github.run_id"] or given["github-token"] == "token"
        path = self.workspace / given["path"]
        if "pattern" in given:
            found = list(self.forge.artifact(run_id, ".").glob(given["pattern"]))
            for artifact in found:
                shutil.copytree(artifact, path / artifact.name, dirs_exist_ok=True)
            return True
        artifact = self.forge.artifact(run_id, given["name"])
        if not artifact.is_dir():
            return False
        shutil.copytree(artifact, path, dirs_exist_ok=True)
        return True


def _assignments(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("=")
        yield key, value
