"""``rageval label`` as it is typed, with the embedded reference server as its target."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.labelling.page import WebFace
from pytest_rageval.authoring.labelling.store import labels_path
from pytest_rageval.authoring.labelling.view import facts_of, view_of
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.metrics.deciding import decide_chunks
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import ServerHandle, start_in_thread
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import TargetSettings
from tests.build.files import write_lines
from tests.build.targets import fake_target, json_reply, unused_port
from tests.server.builders import NOTES, write_vault

Output = pytest.CaptureFixture[str]
SET = "evals/set.jsonl"
CASES: list[dict[str, Any]] = [
    {"id": "queue", "question": "What is the retry limit of the ingest queue?", "category": "ops"},
    {"id": "garden", "question": "When are tomatoes planted?",
     "gold_supports": [{"rel_path": "home/garden.md", "heading_path": "# Garden"}]},
    {"id": "made", "question": "What is compost?", "review": "generated"},
    {"id": "moon", "question": "How far is the moon?", "answerable": False},
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHandle]:
    vault = write_vault(tmp_path_factory.mktemp("vault"), NOTES)
    with start_in_thread(ReferenceConfig(vault=vault)) as handle:
        yield handle


@pytest.fixture
def project(project: Path, server: ServerHandle) -> Path:
    (project / "pyproject.toml").write_text(
        f'[tool.rageval.target]\nurl = "{server.url}"\nretries = 0\n', encoding="utf-8"
    )
    write_lines(project / SET, *CASES)
    return project


@dataclass
class Label:
    """``rageval label --web`` with a page that presses keys by itself."""

    keys: Sequence[str] = ()
    shown: list[str] = field(default_factory=list)
    """Id of the case on the page before each key and at the end."""
    notices: list[str] = field(default_factory=list)

    def __call__(self, *arguments: str, keys: Sequence[str] = ("Q",)) -> int:
        self.keys, self.shown, self.notices = keys, [], []
        return cli.run(["label", SET, "--web", *arguments])

    def serve(self, face: WebFace, *, port: int, announce: object) -> Label:
        """Stand in for the server of the page."""
        self.session, self.port = face.session, port
        return self

    def run(self) -> None:
        for key in self.keys:
            self.shown.append(self.session.marking.item.case.id)
            self.session.press(key)
            self.notices.append(self.session.notice)


@pytest.fixture
def label(project: Path, monkeypatch: pytest.MonkeyPatch) -> Label:
    found = Label()
    monkeypatch.setattr("pytest_rageval.authoring.keyed.page.KeyServer", found.serve)
    return found


def written(project: Path) -> dict[str, dict[str, Any]]:
    lines = (project / SET).read_text(encoding="utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


# --- marking -------------------------------------------------------------------------------------


def test_what_is_marked_is_found_when_the_target_is_asked_again(
    project: Path, label: Label, server: ServerHandle
) -> None:
    """The written anchor matches the chunk that was marked, under every matching setting."""
    from pytest_rageval.target.client import HttpRagClient

    assert label("--case", "queue", keys=["s", "1", "enter", "q", "y"]) == ExitCode.YES
    (gold,) = written(project)["queue"]["gold_supports"]
    assert set(gold) >= {"rel_path", "heading_path", "snippets"}
    assert "chunk_id" not in gold
    case = load_cases(project / SET).cases[0].case
    client = HttpRagClient(TargetSettings(url=server.url))
    try:
        response = client.ask(AskRequest(question=case.question, k=5))
    finally:
        client.close()
    assert response.retrieved_chunks
    for snippets in ("off", "any", "all"):
        decided = decide_chunks(case, response.retrieved_chunks, ScoreSettings(snippets=snippets))
        assert decided[0].matched_golds == (0,)


def test_twenty_chunks_are_asked_for_with_debug(label: Label) -> None:
    with fake_target(json_reply({"answer": "x", "debug": {"retrieved_chunks": []}})) as target:
        assert label("--rag-url", target.url, "--case", "queue") == ExitCode.YES
    (request,) = target.received
    assert request.line.startswith("POST /api/v1/ask?debug=true ")
    assert request.json["k"] == 20


TALK: dict[str, Any] = {"id": "talk", "review": "generated", "x": 1, "turns": [
    {"question": "What is the retry limit of the ingest queue?", "expected_answer": "Five."},
    {"question": "And when does it wait?", "standalone": "When does the queue wait?", "y": 2},
]}  # fmt: skip


def test_a_conversation_is_labelled_turn_by_turn_on_its_line(
    project: Path, label: Label, capsys: Output
) -> None:
    write_lines(project / SET, TALK, *CASES)
    others = (project / SET).read_bytes().splitlines()[1:]
    assert label("--case", "talk", keys=["1", "enter", "1"]) == ExitCode.YES
    assert label.shown == ["talk#1", "talk#1", "talk#2"]
    first = written(project)["talk"]
    assert first["review"] == "generated", "its second turn is not reviewed yet"
    facts = dict(facts_of(view_of(label.session)))
    assert (facts["user"], facts["assistant"]) == (TALK["turns"][0]["question"], "Five.")
    assert label("--review", "--case", "talk#2", keys=["1", "enter"]) == ExitCode.YES
    talk = written(project)["talk"]
    assert (project / SET).read_bytes().splitlines()[1:] == others
    golds = [turn.pop("gold_supports") for turn in talk["turns"]]
    assert [len(found) for found in golds] == [1, 1]
    assert talk["turns"] == TALK["turns"]
    assert {name: talk[name] for name in ("review", "x")} == {"review": "reviewed", "x": 1}


@pytest.mark.parametrize(
    ("history", "sent"),
    [
        ("live", {"question": TALK["turns"][1]["question"]}),
        ("server", {"question": TALK["turns"][1]["standalone"]}),
    ],
)
def test_a_turn_is_asked_with_the_expected_answers_before_it(
    project: Path, label: Label, history: str, sent: dict[str, str]
) -> None:
    write_lines(project / SET, TALK)
    with fake_target(json_reply({"answer": "x", "debug": {"retrieved_chunks": []}})) as target:
        settings = f'[tool.rageval.target]\nurl = "{target.url}"\nhistory = "{history}"\n'
        (project / "pyproject.toml").write_text(settings, encoding="utf-8")
        assert label("--case", "talk#2") == ExitCode.YES
    (request,) = target.received
    said = [one["content"] for one in request.json["history"]]
    assert said == [TALK["turns"][0]["question"], "Five."]
    assert request.json["question"] == sent["question"]


def test_a_turn_is_not_removed_alone(project: Path, label: Label) -> None:
    write_lines(project / SET, TALK)
    before = (project / SET).read_bytes()
    assert label("--review", "--case", "talk#2", keys=["d", "y", "Q"]) == ExitCode.YES
    assert (project / SET).read_bytes() == before


# --- the queue -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ((), ["queue", "garden", "made", "moon"]),
        (("--case", "moon", "--case", "queue"), ["queue", "moon"]),
        (("--category", "ops"), ["queue"]),
        (("--unlabeled",), ["queue", "made"]),
        (("--review",), ["made"]),
        (("--unlabeled", "--category", "general"), ["made"]),
    ],
)
def test_options_choose_the_cases(label: Label, options: tuple[str, ...], ids: list[str]) -> None:
    assert label(*options, keys=["n"] * len(ids)) == ExitCode.YES
    assert label.shown == ids
    assert "(q leaves)" in label.notices[-1]


def test_what_failed_in_a_run_is_labelled(project: Path, label: Label, capsys: Output) -> None:
    from tests.build.records import record

    folder = project / "evals" / "results" / "r1"
    folder.mkdir(parents=True)
    from pytest_rageval.runs.documents import record_line

    records = [
        record("queue", file=SET, outcome="passed"),
        record("moon", file=SET, outcome="missed"),
        record("gone", file=SET, outcome="missed"),
        record("other", file="evals/other.jsonl", outcome="missed"),
    ]
    lines = [record_line(one).decode() for one in records]
    (folder / "results.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert label("--failed-from", "r1") == ExitCode.YES
    assert label.shown == ["moon"]
    said = "1 of the 2 cases that did not pass in run r1 is not in the set any more: gone"
    assert capsys.readouterr().err == f"note: {said}\n"
    assert label("--failed-from", "r2") == ExitCode.USAGE


def test_a_rejected_case_is_removed_and_no_other_byte_changes(
    project: Path, label: Label, capsys: Output
) -> None:
    before = (project / SET).read_bytes().splitlines(keepends=True)
    label("--review", keys=["d", "enter", "escape", "Q"])
    assert (project / SET).read_bytes().splitlines(keepends=True) == before
    assert label("--review", keys=["e", "d", "y"]) == ExitCode.YES
    assert label.notices[0].endswith(f"rageval case edit -f {SET} --question TEXT made")
    assert capsys.readouterr().out.endswith("0 saved, 1 removed\n")
    assert (project / SET).read_bytes().splitlines(keepends=True) == [*before[:2], before[3]]


def test_a_reviewed_case_loses_its_mark(project: Path, label: Label, capsys: Output) -> None:
    label("--review", keys=["enter", "q"])
    assert written(project)["made"]["review"] == "reviewed"
    assert label("--review") == ExitCode.YES
    assert capsys.readouterr().out.endswith("no case to label\n")


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--case", "quueue"), "--case: no case has the id 'quueue', did you mean 'queue'?"),
        (("--category", "opps"), "did you mean 'ops'?"),
        (("--annotator", "../x"), "'../x', expected a name of letters"),
        (("--annotator", "a", "--adjudicate"), "expected one of them"),
        (("--adjudicate", "--review"), "expected one of them"),
        (("--json",), "--json: goes with --agreement only"),
        (("--adjudicate",), "fewer than two annotators have labelled it"),
        (("--agreement",), "fewer than two annotators have labelled it"),
        (("--k", "0"), "--k"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    label: Label, capsys: Output, options: tuple[str, ...], message: str
) -> None:
    assert label(*options) == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_target_that_nobody_serves_is_exit_4(label: Label, capsys: Output) -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    assert label("--rag-url", url) == ExitCode.UNREACHABLE
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_without_textual_one_line_names_the_extra_and_the_page(
    project: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    assert cli.run(["label", SET]) == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install 'pytest-rageval[label]'" in line
    assert "--web" in line


# --- several annotators --------------------------------------------------------------------------


def test_annotators_label_apart_agree_and_are_decided_between(
    project: Path, label: Label, capsys: Output
) -> None:
    before = (project / SET).read_bytes()
    label("--annotator", "ann", keys=["1", "enter", "1", "enter", "Q"])
    label("--annotator", "bob", keys=["1", "enter", "2", "enter", "Q"])
    assert (project / SET).read_bytes() == before
    assert len(labels_path(project / SET, "ann").read_text(encoding="utf-8").splitlines()) == 2
    capsys.readouterr()
    assert label("--agreement", "--json") == ExitCode.YES
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert document["annotators"] == {"ann": 2, "bob": 2}
    assert document["chunks"]["statistic"] == "cohen_kappa"
    assert document["chunks"]["n_cases"] == 2
    assert document["answerable"]["observed"] == 1
    assert label("--agreement") == ExitCode.YES
    assert "Cohen's kappa" in capsys.readouterr().out
    assert label("--adjudicate", keys=["enter", "enter", "enter", "Q"]) == ExitCode.YES
    assert (project / SET).read_bytes() != before
    assert label("--adjudicate") == ExitCode.YES
    assert capsys.readouterr().out.endswith("no case to label\n")
