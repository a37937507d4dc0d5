"""``action.yml`` and ``ci/gitlab.yml``: their steps are run in clones of a scratch repository."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from pytest_rageval.cli import main as cli
from tests.build.http_server import Handler, serving
from tests.build.repository import NEEDS_GIT, Repository, forget_git
from tests.build.yaml_values import load_yaml
from tests.docs.action_runner import PAGE, ActionResult, Service
from tests.docs.gitlab_runner import gitlab_of

pytestmark = [
    NEEDS_GIT,
    pytest.mark.slow,
    pytest.mark.posix,
    pytest.mark.skipif(not shutil.which("jq") or not shutil.which("curl"), reason="needs jq, curl"),
]

ROOT = Path(__file__).parents[2]
BOT, N = "github-actions[bot]", 60
CONFTEST = """
import json, pathlib, pytest

LOST = set(json.loads(pathlib.Path(__file__).with_name("lost.json").read_text()))

def reply(question):
    path = "lost.md" if question in LOST else f"{question}.md"
    return {
        "answer": "The answer text.", "abstained": False,
        "references": [{"rel_path": path}],
        "debug": {"retrieved_chunks": [{"rel_path": path}]},
    }

@pytest.fixture(scope="session")
def rag_client():
    return lambda request: reply(request.question)
"""
PYPROJECT = """
[tool.pytest.ini_options]
minversion = "8.0"
[tool.rageval]
judge = "none"
[tool.rageval.tier.smoke]
select = "tag:smoke"
"""
THRESHOLDS = """
[overall]
pass_rate = { min = 0.5, max_drop = 0, decide = "prove_fail" }
newly_missed = "<= 5"
"""


@dataclass
class Api:
    """Comments of one pull request, oldest first, as the REST API has them."""

    url: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    status: int = 0
    """Of every answer; 0: as asked for."""

    def add(self, login: str, body: str) -> dict[str, Any]:
        comment = {"id": 100 + len(self.comments), "user": {"login": login}, "body": body}
        self.comments.append(comment)
        return comment

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        address = urlsplit(path)
        if self.status:
            return self.status, {}
        if re.fullmatch(r"/repos/me/rag/issues/7/comments", address.path):
            if method == "POST":
                return 201, self.add(BOT, json.loads(body)["body"])
            query = {key: int(value[0]) for key, value in parse_qs(address.query).items()}
            start = (query["page"] - 1) * query["per_page"]
            return 200, self.comments[start : start + query["per_page"]]
        found = re.fullmatch(r"/repos/me/rag/issues/comments/(\d+)", address.path)
        assert found is not None
        assert method == "PATCH"
        (comment,) = [one for one in self.comments if one["id"] == int(found[1])]
        comment["body"] = json.loads(body)["body"]
        return 200, comment


@pytest.fixture
def api() -> Iterator[Api]:
    found = Api()

    class Comments(Handler):
        def answer(self) -> None:
            assert self.headers["Authorization"] == "Bearer a-token-of-the-job"
            status, document = found.answer(self.command, self.path, self.body())
            self.send_json(document, status)

        do_GET = do_POST = do_PATCH = answer

    with serving(Comments) as found.url:
        yield found


class Forge:
    """A bare remote, clones of it, and the service that runs the action in them."""

    def __init__(self, root: Path, api: Api) -> None:
        self.root, self.api = root, api
        self.remote = root / "remote.git"
        self.work = Repository(root / "work")
        self.work.git("init", "-q", "--bare", "-b", "main", str(self.remote))
        self.work.git("remote", "add", "origin", str(self.remote))
        action = load_yaml((ROOT / "action.yml").read_text(encoding="utf-8"))
        self.service = Service(root / "service", action, api=api.url)
        self._clones = 0

    def write(self, lost: Collection[int] = (), changed: Collection[int] = ()) -> None:
        """Commit the project, whose target does not find what is lost."""
        cases = [
            {
                "id": f"c-{i:02}",
                "question": f"q{i:02}" + (" again" if i in changed else ""),
                "category": ("faq", "refunds", "hours")[i % 3],
                "tags": ["smoke"] if i < 10 else [],
                "gold_supports": [{"rel_path": f"q{i:02}{' again' if i in changed else ''}.md"}],
            }
            for i in range(N)
        ]
        files = {
            "evals/set.jsonl": "".join(json.dumps(case) + "\n" for case in cases),
            "conftest.py": CONFTEST,
            "pyproject.toml": PYPROJECT,
            "thresholds.toml": THRESHOLDS,
            "lost.json": json.dumps([f"q{i:02}" for i in lost]),
        }
        for name, text in files.items():
            path = self.work.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.work.git("add", "-A", "--", ".", ":!evals/results")
        self.work.git("commit", "-q", "--allow-empty", "-m", "change")
        self.work.git("push", "-q", "origin", "HEAD")

    def main(self, lost: Collection[int] = ()) -> None:
        self.work.git("checkout", "-q", "-B", "main")
        self.write(lost)

    def branch(self, name: str, **change: Collection[int]) -> None:
        self.work.git("checkout", "-q", "-b", name, "main")
        self.write(**change)

    def clone(self, branch: str, *, depth: int = 1) -> Path:
        """Clone as ``actions/checkout`` does: one commit, with a detached head."""
        self._clones += 1
        found = Repository(
            self.root / f"clone-{self._clones}", cloned_from=self.remote.as_uri(), depth=depth
        )
        shallow = ["--depth", str(depth)] if depth else []
        found.git("fetch", "-q", *shallow, "origin", branch)
        found.git("checkout", "-q", "--detach", "FETCH_HEAD")
        return found.path

    def push(self, **given: Any) -> ActionResult:
        return self.service.run(self.clone("main"), **given)

    def pull_request(self, branch: str, **given: Any) -> ActionResult:
        return self.service.run(self.clone(branch), pull=7, **given)

    def first_line(self) -> str:
        """The first line of the last comment, below its marker."""
        marker, line = self.api.comments[-1]["body"].splitlines()[:2]
        assert marker.startswith("<!-- rageval: ")
        return str(line)


@pytest.fixture
def forge(tmp_path: Path, api: Api, monkeypatch: pytest.MonkeyPatch) -> Forge:
    forget_git(monkeypatch)
    return Forge(tmp_path, api)


REFUNDS = range(1, 30, 3)


def test_five_pull_requests_have_the_right_comment_and_exit_code(forge: Forge) -> None:
    forge.main(lost=(40, 41))
    forge.branch("before-any-run", lost=(40, 41))
    none = forge.pull_request("before-any-run")
    assert none.code == 0, none.log
    assert forge.first_line() == "## rageval: PASS, no baseline: nothing was decided against one"
    body = forge.api.comments[-1]["body"]
    assert "no run of origin/main" in body.replace("\\", "")
    assert f"[The page of this run](<{PAGE}>)" in body

    first = forge.push()
    assert first.code == 0, first.log
    assert "this one is the next baseline if it passes" in first.log

    forge.branch("breaks-one-category", lost=(40, 41, *REFUNDS))
    worse = forge.pull_request("breaks-one-category")
    assert worse.code == 1
    assert forge.first_line().startswith("## rageval: FAIL, worse: 10 broke, 0 fixed, of 60")
    body = forge.api.comments[-1]["body"].replace("\\", "")
    assert "10 of 19 in category refunds" in body
    assert "run of the merge base" in body
    assert "not_retrieved 2 -> 12" in body
    assert "| c-01 | refunds | hit 1.00 -> 0.00 | gold not in top 1 |" in body
    assert len(body.splitlines()) < 60
    assert "FAIL" in worse.summary

    forge.branch("changes-nothing", lost=(40, 41))
    same = forge.pull_request("changes-nothing")
    assert same.code == 0, same.log
    assert forge.first_line().startswith("## rageval: PASS, no difference that 60 cases could show")

    forge.branch("changes-cases", lost=(40, 41), changed=range(5))
    other = forge.pull_request("changes-cases")
    assert other.code == 0, other.log
    assert forge.first_line().startswith("## rageval: PASS, no difference that 55 cases could show")
    assert "changed content** c-00, c-01, c-02, c-03, c-04" in forge.api.comments[-1]["body"]
    assert len(forge.api.comments) == 1  # edited in place

    forge.main(lost=range(20, 40))
    assert forge.push().code == 1  # a drop, which is no baseline until it is approved
    forge.main(lost=(40, 41))
    assert forge.push().code == 0


def test_a_failing_run_of_main_is_passed_over_until_it_is_approved(forge: Forge) -> None:
    forge.main()
    assert forge.push().code == 0
    forge.main(lost=REFUNDS)
    failed = forge.push()
    assert failed.code == 1
    forge.branch("on-top", lost=REFUNDS)
    assert forge.pull_request("on-top").code == 1
    assert "that of the merge base failed" in forge.api.comments[-1]["body"]

    folder = next(forge.root.glob(f"clone-*/evals/results/{failed.outputs['run']}"))
    shutil.copytree(folder, forge.work.path / "evals" / "results" / folder.name)
    forge.work.git("checkout", "-q", "main")
    with contextlib.chdir(forge.work.path):
        assert (
            cli.run(["runs", "approve", folder.name, "--because", "fewer notes, as planned"]) == 0
        )
    forge.main(lost=REFUNDS)
    assert forge.push().code == 0
    forge.branch("on-top-of-it", lost=REFUNDS)
    assert forge.pull_request("on-top-of-it").code == 0


def test_a_tier_has_runs_and_a_comment_of_its_own(forge: Forge) -> None:
    forge.main()
    assert forge.push(tier="smoke").code == 0
    forge.branch("same")
    assert forge.pull_request("same", tier="smoke").code == 0
    assert forge.first_line().startswith("## rageval: PASS, no difference that 10 cases could show")
    assert forge.pull_request("same").code == 0
    assert len(forge.api.comments) == 2
    assert forge.first_line().startswith("## rageval: PASS, no baseline")


def test_each_of_two_sets_has_runs_a_baseline_and_a_comment_of_its_own(forge: Forge) -> None:
    (forge.work.path / "evals").mkdir()
    second = [
        {"id": f"d-{i:02}", "question": f"d{i}", "gold_supports": [{"rel_path": f"d{i}.md"}]}
        for i in range(N)
    ]
    text = "".join(json.dumps(case) + "\n" for case in second)
    (forge.work.path / "evals" / "second.jsonl").write_text(text, encoding="utf-8")
    forge.main()
    paths = ("evals/set.jsonl", "evals/second.jsonl")
    for path in paths:
        result = forge.push(path=path, environ={"GITHUB_RUN_ID": "5"})  # jobs of one workflow
        assert result.code == 0, result.log
    forge.branch("breaks", lost=REFUNDS)
    codes, lines = [], []
    for path in paths:
        codes.append(forge.pull_request("breaks", path=path).code)
        lines.append(forge.first_line())
        assert "needs the whole set" not in forge.api.comments[-1]["body"]
    assert codes == [1, 0]
    assert lines[0].startswith("## rageval: FAIL, worse: 10 broke, 0 fixed, of 60")
    assert lines[1].startswith("## rageval: PASS, no difference that 60 cases could show (")
    assert len(forge.api.comments) == 2


def test_a_fork_and_a_token_that_may_not_write_have_the_summary_alone(
    forge: Forge, api: Api
) -> None:
    forge.main()
    forge.branch("change")
    fork = forge.pull_request("change", fork=True)
    assert fork.code == 0
    assert "Comment on the pull request" not in fork.steps
    assert "## rageval: PASS" in fork.summary
    api.status = 403
    refused = forge.pull_request("change")
    assert refused.code == 0, refused.log
    assert "::warning::no comment was written" in refused.log
    assert api.comments == []
    assert "Comment on the pull request" not in forge.pull_request("change", comment="false").steps


def test_inputs_are_arguments_and_never_code(forge: Forge) -> None:
    forge.main()
    evil = '$(touch pwned) `touch pwned` "; touch pwned #'
    for name in ("path", "baseline", "tier"):
        assert forge.push(**{name: evil}).code != 0
    arguments = "-k 'c-00 or c-01' -q ; touch pwned"
    forge.push(args=arguments)
    result = forge.push(args="-k 'c-00 or c-01' --rageval-results 'my results'")
    assert result.code == 0, result.log
    assert [*forge.root.glob("**/my results/ci-*")] != []
    assert [*forge.root.glob("**/pwned")] == []


def test_without_a_run_the_comment_says_that_nothing_was_decided(forge: Forge, api: Api) -> None:
    forge.main()
    forge.branch("change")
    assert forge.pull_request("change").code == 0
    result = forge.pull_request("change", args="--judge")
    assert result.code == 4
    assert len(api.comments) == 1  # the green one is gone
    assert forge.first_line() == "## rageval: nothing was decided"
    assert "exit code 4" in api.comments[0]["body"]
    assert "PASS" not in api.comments[0]["body"]
    assert "nothing was decided" in result.summary


def test_a_change_of_k_is_exit_code_3_until_it_is_on_main(forge: Forge) -> None:
    forge.main()
    assert forge.push().code == 0
    forge.branch("more-chunks")
    other = {"args": "--rag-k 9"}
    assert forge.pull_request("more-chunks", **other).code == 3
    assert forge.first_line().startswith("## rageval: PASS, not comparable: k: 5 in base, 9 in new")
    assert "exit code 3" in forge.api.comments[-1]["body"]
    forge.main()
    assert forge.push(**other).code == 0
    forge.branch("next")
    assert forge.pull_request("next", **other).code == 0
    assert "no difference" in forge.first_line()


def test_a_merge_request_of_gitlab_has_one_note_that_is_kept_up_to_date(forge: Forge) -> None:
    with gitlab_of(forge, token="a-token") as gitlab:
        forge.main()
        code, log = gitlab.run("main")
        assert (code, "no runs of main yet" in log, gitlab.notes) == (0, True, []), log
        forge.branch("breaks", lost=REFUNDS)
        code, log = gitlab.run("breaks", merge_request=7)
        assert (code, "## rageval: FAIL, worse: 10 broke" in log) == (1, True), log
        (ours,) = gitlab.notes
        first, second = ours["body"].splitlines()[:2]
        assert first == "<!-- rageval: evals/evals// -->"
        assert second.startswith("## rageval: FAIL, worse: 10 broke")
        # Others may copy it; theirs are not touched, wherever ours is.
        gitlab.notes[:0] = [gitlab.note(5, ours["body"]) for _ in range(120)]
        forge.branch("same")
        assert gitlab.run("same", merge_request=7)[0] == 0
        assert len(gitlab.notes) == 121
        assert "## rageval: PASS, no difference" in gitlab.notes[-1]["body"]
        assert gitlab.notes[0]["body"].splitlines()[1] == second
        assert gitlab.run("same", merge_request=7, RAGEVAL_CASES="absent/")[0] == 4
        assert len(gitlab.notes) == 122  # of other cases
        assert "nothing was decided" in gitlab.notes[-1]["body"]
        gitlab.notes.pop()
        gitlab.readonly = True
        code, log = gitlab.run("same", merge_request=7)
        assert (code, "no note was written" in log) == (0, True)
        assert "a-token" not in log


def test_variables_of_gitlab_are_values_and_never_code(forge: Forge) -> None:
    evil = "$(touch pwned) `touch pwned` '; touch pwned #"
    with gitlab_of(forge, token="a-token") as gitlab:
        forge.main()
        for name in ("RAGEVAL_CASES", "RAGEVAL_BASELINE", "RAGEVAL_TIER", "CI_JOB_NAME"):
            gitlab.run("main", merge_request=7, **{name: evil})
    assert [*forge.root.glob("**/pwned")] == []
