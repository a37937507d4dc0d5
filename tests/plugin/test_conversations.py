"""Conversations: asked turn by turn, named by turn and stage, the same in every way to run them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import evaluate
from pytest_rageval.runs.store import read_records
from pytest_rageval.target.contract import request_body
from pytest_rageval.values.record import CaseRecord
from tests.plugin.scratch import NO_PAGE, Project, comparable
from tests.plugin.talking_bot import NAMES, Fault, TalkingBot, talk, talking_bot

SETTINGS = f"""
[tool.pytest.ini_options]
filterwarnings = ["error"]
[tool.rageval]
{NO_PAGE}[tool.rageval.target]
retries = 0
"""
ROOT = Path(__file__).resolve().parents[2]
TALKS = tuple(f"talk_{name}" for name in NAMES)


@pytest.fixture
def bot() -> Iterator[TalkingBot]:
    with talking_bot() as found:
        yield found


@pytest.fixture
def talks(project: Project, bot: TalkingBot) -> Project:
    project.write("conftest.py", "")
    project.write("pyproject.toml", SETTINGS)
    project.cases([talk(name) for name in NAMES])
    return project


def run(project: Project, bot: TalkingBot, *arguments: str, name: str = "one") -> pytest.RunResult:
    bot.asked.clear()
    named = () if any("resume" in one for one in arguments) else ("--rageval-run-id", name)
    return project.run("--rag-url", bot.url, *named, *arguments)


def records_of(project: Project, name: str = "one") -> dict[str, CaseRecord]:
    return {one.name: one for one in read_records(project.folder(name))}


def stages(project: Project, name: str = "one") -> dict[str, str]:
    """Return stage, or kind of error, of each turn that did not pass."""
    return {
        name: one.error.kind if one.error else one.scores.failure_stage or one.scores.outcome
        for name, one in records_of(project, name).items()
        if one.scores.outcome != "passed"
    }


def metrics(project: Project, name: str) -> Any:
    return comparable(json.loads((project.folder(name) / "metrics.json").read_text("utf-8")))


def every(turn: int, stage: str) -> dict[str, str]:
    return {f"{name}#{turn}": stage for name in TALKS}


WRONG: Sequence[tuple[Fault, dict[str, str]]] = [
    ("forgets", every(2, "not_retrieved")),
    ("stale", every(3, "ungrounded")),
    ("errors", every(2, "http") | every(3, "not_attempted")),
    ("mixes", every(2, "not_retrieved") | every(3, "not_retrieved")),
]
"""Faults of the chatbot, and the turns and stages that they show as."""
AT_ONCE = ("--rageval-concurrency", "32")


def plant(talks: Project, bot: TalkingBot, fault: Fault) -> None:
    bot.fault = fault
    talks.write("pyproject.toml", SETTINGS + 'history = "server"\n' * (fault == "mixes"))


@pytest.mark.parametrize(("fault", "expected"), WRONG, ids=lambda one: str(one)[:9])
def test_each_fault_is_named_by_turn_and_stage_however_the_run_is_made(
    talks: Project, bot: TalkingBot, fault: Fault, expected: dict[str, str]
) -> None:
    plant(talks, bot, fault)
    mixes = fault == "mixes"  # which it cannot where nothing else runs
    run(talks, bot, "--rageval-concurrency", "1", name="serial")
    assert stages(talks, "serial") == ({} if mixes else expected)
    bot.together = 4 if mixes else 1
    run(talks, bot, *AT_ONCE, name="at-once")
    assert stages(talks, "at-once") == expected
    bot.together = 2 if mixes else 1
    run(talks, bot, *AT_ONCE, "-k", "ada or cleo", name="resumed")
    asked = len(bot.asked)
    run(talks, bot, *AT_ONCE, "--rageval-resume", "resumed")
    assert len(bot.asked) == asked  # the other two
    assert stages(talks, "resumed") == expected
    assert metrics(talks, "at-once") == metrics(talks, "resumed")
    assert (metrics(talks, "serial") == metrics(talks, "at-once")) is not mixes


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "expected"), WRONG[-2:], ids=lambda one: str(one)[:9])
def test_workers_and_one_process_find_the_same(
    talks: Project, bot: TalkingBot, fault: Fault, expected: dict[str, str]
) -> None:
    plant(talks, bot, fault)
    bot.together = 4 if fault == "mixes" else 1
    run(talks, bot, *AT_ONCE, name="at-once")
    run(talks, bot, *AT_ONCE, "-n", "2", name="workers")
    assert stages(talks, "workers") == expected
    assert metrics(talks, "at-once") == metrics(talks, "workers")


def test_a_target_that_keeps_its_conversations_is_sent_their_session_alone(
    talks: Project, bot: TalkingBot
) -> None:
    plant(talks, bot, "mixes")  # one after the other it has nothing to mix up
    run(talks, bot, "--rageval-concurrency", "1")
    assert stages(talks) == {}
    assert len({body["session"] for body in bot.asked}) == len(NAMES)
    assert not any("history" in body for body in bot.asked)


@pytest.mark.parametrize("history", ["live", "gold", "server"])
def test_ragflow_follows_a_conversation_by_its_messages_or_by_its_session(
    talks: Project, bot: TalkingBot, monkeypatch: pytest.MonkeyPatch, history: str
) -> None:
    monkeypatch.setenv("RAGFLOW_API_KEY", "key-0000001")
    preset = f'preset = "ragflow"\nvars = {{ chat_id = "c-1" }}\nhistory = "{history}"\n'
    talks.write("pyproject.toml", SETTINGS + preset)
    run(talks, bot, "-k", "ada or bob")
    assert stages(talks) == {}
    replied = {name: one.reply.session for name, one in records_of(talks).items()}
    assert len({*replied.values()}) == (2 if history == "server" else 6)


def test_an_item_is_a_conversation_whose_report_names_turns_and_stages(
    talks: Project, bot: TalkingBot
) -> None:
    bot.fault = "forgets"
    result = run(talks, bot, "-rA", "evals/eval_set.jsonl::talk_bob")
    assert len(records_of(talks)) == 3
    reason = next(line for line in result.outlines if "::talk_bob - " in line)
    assert ("turn 2: not_retrieved" in reason, "turn 1" in reason) == (True, False)


def test_the_answers_given_are_sent_or_the_expected_ones(talks: Project, bot: TalkingBot) -> None:
    bot.fault = "stale"
    run(talks, bot, "-k", "ada")
    live = bot.asked[-1]["history"]
    assert [one["role"] for one in live] == ["user", "assistant"] * 2
    assert [one["content"] for one in live[1::2]] == [
        records_of(talks)[f"talk_ada#{turn}"].answer for turn in (1, 2)
    ]
    assert records_of(talks)["talk_ada#3"].history[-1].content == live[-1]["content"]

    bot.fault = "forgets"
    talks.write("pyproject.toml", SETTINGS + 'history = "gold"\n')
    run(talks, bot, "-k", "ada", name="gold")
    assert bot.asked[-1]["history"][-1]["content"] == talk("ada")["turns"][1]["expected_answer"]


@pytest.mark.parametrize("again", [("--lf",), ("--rageval-failed-from", "one")])
def test_what_failed_is_asked_again_from_the_first_turn(
    talks: Project, bot: TalkingBot, again: Sequence[str]
) -> None:
    bot.fault = "errors"
    run(talks, bot, "-k", "ada or bob", "--rageval-concurrency", "1")
    bot.fault = ""
    run(talks, bot, *again, "--rageval-concurrency", "1", name="again")
    assert [body["question"] for body in bot.asked[::3]] == [
        talk(name)["turns"][0]["question"] for name in NAMES[:2]
    ]
    assert stages(talks, "again") == {}


def test_a_conversation_that_was_cut_short_is_asked_from_its_first_turn(
    talks: Project, bot: TalkingBot
) -> None:
    run(talks, bot, "--rageval-concurrency", "1")
    file = talks.folder() / "results.jsonl"
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:-1]), "utf-8")
    run(talks, bot, "--rageval-resume", "one", "--rageval-concurrency", "1")
    assert [body["question"] for body in bot.asked] == [
        one["question"] for one in talk(NAMES[-1])["turns"]
    ]
    assert len(records_of(talks)) == 12


def test_shards_and_repeats_keep_a_conversation_together(talks: Project, bot: TalkingBot) -> None:
    run(talks, bot, "--rageval-shard", "1/2", "--rageval-repeats", "2", name="part")
    found = read_records(talks.folder("part"))
    assert {one.case.item for one in found} == {"talk_ada", "talk_cleo"}
    assert len(found) == 12


def test_a_lost_context_is_told_from_evidence_that_is_not_found(
    talks: Project, bot: TalkingBot
) -> None:
    bot.fault = "forgets"
    result = run(talks, bot, "--rageval-context-carry", "-k", "ada or bob")
    assert "8 turns once more alone" in " ".join(map(str.strip, result.outlines))
    assert stages(talks) == {f"{name}#2": "lost_context" for name in TALKS[:2]}
    assert len([one for one in bot.asked if "history" not in one]) == 2 + 4
    carried = metrics(talks, "one")["metrics"]["context_carry"]
    assert (carried["n"], carried["mean"], carried["clusters"]) == (4, 0.5, 2)
    groups = json.loads((talks.folder() / "groups.json").read_text("utf-8"))
    recall = {turn: found["recall_at_k"]["mean"] for turn, found in groups["by_turn"].items()}
    assert recall == {"1": 1.0, "2": 0.0, "3+": 1.0}


def test_a_cassette_holds_a_conversation_and_replays_it(talks: Project, bot: TalkingBot) -> None:
    bot.fault = "forgets"
    ways = ("-k", "ada or bob", "--rageval-context-carry", "--record-mode")
    run(talks, bot, *ways, "once", name="recorded")
    assert len(list((talks.path / "evals").rglob("talk_ada*.yaml"))) == 1
    run(talks, bot, *ways, "none", name="replayed")
    assert bot.asked == []
    assert metrics(talks, "recorded") == metrics(talks, "replayed")


def test_evaluate_asks_as_a_session_does(talks: Project, bot: TalkingBot) -> None:
    bot.fault = "forgets"
    run(talks, bot, "--rageval-context-carry", name="session")
    found = evaluate(
        [talk(name) for name in NAMES],
        lambda request: bot.reply(request_body(request)),
        root=talks.path,
        save=True,
        context_carry=True,
        run_id="called",
    )
    assert {one.name: one.scores.failure_stage for one in found.records} == {
        name: one.scores.failure_stage for name, one in records_of(talks, "session").items()
    }
    assert metrics(talks, "called")["metrics"] == metrics(talks, "session")["metrics"]


@pytest.mark.slow
def test_the_example_talks_miss_in_a_follow_up_whose_subject_the_server_lost(
    project: Project,
) -> None:
    example = ROOT / "examples" / "conversations"
    settings = (example / "pyproject.toml").read_text("utf-8")
    vault = (ROOT / "evals" / "vault").as_posix()
    project.write("pyproject.toml", settings.replace("../../evals/vault", vault))
    project.write("conftest.py", "")
    (project.path / "evals" / "eval_set.jsonl").unlink()
    project.write("evals/talks.jsonl", (example / "evals" / "talks.jsonl").read_text("utf-8"))
    project.run("--rageval-run-id", "one", "--rageval-context-carry")
    records = records_of(project)
    assert len({record.item for record in records.values()}) == 12
    lost = {n: r for n, r in records.items() if r.scores.failure_stage == "lost_context"}
    assert lost
    assert all((record.case.turn or 0) > 1 for record in lost.values())
