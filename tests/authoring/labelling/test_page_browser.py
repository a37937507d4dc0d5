"""The page in a real browser, worked by keyboard alone.

Needs Debian's chromium (or another one on the path); without it these tests are skipped, unless
RAGEVAL_REQUIRE_BROWSER says that it must be there.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.authoring.keyed.session import EARLY
from pytest_rageval.authoring.labelling.draft import Fetched, LabelCase, ProposedGold
from pytest_rageval.authoring.labelling.page import CONFLICT
from pytest_rageval.authoring.labelling.session import LabelSession
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.reply import RetrievedChunk
from tests.authoring.labelling.builders import (
    CHUNKS,
    FakeDesk,
    file_session,
    label_case,
    serving,
    session_of,
    write_cases,
)
from tests.build.browser import Watched, visitor
from tests.build.http_server import Handler
from tests.build.http_server import serving as serving_http
from tests.build.key_pages import Served, press, settled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

Open = Callable[..., "Page"]

NASTY = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
    "<svg/onload=window.pwned=1><style>*{display:none}</style>"
    "<a href='javascript:window.pwned=1'>x</a><link rel=stylesheet href=http://evil.example/x>"
    "<iframe src=http://evil.example></iframe><base href=http://evil.example/>"
    "\"' autofocus onfocus='window.pwned=1' </title></style></script></template></noscript>"
    "{{ 7 * 7 }} {% raw %} <!-- \u202egnorw\u202c \x1b[2J ![x](http://evil.example/i.png)"
)


@pytest.fixture
def serve() -> Iterator[Callable[[LabelSession], Served]]:
    """Serves sessions until the test is over."""
    with contextlib.ExitStack() as stack:
        yield lambda session: stack.enter_context(serving(session))


@pytest.fixture
def open_page(browser: Browser, watched: Watched) -> Iterator[Open]:
    """Opens the page of a session and writes down its requests, messages and dialogs."""
    with visitor(browser, watched) as visit:
        yield lambda served, **given: visit(served.address, **given)


@contextlib.contextmanager
def foreign_page(html: str) -> Iterator[str]:
    """A page of another program on this machine."""

    class Foreign(Handler):
        def do_GET(self) -> None:
            self.send(html.encode(), kind="text/html")

    with serving_http(Foreign) as url:
        yield f"{url}/"


def hostile_session() -> LabelSession:
    """A session in which every text that others write does its worst."""
    chunks = [
        RetrievedChunk(
            rel_path=f"{NASTY}.md",
            heading_path=f"# {NASTY} > ## {NASTY}",
            text=f"{NASTY}. \ud800 {NASTY} {n}. One more sentence.",
            score_final=0.5,
            rank=n,
        )
        for n in (1, 2)
    ]
    desk = FakeDesk(chunks=chunks)
    gold = Anchor(rel_path=NASTY, heading_path=NASTY, snippets=(NASTY,))
    fields = {
        "id": "hostile",
        "question": NASTY,
        "expected_key_facts": [NASTY, NASTY],
        "expected_answer": NASTY,
        "notes": NASTY,
        "review": "generated",
    }
    case = label_case(fields)
    case = replace(case, remarks=(NASTY,), candidates=(ProposedGold(gold=gold, names=(NASTY,)),))
    return LabelSession([case, replace(case, start=replace(case.start, notes=""))], desk)


def go(tab: Page, keys: Sequence[str]) -> None:
    press(tab, keys)
    settled(tab)


def said(tab: Page) -> str:
    return tab.inner_text("#said")


def focused(tab: Page) -> str:
    return str(tab.evaluate("document.activeElement.id"))


def violations(tab: Page) -> str:
    from axe_playwright_python.sync_playwright import Axe

    results = Axe().run(tab)
    return results.generate_report() if results.violations_count else ""


# --- safety --------------------------------------------------------------------------------------


def test_hostile_text_is_shown_as_it_is_written_runs_nothing_and_asks_for_nothing(
    open_page: Open, watched: Watched, serve: Callable[[LabelSession], Served]
) -> None:
    served = serve(hostile_session())
    tab = open_page(served)
    steps = ["space down", "s", "space enter", "3 ?", "/ q enter", "escape t x enter", "n", "p w"]
    for step in steps:
        go(tab, step.split())
        assert tab.locator("script").count() == 1
        if step == steps[0]:
            assert violations(tab) == ""
    tab.reload()
    tab.wait_for_timeout(200)

    assert tab.evaluate("window.pwned") is None
    assert watched.faults == []
    assert {url.partition("?")[0] for url in watched.requests} == {
        f"{served.base}/", f"{served.base}/key",
    }  # fmt: skip
    assert tab.locator("iframe, img, object, embed, base, form, svg, main style, a").count() == 0
    question = tab.locator("h1").text_content() or ""
    assert question.startswith("<script>window.pwned = 1</script><img src=x onerror=")
    assert "{{ 7 * 7 }} {% raw %} <!-- [U+202E]gnorw[U+202C] [U+001B][2J" in question
    assert "[U+D800]" in (tab.locator("#row-1 .text").text_content() or "")
    for place in ("#row-1 .where", "#row-1 .text", "#known"):
        assert "<script>window.pwned = 1</script>" in (tab.locator(place).text_content() or "")


def test_the_token_leaves_the_address_and_its_page_can_be_loaded_again(
    open_page: Open, serve: Callable[[LabelSession], Served]
) -> None:
    served = serve(session_of())
    tab = open_page(served)
    assert tab.url == f"{served.base}/"
    go(tab, ["3"])
    tab.reload()
    assert "✓ 3" in tab.inner_text("#row-3")
    assert tab.evaluate("document.cookie") == ""  # no script reads it
    assert len(served.addresses) == 1


def test_another_page_can_neither_frame_nor_press_nor_read(
    browser: Browser, open_page: Open, serve: Callable[[LabelSession], Served]
) -> None:
    """The other page is of the same host, so that the browser sends it the cookie."""
    served = serve(session_of())
    tab = open_page(served)
    with serving(session_of()) as other:
        tab.goto(other.address)
        outcome = tab.evaluate(
            """async (url) => {
              const tried = [];
              for (const options of [{}, {method: "POST", body: '{"key": "space", "revision": 0}'},
                  {method: "POST", mode: "no-cors", body: "{}"}]) {
                try { await fetch(url, {credentials: "include", ...options}); tried.push("sent"); }
                catch { tried.push("stopped"); }
              }
              return tried;
            }""",
            f"{served.base}/key",
        )
    assert outcome == ["stopped"] * 3  # by the policy of the page; the next page has none
    plain = browser.contexts[-1].new_page()
    # What the page itself does not get to see.
    network, sent, statuses = plain.context.new_cdp_session(plain), [], []
    network.send("Network.enable")
    network.on("Network.requestWillBeSentExtraInfo", lambda event: sent.append(event["headers"]))
    network.on("Network.responseReceivedExtraInfo", lambda e: statuses.append(e["statusCode"]))
    with foreign_page(f"<iframe src='{served.base}/'></iframe>") as address:
        plain.goto(address)
        outcomes = plain.evaluate(
            """(url) => Promise.allSettled(["no-cors", "cors"].map((mode) => fetch(url,
              {method: "POST", mode, body: '{"key": "space"}', credentials: "include"})))""",
            f"{served.base}/key",
        )
    assert [outcome["status"] for outcome in outcomes] == ["rejected", "rejected"]
    posted: list[Any] = []
    for _ in range(500):  # events of the network come on their own
        plain.wait_for_timeout(20)
        posted = [headers for headers in sent if "Origin" in headers]
        if len(posted) >= 2 and statuses.count(403) >= 2:
            break
    plain.wait_for_timeout(200)
    assert statuses.count(403) == 2
    assert ["rageval-label-" in headers["Cookie"] for headers in posted] == [True, True]
    assert "queue" not in plain.frames[1].content()
    assert len(served.session.marking.draft.golds) == 0


# --- accessibility -------------------------------------------------------------------------------

SCENES: dict[str, list[str]] = {
    "rows": ["3", "down"],
    "help": ["?"],
    "quote": ["s", "space"],
    "note": ["t"],
    "nothing": ["/", *"qqq", "enter"],
    "groups": ["1", "3", "g"],
    "search among sentences": ["s", "/", "a"],
    "found sentences": ["s", "/", "a", "enter"],
    "end": ["1", "Q"],
}


@pytest.mark.parametrize(
    ("scheme", "width", "scenes"),
    [("light", 1280, [*SCENES]), ("dark", 390, ["rows", "quote", "note", "groups"])],
)
def test_axe_finds_nothing(
    tmp_path: Path,
    open_page: Open,
    serve: Callable[[LabelSession], Served],
    scheme: str,
    width: int,
    scenes: Sequence[str],
) -> None:
    for name in scenes:
        served = serve(file_session(write_cases(tmp_path / f"{name}.jsonl")))
        tab = open_page(served, color_scheme=scheme, viewport={"width": width, "height": 844})
        go(tab, SCENES[name])
        assert violations(tab) == "", name
        tab.context.close()


def test_the_page_is_never_wider_than_the_window(
    open_page: Open, serve: Callable[[LabelSession], Served]
) -> None:
    wide = "x" * 3000
    chunks = [replace(chunk, rel_path=wide, heading_path=wide, text=wide) for chunk in CHUNKS]
    fields = {"id": "i" * 300, "question": wide, "notes": wide, "expected_answer": wide}
    tab = open_page(serve(session_of(fields, fields, desk=FakeDesk(chunks=chunks))))
    for keys in ("1", "s space", "/ x x x enter", "escape", "enter ?", "/ x enter", "n"):
        go(tab, keys.split())
        for width in (1280, 390):
            tab.set_viewport_size({"width": width, "height": 844})
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # The head never covers the page.
    assert tab.locator("#top").bounding_box()["height"] < 844 * 0.65  # type: ignore[index]


# --- keys ----------------------------------------------------------------------------------------


def test_keys_that_come_before_a_case_is_shown_do_nothing_to_it(
    open_page: Open, serve: Callable[[LabelSession], Served]
) -> None:
    asked = threading.Event()

    class SlowDesk(FakeDesk):
        def fetch(self, case: LabelCase) -> Fetched:
            if case.case.id == "marked":
                assert asked.wait(20)
            return Fetched(chunks=tuple(self.chunks))

    served = serve(session_of(desk=SlowDesk()))
    tab = open_page(served)
    press(tab, ["n", "t", *"early", "enter", "1"])
    from playwright.sync_api import expect

    # The page's policy forbids scripts in strings, so nothing is waited for by one.
    expect(tab.locator("#said")).to_have_text(re.compile("^asking"))
    assert served.session.index == 1
    asked.set()
    settled(tab)
    assert tab.inner_text("#said") == EARLY
    assert served.session.marking.draft == served.session.marking.saved
    press(tab, ["t", *"two", "space", *"wordz", "backspace", "s", "enter", "1"])
    settled(tab)
    assert served.session.marking.draft.notes == "two words"
    assert len(served.session.marking.draft.golds) == 3


def test_a_pointer_works_too_and_gives_the_keys_back(
    open_page: Open, serve: Callable[[LabelSession], Served]
) -> None:
    served = serve(session_of())
    tab = open_page(served)
    tab.click("#row-3 .mark")
    settled(tab)
    assert [gold.rel_path for gold in served.session.marking.draft.golds] == ["ops/mail.md"]
    tab.click("#row-2 .where")
    settled(tab)
    assert served.session.marking.cursor == 1
    tab.get_by_role("button", name="Note").click()
    settled(tab)
    tab.keyboard.type("clicked")
    tab.get_by_role("button", name="Keep").click()
    settled(tab)
    assert served.session.marking.draft.notes == "clicked"
    tab.get_by_role("button", name="Undo").click()
    settled(tab)
    assert focused(tab) == "rows"


# --- what others do meanwhile --------------------------------------------------------------------


NASTY_LINE = b"<img src=x onerror='window.pwned = 1'><script>window.pwned = 1</script>"


def test_a_change_by_another_program_is_a_conflict_to_decide(
    tmp_path: Path, open_page: Open, watched: Watched, serve: Callable[[LabelSession], Served]
) -> None:
    path = write_cases(tmp_path / "cases.jsonl")
    tab = open_page(serve(file_session(path)), color_scheme="dark")
    go(tab, ["3"])
    path.write_bytes(path.read_bytes().replace(b"retry?", NASTY_LINE))
    changed = path.read_bytes()
    go(tab, ["w"])
    assert tab.inner_text("#alarm") == CONFLICT
    assert NASTY_LINE.decode() in tab.inner_text("#conflict")
    assert violations(tab) == ""
    assert focused(tab) == "conflict"
    assert path.read_bytes() == changed
    go(tab, ["t"])
    assert tab.inner_text("#alarm") == ""
    assert focused(tab) == "rows"
    assert path.read_bytes() == changed
    assert NASTY_LINE.decode() in tab.inner_text("h1")
    assert tab.evaluate("window.pwned") is None
    assert watched.faults == []


def test_leaving_ends_the_command_and_the_page_says_so(
    tmp_path: Path, open_page: Open, watched: Watched, serve: Callable[[LabelSession], Served]
) -> None:
    served = serve(file_session(write_cases(tmp_path / "cases.jsonl")))
    tab = open_page(served)
    go(tab, ["1", "enter"])
    go(tab, ["3", "q"])
    assert "Save it before leaving?" in tab.inner_text("#leave")
    go(tab, ["y"])
    assert tab.inner_text("h1") == "Done"
    assert "2 saved" in tab.inner_text("#end")
    assert served.ended.wait(10)
    go(tab, ["space"])
    assert watched.faults == []
