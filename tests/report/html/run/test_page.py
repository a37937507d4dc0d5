"""The page as a string: what hostile text can do in it, and under which policy it stands."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.values.case import Anchor, Case, Message
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import Citation, ErrorInfo, FolderSelection
from pytest_rageval.values.verdict import Claim
from tests.build.verdicts import judged_by
from tests.report.html.builders import (
    HOSTILE,
    chunk,
    config,
    errored,
    gated,
    hostile_record,
    hostile_run,
    missed,
    page,
    passed,
    run,
)

VOID = {"meta", "input", "wbr", "link", "br", "hr", "img", "line", "circle", "rect", "polyline"}


class Reader(HTMLParser):
    """Reads a page as a browser would: elements with their attributes, and text by element."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.unbalanced: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


def hostile_page() -> Reader:
    base, new = hostile_run("<b>base</b>"), hostile_run("\"'><script>new")
    return read(page(new, baseline=base, history=(base, new)))


# --- hostile text ------------------------------------------------------------------------------


def test_hostile_text_adds_no_element_handler_style_or_address() -> None:
    found = hostile_page()

    tags = [tag for tag, _ in found.elements]
    assert tags.count("script") == 2  # the columns of the cases, and the code
    assert tags.count("style") == 1
    assert not {"img", "iframe", "base", "object", "embed", "image", "form", "template"} & {*tags}
    assert found.unbalanced == []
    assert found.open == []
    assert any("href" in attributes for _, attributes in found.elements)
    for tag, attributes in found.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in {"style", "src", "srcset", "action", "formaction", "srcdoc"}
            if name in {"href", "xlink:href"}:
                assert value is not None
                # Other runs have their page in the folder beside this one's.
                assert re.fullmatch(r"#.*|\.\./[\w.~%-]+/report\.html", value, re.DOTALL)


def test_hostile_text_does_not_end_the_part_that_a_browser_with_scripts_does_not_parse() -> None:
    html = page(run([hostile_record(f"{text}</noscript>", n) for n, text in enumerate(HOSTILE)]))

    parts = html.split("<noscript>")[1:]
    assert len(parts) == len(HOSTILE)
    for part in parts:
        assert part.lower().count("</noscript") == 1
        assert part.index("</article>") < part.index("</noscript>")


@pytest.mark.parametrize("text", HOSTILE[:-1], ids=range(len(HOSTILE) - 1))
def test_each_hostile_text_is_shown_as_text_wherever_it_stands(text: str) -> None:
    plain = read(page(run([passed("c")])))
    found = read(page(run([hostile_record(text, 1)])))

    extra = len(found.elements) - len(plain.elements)
    assert extra < 300  # the parts of a richer case, and nothing that the text brought along
    shown = "".join("".join(parts) for tag, parts in found.texts.items() if tag not in {"script"})
    beginning = re.split(r"[\x00-\x1f\u200b\u2028\u202e\ud800]", text)[0].strip()
    assert shown.count(beginning) > 8


def test_template_syntax_in_text_is_not_run() -> None:
    html = page(run([passed("c", question="{{ 7 * 7 }} {% raw %} {# gone #}")]))

    assert "{{ 7 * 7 }} {% raw %} {# gone #}" in html


def test_nothing_in_the_page_leads_out_of_it() -> None:
    html = page(run([passed("a"), missed("b"), errored("c")]))

    assert "://" not in html
    assert "url(" not in html
    assert "@import" not in html
    assert re.findall(r'(?:src|href)="(?!#)', html) == []


TRACE_URL = "https://traces.example.com/t?q='a'&id={trace_id}"


def traced(trace_url: object, trace_id: str = "a2f0", *, redact: bool = False) -> str:
    files = run(
        [passed("a", trace_id=trace_id), passed("b")],
        config=config(settings={"k": 5, "target": {"trace_url": trace_url}}),
    )
    return page(files, options=ReportOptions(redact=redact))


def addresses(html: str) -> list[str | None]:
    """Every address that leads out of the page."""
    found = [attributes["href"] for _, attributes in read(html).elements if "href" in attributes]
    return [address for address in found if not str(address).startswith("#")]


def test_the_trace_of_a_case_is_a_link() -> None:
    html = traced(TRACE_URL)
    assert addresses(html) == [TRACE_URL.replace("{trace_id}", "a2f0")]
    assert 'rel="noopener noreferrer">a2f0</a>' in html


@pytest.mark.parametrize(
    "trace_url",
    [
        None,
        "javascript:alert('{trace_id}')",
        "data:text/html,{trace_id}",
        "//traces.example.com/{trace_id}",
        "https://traces.example.com/",
        "https://traces.example.com/{trace_id} onclick=x",
    ],
)
def test_no_other_address_of_a_stored_run_is_a_link(trace_url: object) -> None:
    html = traced(trace_url)
    assert addresses(html) == []
    assert "trace a2f0<" in html


# --- policy ------------------------------------------------------------------------------------


def policy_of(html: str) -> dict[str, str]:
    metas = [attributes for tag, attributes in read(html).elements if tag == "meta"]
    found = next(m["content"] for m in metas if m.get("http-equiv") == "Content-Security-Policy")
    assert found is not None
    return dict(part.strip().split(" ", 1) for part in found.split(";"))


@pytest.mark.parametrize("tag", ["script", "style"])
def test_the_policy_allows_the_one_script_and_style_by_their_hashes(tag: str) -> None:
    html = page(run([passed("a")]))
    content = re.findall(rf"<{tag}>(.*?)</{tag}>", html, flags=re.DOTALL)

    assert len(content) == 1
    digest = base64.b64encode(hashlib.sha256(content[0].encode()).digest()).decode()
    assert policy_of(html)[f"{tag}-src"] == f"'sha256-{digest}'"


# --- redacted ----------------------------------------------------------------------------------

SECRET = "Zx9secret"


def secret_record(case_id: str, **fields: Any) -> CaseRecord:
    """Record whose every text of a case, document, model or server holds the secret."""
    gold = Anchor(rel_path=f"{SECRET}.md", heading_path=f"# {SECRET}", snippets=(SECRET,))
    claims = (Claim(text=SECRET, supported=True, passage=1, reason=SECRET),)
    given: dict[str, Any] = {
        "file": f"{SECRET}.jsonl",
        "question": SECRET,
        "answer": SECRET,
        "abstained": True,
        "abstain_reason": SECRET,
        "error": ErrorInfo(kind="empty", message=SECRET),
        "failure_stage": "not_retrieved",
        "outcome": "missed",
        "citations": (Citation(rel_path=f"{SECRET}.md", heading_path=SECRET),),
        "retrieved_chunks": (
            chunk(1, rel_path=SECRET, heading_path=SECRET, vault=SECRET, text=SECRET),
            chunk(2, chunk_id=SECRET, matched_golds=(0,), text=SECRET),
        ),
        "folder_selection": FolderSelection(selected_folders=(SECRET,), reasoning=SECRET),
        "judgements": judged_by("groundedness", {"x": 1.0}, reasoning=SECRET, claims=claims)
        | judged_by("correctness", reasoning=SECRET, key_facts_found=(True,))
        | judged_by("quality", error=("refused", SECRET)),
        "context_chunk_ids": (None, SECRET),
        "indexing_coverage": {"docs_processed": 1, "warnings": [SECRET]},
        "case": Case(
            id=case_id,
            question=SECRET,
            expected_key_facts=(SECRET,),
            expected_answer=SECRET,
            gold_supports=(gold, replace(gold, rel_path=f"other/{SECRET}.md")),
            notes=SECRET,
            metadata={SECRET: SECRET},
            standalone=SECRET,
        ),
        "history": (Message(role="user", content=SECRET),),
        **fields,
    }
    return passed(case_id, **given)


def test_a_redacted_page_holds_no_text_of_anybody() -> None:
    old = run([secret_record("kept-id", outcome="passed", failure_stage=None)], "old")
    new = run([secret_record("kept-id")], "new")

    html = page(new, baseline=old, options=ReportOptions(redact=True))

    assert SECRET.lower() not in html.lower()
    assert "kept-id" in html
    assert "gold [0]" in html
    assert "refused" in html
    assert "Redacted" in html
    assert SECRET in page(new, baseline=old)


def test_a_case_that_failed_at_no_stage_has_a_heading_all_the_same() -> None:
    html = page(run([missed("a", failure_stage=None)]))

    assert '<div class="stage"><h3>Why</h3>' in html


# --- parts -------------------------------------------------------------------------------------


def test_the_verdict_comes_first_and_is_said_once() -> None:
    html = page(
        run([missed("a")], gate=gated(sentence="FAIL 1 of 6 checks: mrr", reason="1 of 6 checks"))
    )

    assert re.search(r"<strong>FAIL</strong> <span class=\"text\">1 of 6 checks</span>", html)
    assert html.index('id="verdict"') < html.index('id="metrics"') < html.index('id="case-list"')


def test_every_chart_has_its_text_alternatives() -> None:
    records = [passed("a"), missed("b")]
    before, now = run(records, "before"), run(records, "now")
    html = page(now, baseline=before, history=(before, now))

    overview = html[: html.index("<noscript")]
    drawn = re.findall(r"<svg.*?</svg>", overview, flags=re.DOTALL)
    charts = [one for one in drawn if 'aria-hidden="true"' not in one.partition(">")[0]]
    assert {re.search(r'aria-labelledby="([a-z]+)', one)[1] for one in charts} == {  # type: ignore[index]
        "ranks", "spread", "trend",
    }  # fmt: skip
    assert len(drawn) > len(charts)
    for chart in charts:
        assert re.search('role="(img|group)"', chart)
        named = re.search(r'aria-labelledby="(\S+) (\S+)"', chart)
        assert named is not None
        assert f'<title id="{named[1]}">' in chart
        assert f'<desc id="{named[2]}">' in chart
