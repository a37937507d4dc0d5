"""Settings of a run, each declared once: type, bounds, default, and what ``Setting`` adds.

Flags, help, reading, pages, JSON Schemas, ``config.json`` and the comparison of two runs follow
from these classes. pytest loads this module in every project that has the plugin, so it imports
little. Annotations are read at import, hence no ``from __future__ import annotations``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pytest_rageval.values.declared import (
    Count,
    Flag,
    HeaderText,
    Integer,
    Natural,
    NotNegative,
    Positive,
    Repeats,
    Setting,
    is_portable,
)
from pytest_rageval.values.limits import Limits

FolderMode = Literal["off", "on", "on_with_fallback"]
FOLDER_MODES: Final[tuple[FolderMode, ...]] = get_args(FolderMode)
MatchingMode = Literal["auto", "heading"]
"""Setting that names the rules by which chunks are compared with anchors."""
ClusterSetting = Literal["auto", "document", "section", "case"]
Counted = Literal["chunks", "documents", "references"]
"""List that the number of a citation counts; ``documents`` are those of the chunks, each once."""
Aspect = Literal["retrieval", "answer"]
JUDGED_ON: Final[tuple[Aspect, ...]] = ("retrieval", "answer")
"""Aspects that a case is judged on unless thresholds.toml says otherwise; ``retrieval`` includes
abstention."""

ADMIT_AT: Final = 0.80
"""Value that the lower bounds of both error rates of an admitted judge reach, unless it is set."""

REQUEST_TABLE: Final = "[tool.rageval.target.request]"
RESPONSE_TABLE: Final = "[tool.rageval.target.response]"
"""Tables of the settings that map the request and the reply of another API."""


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSettings:
    """Access to the system under test (``[tool.rageval.target]``)."""

    url: Annotated[str | None, Setting("subject",
        "base URL of the RAG API to evaluate; requests go to the path below it",
        "--rag-url", "URL", kind="url")] = None
    path: Annotated[str, Setting("subject",
        "path and query of the request below the base URL; {case.id} and other fields of the "
        "request in braces are filled in, as in /threads/{uuid}/ask"
        )] = field(default="/api/v1/ask?debug=true", repr=False)
    method: Annotated[Literal["POST", "GET"], Setting("subject",
        "GET sends the fields of the request as query parameters")] = "POST"
    preset: Annotated[str | None, Setting("nothing",
        "name of a known system, whose settings apply where the project has none of its own "
        "(docs/target.md#presets)",
        kind="preset")] = None
    vars: Annotated[Mapping[str, Any], Setting("nothing",
        'values that the preset needs, as in { workspace = "docs" }',
        kind="vars")] = field(default_factory=dict, repr=False)
    vault: Annotated[str | None, Setting("subject",
        "folder of Markdown for the embedded reference server")] = None
    embedded: Annotated[Mapping[str, Any], Setting("subject",
        "settings of that server, as in { chunk_tokens = 200, fusion = 'rrf' }",
        kind="vars")] = field(default_factory=dict)
    headers: Annotated[Mapping[str, HeaderText], Setting("subject",
        "request headers; secrets by name, resolved when a request is sent, as in Authorization ="
        ' "env:RAG_TOKEN"; facts of the case in braces, as in X-User = "{case.metadata.user}"',
        kind="headers")] = field(default_factory=dict, repr=False)
    request: Annotated[str | Mapping[str, str] | None, Setting("subject",
        "JMESPath over our request body, for an API of another shape: one expression, or one for "
        "each field",
        kind="mapping")] = field(default=None, repr=False)
    response: Annotated[str | Mapping[str, str] | None, Setting("subject",
        "JMESPath over the API's reply, for an API of another shape: one expression, or one for "
        "each field of our contract",
        kind="mapping")] = None
    client: Annotated[str | None, Setting("subject",
        "module:name of a client in Python, or of a function that makes one")] = None
    auth: Annotated[str | None, Setting("subject",
        "module:name of a function that returns request headers, such as a fresh token")] = None
    stream: Annotated[Literal["off", "sse", "ndjson", "text"], Setting("subject",
        "format of a reply that comes as server-sent events, JSON Lines or plain text")] = "off"
    first_token: Annotated[str | None, Setting("effort",
        "JMESPath over one event of a stream: whether it is the first part of the answer",
        unset="the first event from which the mapping reads some answer")] = None
    last_event: Annotated[str | None, Setting("subject",
        "JMESPath over one event of a stream: whether it ends the stream",
        unset="[DONE], the answer of JSON-RPC, or the end of the body")] = None
    connect_timeout_s: Annotated[Positive, Setting("effort",
        "seconds to wait for a connection", key="target.connect_timeout")] = 10.0
    read_timeout_s: Annotated[Positive, Setting("effort",
        "seconds to wait between two pieces of a reply; the whole timeout where that alone is set",
        key="target.read_timeout")] = 60.0
    timeout_s: Annotated[Positive, Setting("effort",
        "seconds that one attempt may take, from first byte sent to last byte read",
        "--rag-timeout", "S", key="target.timeout")] = 60.0
    retries: Annotated[Natural, Setting("effort",
        "attempts after the first, on 408, 429, 5xx and connection errors")] = 3
    call_price: Annotated[NotNegative | None, Setting("nothing",
        "US dollars of one question, for --rageval-max-cost, where the reply says no cost_usd",
        unset="not counted")] = None
    history: Annotated[Literal["live", "gold", "server"], Setting("subject",
        "what a later turn of a conversation is sent with: the answers given so far, the expected "
        "ones, or only the session that the target keeps")] = "live"
    trace: Annotated[Flag, Setting("nothing",
        "send a traceparent header with each question of a run")] = True
    trace_url: Annotated[str | None, Setting("nothing",
        'address of a trace, as in "https://traces.example.com/{trace_id}", for links in reports',
        kind="trace_url")] = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Settings of judging (``[tool.rageval.judge]``); ``Settings.judge`` names the judge."""

    client: Annotated[str | None, Setting("nothing",
        "module:name of a judge in Python, or of a function that makes one; `judge` is the same "
        "text unless a flag or variable names another")] = None
    openai_client: Annotated[str | None, Setting("nothing",
        "module:name of an AsyncOpenAI or AsyncAzureOpenAI that carries the requests to the "
        "judge, or of a function that makes one")] = None
    base_url: Annotated[str | None, Setting("judged",
        "base URL of the judge's OpenAI-compatible API",
        "--judge-base-url", "URL", kind="judge_url", unset="OpenAI's")] = None
    api_key_env: Annotated[str, Setting("nothing",
        "environment variable that holds the judge's key, which is never stored",
        "--judge-api-key-env", "NAME")] = "OPENAI_API_KEY"
    rubrics: Annotated[tuple[str, ...], Setting("subject",
        "rubrics, names or files",
        "--judge-rubrics", "NAMES")] = ("groundedness", "correctness")
    temperature: Annotated[NotNegative, Setting("judged",
        "sampling temperature of the judge; dropped where the server refuses it",
        alias="temperature")] = 0.0
    seed: Annotated[Integer | None, Setting("judged",
        "sampling seed of the judge, sent where the server supports it")] = 0
    max_tokens: Annotated[Count, Setting("judged",
        "longest reply of the judge in tokens; a longer one is truncated")] = 1024
    extra_body: Annotated[Mapping[str, Any], Setting("judged",
        "further fields of a request to the judge, never dropped, as in { reasoning_effort = "
        "'low' }",
        kind="extra_body")] = field(default_factory=dict)
    timeout_s: Annotated[Positive, Setting("nothing",
        "seconds one attempt of the judge may take", key="judge.timeout")] = 60.0
    retries: Annotated[Natural, Setting("nothing",
        "attempts of the judge after the first, on 408, 409, 429, 5xx and connection errors")] = 4
    structured_output: Annotated[
        Literal["auto", "json_schema", "json_object", "text"], Setting("judged",
        "how the format of a verdict is requested; auto tries the others in this order and "
        "remembers")] = "auto"
    requests_per_minute: Annotated[Positive | None, Setting("nothing",
        "requests to the judge per minute, over all processes", unset="no limit")] = None
    tokens_per_minute: Annotated[Positive | None, Setting("nothing",
        "tokens to and from the judge per minute, over all processes",
        unset="no limit")] = None
    input_per_mtok: Annotated[NotNegative | None, Setting("nothing",
        "US dollars per million tokens sent to the judge",
        unset="from the bundled price table")] = None
    output_per_mtok: Annotated[NotNegative | None, Setting("nothing",
        "US dollars per million tokens of the judge's replies",
        unset="from the bundled price table")] = None
    no_cache: Annotated[Flag, Setting("nothing",
        "ask the judge even if a verdict is cached", "--no-judge-cache")] = False
    history_supports: Annotated[Flag, Setting("judged",
        "whether a claim may be grounded in the conversation before the question, not in passages "
        "alone")] = False
    admit_at: Annotated[
        float, Limits("a number between 0.5 and 1, such as 0.8", strict=True, ge=0.5, lt=1),
        Setting("nothing",
        "value that the lower bounds of both error rates of a judge reach before it is admitted")
    ] = ADMIT_AT
    spot_check: Annotated[Natural, Setting("nothing",
        "number of cases that a second judge also judges", "--judge-spot-check", "N")] = 0
    spot_check_model: Annotated[str | None, Setting("nothing",
        "second judge of the spot check", unset="the same with the alternate wording")] = None
    labels: Annotated[str | None, Setting("nothing",
        "file of human labels of some cases, relative to the rootdir, which correct the judge's "
        "means",
        "--judge-labels", "FILE")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of a run, from any source (flag > env > pyproject > default)."""

    rootdir: str
    """Folder of the project."""
    testpaths: Annotated[tuple[str, ...], Setting("nothing",
        "folders or files that hold cases, relative to the rootdir")] = ("evals",)
    target: TargetSettings = field(default_factory=TargetSettings)
    """The system under test."""
    k: Annotated[Count, Setting("everything",
        "retrieval depth asked for and cutoff of the metrics; the k of a case overrides it",
        "--rag-k", "N", rescoring=True)] = 5
    ranked: Annotated[Flag, Setting("subject",
        "whether the order of the retrieved chunks is their rank",
        key="target.ranked", rescoring=True)] = True
    strip_root: Annotated[tuple[str, ...], Setting("subject",
        "folders taken off the front of the paths of chunks and citations",
        key="target.strip_root", kind="folders", rescoring=True)] = ()
    folder_mode: Annotated[FolderMode | None, Setting("everything",
        "folder selection asked of the API",
        "--rag-folder-mode", alias="payload.folder_mode", rescoring=True,
        unset="not sent")] = None
    vector_weight: Annotated[NotNegative | None, Setting("everything",
        "rerank weight of vector scores",
        "--rag-vector-weight", "W", alias="payload.vector_weight", unset="not sent")] = None
    lexical_weight: Annotated[NotNegative | None, Setting("everything",
        "rerank weight of lexical scores",
        "--rag-lexical-weight", "W", alias="payload.lexical_weight", unset="not sent")] = None
    params: Annotated[Mapping[str, Any], Setting("everything",
        "further field of the request; VALUE is a JSON scalar or text; repeatable",
        "--rag-param", "KEY=VALUE", kind="params")] = field(default_factory=dict, repr=False)
    judge: Annotated[str, Setting("judged",
        "judge of the answers",
        "--judge", "offline|none|MODEL", kind="judge", rescoring=True)] = "offline"
    judging: JudgeSettings = field(default_factory=JudgeSettings)
    """Settings of judging."""
    retrieval_only: Annotated[Flag, Setting("answers",
        "score retrieval alone: no judge, and no answer metric is gated",
        "--retrieval-only", rescoring=True)] = False
    path_case: Annotated[Literal["sensitive", "insensitive"], Setting("everything",
        "whether paths of golds and chunks must agree in case",
        key="matching.path_case", rescoring=True)] = "sensitive"
    matching_mode: Annotated[MatchingMode, Setting("subject",
        "what decides whether a chunk is at an anchor: headings alone, or what both allow",
        key="matching.mode", rescoring=True)] = "auto"
    snippets: Annotated[Literal["off", "any", "all"], Setting("everything",
        "whether a chunk must also contain the gold's snippets",
        key="matching.snippets", rescoring=True)] = "off"
    token_budget: Annotated[Count | None, Setting("subject",
        "tokens of context within which recall_at_tokens counts",
        "--rag-token-budget", "N", rescoring=True, unset="not measured")] = None
    coarse_chunks: Annotated[Flag, Setting("everything",
        "whether a chunk of a parent section matches when it holds all snippets of the gold",
        key="matching.coarse_chunks", rescoring=True)] = False
    citation_presets: Annotated[tuple[str, ...], Setting("answers",
        "forms of citations besides [1] and [File: a.md, Section: B]: doc, id, openai, footnote, "
        "source, path, cite",
        key="citations.presets", kind="markers", rescoring=True)] = ()
    citation_pattern: Annotated[str | None, Setting("answers",
        "regular expression of one more form, with a group n or path",
        key="citations.pattern", kind="marker", rescoring=True)] = None
    citation_first: Annotated[Natural | None, Setting("answers",
        "number of the first passage in these forms, 0 or 1",
        unset="each form's own", key="citations.first", rescoring=True)] = None
    citation_counts: Annotated[Counted | None, Setting("answers",
        "list that the numbers in these forms count",
        unset="each form's own", key="citations.counts", rescoring=True)] = None
    abstention_texts: Annotated[tuple[str, ...], Setting("answers",
        'answers with which the target says that it abstains, as in ["KEINE ANTWORT"]; a judge is'
        " asked about all others",
        key="target.abstention_texts", rescoring=True)] = ()
    store_full_text: Annotated[Flag, Setting("nothing",
        "store whole texts of all chunks, not only of the first k",
        "--rageval-store-full-text")] = False
    no_report: Annotated[Flag, Setting("nothing",
        "write no report.html at the end; rageval report can write it later",
        "--rageval-no-report")] = False
    results_dir: Annotated[str, Setting("nothing",
        "folder of stored runs, relative to the rootdir",
        "--rageval-results", "DIR", key="results")] = "evals/results"
    run_id: Annotated[str | None, Setting("part",
        "name of this run's folder",
        "--rageval-run-id", "ID", key="", kind="run_id",
        unset="UTC time and 4 hex digits")] = None
    repeats: Annotated[Repeats, Setting("subject",
        "how often each case is asked, to measure noise; auto: 5 times in all if its first answer "
        "does not pass, passes unlike that of the baseline, or leaves the judge unsure",
        "--rageval-repeats", "N|auto", kind="repeats")] = 1
    context_carry: Annotated[Flag, Setting("effort",
        "ask each later turn of a conversation that has a standalone question once more, with "
        "that question alone: context_carry compares both",
        "--rageval-context-carry")] = False
    tier: Annotated[str | None, Setting("nothing",
        "table [tool.rageval.tier.NAME] whose settings go before those of the project",
        "--rageval-tier", "NAME", key="")] = None
    select: Annotated[tuple[str, ...], Setting("nothing",
        'groups of cases that make up the set, as in ["tag:smoke", "category:faq"]',
        kind="selectors", unset="all cases")] = ()
    thresholds: Annotated[str, Setting("nothing",
        "file of the limits, relative to the rootdir", kind="below")] = "thresholds.toml"
    resume: Annotated[str | None, Setting("part",
        "continue an interrupted run in its folder (an id, the beginning of one, last, last~N or "
        "a path), and ask only the missing cases",
        "--rageval-resume", "RUN", key="")] = None
    failed_from: Annotated[str | None, Setting("part",
        "select the cases that did not pass in a stored run",
        "--rageval-failed-from", "RUN", key="")] = None
    shard: Annotated[str | None, Setting("part",
        "select the I-th of N parts of the set, for several machines; `rageval merge` merges "
        "their runs",
        "--rageval-shard", "I/N", key="", kind="shard")] = None
    max_errors: Annotated[Count, Setting("nothing",
        "connection errors or timeouts in a row before the run gives up",
        "--rageval-max-errors", "N")] = 10
    max_calls: Annotated[Count | None, Setting("nothing",
        "questions to the target and requests to the judge after which the session asks no more: "
        "the run is then incomplete, and --rageval-resume goes on",
        "--rageval-max-calls", "N", unset="no limit")] = None
    max_cost: Annotated[Positive | None, Setting("nothing",
        "US dollars for target and judge after which the session asks no more",
        "--rageval-max-cost", "USD", unset="no limit")] = None
    concurrency: Annotated[Count, Setting("nothing",
        "HTTP requests in flight in this process, target and judge together; 1 is strictly "
        "sequential",
        "--rageval-concurrency", "N")] = 8
    extra_gates: Annotated[tuple[str, ...], Setting("nothing",
        "further check such as 'recall_at_k>=0.9'; repeatable",
        "--gate", "EXPR", key="gates", kind="gates")] = ()
    baseline: Annotated[str | None, Setting("nothing",
        "baseline run of the checks; auto: that of the merge base, or the newest one of main",
        "--rageval-baseline", "RUN", unset="that of thresholds.toml")] = None
    runs: Annotated[str | None, Setting("nothing",
        "folder or archive (zip, tar) with the runs among which baseline auto is found",
        "--rageval-runs", "PATH", unset="the results folder")] = None
    main_branch: Annotated[str | None, Setting("nothing",
        "branch whose runs are baselines of others", "--rageval-main-branch", "NAME",
        unset="that of the remote, main or master")] = None
    baseline_max_days: Annotated[Natural, Setting("nothing",
        "days beyond which baseline auto warns that it is old")] = 14
    baseline_max_commits: Annotated[Natural, Setting("nothing",
        "commits of the main branch beyond which it warns")] = 50
    allow_regressions: Annotated[Flag, Setting("nothing",
        "let checks against the baseline warn instead of fail", "--allow-regressions")] = False
    documents_cleanup: Annotated[Literal["none", "on-success", "always"], Setting("nothing",
        "when the documents of a set are deleted from the target",
        "--rageval-cleanup", key="documents.cleanup")] = "always"
    documents_path: Annotated[str, Setting("nothing",
        "where below the target's URL documents of a set are put and deleted",
        key="documents.path")] = "/api/v1/documents"
    documents_loader: Annotated[str | None, Setting("nothing",
        "module:function that returns the text of a document that a set names by a ref",
        key="documents.loader")] = None
    cluster: Annotated[ClusterSetting, Setting("nothing",
        "what cases share in a comparison of two runs (docs/statistics.md#which-unit)",
        key="stats.cluster", rescoring=True)] = "auto"
    weights: Annotated[Literal["cases", "traffic"], Setting("nothing",
        "traffic: also give means in which a case counts as its metadata.weight, the requests that "
        "it stands for", rescoring=True)] = "cases"
    dataset_version: Annotated[str | None, Setting("subject",
        "name of the dataset's version", key="versions.dataset")] = None
    index_build_version: Annotated[str | None, Setting("subject",
        "name of the index build", key="versions.index_build")] = None
    retriever_version: Annotated[str | None, Setting("subject",
        "name of the retriever's version", key="versions.retriever")] = None
    answerer_version: Annotated[str | None, Setting("subject",
        "name of the answerer's version", key="versions.answerer")] = None
    plugins: Annotated[tuple[str, ...], Setting("nothing",
        "modules with metrics of your own, or installed packages that register some")] = ()
    metric_timeout_s: Annotated[Positive, Setting("nothing",
        "seconds that a metric of your own may take for one case")] = 10.0
    judged_on: tuple[Aspect, ...] = JUDGED_ON
    """Aspects that the outcome of a case depends on, from thresholds.toml."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Source of each value: flag, environment variable, pyproject.toml or default."""

    # fmt: on
    def repeats_of(self, *, again: bool) -> int:
        """Return the number of times that an item is asked; again: its answers ask for more."""
        if self.repeats != AUTO:
            return self.repeats
        return AUTO_REPEATS if again else 1

    @property
    def most_repeats(self) -> int:
        """Number of times that an item is asked at most."""
        return self.repeats_of(again=True)

    @property
    def results_folder(self) -> Path:
        """The folder of all runs."""
        return Path(self.rootdir) / self.results_dir

    def is_named_now(self, name: str) -> bool:
        """Whether a flag or a variable of the environment gives a setting, and not a file."""
        return self.origins.get(name, "").split(" ")[0] in {"flag", "env"}

    @property
    def judged(self) -> bool:
        """Whether a judge is asked about the answers."""
        return self.judge != "none" and not self.retrieval_only


AUTO: Final = "auto"
"""Name of the baseline that is found by the history of git, and of repeats where they tell most."""
AUTO_REPEATS: Final = 5
"""Number of times that a case is asked whose first answer does not tell enough."""
LAST: Final = "last"
"""Name of the last run; of a baseline the last that can be compared."""
TAGS: Final = "tags"
"""Folder of the tags, among the runs."""

RUN_ID_RULE: Final = (
    "1 to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit, not ending in "
    "'.', and not 'auto', 'last', 'tags' or a device of Windows, such as 'con' or 'nul.1'"
)
TAG_RULE: Final = (
    "1 to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit, not ending in "
    "'.', .json, .jsonl or .md, and not 'auto', 'last', 'tags' or a device of Windows, such as "
    "'con' or 'nul.1'"
)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED: Final = frozenset({AUTO, LAST, TAGS})
_FILES: Final = (".json", ".jsonl", ".md")
"""The folder of the tags must not look like that of a run."""


def is_run_id(text: str, *, new: bool = False) -> bool:
    """Whether a text is a run id.

    Args:
        text: any text.
        new: whether a run is to get it (``RUN_ID_RULE``): only an id whose folder can be on every
            system, also on those that do not distinguish upper and lower case.
    """
    if _NAME.fullmatch(text) is None or text in _RESERVED:
        return False
    return not new or (is_portable(text) and text.lower() not in _RESERVED)


def is_tag(text: str, *, new: bool = False) -> bool:
    """Whether a text is a tag; with ``new`` one that a run may get (``TAG_RULE``)."""
    return is_run_id(text, new=new) and not (text.lower() if new else text).endswith(_FILES)
