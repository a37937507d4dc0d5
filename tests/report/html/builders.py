"""Runs for tests of the page: small ones of known content, and ones hostile in every field."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.two_runs import RunComparison, compare_runs
from pytest_rageval.report.html.run.page import render_report
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.report.html.run.view import view_report
from pytest_rageval.values.case import Anchor, Case, Message, Talk
from pytest_rageval.values.gate import Check, CheckResult, CheckStatus, GateResult, Verdict
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import Citation, ErrorInfo, FolderSelection, RetrievedChunk
from pytest_rageval.values.run import RunConfig, StoredRun
from pytest_rageval.values.verdict import Claim
from tests.build.records import record
from tests.build.runs import config_from
from tests.build.verdicts import judged_by

HOSTILE: Final = (
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script>",
    "</style><style>@import url(http://evil.invalid/x.css)</style>",
    '"><img src=http://evil.invalid/x.png onerror="window.pwned = 1">',
    "'><svg onload='window.pwned = 1'><image href='http://evil.invalid/x'/></svg>",
    "<a href='javascript:window.pwned = 1'>x</a>",
    "[x](javascript:window.pwned=1) ![y](http://evil.invalid/z.png)",
    "<iframe src=http://evil.invalid/></iframe><base href=http://evil.invalid/>",
    "<meta http-equiv=refresh content='0;url=http://evil.invalid/'>",
    "{{ 7 * 7 }}{% for x in y %}{{ config }} {# no #} ${window.pwned = 1} <%= 1 %>",
    "--></title></textarea></template>]]><!--",
    "\u202ereversed\u2066 \x1b[31m \x00\x07\x9b \u200b\ufeff \ud800 \U000e0041",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#x202e;",
    "</noscript><img src=x onerror='window.pwned = 1'>",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'></noscript>",
    "</bdi></span></td></table><script>window.pwned = 1</script>",
    "<details open ontoggle='window.pwned = 1'><summary>x</summary></details>",
    "<input autofocus onfocus='window.pwned = 1'>",
    "<video><source src=http://evil.invalid/x.mp4 onerror='window.pwned = 1'></video>",
    "<object data='data:text/html,<script>parent.pwned = 1</script>'></object>",
    "<embed src='http://evil.invalid/x.swf'>",
    "<iframe srcdoc='<script>parent.pwned = 1</script>'></iframe>",
    "<link rel=stylesheet href=http://evil.invalid/x.css>",
    "<form action=http://evil.invalid/ id=shown><button id=csv>CSV</button></form>",
    "<math><a xlink:href='javascript:window.pwned = 1'>x</a></math>",
    "<svg><animate onbegin='window.pwned = 1' attributeName=x dur=1s></svg>",
    "<p style='background: url(http://evil.invalid/x.png)'>x</p>",
    "<img srcset='http://evil.invalid/x.png 1x' loading=eager>",
    "<![CDATA[<script>window.pwned = 1</script>]]><?xml version='1.0'?>",
    "<template><script>window.pwned = 1</script></template><xmp>",
    "java\tscript:window.pwned=1",
    "data:text/html,<script>window.pwned = 1</script>",
    "#outcome=passed&q=%3Cscript%3Ewindow.pwned=1%3C/script%3E",
    '"}]};window.pwned = 1;//\u2028window.pwned = 1',
    "\\u003cscript\\u003ewindow.pwned = 1\\u003c/script\\u003e",
    "__proto__",
    "=cmd|' /C calc'!A0",
    "+ADw-script+AD4-window.pwned = 1+ADw-/script+AD4-",
    "file:///etc/passwd",
    "a" * 300,
)
"""Texts that run, ask for something or change what is shown where they are not made harmless."""


STATUSES: Final[tuple[CheckStatus, ...]] = ("fail", "warn")


def chunk(rank: int, **fields: Any) -> RetrievedChunk:
    given = {
        "rel_path": f"docs/file{rank}.md",
        "heading_path": f"# File {rank} > ## Part",
        "chunk_id": f"chunk-{rank}",
        "text": f"Text of chunk {rank}.",
        "rank": rank,
        "score_final": 1 / rank,
        "matched_golds": (),
        "irrelevant": False,
        **fields,
    }
    return RetrievedChunk(**given)


def passed(case_id: str, **fields: Any) -> CaseRecord:
    """Record of a case that found its one gold at rank 1."""
    gold = Anchor(rel_path="docs/file1.md", heading_path="# File 1 > ## Part")
    question = fields.get("question", f"What does {case_id} ask?")
    given = {
        "question": question,
        "answer": f"Answer to {case_id}.",
        "citations": (Citation(rel_path="docs/file1.md", heading_path="# File 1 > ## Part"),),
        "retrieved_chunks": (chunk(1, matched_golds=(0,)), chunk(2)),
        "latency": {"total_ms": 20.0, "retrieval_ms": 5.0},
        "case": Case(
            id=case_id, question=question, expected_key_facts=("a fact",), gold_supports=(gold,)
        ),
        **fields,
    }
    metrics = given.pop("metrics", {"hit_at_k": 1.0, "recall_at_k": 1.0, "mrr": 1.0})
    return record(case_id, metrics, **given)


def missed(case_id: str, **fields: Any) -> CaseRecord:
    """Record of a case whose gold did not come back."""
    given = {
        "outcome": "missed",
        "failure_stage": "not_retrieved",
        "retrieved_chunks": (chunk(2), chunk(3)),
        "metrics": {"hit_at_k": 0.0, "recall_at_k": 0.0, "mrr": 0.0},
        **fields,
    }
    return passed(case_id, **given)


def generated(record: CaseRecord) -> CaseRecord:
    """Return the record with a case that nobody has reviewed."""
    return replace(record, case=replace(record.case, review="generated"))


def errored(case_id: str, **fields: Any) -> CaseRecord:
    """Record of a case that the target failed."""
    given = {
        "status": "error",
        "outcome": "error",
        "error": ErrorInfo(kind="http", message="status 500", attempts=4),
        "answer": None,
        "citations": None,
        "retrieved_chunks": None,
        "metrics": {"hit_at_k": None, "recall_at_k": None, "mrr": None},
        **fields,
    }
    return passed(case_id, **given)


def config(**fields: Any) -> RunConfig:
    given: dict[str, Any] = {
        "timestamp": "2026-11-20T19:58:00+00:00",
        "config_hash": "c" * 16,
        "dataset_hash": "d" * 16,
        "settings": {"k": 5, "judge": "offline"},
        "wall_s": 2.25,
        "concurrency": 4,
        **fields,
    }
    return config_from(**given)


def check(metric: str, status: CheckStatus = "pass", **fields: Any) -> CheckResult:
    """One check of gate.json."""
    given: dict[str, Any] = {
        "check": Check(metric=metric, kind="min", limit=0.75),
        "message": f"0.700 is {'below' if status == 'fail' else 'at least'} min 0.750",
        "estimate": 0.7,
        "low": 0.4,
        "high": 0.89,
        "n": 10,
        **fields,
    }
    return CheckResult(status=status, **given)


def gated(*checks: CheckResult, verdict: Verdict = "fail", **fields: Any) -> GateResult:
    """The content of gate.json."""
    return GateResult(verdict=verdict, checks=checks, **{"sentence": "FAIL", **fields})


def run(records: list[CaseRecord], run_id: str = "run-1", **fields: Any) -> StoredRun:
    """The files of a run of these records."""
    given = {
        "aggregate": aggregate(records),
        "gate": gated(check("recall_at_k"), verdict="pass", sentence="PASS 1 check"),
        "config": config(),
        **fields,
    }
    return StoredRun(folder=Path(run_id), records=records, **given)


def against(base: StoredRun, new: StoredRun) -> RunComparison:
    return compare_runs(base, new)


def page(
    files: StoredRun,
    *,
    baseline: StoredRun | None = None,
    history: tuple[StoredRun, ...] = (),
    options: ReportOptions | None = None,
) -> str:
    held = None if baseline is None else against(baseline, files)
    view = view_report(files, baseline=held, history=history, options=options)
    return "".join(render_report(view))


def hostile_record(text: str, number: int) -> CaseRecord:
    """Record that holds the text wherever a case, a document, a model or a server writes one."""
    case = Case(
        id=text,
        question=text,
        expected_key_facts=(text, "x"),
        expected_answer=text,
        gold_supports=(
            Anchor(rel_path=text, heading_path=text, snippets=(text,), vault=text),
            Anchor(rel_path=f"{text}/2", heading_path=f"# {text}"),
        ),
        irrelevant_supports=(Anchor(rel_path=f"{text}/3"),),
        category=text,
        tags=(text,),
        notes=text,
        metadata={text: text},
        standalone=text,
        talk=Talk(conversation=text, turn=2, turns=3),
    )
    claims = (Claim(text=text, supported=False, passage=1, reason=text),)
    fields: dict[str, Any] = {
        "file": f"{text}.jsonl",
        "outcome": "missed",
        "failure_stage": "ungrounded",
        "category": text,
        "difficulty": "hard",
        "tags": (text,),
        "vaults": (text,),
        "question": text,
        "answer": text,
        "abstained": True,
        "abstain_reason": text,
        "citations": (Citation(rel_path=text, heading_path=text, vault=text, chunk_index=0),),
        "references": (Citation(rel_path=text, heading_path=text),),
        "retrieved_chunks": (
            chunk(
                1, rel_path=text, heading_path=text, vault=text, chunk_id=text, text=text,
                matched_golds=(0,),
            ),
            chunk(2, text_truncated=True, text=text, irrelevant=True),
        ),
        "folder_selection": FolderSelection(selected_folders=(text,), reasoning=text),
        "judgements": judged_by(
            "groundedness", {text: 1.0}, judge=text, reasoning=text, claims=claims
        )
        | judged_by("correctness", judge=text, key_facts_found=(True, False))
        | judged_by("quality", judge=text, error=("refused", text)),
        "context_chunk_ids": (text, "chunk-2"),
        "latency": {"total_ms": 5.0, f"{text}_ms": 1.0},
        "models": {text: text},
        "case": case,
        "history": (Message(role="user", content=text),),
        "metrics": {"recall_at_k": 0.5, "groundedness": 1.0, text: 0.5},
        "lineno": number,
        "trace_id": text,
    }  # fmt: skip
    return record(text, **fields)


def hostile_run(run_id: str = "run-1") -> StoredRun:
    """A run in which every text is hostile, also those that only a forged file can hold."""
    records = [hostile_record(text, number) for number, text in enumerate(HOSTILE, start=1)]
    broken = [
        replace(
            errored(f"broken-{number}"),
            error=ErrorInfo(kind="http", message=text, attempts=1),
        )
        for number, text in enumerate(HOSTILE)
    ]
    every = " ".join(HOSTILE[:-1])
    files = run([*records, *broken], run_id)
    checks = [
        check(text, status, message=text, missed_cases=(text,))
        for text in HOSTILE
        for status in STATUSES
    ]
    return replace(
        files,
        aggregate=replace(aggregate(files.records), warnings=(every,)),
        gate=gated(*checks, sentence=f"FAIL {every}"),
        config=config(
            timestamp=every,
            asked=[every],
            settings={"k": 5, "judge": every, "target": {"trace_url": f"{every} {{trace_id}}"}},
            git={"commit": every, "branch": every, "dirty": True},
        ),
        notes=(every,),
    )
