"""Recording the traffic of cases, and replaying it without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# pytester forgets every module that a run inside it was the first to import.
import pytest
import vcr.stubs.httpx_stubs  # type: ignore[import-untyped]  # noqa: F401

from tests.build.hostile_judge import Asked, Canned, HostileJudge, error, rating
from tests.build.hostile_server import hostile_server
from tests.build.streams import SlowStream, sse
from tests.build.targets import FakeTarget, Reply, fake_target, json_reply
from tests.plugin.long_runs import document, lines_of
from tests.plugin.scratch import QUIET, Project, case, checks, comparable, outcomes

RECORD = ("--record-mode=once",)
REPLAY = ("--record-mode=none", "--block-network")
KEY = "sk-proj-4f7a9c1e2b8d6f3a5c7e9b1d"
TOKEN = "tok-9c1e2b8d6f3a"
SETTINGS = """
[tool.pytest.ini_options]
filterwarnings = ["error"]
[tool.rageval]
judge = "offline"
no_report = true
[tool.rageval.target]
"""
CHUNK = {"chunk_id": "c1", "rel_path": "a.md", "heading_path": "# A", "text": "Seven.", "rank": 1}
CASES = (
    case("ok/1", "How many?"),
    case("OK/1", "How many again?"),
    case("miss-1", "How many more?", category="multi_hop"),
)


def reply(path: str = "a.md", answer: str = "Seven. [1]", **headers: str) -> bytes:
    return json_reply(
        {"answer": answer, "debug": {"retrieved_chunks": [CHUNK | {"rel_path": path}]}}, **headers
    )


REPLIES: tuple[Reply, ...] = (reply(), reply(), reply("b.md"))


@pytest.fixture
def scratch(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RAG_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    project.write("pyproject.toml", SETTINGS + "retries = 1\n")
    project.write("conftest.py", "")
    project.write("thresholds.toml", "version = 1\n")
    project.cases(CASES)
    return project


def run(project: Project, name: str, *arguments: str) -> pytest.RunResult:
    return project.run("--rageval-run-id", name, *arguments)


def metrics(project: Project, name: str) -> Any:
    return comparable(document(project.folder(name)))


def errors(project: Project, name: str) -> dict[str, Any]:
    return {record["case_id"]: record["error"] for record in lines_of(project.folder(name))}


def cassettes(project: Project) -> dict[str, str]:
    folder = project.path / "evals" / "cassettes"
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def record(project: Project, *replies: Reply, arguments: tuple[str, ...] = ()) -> FakeTarget:
    with fake_target(*(replies or REPLIES)) as fake:
        run(project, "live", "--rag-url", fake.url, *RECORD, *arguments)
    return fake


def test_a_replay_without_network_gives_the_same_numbers(scratch: Project) -> None:
    with fake_target(*REPLIES) as fake:
        for name in ("live", "again"):
            run(scratch, name, "--rag-url", fake.url, *RECORD)
    assert list(cassettes(scratch)) == [
        "eval_set/%4F%4B%2F1.yaml",
        "eval_set/miss-1.yaml",
        "eval_set/ok%2F1.yaml",
    ]
    result = run(scratch, "replay", "-v", "--rag-url", fake.url, *REPLAY)
    assert result.parseoutcomes()["flawed"] == 2  # the answers are found, and wrong
    assert metrics(scratch, "replay") == metrics(scratch, "live")
    assert metrics(scratch, "live")["errored"] == 0
    assert len(fake.received) == 3  # the second run that records asks nobody either
    configs = [document(scratch.folder(n), "config.json") for n in ("live", "again", "replay")]
    assert [config["concurrency"] for config in configs] == [1, 0, 0]
    result.stdout.fnmatch_lines(["latency_ms.p50 (replayed) *"])


def test_a_uuid_and_the_name_of_the_run_do_not_keep_a_cassette_from_matching(
    scratch: Project,
) -> None:
    scratch.write(
        "pyproject.toml",
        SETTINGS
        + """path = "/users/{case.metadata.user}/{uuid}"
headers = { X-Run = "{run_id}" }
[tool.rageval.target.request]
question = "question"
session = "uuid"
run = "run_id"
""",
    )
    scratch.cases([{**one, "metadata": {"user": "ann"}} for one in CASES])
    fake = record(scratch)
    sessions = {one.json["session"] for one in fake.received}
    assert len(sessions) == 3
    assert {one.headers["x-run"] for one in fake.received} == {"cassette"}
    run(scratch, "replay", "--rag-url", fake.url, *REPLAY)
    assert metrics(scratch, "replay") == metrics(scratch, "live")
    assert metrics(scratch, "live")["errored"] == 0
    assert len(fake.received) == 3
    assert not any(one in text for one in sessions for text in cassettes(scratch).values())


def test_a_run_without_the_options_sends_requests_and_loads_no_vcr(scratch: Project) -> None:
    record(scratch)
    scratch.write(
        "conftest.py",
        "import sys\ndef pytest_unconfigure():\n"
        "    ours = 'pytest_rageval.plugin.cassettes' in sys.modules\n"
        "    print('LOADED', 'vcr' in sys.modules, ours)\n",
    )
    with fake_target(*REPLIES) as fake:
        result = scratch.run_apart("--rag-url", fake.url, "-s")
        assert len(fake.received) == 3
    result.stdout.fnmatch_lines(["*LOADED False False"])


def test_a_missing_cassette_is_an_error_of_its_case_that_says_how_to_record(
    scratch: Project,
) -> None:
    with fake_target(*REPLIES) as fake:
        run(scratch, "replay", "--rag-url", fake.url, "--record-mode=none")
        assert fake.received == []
    found = errors(scratch, "replay")["ok/1"]
    assert found["kind"] == "protocol"
    assert found["message"] == (
        "no cassette evals/cassettes/eval_set/ok%2F1.yaml: record it with --record-mode=once; "
        "nothing was sent"
    )


def test_another_question_is_not_answered_from_the_cassette(scratch: Project) -> None:
    fake = record(scratch)
    scratch.cases([case("ok/1", "How few?"), *CASES[1:]])
    run(scratch, "replay", "--rag-url", fake.url, *REPLAY)
    found = errors(scratch, "replay")
    assert (
        "does not contain this request (POST to 127.0.0.1/api/v1/ask)" in found["ok/1"]["message"]
    )
    assert "--record-mode=rewrite" in found["ok/1"]["message"]
    assert found["OK/1"] is found["miss-1"] is None


def test_a_cassette_that_cannot_be_written_ends_the_session_in_one_line(scratch: Project) -> None:
    scratch.write("evals/cassettes/eval_set", "a file where the folder would be")
    with fake_target(*REPLIES) as fake:  # apart, since vcrpy leaves its patches behind
        result = scratch.run_apart("--rageval-run-id", "live", "--rag-url", fake.url, *RECORD)
    assert result.ret == 4
    assert len(fake.received) == 1
    said = result.stdout.str()
    assert "eval_set/ok%2F1.yaml: cannot be written: File exists; once it can be," in said
    assert "Traceback" not in said + result.stderr.str()
    assert "use_cassette" not in said
    assert errors(scratch, "live") == {"ok/1": None}  # what was answered is kept


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of the pauses from now on, which end at once."""
    found: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        found.append(seconds)
        await real(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return found


def test_retries_are_replayed_without_their_pauses(scratch: Project, pauses: list[float]) -> None:
    busy = json_reply({}, "503 Busy", retry_after="1")
    fake = record(scratch, busy, *REPLIES)
    assert len(fake.received) == 4
    text = cassettes(scratch)["eval_set/ok%2F1.yaml"]
    assert text.count("- '1'") == 1
    assert 1.0 in pauses
    pauses.clear()
    run(scratch, "replay", "--rag-url", fake.url, *REPLAY, "evals/eval_set.jsonl::ok/1")
    assert max(pauses, default=0) < 1
    assert errors(scratch, "replay")["ok/1"] is None


@pytest.mark.parametrize("arguments", [RECORD, ("--block-network",)])
def test_workers_are_refused(scratch: Project, arguments: tuple[str, ...]) -> None:
    (scratch.path / "evals" / "cassettes" / "eval_set").mkdir(parents=True)
    result = scratch.run_apart("--rag-url", "http://127.0.0.1:9", "-n", "2", *arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*one case after the other, in one process; leave out -n*"])


def test_a_reply_without_an_end_is_read_no_further_than_a_limit_when_it_is_recorded(
    scratch: Project,
) -> None:
    names = (
        "endless-body",
        "endless-chunks",
        "gzip-bomb",
        "declares-a-gigabyte",
        "endless-headers",
    )
    scratch.cases([case(name, f"hostile {name}") for name in names])
    with hostile_server() as server:
        result = run(scratch, "one", *RECORD, "--rag-url", server.url)
    assert outcomes(result)["errored"] == len(names)
    kinds = {record["error"]["kind"] for record in scratch.records().values()}
    assert kinds == {"protocol"}


def test_recording_can_be_switched_off(scratch: Project) -> None:
    with fake_target(*REPLIES) as fake:
        run(scratch, "live", "--rag-url", fake.url, *RECORD, "--disable-recording")
        assert len(fake.received) == 3
    assert cassettes(scratch) == {}


def test_parametrized_cases_have_cassettes_of_their_own(scratch: Project) -> None:
    scratch.cases(CASES[:1])
    scratch.write(
        "evals/eval_set.py",
        "import pytest\n@pytest.fixture(params=['m1', 'M1'])\ndef model(request):\n"
        "    return request.param\ndef test_case(model, eval_record):\n    pass\n",
    )
    record(scratch)
    assert list(cassettes(scratch)) == [
        "eval_set/ok%2F1%5B%4D1%5D.yaml",
        "eval_set/ok%2F1%5Bm1%5D.yaml",
    ]


def test_a_projects_own_vcr_config_is_merged_and_lets_no_secret_pass(
    scratch: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_TOKEN", TOKEN)
    scratch.write(
        "pyproject.toml", SETTINGS + 'headers = { Authorization = "Bearer env:RAG_TOKEN" }\n'
    )
    scratch.write(
        "conftest.py",
        "import pytest\n"
        "def at_home(request):\n"
        "    request.uri = 'http://home' + request.uri[request.uri.index('/api'):]\n"
        "    return request\n"
        "@pytest.fixture(scope='session')\ndef vcr_config():\n"
        "    return {'filter_headers': ['x-own'], 'serializer': 'json',\n"
        "            'before_record_request': at_home}\n",
    )
    scratch.cases(CASES[:1])
    fake = record(scratch)
    ((name, text),) = cassettes(scratch).items()
    assert name == "eval_set/ok%2F1.json"
    assert "http://home/api/v1/ask" in text
    assert TOKEN not in text
    run(scratch, "replay", "--rag-url", fake.url, *REPLAY)
    assert metrics(scratch, "replay") == metrics(scratch, "live")


def test_secrets_reach_no_cassette_and_a_replay_needs_none(
    scratch: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch.write(
        "pyproject.toml",
        SETTINGS + 'path = "/ask?token=query-secret-1"\nheaders = { X-Tenant = "env:RAG_TOKEN" }\n',
    )
    scratch.cases(CASES[:1])
    monkeypatch.setenv("RAG_TOKEN", TOKEN)
    echo = reply(answer=f"You sent {TOKEN} and query-secret-1.", set_cookie="sid=cookie-secret-1")
    fake = record(scratch, echo)
    assert fake.received[0].headers["x-tenant"] == TOKEN
    ((_, text),) = cassettes(scratch).items()
    assert "secret-1" not in text
    assert TOKEN not in text
    assert "***" in text
    monkeypatch.delenv("RAG_TOKEN")
    run(scratch, "replay", "--rag-url", fake.url, *REPLAY)
    assert metrics(scratch, "replay") == metrics(scratch, "live")
    assert errors(scratch, "replay")["ok/1"] is None


NOTE = "# Queue\n\nThe queue has seven consumers, and each of them commits on its own.\n"


@pytest.fixture
def embedded(scratch: Project) -> Project:
    scratch.write("pyproject.toml", SETTINGS + 'vault = "notes"\n')
    scratch.write("notes/queue.md", NOTE)
    return scratch


def test_the_embedded_server_has_a_fixed_host_and_is_not_started_to_replay(
    embedded: Project,
) -> None:
    run(embedded, "live", *RECORD)
    for text in cassettes(embedded).values():
        assert "http://rageval-embedded.localhost/api/v1/ask" in text
        assert "127.0.0.1" not in text
    # Without its notes it could not start.
    (embedded.path / "notes" / "queue.md").unlink()
    (embedded.path / "notes").rmdir()
    result = run(embedded, "replay", *REPLAY)
    assert metrics(embedded, "replay") == metrics(embedded, "live")
    assert set(errors(embedded, "replay").values()) == {None}
    result.stdout.fnmatch_lines(["rageval: replaying cassettes, one case after the other*"])


def verdict(asked: Asked) -> Canned:
    """Refuse JSON schemas; be strict with what was asked third."""
    if asked.body.get("response_format", {}).get("type") == "json_schema":
        return error(400, "'response_format' of type 'json_schema' is not supported")
    score = 2 if "How many more" in asked.prompt else 5
    return rating(score, f"Key {KEY}.")


@pytest.fixture
def judge() -> Iterator[HostileJudge]:
    with HostileJudge(verdict) as server:
        yield server


@pytest.fixture
def judged(
    scratch: Project, judge: HostileJudge, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, ...]:
    """Record a judged run, take the key away, and return the options of a replay."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asked = ("--judge", "judge-2024-08-06", "--judge-base-url", judge.url)
    fake = record(scratch, arguments=asked)
    monkeypatch.delenv("OPENAI_API_KEY")
    return ("--rag-url", fake.url, *REPLAY, *asked)


def test_a_judges_traffic_is_recorded_and_replayed_without_its_key(
    scratch: Project, judge: HostileJudge, judged: tuple[str, ...]
) -> None:
    n_asked = len(judge.asked)
    assert f"Bearer {KEY}" in judge.asked[0].headers.values()
    for text in cassettes(scratch).values():
        assert text.count("/v1/chat/completions") >= 2
        assert KEY[:12] not in text
    run(scratch, "replay", *judged)
    assert len(judge.asked) == n_asked
    assert metrics(scratch, "live")["metrics"]["groundedness"]["mean"] == 4.0
    assert metrics(scratch, "replay") == metrics(scratch, "live")
    assert not (scratch.path / "evals" / "cache" / "judge.sqlite").exists()


def test_a_verdict_that_is_in_no_cassette_is_an_error_and_nobody_is_asked(
    scratch: Project, judge: HostileJudge, pauses: list[float]
) -> None:
    fake = record(scratch)
    asked = ("--judge", "judge-2024-08-06", "--judge-base-url", judge.url)
    pauses.clear()
    run(scratch, "replay", "--rag-url", fake.url, *REPLAY, *asked)
    assert max(pauses, default=0) < 1
    assert judge.asked == []
    assert metrics(scratch, "replay")["metrics"]["groundedness"]["n_error"] == 3
    path = scratch.path / "evals" / "results" / "replay" / "results.jsonl"
    assert "does not contain this request (POST to" in path.read_text(encoding="utf-8")


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_recorded_cases_of_this_repository_replay_like_a_live_run(
    pytester: pytest.Pytester, project: Project
) -> None:
    base = ("--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"), str(ROOT / "evals"))
    runs: dict[str, Any] = {}
    for name, arguments in {"live": (), "replay": REPLAY}.items():
        result = pytester.runpytest_subprocess(
            *base, "-k", "recency or specificity", "--rageval-results", str(project.path / name),
            "--rageval-run-id", name, *arguments, *QUIET, timeout=120,
        )  # fmt: skip
        assert result.parseoutcomes().get("errored", 0) == 0
        path = project.path / name / name / "metrics.json"
        runs[name] = comparable(json.loads(path.read_text(encoding="utf-8")))
    assert runs["replay"] == runs["live"]
    assert (runs["live"]["total"], runs["live"]["errored"]) == (10, 0)


def test_a_stream_is_replayed_with_the_same_numbers_and_without_its_times(
    scratch: Project,
) -> None:
    scratch.cases(CASES[:1])
    chunks = [CHUNK]
    pieces = [(0.0, sse({"t": part}, "token")) for part in ("Seven.", " [1]")]
    pieces.append((0.02, sse({"chunks": chunks}, "end")))
    settings = (
        SETTINGS
        + """stream = "sse"
last_event = "event == 'end'"
[tool.rageval.target.response]
answer = "join('', events[].data.t)"
retrieved_chunks = "last.data.chunks"
"""
    )
    scratch.write("thresholds.toml", 'version = 1\n[overall]\n"latency_ms.ttft.p95" = "<= 5000"\n')
    with fake_target(SlowStream(pieces)) as target:
        scratch.write(
            "pyproject.toml", settings.replace("stream =", f'url = "{target.url}"\nstream =')
        )
        run(scratch, "live")
        run(scratch, "recorded", *RECORD)
    result = run(scratch, "replayed", "-v", *REPLAY)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["latency_ms.ttft.p95 * <= 5000 *skipped"])
    assert metrics(scratch, "live") == metrics(scratch, "recorded") == metrics(scratch, "replayed")
    times = {name: latencies(scratch, name) for name in ("live", "recorded", "replayed")}
    assert 0 < times["live"].pop("ttft_ms") < times["live"]["total_ms"]
    assert all(latency.keys() == {"total_ms"} for latency in times.values())
    gates = [document(scratch.folder(name), "gate.json") for name in times]
    assert [checks(gate)["latency_ms.ttft.p95"] for gate in gates] == [
        "pass",
        "fail",
        "skip",
    ]


def latencies(project: Project, name: str) -> dict[str, float]:
    (line,) = (project.folder(name) / "results.jsonl").read_text("utf-8").splitlines()
    found: dict[str, float] = json.loads(line)["latency"]
    return found
