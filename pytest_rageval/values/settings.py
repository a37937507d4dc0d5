"""Settings of a run, whose ``repr`` shows no secret, and the names of runs and tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from pytest_rageval.values.case import FolderMode, MatchingMode
from pytest_rageval.values.portable import is_portable
from pytest_rageval.values.record import JUDGED_ON, Aspect, CitationMarkers, Counted

ClusterSetting = Literal["auto", "document", "section", "case"]
REQUEST_TABLE: Final = "[tool.rageval.target.request]"
RESPONSE_TABLE: Final = "[tool.rageval.target.response]"
"""Tables of the settings that map the request and the reply of another API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSettings:
    """Access to the system under test (``[tool.rageval.target]``)."""

    url: str | None = None
    """Base URL; requests go to ``{url}/api/v1/ask?debug=true`` unless ``path`` says otherwise."""
    path: str = field(default="/api/v1/ask?debug=true", repr=False)
    """May name fields of the request in braces: ``/threads/{uuid}/ask``."""
    method: Literal["POST", "GET"] = "POST"
    """``GET`` sends the fields of the request as query parameters."""
    preset: str | None = None
    """Name of a known system, whose settings these are where the project has none of its own."""
    vars: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Values for the preset, as the project wrote them."""
    vault: str | None = None
    """Folder of Markdown for the embedded reference server."""
    embedded: Mapping[str, Any] = field(default_factory=dict)
    """Settings of that server, by the names of its ``ReferenceConfig``; the rest has defaults."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values may be ``env:NAME``; they are resolved only when a request is sent."""
    request: str | Mapping[str, str] | None = field(default=None, repr=False)
    """JMESPath over our request body: one expression, or one per field of the target's body."""
    response: str | Mapping[str, str] | None = None
    """JMESPath over the target's reply: one expression, or one per field of our contract."""
    client: str | None = None
    """``module:name`` of a client in Python, or of a factory of one."""
    auth: str | None = None
    """``module:name`` of a function that returns further headers."""
    stream: Literal["off", "sse", "ndjson", "text"] = "off"
    """Format of a reply that comes as server-sent events, JSON Lines or plain text."""
    first_token: str | None = None
    """JMESPath over one event that is true for the first part of the answer; None: the first event
    from which the mapping reads some answer."""
    last_event: str | None = None
    """JMESPath over one event that is true for the one that ends the stream; None: ``[DONE]``, the
    answer of JSON-RPC, or the end of the body."""
    connect_timeout_s: float = 10.0
    """Limit of connecting."""
    read_timeout_s: float = 60.0
    """Limit between two reads."""
    timeout_s: float = 60.0
    """Limit of one attempt from first byte sent to last byte read."""
    retries: int = 3
    """Attempts after the first, on 408, 429, 5xx and connection errors."""
    trace: bool = True
    """Send the header ``traceparent`` of a trace of its own with each question of a run."""
    trace_url: str | None = field(default=None, repr=False)
    """Address of a trace, with ``{trace_id}`` in place of its id; None: no links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Settings of judging (``[tool.rageval.judge]``); ``Settings.judge`` names the judge."""

    client: str | None = None
    """``module:name`` of a judge in Python, or of a factory of one; then ``Settings.judge`` is the
    same text, unless a flag or variable names another judge."""
    openai_client: str | None = None
    """``module:name`` of an asynchronous client of the openai package, or of a function that makes
    one, which carries the requests to a model; None: one of ours."""
    base_url: str | None = None
    """OpenAI-compatible API; None: OpenAI's own."""
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key; its value is never stored."""
    rubrics: tuple[str, ...] = ("groundedness", "correctness")
    """Names of the package's rubrics, or paths of rubric files."""
    temperature: float = 0.0
    """Sent explicitly, and dropped where the server refuses it."""
    seed: int | None = 0
    """Sent if the server supports it; None: not sent."""
    max_tokens: int = 1024
    """Longest reply; a longer one is ``truncated``."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request, such as ``reasoning_effort``; never dropped."""
    timeout_s: float = 60.0
    """Of one attempt."""
    retries: int = 4
    """Attempts after the first, on 408, 409, 429, 5xx and connection errors."""
    structured_output: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    """Way to ask for the reply's format; ``auto`` tries them in this order and remembers."""
    requests_per_minute: float | None = None
    """Shared by all processes of a run; None: no limit."""
    tokens_per_minute: float | None = None
    """Shared by all processes of a run; None: no limit."""
    input_per_mtok: float | None = None
    """US dollars per million tokens; None: from the bundled price table."""
    output_per_mtok: float | None = None
    """US dollars per million tokens; None: from the bundled price table."""
    no_cache: bool = False
    """Ask the judge even where a verdict is cached."""
    spot_check: int = 0
    """Number of cases that a second judge also judges."""
    spot_check_model: str | None = None
    """The second judge; None: the same one under another wording of the prompt."""
    labels: str | None = None
    """File of human labels of some cases, relative to the rootdir; None: no correction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of a run, from any source (flag > env > pyproject > default)."""

    rootdir: str
    """Folder of the project."""
    testpaths: tuple[str, ...] = ("evals",)
    """Folders and files that pytest collects without arguments."""
    target: TargetSettings = field(default_factory=TargetSettings)
    """The system under test."""
    k: int = 5
    """Cutoff of the retrieval metrics; the ``k`` of a case overrides it."""
    ranked: bool = True
    """Whether the order of the retrieved chunks is their rank."""
    strip_root: tuple[str, ...] = ()
    """Folders that are taken off the front of the paths of chunks and citations."""
    folder_mode: FolderMode | None = None
    """Sent with each question; None: not sent."""
    vector_weight: float | None = None
    """Sent with each question; None: not sent."""
    lexical_weight: float | None = None
    """Sent with each question; None: not sent."""
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Further fields that are sent with each question."""
    judge: str = "offline"
    """``offline``, ``none`` or the name of a model."""
    judging: JudgeSettings = field(default_factory=JudgeSettings)
    """Settings of judging."""
    retrieval_only: bool = False
    """Whether only retrieval is scored, without a judge."""
    path_case: Literal["sensitive", "insensitive"] = "sensitive"
    """Whether paths of golds and chunks must agree in case."""
    matching_mode: MatchingMode = "auto"
    """Way to tell whether a chunk is at an anchor: by headings alone, or by what both allow."""
    snippets: Literal["off", "any", "all"] = "off"
    """Whether a chunk must also contain any or all of the gold's snippets."""
    token_budget: int | None = None
    """Of ``recall_at_tokens``; None: it does not apply."""
    coarse_chunks: bool = False
    """Whether a chunk of a parent section matches if it holds all snippets of the gold."""
    citation_presets: tuple[str, ...] = ()
    """Names of forms of citations that are read besides the usual ones."""
    citation_pattern: str | None = None
    """Regular expression of a form of the project's own."""
    citation_first: int | None = None
    """Number of the first passage in all these forms; None: each form's own."""
    citation_counts: Counted | None = None
    """List that their numbers count; None: each form's own."""
    abstention_texts: tuple[str, ...] = ()
    """Answers with which the target says that it abstains; a judge is asked about all others."""
    store_full_text: bool = False
    """Whether records keep the whole texts of all chunks, not only of the first ``k``."""
    no_report: bool = False
    """Do not write ``report.html`` at the end of a run."""
    results_dir: str = "evals/results"
    """Folder of all runs, relative to the rootdir."""
    run_id: str | None = None
    """Name of the run; None: from the time."""
    repeats: int = 1
    """Number of times that each case is asked."""
    resume: str | None = None
    """Run to continue in, as a user names one."""
    failed_from: str | None = None
    """Run whose cases that did not pass are selected."""
    shard: str | None = None
    """Part of the set such as ``2/3``; None: the whole."""
    max_errors: int = 10
    """Connection errors or timeouts in a row before the run gives up."""
    concurrency: int = 8
    """HTTP requests in flight in one process."""
    extra_gates: tuple[str, ...] = ()
    """``--gate`` expressions such as ``recall_at_k>=0.9``."""
    baseline: str | None = None
    """Run to compare with, as a user names one; None: the one that thresholds.toml names."""
    allow_regressions: bool = False
    """Whether checks against the baseline warn instead of fail."""
    documents_cleanup: Literal["none", "on-success", "always"] = "always"
    """Condition under which the documents of a set are deleted from the target."""
    documents_path: str = "/api/v1/documents"
    """Path below the target's URL where they are put and deleted."""
    documents_loader: str | None = None
    """``module:function`` that returns the text of a document's ``ref``."""
    cluster: ClusterSetting = "auto"
    """Unit by which the cases of a comparison of two runs are grouped."""
    dataset_version: str | None = None
    """As the project names it."""
    index_build_version: str | None = None
    """As the project names it."""
    retriever_version: str | None = None
    """As the project names it."""
    answerer_version: str | None = None
    """As the project names it."""
    plugins: tuple[str, ...] = ()
    """Modules with metrics of the project's own, or packages that register theirs."""
    metric_timeout_s: float = 10.0
    """Limit of one call of such a metric."""
    judged_on: tuple[Aspect, ...] = JUDGED_ON
    """Aspects that the outcome of a case depends on, from thresholds.toml."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Source of each value: flag, environment variable, pyproject.toml or default."""

    @property
    def results_folder(self) -> Path:
        """The folder of all runs."""
        return Path(self.rootdir) / self.results_dir

    @property
    def judged(self) -> bool:
        """Whether a judge is asked about the answers."""
        return self.judge != "none" and not self.retrieval_only

    @property
    def citation_markers(self) -> CitationMarkers | None:
        """Forms of citations besides the usual ones; None: none."""
        if not self.citation_presets and self.citation_pattern is None:
            return None
        return CitationMarkers(
            presets=self.citation_presets,
            pattern=self.citation_pattern,
            first=self.citation_first,
            counts=self.citation_counts,
        )


TAGS: Final = "tags"
"""Folder of the tags, among the runs."""

RUN_ID_RULE: Final = (
    "1 to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit, not ending in "
    "'.', and not 'last', 'tags' or a device of Windows, such as 'con' or 'nul.1'"
)
TAG_RULE: Final = (
    "1 to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit, not ending in "
    "'.', .json, .jsonl or .md, and not 'last', 'tags' or a device of Windows, such as 'con' or "
    "'nul.1'"
)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED: Final = frozenset({"last", TAGS})
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
