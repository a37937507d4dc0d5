"""Every reader of a file or a reply, with a sample of what it reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from pytest_rageval.analysis.review import Readable, review_findings
from pytest_rageval.authoring.inbox.collect import collect
from pytest_rageval.authoring.inbox.messages import STRATA
from pytest_rageval.authoring.interchange.files import open_source
from pytest_rageval.authoring.interchange.registry import FORMATS
from pytest_rageval.authoring.interchange.values import ReadOptions
from pytest_rageval.authoring.labelling.store import latest, open_points, read_labels
from pytest_rageval.authoring.review.items import answers_of_file, source_of
from pytest_rageval.engine.endpoint import load_vectors
from pytest_rageval.engine.preparing import load_judge_labels, load_labels
from pytest_rageval.engine.recorded import RecordedResponses
from pytest_rageval.judges.calibrations import read_calibration
from pytest_rageval.judges.model.wire import no_completion, read_completion
from pytest_rageval.judges.rubrics.load import load_rubric
from pytest_rageval.judges.rubrics.reply import parse_reply
from pytest_rageval.project.case_reader import load_cases, other_file_note
from pytest_rageval.project.documents import read_document_set
from pytest_rageval.project.settings import load_settings
from pytest_rageval.project.sweep_file import read_sweep
from pytest_rageval.project.thresholds import load_thresholds
from pytest_rageval.runs.reviews import read_reviews
from pytest_rageval.support.http.bodies import document_reason
from pytest_rageval.target.contract import parse_ask_response, parse_reply_bytes
from pytest_rageval.target.mapping import compile_mapping, mapping_report
from pytest_rageval.target.stream import StreamReader, StreamRules
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.settings import TargetSettings
from pytest_rageval.values.verdict import JudgeRequest, Passage

Read = Callable[[Path], object]

DATA: Final = Path(__file__).resolve().parents[1] / "data"
CASE: Final = {
    "id": "a", "question": "q", "answerable": True, "expected_key_facts": ["x"],
    "expected_answer": "y", "category": "c", "difficulty": "hard", "tags": ["t"], "vaults": ["v"],
    "folders": ["f"], "k": 3, "language": "en", "required": True, "notes": "n",
    "gold_supports": [
        {"rel_path": "a.md", "heading_path": "# A", "snippets": ["s"], "grade": 2, "pages": [1]}
    ],
    "irrelevant_supports": [{"rel_path": "b.md"}], "required_support_groups": [[0]],
    "answer_rules": [{"matches": "a|b", "ignore_case": True}], "metadata": {"m": [1, {"n": None}]},
}  # fmt: skip
CHUNK: Final = {
    "chunk_id": "1", "rel_path": "a.md", "heading_path": "# A", "start_line": 1, "end_line": 2,
    "score_vector": 0.5, "score_lexical": 1, "score_final": 0.7, "text": "t", "rank": 1,
    "token_count": 3, "rank_before_rerank": 2,
}  # fmt: skip
REPLY: Final[Mapping[str, Any]] = {
    "answer": "One [1].",
    "references": [{"vault": "v", "rel_path": "a.md", "heading_path": "# A", "chunk_index": 0}],
    "abstained": False,
    "abstain_reason": None,
    "debug": {
        "retrieved_chunks": [CHUNK, {**CHUNK, "rank": 2}],
        "folder_selection": {"selected_folders": ["a"], "fallback_used": False},
        "latency": {"retrieval_ms": 1.5, "total_ms": 3},
        "indexing_coverage": {"docs_processed": 3, "by_doc_type": {"markdown": {"docs": 1}}},
        "models": {"llm_model": "m"},
        "usage": {"total_tokens": 3},
    },
}
PYPROJECT: Final = """[tool.rageval]
k = 5
testpaths = ["evals"]
folder_mode = "off"
vector_weight = 0.5
params = { x = 1 }
max_errors = 3
[tool.rageval.target]
url = "http://127.0.0.1:8000"
timeout = 3.5
headers = { Authorization = "env:TOKEN" }
request = { q = "question" }
response = { answer = "data.text", retrieved_chunks = "data.hits[].{rel_path: file}" }
[tool.rageval.judge]
rubrics = ["groundedness"]
base_url = "http://127.0.0.1:9/v1"
temperature = 0
[tool.rageval.matching]
snippets = "any"
[tool.rageval.citations]
pattern = '\\[(?P<n>\\d+)\\]'
"""
THRESHOLDS: Final = """version = 1
baseline = "main"
confidence = 0.95
[cases]
on_miss = "report"
[overall]
recall_at_k = ">= 0.85"
mrr = { min = 0.70, max_drop = 0.03, severity = "warn" }
latency_ms.p95 = "<= 2500"
"cost_usd.total" = { max = 0.5 }
newly_missed = "<= 2"
[category.general]
recall_all_at_k = { min = 0.75 }
[defaults]
decide = "estimate"
min_n = 20
on_small_n = "warn"
"""
SWEEP: Final = """objective = ["recall_at_k", "latency_ms.p95"]
constraints = ["over_abstention_rate <= 0.1"]
[query]
k = [2, 5]
fusion = ["weighted", "rrf"]
[index]
chunk_tokens = [200, 400]
[index.build]
embedded = true
"""
COMPLETION: Final = {
    "model": "m", "system_fingerprint": "f", "usage": {"prompt_tokens": 1, "total_tokens": 2},
    "choices": [{"message": {"content": "{}", "refusal": None}, "finish_reason": "stop"}],
    "error": {"message": "e", "code": 3},
}  # fmt: skip
REQUEST: Final = JudgeRequest(
    question="q", answer="a [1].", context=(Passage(text="t", rel_path="a.md"),),
    expected_key_facts=("f",), expected_answer="e",
)  # fmt: skip
VERDICT: Final = {
    "claims": [{"text": "a", "reason": "r", "passage": 1, "supported": True, "cited": True}],
    "key_facts": [{"number": 1, "stated": True, "contradicted": False}],
    "reasoning": "r", "score": 4, "abstained": False,
}  # fmt: skip
ENTRY: Final = {
    "schema_version": 1, "file": "eval_set.jsonl", "id": "a", "answerable": True,
    "gold_supports": [{"rel_path": "a.md", "heading_path": "# A"}], "notes": "",
    "required_support_groups": [[0]], "at": "2026-01-01T00:00:00+00:00",
    "chunks": [{"rel_path": "a.md", "heading_path": "# A", "text_hash": "00", "marked": True}],
}  # fmt: skip
CALIBRATION: Final = {"schema_version": 1, "judge": "offline/11", "rubric": "groundedness", "n": 3}
DOCUMENTS: Final = (
    {"scope_prefix": "evals/set/"},
    {"rel_path": "evals/set/a.md", "text": "x", "metadata": {"k": "v"}},
    {"rel_path": "evals/set/b.md", "file": "b.md"},
)
TONE: Final = {
    "type": "object", "required": ["politeness"], "properties": {
        "reasoning": {"type": "string"}, "politeness": {"type": "integer", "minimum": 1,
        "maximum": 5, "x-direction": "lower", "title": "T"},
        "kind": {"type": "number", "enum": [1, 2]},
        "list": {"type": "array", "items": {"type": "string"}},
    },
}  # fmt: skip


def dumped(*values: object) -> bytes:
    """Return JSON lines."""
    return "".join(f"{json.dumps(value)}\n" for value in values).encode()


def _cases(path: Path) -> object:
    return other_file_note(path, path.name), load_cases(path).dataset_hash


def _settings(path: Path) -> object:
    path.rename(path.with_name("pyproject.toml"))
    return load_settings(path.parent, flags={}, environ={})


def _reply(path: Path) -> object:
    return parse_ask_response(parse_reply_bytes(path.read_bytes()))


def _mapped(table: Mapping[str, str], path: Path) -> object:
    reply = parse_reply_bytes(path.read_bytes())
    mapping_report(TargetSettings(response=table), {"question": "q"}, reply)
    return parse_ask_response(compile_mapping(table, "response")(reply))


def _stream(rules: StreamRules, path: Path) -> object:
    reader = StreamReader(rules)
    body = path.read_bytes()
    reader.feed("text/event-stream", body[: len(body) // 2])
    return reader.document(body, "text/event-stream")


def _completion(path: Path) -> object:
    body = parse_reply_bytes(path.read_bytes())
    return read_completion(body), no_completion(body), document_reason(body)


def _verdict(rubric: str, path: Path) -> object:
    text = path.read_bytes().decode("utf-8", "replace")
    return parse_reply(load_rubric(rubric), text, REQUEST)


def _rubric(path: Path) -> object:
    path.rename(path.with_name("tone.schema.json"))
    path.with_name("tone.jinja").write_text("Rate the tone.\n", encoding="utf-8")
    return load_rubric(str(path.with_name("tone.jinja")))


def _template(path: Path) -> object:
    path.rename(path.with_name("tone.jinja"))
    path.with_name("tone.schema.json").write_bytes(dumped(TONE))
    return load_rubric(str(path.with_name("tone.jinja")))


def _labels(path: Path) -> object:
    folder = path.parent / "labels"
    folder.mkdir(exist_ok=True)
    (folder / "you.jsonl").write_bytes(dumped(ENTRY))
    path.rename(folder / "me.jsonl")
    by_case = latest(read_labels(path.parent / "eval_set.jsonl").entries)
    return [open_points(entries) for entries in by_case.values()]


def _reviews(path: Path) -> object:
    folder = path.parent / "reviews"
    folder.mkdir(exist_ok=True)
    path.rename(folder / "me.jsonl")
    return review_findings(read_reviews(path.parent), {KEY: "h"}, {KEY: Readable()})


def _answers(path: Path) -> object:
    answers, _ = answers_of_file(path, path.name)
    return source_of(path, path.name, answers, random_share=0.5)


def _responses(path: Path) -> object:
    responses = RecordedResponses(path, display=path.name)
    try:
        responses.reported({"a"}, ScoreSettings(), in_text=True, paged=True)
        responses.read_rest()
        return responses.first("a"), responses.faults
    finally:
        responses.close()


def _log(log: str, path: Path) -> object:
    columns = {"question": "q.text"} if log == "jsonl" else {}
    return collect([path], log, by=STRATA, mask=log == "jsonl", columns=columns)


def _imported(name: str, beside: tuple[str, ...], path: Path) -> object:
    chosen = FORMATS[name]
    for other in beside:
        copy = path.parent / other
        copy.parent.mkdir(exist_ok=True)
        source = DATA / "interchange" / ("beir" if name == "beir" else "") / other
        copy.write_bytes(source.read_bytes())
    paths = [path, *(path.parent / other for other in beside)]
    if name == "beir":
        paths = [path.parent]
    named = [str(one) for one in paths if one.name != "more-tests.csv" or not beside]
    found = chosen.read(open_source(named, ReadOptions(), suffixes=chosen.suffixes))
    assert all(isinstance(line["id"], str) and line["id"] for line in found.cases)
    return found


KEY: Final = ("f", "a", 0)
MAPPING: Final = {
    "answer": "answer", "retrieved_chunks": "debug.retrieved_chunks[].{rel_path: rel_path}",
    "abstained": "abstained && `true`", "latency": "debug.latency",
}  # fmt: skip

READERS: Final[Mapping[str, tuple[bytes, Read]]] = {
    "cases.jsonl": (dumped(CASE, {"id": "b", "question": "r"}), _cases),
    "settings.toml": (PYPROJECT.encode(), _settings),
    "thresholds.toml": (THRESHOLDS.encode(), load_thresholds),
    "sweep.toml": (SWEEP.encode(), read_sweep),
    "reply.json": (dumped(REPLY), _reply),
    "mapped.json": (dumped(REPLY), partial(_mapped, MAPPING)),
    "completion.json": (dumped(COMPLETION), _completion),
    **{
        f"{name}.txt": (b"```json\n" + dumped(VERDICT) + b"```", partial(_verdict, name))
        for name in ("groundedness", "correctness", "abstention", "claims", "quality")
    },
    "tone.json": (dumped(TONE), _rubric),
    "tone.txt": (b"{# data: question, answer #}\nRate {{ n_passages }}.\n", _template),
    "entries.jsonl": (dumped(ENTRY, {**ENTRY, "id": "b"}), _labels),
    "reviews.jsonl": (
        dumped(
            {
                "at": "",
                "review": {
                    "file": "f",
                    "case_id": "a",
                    "answer_hash": "h",
                    "verdict": "fail",
                    "note": "n",
                    "category": "c",
                    "part": "answer",
                },
            },
            {"at": "", "category": {"before": "c", "after": "d"}},
        ),
        _reviews,
    ),
    "answers.jsonl": (dumped({**CASE, "response": REPLY}), _answers),
    "responses.jsonl": (dumped({"id": "a", "repeat": 0, "response": REPLY}), _responses),
    "vectors.jsonl": (dumped({"text": "a", "embedding": [0.5, 1]}), load_vectors),
    "documents.jsonl": (dumped(*DOCUMENTS), read_document_set),
    "calibration.json": (dumped(CALIBRATION), read_calibration),
    "labels.jsonl": (
        dumped({"id": "a", "question": "q", "answer": "a", "label": "grounded", "source": "s"}),
        partial(load_labels, rubric="groundedness"),
    ),
    "scores.jsonl": (
        dumped({"id": "a", "rubric": "groundedness", "label": 4}),
        partial(load_judge_labels, display="scores.jsonl"),
    ),
}
"""By the name of the file: a sample, and what reads it."""


def streams() -> Iterator[tuple[str, bytes, Read]]:
    """Yield streams as a sample and a reader."""
    parts = [{"type": "text", "delta": "One "}, {"type": "end", "sources": [CHUNK]}]
    kinds: tuple[tuple[Literal["sse", "ndjson"], bytes], ...] = (
        ("sse", b"".join(b"event: m\ndata: %s\n" % dumped(part) for part in parts)),
        ("ndjson", dumped(*parts)),
    )
    for kind, body in kinds:
        rules = StreamRules(TargetSettings(stream=kind, response={"answer": "last.data.delta"}))
        yield f"{kind}.txt", body, partial(_stream, rules)


IMPORTS: Final[tuple[tuple[str, ...], ...]] = (
    ("csv", "cases.csv"), ("deepeval", "deepeval-goldens.json"),
    ("deepeval", "deepeval-goldens.csv"), ("json", "suite.json"), ("yaml", "suite.yaml"),
    ("promptfoo", "promptfooconfig.yaml", "more-tests.csv"), ("promptfoo", "more-tests.csv"),
    ("promptfoo", "promptfoo-chats.yaml"), ("squad", "squad-2.0.json"),
    ("ragas", "ragas-printed.csv"),
    ("ragas", "ragas-0.2.jsonl"), ("ragas", "ragas-0.1.csv"), ("trec", "topics.sgml.txt"),
    ("trec", "topics.tsv"), ("trec", "qrels.txt", "topics.tsv", "topics.sgml.txt"),
    ("trec", "qrels.jsonl", "topics.tsv"),
    ("trec", "demo.run", "qrels.txt", "topics.tsv", "topics.sgml.txt"),
    ("unrag", "unrag-dataset.json"), ("unrag", "unrag-report.json"),
    ("beir", "beir/queries.jsonl", "corpus.jsonl", "qrels/test.tsv"),
)  # fmt: skip


LOG_FORMATS: Final = {
    "langfuse": "langfuse",
    "otlp": "otel",
    "phoenix": "phoenix",
    "plain": "jsonl",
}
"""By the beginning of a file's name."""


def logs() -> Iterator[tuple[str, bytes, Read]]:
    """Yield logs as a sample and a reader."""
    for path in sorted((DATA / "logs").iterdir()):
        log = LOG_FORMATS[path.stem.partition("-")[0]]
        yield path.name, path.read_bytes(), partial(_log, log)


def imports() -> Iterator[tuple[str, bytes, Read]]:
    """Yield files of other tools as a sample and a reader."""
    for name, file, *beside in IMPORTS:
        path = DATA / "interchange" / file
        yield path.name, path.read_bytes(), partial(_imported, name, tuple(beside))
