"""Requests of the pages over all runs, on a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest

from pytest_rageval.runs.read import read_run
from pytest_rageval.runs.reviews import read_notes
from pytest_rageval.runs.tags import read_tags, write_tag
from tests.authoring.viewing_server import Shown, showing
from tests.build.runs import run_of, write_run

SECRET = "the text of a file outside"


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shown, Path]]:
    """A project with runs that is shown, for what changes nothing."""
    folder = tmp_path_factory.mktemp("project") / "results"
    for day in range(1, 4):
        write_run(folder, f"r{day}", run_of(day), day=day)
    outside = write_run(folder.parent / "outside", "secret", run_of(1), day=1)
    (outside / "config.json").write_text(json.dumps({"note": SECRET}), encoding="utf-8")
    (folder / "linked").symlink_to(outside)
    with showing(folder) as found:
        yield found, folder
    assert read_tags(folder) == {}
    assert not list(folder.glob("*/notes.json"))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "results"
    for day in range(1, 4):
        write_run(folder, f"r{day}", run_of(day), day=day)
    return folder


@pytest.fixture
def shown(results: Path) -> Iterator[Shown]:
    with showing(results) as found:
        yield found


def test_an_admitted_browser_is_sent_on_without_its_token(results: Path) -> None:
    with showing(results, start="run-r2", admit=False) as shown:
        reply = shown.client.get(shown.address)
        assert 'content="0;url=run-r2"' in reply.text
        assert "SameSite=Strict" in reply.headers["set-cookie"]
        assert "r2" in shown.client.get("/run-r2").text
        shown.client.cookies.clear()
        assert shown.client.get(shown.address).status_code == 401  # the token is used


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/run-r1"), ("GET", "/compare?run=r1&run=r2"), ("POST", "/tag")],
)
def test_nothing_is_answered_without_the_cookie(
    untouched: tuple[Shown, Path], method: str, path: str
) -> None:
    shown, _ = untouched
    reply = httpx.request(method, f"{shown.base}{path}", headers={"Origin": shown.origin})
    assert reply.status_code == 401
    assert "r1" not in reply.text


@pytest.mark.parametrize("path", ["/", "/run-r1", "/compare?run=r1&run=r2", "/nothing", "/run-x"])
def test_every_page_is_hardened(untouched: tuple[Shown, Path], path: str) -> None:
    shown, _ = untouched
    reply = shown.client.get(path)
    assert reply.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'sha256-" in unescape(reply.text)
    assert shown.client.get(path, headers={"Host": "evil.example"}).status_code == 400
    assert shown.client.get(path, headers={"Origin": "http://evil.example"}).status_code == 403


def test_runs_are_listed_with_what_of_them_differs(untouched: tuple[Shown, Path]) -> None:
    html = untouched[0].client.get("/").text
    assert html.index('id="run-r3"') < html.index('id="run-r1"')
    assert 'href="run-r2"' in html
    assert "recall_" in html


@pytest.mark.parametrize(
    "name",
    ["%2e%2e", "..%2f..%2fsecret", "%2fetc", "r1%2f..%2fr2", "tags", "x%00", "linked"],
)
def test_no_other_folder_can_be_reached(untouched: tuple[Shown, Path], name: str) -> None:
    shown, _ = untouched
    replies = [
        shown.client.get(f"/run-{name}"),
        shown.client.get(f"/run-r1?base={name}"),
        shown.client.get(f"/compare?run=r1&run={name}"),
        shown.post("/tag", {"run": name, "tag": "mine"}),
    ]
    assert "linked</span>: <span" in shown.client.get("/").text
    assert {reply.status_code for reply in replies} <= {404, 409}
    assert not any(SECRET in reply.text for reply in replies)


def test_tags_are_given_and_removed(shown: Shown, results: Path) -> None:
    assert shown.post("/tag", {"run": "r1", "tag": "main"}).status_code == 200
    assert read_tags(results) == {"main": "r1"}
    assert 'data-remove="main"' in shown.client.get("/").text
    write_tag(results, "main", "r2")  # by somebody else, since the page was loaded
    reply = shown.post("/tag", {"run": "r1", "tag": "main", "remove": True})
    assert (reply.status_code, "names another run" in reply.text) == (409, True)
    assert shown.post("/tag", {"run": "r2", "tag": "main", "remove": True}).status_code == 200
    assert read_tags(results) == {}


@pytest.mark.parametrize("tag", ["", "../r1/config", "a b", "last", "<script>", "x" * 101])
def test_a_name_that_is_no_tag_is_refused(untouched: tuple[Shown, Path], tag: str) -> None:
    reply = untouched[0].post("/tag", {"run": "r1", "tag": tag})
    assert (reply.status_code, "expected" in reply.text) == (409, True)


def test_another_page_changes_nothing(untouched: tuple[Shown, Path]) -> None:
    shown, results = untouched
    client, origin = shown.client, {"Origin": shown.origin}
    for path, body in (("/tag", {"run": "r1", "tag": "main"}), ("/note", a_note(results))):
        replies = [
            client.post(path, json=body),
            client.post(path, json=body, headers={"Origin": "http://evil.example"}),
            client.post(path, json=body, headers={"Origin": "null"}),
            client.post(path, json=body, headers={**origin, "Sec-Fetch-Site": "cross-site"}),
            client.post(path, data=body, headers=origin),
            client.get(f"{path}?run=r1&tag=main"),
        ]
        assert [reply.status_code for reply in replies] == [403, 403, 403, 403, 415, 405]


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[]", 400), (b'{"run": 1, "tag": "x"}', 400), (b"[" * 90_000, 400),
     (b"x" * 100_001, 413)],
)  # fmt: skip
def test_what_is_no_request_of_the_page_is_one_sentence(
    untouched: tuple[Shown, Path], body: bytes, status: int
) -> None:
    shown, _ = untouched
    headers = {"Origin": shown.origin, "Content-Type": "application/json"}
    reply = shown.client.post("/tag", content=body, headers=headers)
    assert (reply.status_code, reply.text.count("\n")) == (status, 1)


# --- notes ---------------------------------------------------------------------------------------


def a_note(results: Path, **fields: object) -> dict[str, object]:
    record = read_run(results / "r2").records[0]
    key = {"file": record.file, "id": record.name, "repeat": record.repeat}
    return {"run": "r2", **key, "text": "look", "author": "ana", **fields}


def test_a_note_is_kept_changed_and_removed(shown: Shown, results: Path) -> None:
    reply = shown.post("/note", a_note(results))
    assert [(one["text"], one["author"]) for one in reply.json()["notes"]] == [("look", "ana")]
    assert shown.post("/note", a_note(results, text="again ")).json()["notes"][0]["text"] == "again"
    assert [note.text for note in read_notes(results / "r2")] == ["again"]
    assert '"text":"again"' in shown.client.get("/run-r2").text
    assert shown.post("/note", a_note(results, text="")).json() == {"notes": []}
    assert read_notes(results / "r2") == ()


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"run": "../r2"}, 409), ({"run": "linked"}, 409), ({"id": "nope"}, 409),
     ({"repeat": 7}, 409), ({"repeat": "0"}, 400), ({"repeat": True}, 400), ({"text": None}, 400),
     ({"text": "x" * 10_001}, 409), ({"text": "x" * 100_000}, 413), ({"author": "x" * 101}, 409)],
)  # fmt: skip
def test_a_note_on_nothing_is_refused(
    untouched: tuple[Shown, Path], fields: dict[str, object], status: int
) -> None:
    shown, results = untouched
    reply = shown.post("/note", a_note(results, **fields))
    assert (reply.status_code, reply.text.count("\n")) == (status, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"file": {"a": []}}, "got `object` - at `$.file`"),
        ({"case": []}, "results.jsonl:1: Expected `object`, got `array` - at `$.case`"),
        ({"schema_version": 99}, "results.jsonl:1: Invalid enum value 99 - at `$.schema_version`"),
        (None, "results.jsonl:1: Object missing required field `case`"),
    ],
)
def test_a_note_on_a_run_of_another_program_is_one_sentence(
    shown: Shown, results: Path, change: dict[str, object] | None, said: str
) -> None:
    body, path = a_note(results), results / "r2" / "results.jsonl"
    first, *_ = path.read_text(encoding="utf-8").splitlines()
    line = {"answer": "x"} if change is None else json.loads(first) | change
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    reply = shown.post("/note", body)
    assert (reply.status_code, reply.text.count("\n")) == (409, 1)
    assert said in reply.text
