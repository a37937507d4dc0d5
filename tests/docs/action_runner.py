"""Runs a composite action of GitHub on this machine: its shell steps as they are, in order.

What the service does is played by copying within a folder: caches, artifacts, and the files that a
step writes to. An expression or an action that is not known here is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PAGE: Final = "https://github.example/artifacts/1"
_TOKEN: Final = re.compile(r"'[^']*'|hashFiles\('[^']*'\)|!?cancelled\(\)|&&|\|\||[!=]=|[\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """Result of a job that consists of the action."""

    code: int
    """Exit code of the last step that failed; 0: none did."""
    log: str
    summary: str
    """The summaries of all steps."""
    steps: tuple[str, ...]
    """Names of the steps that ran."""
    outputs: Mapping[str, str]


@dataclass
class Service:
    """Holds what outlives a job: caches and artifacts.

    Args:
        root: an empty folder for all of it.
        action: content of ``action.yml``.
        api: address of the REST API.
    """

    root: Path
    action: Mapping[str, Any]
    api: str = ""
    token: str = "a-token-of-the-job"
    _jobs: int = 0

    def run(
        self,
        workspace: Path,
        *,
        pull: int | None = None,
        fork: bool = False,
        environ: Mapping[str, str] = {},
        **inputs: str,
    ) -> ActionResult:
        """Run the action in a checkout.

        Args:
            workspace: the checkout.
            pull: number of the pull request; None: a push.
            fork: whether it comes from another repository.
            environ: of the job.
            inputs: of the action, with ``_`` for ``-``.
        """
        self._jobs += 1
        given = {name: str(one.get("default", "")) for name, one in self.action["inputs"].items()}
        named = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert named.keys() <= given.keys()
        job = _Job(self, workspace, self.root / f"job-{self._jobs}")
        repository = "me/rag"
        job.context |= {
            **{f"inputs.{name}": value for name, value in {**given, **named}.items()},
            "github.base_ref": "" if pull is None else "main",
            "github.event.repository.default_branch": "main",
            "github.repository": repository,
            "github.run_id": str(self._jobs),
            "github.run_attempt": "1",
            "github.token": self.token,
        }
        if pull is not None:
            head = "someone/rag" if fork else repository
            job.context |= {
                "github.event.pull_request.number": str(pull),
                "github.event.pull_request.head.repo.full_name": head,
            }
        job.environ |= {
            "GITHUB_ACTION_PATH": "/nowhere",
            "GITHUB_API_URL": self.api,
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_REPOSITORY": repository,
            "GITHUB_RUN_ID": str(self._jobs),
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_WORKFLOW": "evals",
            "GITHUB_JOB": "evals",
            **environ,
        }
        return job.run(self.action["runs"]["steps"])


class _Job:
    def __init__(self, service: Service, workspace: Path, machine: Path) -> None:
        self.service, self.workspace = service, workspace
        self.temp = machine / "temp"
        self.temp.mkdir(parents=True)
        self.context: dict[str, str] = {"runner.temp": str(self.temp)}
        self.environ = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(machine),
            "RUNNER_TEMP": str(self.temp),
            "COLUMNS": "200",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.log: list[str] = []
        self.summary: list[str] = []

    def run(self, steps: list[Mapping[str, Any]]) -> ActionResult:
        code, ran = 0, []
        for step in steps:
            condition = str(step.get("if", "success()")).removeprefix("${{").removesuffix("}}")
            wanted = condition if "cancelled()" in condition else f"{condition} && {not code}"
            if not self._value(wanted.replace("success()", "True")):
                continue
            name = step.get("name", step.get("uses", ""))
            ran.append(name)
            failed = self._shell(step) if "run" in step else self._uses(step)
            if "id" in step:
                self.context[f"steps.{step['id']}.outcome"] = "failure" if failed else "success"
            code = failed or code
        outputs = {
            name: self._expand(one["value"]) for name, one in self.service.action["outputs"].items()
        }
        return ActionResult(
            code=code,
            log="".join(self.log),
            summary="".join(self.summary),
            steps=tuple(ran),
            outputs=outputs,
        )

    # --- expressions

    def _expand(self, text: str) -> str:
        return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(self._value(found[1])), text)

    def _value(self, expression: str) -> Any:
        """Return the value of an expression of operators, texts and names."""
        words: list[str] = []
        rest = _TOKEN.sub("", expression).strip()
        assert not rest, f"an expression that is not known here: {expression}"
        operators = {"&&": "and", "||": "or", "==": "==", "!=": "!=", "True": "True"}
        for token in _TOKEN.findall(expression):
            if token.startswith("'"):
                words.append(repr(token[1:-1]))
            elif token.startswith("hashFiles"):
                files = self.workspace.glob(token[len("hashFiles('") : -2])
                words.append(repr("hash" if any(files) else ""))
            elif token == "!cancelled()":
                words.append("True")
            elif token in {"True", "False"}:
                words.append(token)
            else:
                words.append(operators.get(token) or repr(self._named(token)))
        return eval(" ".join(words), {"__builtins__": {}})

    def _named(self, name: str) -> str:
        if name.startswith(("steps.", "github.event.pull_request.")):
            return self.context.get(name, "")
        return self.context[name]

    # --- steps

    def _shell(self, step: Mapping[str, Any]) -> int:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an input would be part of the script"
        files = {name: self.temp / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            path.write_text("", encoding="utf-8")
        given = {name: self._expand(str(value)) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env={**self.environ, **given, **{name: str(path) for name, path in files.items()}},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        self.log.append(done.stdout)
        self.summary.append(files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8"))
        for line in files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            self.context[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode

    def _uses(self, step: Mapping[str, Any]) -> int:
        given = {name: self._expand(str(value)) for name, value in step.get("with", {}).items()}
        match step["uses"]:
            case "actions/setup-python@v6":
                assert given.keys() == {"python-version"}
            case "actions/cache/restore@v5":
                self._restore(**{name.replace("-", "_"): value for name, value in given.items()})
            case "actions/cache/save@v5":
                target = self.service.root / "caches" / given["key"]
                source = self.workspace / given["path"]
                if source.exists() and not target.exists():
                    shutil.copytree(source, target)
            case "actions/upload-artifact@v6":
                target = self.service.root / "artifacts" / given["name"]
                shutil.copytree(self.workspace / given["path"], target)
                self.context[f"steps.{step['id']}.outputs.artifact-url"] = PAGE
            case unknown:
                raise AssertionError(f"an action that is not known here: {unknown}")
        return 0

    def _restore(self, *, path: str, key: str, restore_keys: str) -> None:
        for prefix in (key, *restore_keys.split()):
            if found := sorted(self._caches(prefix), key=lambda one: one.stat().st_ctime):
                shutil.copytree(found[-1], self.workspace / path, dirs_exist_ok=True)
                return

    def _caches(self, prefix: str) -> Iterator[Path]:
        yield from (self.service.root / "caches").glob(f"{prefix}*")
