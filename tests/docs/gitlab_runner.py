"""Runs the job of ``ci/gitlab.yml`` in clones, beside a service with its artifacts and notes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, urlsplit

from tests.build.http_server import Handler, serving
from tests.build.yaml_values import load_yaml

ROOT: Final = Path(__file__).parents[2]
_ME: Final = 9
_PROJECT: Final = "/api/v4/projects/7"


class Clones(Protocol):
    """A remote repository."""

    root: Path

    def clone(self, branch: str, *, depth: int = 1) -> Path:
        """Return a new clone with a branch checked out."""


class GitLab:
    """Runs the job, and keeps the runs of the main branch and the notes of one merge request."""

    def __init__(self, forge: Clones, token: str) -> None:
        self.forge, self.token, self.url = forge, token, ""
        self.job = load_yaml((ROOT / "ci" / "gitlab.yml").read_text(encoding="utf-8"))["evals"]
        self.artifacts = forge.root / "main.zip"
        self.notes: list[dict[str, Any]] = []
        self.readonly = False
        """Whether the token may not write."""
        self._jobs = 0

    def note(self, author: int, body: str) -> dict[str, Any]:
        return {"id": 100 + len(self.notes), "author": {"id": author}, "body": body}

    def run(
        self, branch: str, *, merge_request: int | None = None, **variables: str
    ) -> tuple[int, str]:
        """Return the exit code of the job and its log.

        Args:
            branch: to check out.
            merge_request: its number; None: a push.
            variables: of the project.
        """
        self._jobs += 1
        folder = self.forge.clone(branch, depth=0)
        environ = self._environ(merge_request, variables)
        code, log = _shell(self.job["script"], folder, environ)
        log += _shell(self.job["after_script"], folder, environ)[1]
        if variables:
            return code, log
        kept = self.job["artifacts"]["paths"]
        assert all((folder / name).exists() for name in [*kept, "junit.xml"]), log
        if branch == "main" and code == 0:
            staged = self.forge.root / f"staged-{self._jobs}"
            shutil.copytree(folder / "rageval-runs", staged / "rageval-runs")
            shutil.make_archive(str(self.artifacts.with_suffix("")), "zip", staged)
        return code, log

    def _environ(self, merge_request: int | None, variables: dict[str, str]) -> dict[str, str]:
        given = {name: str(value) for name, value in self.job["variables"].items()}
        found = {
            **given,
            "RAGEVAL_MAIN_BRANCH": "main",
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
            "HOME": str(self.forge.root),
            "CI_API_V4_URL": f"{self.url}/api/v4",
            "CI_PROJECT_ID": "7",
            "CI_JOB_NAME": "evals",
            "CI_JOB_TOKEN": "job-token",
            "CI_JOB_ID": str(self._jobs),
            "CI_JOB_URL": "https://gitlab.example/jobs/1",
            "CI_COMMIT_SHORT_SHA": "abc",
        }
        if self.token:
            found["EVALS_TOKEN"] = self.token
        if merge_request is not None:
            found["CI_MERGE_REQUEST_IID"] = str(merge_request)
        return found | variables

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Return the status and the document of a request for notes, as the REST API has them."""
        address = urlsplit(path)
        if address.path == "/api/v4/user":
            return 200, {"id": _ME}
        found = re.fullmatch(rf"{_PROJECT}/merge_requests/7/notes(?:/(\d+))?", address.path)
        assert found is not None
        if method == "GET":
            query = {key: int(value[0]) for key, value in parse_qs(address.query).items()}
            start = (query["page"] - 1) * query["per_page"]
            return 200, self.notes[start : start + query["per_page"]]
        if self.readonly:
            return 403, {"error": "insufficient_scope"}
        text = json.loads(body)["body"]
        if method == "POST":
            assert found[1] is None
            self.notes.append(self.note(_ME, text))
            return 201, self.notes[-1]
        assert method == "PUT"
        (note,) = [one for one in self.notes if one["id"] == int(found[1])]
        note["body"] = text
        return 200, note


def _shell(script: list[str], folder: Path, environ: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        ["sh", "-e", "-c", "\n".join(script)],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@contextmanager
def gitlab_of(forge: Clones, *, token: str = "") -> Iterator[GitLab]:
    """Yield the service of a remote repository; a token is that of the project's variables."""
    found = GitLab(forge, token)

    class Service(Handler):
        def answer(self) -> None:
            body = self.body()
            given = (self.headers.get("PRIVATE-TOKEN"), self.headers.get("JOB-TOKEN"))
            assert given == ((token, None) if token else (None, "job-token"))
            if "/jobs/artifacts/" not in self.path:
                status, document = found.answer(self.command, self.path, body)
                self.send_json(document, status)
            elif found.artifacts.exists():
                self.send(found.artifacts.read_bytes(), kind="application/zip")
            else:
                self.send_json({}, 404)

        do_GET = do_POST = do_PUT = answer

    with serving(Service) as found.url:
        yield found
