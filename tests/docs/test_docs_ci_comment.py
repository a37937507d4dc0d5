"""Comment and site of docs/ci.md: their shell steps are run, against a stand-in for the API."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.build.http_server import Handler, serving
from tests.build.runs import run_of, write_run
from tests.build.yaml_values import load_yaml
from tests.docs.ci_jobs import INPUTS
from tests.docs.examples import read_document, sections

pytestmark = pytest.mark.slow

BOT, MARKER = "github-actions[bot]", "<!-- rageval: evals -->"
TOKEN = "a-token-of-the-job"


def blocks(heading: str) -> list[Any]:
    (section,) = [one for one in sections(read_document("ci.md")) if one.title == heading]
    return [load_yaml(block.text) for block in section.blocks if block.language == "yaml"]


@dataclass
class Api:
    """Comments of one pull request, oldest first, as the REST API has them."""

    url: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def add(self, login: str, body: str) -> dict[str, Any]:
        comment = {"id": 100 + len(self.comments), "user": {"login": login}, "body": body}
        self.comments.append(comment)
        return comment

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        address = urlsplit(path)
        self.asked.append(f"{method} {path}")
        if re.fullmatch(r"/repos/me/rag/issues/7/comments", address.path):
            if method == "POST":
                return 201, self.add(BOT, json.loads(body)["body"])
            query = {key: int(value[0]) for key, value in parse_qs(address.query).items()}
            start = (query["page"] - 1) * query["per_page"]
            return 200, self.comments[start : start + query["per_page"]]
        found = re.fullmatch(r"/repos/me/rag/issues/comments/(\d+)", address.path)
        if found is None or method != "PATCH":
            return 404, {}
        (comment,) = [one for one in self.comments if one["id"] == int(found[1])]
        if comment["user"]["login"] != BOT:
            return 403, {}
        comment["body"] = json.loads(body)["body"]
        return 200, comment


@pytest.fixture
def api() -> Iterator[Api]:
    found = Api()

    class Comments(Handler):
        def answer(self) -> None:
            body = self.body()
            if self.headers["Authorization"] == f"Bearer {TOKEN}":
                status, document = found.answer(self.command, self.path, body)
            else:
                status, document = 401, {}
            self.send_json(document, status)

        do_GET = do_POST = do_PATCH = answer

    with serving(Comments) as found.url:
        yield found


def comment(api: Api, folder: Path, text: str | None, token: str = TOKEN) -> str:
    """Run the step of the page and return what it printed."""
    if shutil.which("jq") is None or shutil.which("curl") is None:
        pytest.skip("needs jq and curl")
    ((step,),) = blocks("A comment on the pull request")
    summary = folder / step["env"]["TEXT"]
    summary.parent.mkdir(parents=True, exist_ok=True)
    if text is not None:
        summary.write_text(text, encoding="utf-8")
    (folder / "temp").mkdir(exist_ok=True)
    given = {
        "GITHUB_API_URL": api.url, "GITHUB_REPOSITORY": "me/rag", "PULL": "7",
        "GH_TOKEN": token, "TEXT": step["env"]["TEXT"], "RUNNER_TEMP": str(folder / "temp"),
    }  # fmt: skip
    assert step["env"].keys() <= given.keys()
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]], cwd=folder, check=False,
        env={**os.environ, **given}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}: {done.stdout}"


def test_the_first_push_makes_a_comment_and_the_next_updates_it(api: Api, tmp_path: Path) -> None:
    api.add("someone", "Looks good.")
    assert comment(api, tmp_path, "## rageval: PASS\n'quotes' \"$HOME\" `id` é 🎉\n") == ""
    assert comment(api, tmp_path, "## rageval: **FAIL**\n") == ""
    assert [one["body"] for one in api.comments] == [
        "Looks good.", f"{MARKER}\n## rageval: **FAIL**\n",
    ]  # fmt: skip


def test_a_text_is_sent_as_it_is(api: Api, tmp_path: Path) -> None:
    text = "'quotes' \"$HOME\" `id` é 🎉 \\n & <b>\n"
    comment(api, tmp_path, text)
    assert api.comments[0]["body"] == f"{MARKER}\n{text}"


def test_a_comment_of_somebody_else_with_the_marker_is_not_touched(
    api: Api, tmp_path: Path
) -> None:
    theirs = [f"{MARKER}\nmine", f"> {MARKER}\nquoted"]
    api.add("someone", theirs[0])
    api.add(BOT, theirs[1])  # of another job, which quotes
    comment(api, tmp_path, "first")
    comment(api, tmp_path, "second")
    assert [one["body"] for one in api.comments] == [*theirs, f"{MARKER}\nsecond"]


@pytest.mark.parametrize("before", [99, 100, 250])
def test_the_comment_is_found_on_a_later_page(api: Api, tmp_path: Path, before: int) -> None:
    for number in range(before):
        api.add("someone", f"comment {number}")
    comment(api, tmp_path, "first")
    api.add("someone", "later")
    assert comment(api, tmp_path, "second") == ""
    assert len(api.comments) == before + 2
    assert api.comments[before]["body"] == f"{MARKER}\nsecond"


def test_a_long_text_is_cut_and_a_missing_one_is_no_failure(api: Api, tmp_path: Path) -> None:
    assert comment(api, tmp_path, None) == ""
    assert api.asked == []
    assert comment(api, tmp_path, "é" * 200_000) == ""
    assert len(api.comments[0]["body"]) == 65_000


def test_a_refused_token_fails_and_is_not_printed(api: Api, tmp_path: Path) -> None:
    printed = comment(api, tmp_path, "text", token="another-token")
    assert printed.startswith("exit ")
    assert "another-token" not in printed
    assert api.comments == []


def test_the_step_is_for_pull_requests_of_the_repository_itself() -> None:
    ((step,),) = blocks("A comment on the pull request")
    assert "head.repo.full_name == github.repository" in step["if"]


def test_the_site_has_the_run_and_its_baseline(tmp_path: Path) -> None:
    steps, pages = blocks("All runs as a site")
    (tmp_path / "pyproject.toml").touch()
    write_run(tmp_path / "evals/results", "ci", run_of(6, missed={1}), day=2)
    write_run(tmp_path / "temp", "main-run", run_of(6), day=1)
    tool = tmp_path / "bin" / "rageval"
    tool.parent.mkdir()
    tool.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m pytest_rageval.cli.main "$@"\n', "utf-8"
    )
    tool.chmod(0o755)
    path = f"{tool.parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "RUNNER_TEMP": str(tmp_path / "temp"), "PATH": path}
    subprocess.run(["bash", "-e", "-c", steps[0]["run"]], cwd=tmp_path, check=True, env=environ)
    site = tmp_path / steps[1]["with"]["path"]
    found = sorted(path.name for path in site.glob("*.html"))
    assert found == ["compare-ci.html", "index.html", "run-ci.html", "run-main-run.html"]
    assert (site / "badge.json").is_file()
    for step in [*steps[1:], *pages["pages"]["steps"]]:
        assert step.get("with", {}).keys() <= INPUTS[step["uses"]]
