"""The settings of a run, declared once, with their sources and their effect on the numbers.

pytest's flags, the environment, pyproject.toml, ``config.json`` and every comparison of two runs
follow this table. Nothing here reads a file or a variable: ``settings`` does, and the plugin
registers the flags. Only the standard library is imported, because pytest loads this module in
every project that has the plugin.
"""

from __future__ import annotations

from typing import Any, Final, Literal, dataclass_transform

Kind = Literal[
    "text", "url", "run_id", "shard", "integer", "number", "boolean", "choice", "judge",
    "texts", "gates", "params", "extra_body", "headers", "mapping", "preset", "vars", "markers",
    "marker", "folders", "trace_url", "derived",
]  # fmt: skip
"""Format of a value. ``shard`` is a text such as ``2/3``, ``texts`` a list of strings,
``params`` a table of JSON values, ``extra_body`` one for a judge, ``headers`` a table of strings,
``mapping`` one JMESPath expression or a table of them, ``preset`` the name of one, ``vars`` a table
of its values, ``markers`` names of forms of citations, ``marker`` a regular expression of one,
``folders`` one folder or a list of them, ``trace_url`` a URL with a place for an id. A ``derived``
setting cannot be set."""

REPEATABLE: Final = frozenset({"params", "gates"})
"""Kinds whose flag may be given several times; their variable holds one value per line."""

Affects = Literal["everything", "answers", "judged"]
"""Metrics that depend on a setting: all, those of the answer, or judged ones."""

Role = Affects | Literal["subject", "effort", "part", "nothing"]
"""Meaning of a setting for two runs that differ in it.

``everything``, ``answers``, ``judged``: an invariant; these numbers are not comparable.
``subject``: a comparison is meant to show its effect; ``config_hash`` differs.
``effort``: numbers do not depend on it; a comparison names it anyway.
``part``: the part of the set and its run name: parts of one run may differ.
``nothing``: not compared.
"""


@dataclass_transform(frozen_default=True)
class _Row:
    """Base of ``Setting``: a NamedTuple takes longer to make than its table, in every session."""

    def __init__(self, name: str, key: str, kind: Kind, role: Role, **more: object) -> None:
        vars(self).update(more, name=name, key=key, kind=kind, role=role)


class Setting(_Row):
    """One setting with its sources and its meaning."""

    name: str
    """Field of ``Settings``; ``target.url`` for a field of ``Settings.target``, likewise
    ``judging.seed``."""
    key: str
    """Key below ``[tool.rageval]``, dotted for a key of a sub-table; empty: no such key."""
    kind: Kind
    role: Role
    help: str = ""
    flag: str | None = None
    """Command-line flag; None: settable only in pyproject.toml."""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    """Smallest value allowed, itself included unless ``above_minimum``."""
    above_minimum: bool = False
    maximum: int | None = None
    """Largest integer allowed; None: the largest that JSON keeps exactly."""
    alias: str | None = None
    """Name in a comparison of two runs; None: its key."""
    rescoring: bool = False
    """Whether stored records are scored again with the stored value."""
    stored: bool = True
    """Whether ``config.json`` holds it, without secrets."""

    @property
    def section(self) -> str:
        """``target``, ``judging``, or empty for a field of ``Settings`` itself."""
        return self.name.rpartition(".")[0]

    @property
    def field(self) -> str:
        """The name within its section."""
        return self.name.rpartition(".")[2]

    @property
    def affects(self) -> Affects | None:
        """Metrics that it is an invariant of; None: of none."""
        match self.role:
            case "everything" | "answers" | "judged":
                return self.role
            case _:
                return None

    @property
    def env(self) -> str | None:
        """Environment variable: ``RAGEVAL_`` and the flag without its ``rageval-`` prefix."""
        if self.flag is None:
            return None
        name = self.flag.lstrip("-").removeprefix("rageval-")
        return "RAGEVAL_" + name.upper().replace("-", "_")

    @property
    def keyword(self) -> str:
        """Name as an argument of ``evaluate``: its key below ``[tool.rageval]``."""
        return (self.key or self.name).replace(".", "_")

    @property
    def dest(self) -> str:
        """Name of the parsed flag, with a prefix against conflicts with other plugins."""
        name = (self.flag or self.key).lstrip("-").removeprefix("rageval-")
        return "rageval_" + name.replace("-", "_").replace(".", "_")

    @property
    def addoption_kwargs(self) -> dict[str, Any]:
        """Keyword arguments for ``addoption`` of pytest and ``add_argument`` of argparse.

        Values stay text: ``load_settings`` reads them, so that all faults of all sources are
        reported in one message. An option that is not given is None.
        """
        # argparse formats help with "%".
        shared: dict[str, Any] = {"dest": self.dest, "default": None}
        shared["help"] = f"{self.help} [{self.env}]".replace("%", "%%")
        if self.kind == "boolean":
            return {**shared, "action": "store_true"}
        action = "append" if self.kind in REPEATABLE else "store"
        metavar = self.metavar or "|".join(self.choices)
        return {**shared, "action": action, "metavar": metavar}


# Columns of every row are positional, so that the table can be read by row.
# fmt: off
SETTINGS: Final[tuple[Setting, ...]] = (
    # --- target
    Setting("target.url", "target.url", "url", "subject", flag="--rag-url", metavar="URL",
        help="base URL of the RAG API to evaluate"),
    Setting("k", "k", "integer", "everything", flag="--rag-k", metavar="N", minimum=1,
        rescoring=True,
        help="retrieval depth asked for and cutoff of the metrics (default: 5)"),
    Setting("token_budget", "token_budget", "integer", "subject", flag="--rag-token-budget",
        metavar="N", minimum=1, rescoring=True,
        help="tokens of context within which recall_at_tokens counts (default: not measured)"),
    Setting("ranked", "target.ranked", "boolean", "subject", rescoring=True,
        help="whether the order of the retrieved chunks is their rank (default: true)"),
    Setting("strip_root", "target.strip_root", "folders", "subject", rescoring=True,
        help="folders taken off the front of the paths of chunks and citations"),
    Setting("path_case", "matching.path_case", "choice", "everything",
        choices=("sensitive", "insensitive"), rescoring=True,
        help="whether paths of golds and chunks must agree in case"),
    # Which rules decided is compared itself, so that a run of an older version stays comparable.
    Setting("matching_mode", "matching.mode", "choice", "subject", choices=("auto", "heading"),
        rescoring=True,
        help="what decides whether a chunk is at an anchor: headings alone, or what both allow"),
    Setting("snippets", "matching.snippets", "choice", "everything", choices=("off", "any", "all"),
        rescoring=True,
        help="whether a chunk must also contain the gold's snippets"),
    Setting("coarse_chunks", "matching.coarse_chunks", "boolean", "everything", rescoring=True,
        help="whether a chunk of a parent section matches when it holds all snippets of the gold"),
    Setting("citation_presets", "citations.presets", "markers", "answers", rescoring=True,
        help="forms of citations besides [1] and [File: a.md, Section: B]: doc, id, openai, "
             "footnote, source, path, cite"),
    Setting("citation_pattern", "citations.pattern", "marker", "answers", rescoring=True,
        help="regular expression of one more form, with a group n or path"),
    Setting("citation_first", "citations.first", "integer", "answers", minimum=0, rescoring=True,
        help="number of the first passage in these forms, 0 or 1"),
    Setting("citation_counts", "citations.counts", "choice", "answers",
        choices=("chunks", "documents", "references"), rescoring=True,
        help="list that the numbers in these forms count"),
    Setting("abstention_texts", "target.abstention_texts", "texts", "answers", rescoring=True,
        help='answers with which the target says that it abstains, as in ["KEINE ANTWORT"]'),
    Setting("folder_mode", "folder_mode", "choice", "everything", flag="--rag-folder-mode",
        choices=("off", "on", "on_with_fallback"), alias="payload.folder_mode", rescoring=True,
        help="folder selection asked of the API (default: not sent)"),
    Setting("vector_weight", "vector_weight", "number", "everything", flag="--rag-vector-weight",
        metavar="W", minimum=0, alias="payload.vector_weight",
        help="rerank weight of vector scores (default: not sent)"),
    Setting("lexical_weight", "lexical_weight", "number", "everything", flag="--rag-lexical-weight",
        metavar="W", minimum=0, alias="payload.lexical_weight",
        help="rerank weight of lexical scores (default: not sent)"),
    Setting("params", "params", "params", "everything", flag="--rag-param", metavar="KEY=VALUE",
        help="further field of the request; VALUE is a JSON scalar or text; repeatable"),
    Setting("target.timeout_s", "target.timeout", "number", "effort", flag="--rag-timeout",
        metavar="S", minimum=0, above_minimum=True,
        help="total seconds that one attempt may take (default: 60)"),
    # --- judging
    Setting("judge", "judge", "judge", "judged", flag="--judge", metavar="offline|none|MODEL",
        rescoring=True,
        help="judge of the answers (default: offline)"),
    Setting("judging.base_url", "judge.base_url", "url", "judged", flag="--judge-base-url",
        metavar="URL",
        help="base URL of the judge's OpenAI-compatible API (default: OpenAI's)"),
    Setting("judging.api_key_env", "judge.api_key_env", "text", "nothing",
        flag="--judge-api-key-env", metavar="NAME",
        help="environment variable that holds the judge's key (default: OPENAI_API_KEY)"),
    Setting("judging.rubrics", "judge.rubrics", "texts", "subject", flag="--judge-rubrics",
        metavar="NAMES",
        help="rubrics, names or files (default: groundedness,correctness)"),
    Setting("judging.no_cache", "judge.no_cache", "boolean", "nothing", flag="--no-judge-cache",
        help="ask the judge even if a verdict is cached"),
    Setting("judging.spot_check", "judge.spot_check", "integer", "nothing",
        flag="--judge-spot-check", metavar="N", minimum=0,
        help="number of cases that a second judge also judges (default: 0)"),
    Setting("judging.labels", "judge.labels", "text", "nothing", flag="--judge-labels",
        metavar="FILE",
        help="human labels of some cases, which correct the judge's means"),
    Setting("retrieval_only", "retrieval_only", "boolean", "answers", flag="--retrieval-only",
        rescoring=True,
        help="score retrieval alone: no judge, and no answer metric is gated"),
    # --- the run
    Setting("results_dir", "results", "text", "nothing", flag="--rageval-results", metavar="DIR",
        help="folder of stored runs, relative to the rootdir (default: evals/results)"),
    Setting("run_id", "", "run_id", "part", flag="--rageval-run-id", metavar="ID",
        help="name of this run's folder (default: UTC time and 4 hex digits)"),
    Setting("repeats", "repeats", "integer", "subject", flag="--rageval-repeats", metavar="N",
        minimum=1, maximum=1000,
        help="how often each case is asked, to measure noise (default: 1)"),
    Setting("resume", "", "text", "part", flag="--rageval-resume", metavar="RUN",
        help="continue an interrupted run in its folder (an id, the beginning of one, last, "
             "last~N or a path), and ask only the missing cases"),
    Setting("failed_from", "", "text", "part", flag="--rageval-failed-from", metavar="RUN",
        help="select the cases that did not pass in a stored run"),
    Setting("shard", "", "shard", "part", flag="--rageval-shard", metavar="I/N",
        help="select the I-th of N parts of the set, for several machines; `rageval merge` "
             "merges their runs"),
    Setting("concurrency", "concurrency", "integer", "nothing", flag="--rageval-concurrency",
        metavar="N", minimum=1,
        help="HTTP requests in flight in this process, target and judge together; 1 is "
             "strictly sequential (default: 8)"),
    Setting("max_errors", "max_errors", "integer", "nothing", flag="--rageval-max-errors",
        metavar="N", minimum=1,
        help="connection errors or timeouts in a row before the run gives up (default: 10)"),
    Setting("store_full_text", "store_full_text", "boolean", "nothing",
        flag="--rageval-store-full-text",
        help="store whole texts of all chunks, not only of the first k"),
    Setting("no_report", "no_report", "boolean", "nothing", flag="--rageval-no-report",
        help="write no report.html at the end; rageval report can write it later"),
    Setting("documents_cleanup", "documents.cleanup", "choice", "nothing", flag="--rageval-cleanup",
        choices=("none", "on-success", "always"),
        help="when the documents of a set are deleted from the target (default: always)"),
    Setting("extra_gates", "gates", "gates", "nothing", flag="--gate", metavar="EXPR",
        help="further check such as 'recall_at_k>=0.9'; repeatable"),
    Setting("baseline", "baseline", "text", "nothing", flag="--rageval-baseline", metavar="RUN",
        help="baseline run of the checks (default: that of thresholds.toml)"),
    Setting("allow_regressions", "allow_regressions", "boolean", "nothing",
        flag="--allow-regressions",
        help="let checks against the baseline warn instead of fail"),
    # --- pyproject.toml alone
    Setting("cluster", "stats.cluster", "choice", "nothing",
        choices=("auto", "document", "section", "case"), rescoring=True,
        help="what cases share in a comparison of two runs (docs/statistics.md#which-unit; "
             "default: auto)"),
    Setting("testpaths", "testpaths", "texts", "nothing",
        help="folders or files that hold cases, relative to the rootdir"),
    # The settings that a preset stands for are compared, and not its name.
    Setting("target.preset", "target.preset", "preset", "nothing",
        help="settings of a known system (docs/target.md#presets)"),
    Setting("target.vars", "target.vars", "vars", "nothing",
        help='values that the preset needs, as in { workspace = "docs" }'),
    Setting("target.path", "target.path", "text", "subject",
        help="path and query of the request below the base URL; {case.id} and other fields of "
             "the request in braces are filled in"),
    Setting("target.method", "target.method", "choice", "subject", choices=("POST", "GET"),
        help="GET sends the fields of the request as query parameters (default: POST)"),
    Setting("target.vault", "target.vault", "text", "subject",
        help="folder of Markdown for the embedded reference server"),
    Setting("target.embedded", "target.embedded", "vars", "subject",
        help="settings of that server, as in { chunk_tokens = 200, fusion = 'rrf' }"),
    Setting("target.client", "target.client", "text", "subject",
        help="module:name of a client in Python, or of a function that makes one"),
    Setting("target.auth", "target.auth", "text", "subject",
        help="module:name of a function that returns request headers, such as a fresh token"),
    Setting("target.headers", "target.headers", "headers", "subject",
        help='request headers; secrets by name, as in Authorization = "env:RAG_TOKEN"; facts of '
             'the case in braces, as in X-User = "{case.metadata.user}"'),
    Setting("target.request", "target.request", "mapping", "subject",
        help="JMESPath over our request body, for an API of another shape"),
    Setting("target.response", "target.response", "mapping", "subject",
        help="JMESPath over the API's reply, for an API of another shape"),
    Setting("target.stream", "target.stream", "choice", "subject",
        choices=("off", "sse", "ndjson", "text"),
        help="format of a reply that comes as a stream, or as plain text"),
    Setting("target.first_token", "target.first_token", "text", "effort",
        help="JMESPath over one event of a stream: whether it is the first part of the answer"),
    Setting("target.last_event", "target.last_event", "text", "subject",
        help="JMESPath over one event of a stream: whether it ends the stream"),
    Setting("target.connect_timeout_s", "target.connect_timeout", "number", "effort", minimum=0,
        above_minimum=True,
        help="seconds to wait for a connection"),
    Setting("target.read_timeout_s", "target.read_timeout", "number", "effort", minimum=0,
        above_minimum=True,
        help="seconds to wait between two pieces of a reply (default: the whole timeout)"),
    Setting("target.retries", "target.retries", "integer", "effort", minimum=0,
        help="attempts after the first, on 408, 429, 5xx and connection errors"),
    Setting("target.trace", "target.trace", "boolean", "nothing",
        help="send a traceparent header with each question of a run (default: true)"),
    Setting("target.trace_url", "target.trace_url", "trace_url", "nothing",
        help='address of a trace, as in "https://traces.example.com/{trace_id}", for links'),
    Setting("judging.spot_check_model", "judge.spot_check_model", "text", "nothing",
        help="second judge of the spot check (default: the same with the alternate wording)"),
    Setting("judging.temperature", "judge.temperature", "number", "judged", minimum=0,
        alias="temperature",
        help="sampling temperature of the judge"),
    Setting("judging.seed", "judge.seed", "integer", "judged",
        help="sampling seed of the judge"),
    Setting("judging.max_tokens", "judge.max_tokens", "integer", "judged", minimum=1,
        help="longest reply of the judge in tokens"),
    Setting("judging.timeout_s", "judge.timeout", "number", "nothing", minimum=0,
        above_minimum=True,
        help="seconds one attempt of the judge may take"),
    Setting("judging.retries", "judge.retries", "integer", "nothing", minimum=0,
        help="attempts of the judge after the first"),
    Setting("judging.extra_body", "judge.extra_body", "extra_body", "judged",
        help="further fields of a request to the judge, as in { reasoning_effort = 'low' }"),
    Setting("judging.structured_output", "judge.structured_output", "choice", "judged",
        choices=("auto", "json_schema", "json_object", "text"),
        help="how the format of a verdict is requested"),
    Setting("judging.requests_per_minute", "judge.requests_per_minute", "number", "nothing",
        minimum=0, above_minimum=True,
        help="requests to the judge per minute, over all processes"),
    Setting("judging.tokens_per_minute", "judge.tokens_per_minute", "number", "nothing", minimum=0,
        above_minimum=True,
        help="tokens to and from the judge per minute, over all processes"),
    Setting("judging.input_per_mtok", "judge.input_per_mtok", "number", "nothing", minimum=0,
        help="US dollars per million tokens sent to the judge"),
    Setting("judging.output_per_mtok", "judge.output_per_mtok", "number", "nothing", minimum=0,
        help="US dollars per million tokens of the judge's replies"),
    Setting("judging.client", "judge.client", "text", "nothing",
        help="module:name of a judge in Python, or of a function that makes one"),
    Setting("judging.openai_client", "judge.openai_client", "text", "nothing",
        help="module:name of an AsyncOpenAI or AsyncAzureOpenAI that carries the requests to the "
             "judge, or of a function that makes one"),
    Setting("documents_path", "documents.path", "text", "nothing",
        help="where below the target's URL documents of a set are put and deleted"),
    Setting("documents_loader", "documents.loader", "text", "nothing",
        help="module:function that returns the text of a document that a set names by a ref"),
    # Their metrics are compared by definition.
    Setting("plugins", "plugins", "texts", "nothing",
        help="modules with metrics of your own, or installed packages that register some"),
    Setting("metric_timeout_s", "metric_timeout_s", "number", "nothing",
        minimum=0, above_minimum=True,
        help="seconds that a metric of your own may take for one case (default: 10)"),
    Setting("dataset_version", "versions.dataset", "text", "subject",
        help="name of the dataset's version"),
    Setting("index_build_version", "versions.index_build", "text", "subject",
        help="name of the index build"),
    Setting("retriever_version", "versions.retriever", "text", "subject",
        help="name of the retriever's version"),
    Setting("answerer_version", "versions.answerer", "text", "subject",
        help="name of the answerer's version"),
    # --- derived, never set
    # A path of one machine is useless on another and may name its user.
    Setting("rootdir", "", "derived", "nothing", stored=False),
    Setting("origins", "", "derived", "nothing"),
    # From thresholds.toml. Not compared: stored outcomes are decided again by one rule.
    Setting("judged_on", "", "derived", "nothing"),
)
# fmt: on
"""Every setting; those with a flag in the order of ``--help``, invariants in that of a
comparison."""

OPTIONS: Final = tuple(setting for setting in SETTINGS if setting.kind != "derived")
"""Settings that a user can set."""

VERSIONS: Final = tuple(one.name for one in SETTINGS if one.key.startswith("versions."))
"""Versions of an experiment; ideally one of them differs between two compared runs."""
