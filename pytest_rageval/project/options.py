"""The options of a run, declared once for pytest, the environment and pyproject.toml.

Nothing here reads a file or a variable: ``config`` does, and the plugin registers the flags.
Standard library alone, because pytest loads this in every project that has the plugin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Kind = Literal[
    "text", "url", "run_id", "shard", "integer", "number", "boolean", "choice", "judge",
    "texts", "gates", "params", "headers", "mapping",
]  # fmt: skip
"""How a value is read. ``shard`` is a text such as ``2/3``, ``texts`` a list of strings,
``params`` a table of JSON values, ``headers`` a table of strings, ``mapping`` one JMESPath
expression or a table of them."""

REPEATABLE: Final = frozenset({"params", "gates"})
"""Kinds whose flag may be given several times; their variable holds one value per line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One setting with all the places it can be set in."""

    setting: str
    """Field of ``Settings``; ``target.url`` for a field of ``Settings.target``, likewise
    ``judging.seed``."""
    key: str
    """Key below ``[tool.rageval]``, dotted for a key of a sub-table; empty: no such key."""
    kind: Kind
    flag: str | None = None
    """Command-line flag; None: settable in pyproject.toml alone."""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    """Smallest value allowed, itself included unless ``above_minimum``."""
    above_minimum: bool = False
    help: str

    @property
    def env(self) -> str | None:
        """Environment variable: ``RAGEVAL_`` and the flag without its ``rageval-`` prefix."""
        if self.flag is None:
            return None
        name = self.flag.lstrip("-").removeprefix("rageval-")
        return "RAGEVAL_" + name.upper().replace("-", "_")

    @property
    def dest(self) -> str:
        """Name of the parsed flag, prefixed so that no other plugin's ``--judge`` meets ours."""
        name = (self.flag or self.key).lstrip("-").removeprefix("rageval-")
        return "rageval_" + name.replace("-", "_").replace(".", "_")

    @property
    def addoption_kwargs(self) -> dict[str, Any]:
        """Keyword arguments for ``addoption`` of pytest and ``add_argument`` of argparse.

        Values stay text: ``load_settings`` reads them, so that every fault of every source
        comes in one message. An option that is not given is None.
        """
        # argparse formats help with "%".
        shared: dict[str, Any] = {"dest": self.dest, "default": None}
        shared["help"] = f"{self.help} [{self.env}]".replace("%", "%%")
        if self.kind == "boolean":
            return {**shared, "action": "store_true"}
        action = "append" if self.kind in REPEATABLE else "store"
        metavar = self.metavar or "|".join(self.choices)
        return {**shared, "action": action, "metavar": metavar}


OPTIONS: Final[tuple[Option, ...]] = (
    # --- target
    Option(
        setting="target.url",
        key="target.url",
        kind="url",
        flag="--rag-url",
        metavar="URL",
        help="base URL of the RAG API to evaluate",
    ),
    Option(
        setting="k",
        key="k",
        kind="integer",
        flag="--rag-k",
        metavar="N",
        minimum=1,
        help="retrieval depth asked for and cutoff of the metrics (default: 5)",
    ),
    Option(
        setting="folder_mode",
        key="folder_mode",
        kind="choice",
        flag="--rag-folder-mode",
        choices=("off", "on", "on_with_fallback"),
        help="folder selection asked of the API (default: not sent)",
    ),
    Option(
        setting="vector_weight",
        key="vector_weight",
        kind="number",
        flag="--rag-vector-weight",
        metavar="W",
        minimum=0,
        help="rerank weight of vector scores (default: not sent)",
    ),
    Option(
        setting="lexical_weight",
        key="lexical_weight",
        kind="number",
        flag="--rag-lexical-weight",
        metavar="W",
        minimum=0,
        help="rerank weight of lexical scores (default: not sent)",
    ),
    Option(
        setting="params",
        key="params",
        kind="params",
        flag="--rag-param",
        metavar="KEY=VALUE",
        help="further field of the request; VALUE is a JSON scalar or text; repeatable",
    ),
    Option(
        setting="target.timeout_s",
        key="target.timeout",
        kind="number",
        flag="--rag-timeout",
        metavar="S",
        minimum=0,
        above_minimum=True,
        help="seconds one attempt may take in all (default: 60)",
    ),
    # --- judging
    Option(
        setting="judge",
        key="judge",
        kind="judge",
        flag="--judge",
        metavar="offline|none|MODEL",
        help="who judges the answers (default: offline)",
    ),
    Option(
        setting="judging.base_url",
        key="judge.base_url",
        kind="url",
        flag="--judge-base-url",
        metavar="URL",
        help="base URL of the judge's OpenAI-compatible API (default: OpenAI's)",
    ),
    Option(
        setting="judging.api_key_env",
        key="judge.api_key_env",
        kind="text",
        flag="--judge-api-key-env",
        metavar="NAME",
        help="environment variable that holds the judge's key (default: OPENAI_API_KEY)",
    ),
    Option(
        setting="judging.rubrics",
        key="judge.rubrics",
        kind="texts",
        flag="--judge-rubrics",
        metavar="NAMES",
        help="rubrics, names or files (default: groundedness,correctness)",
    ),
    Option(
        setting="judging.no_cache",
        key="judge.no_cache",
        kind="boolean",
        flag="--no-judge-cache",
        help="ask the judge again what its cache could answer",
    ),
    Option(
        setting="judging.spot_check",
        key="judge.spot_check",
        kind="integer",
        flag="--judge-spot-check",
        metavar="N",
        minimum=0,
        help="cases that a second judge judges too (default: 0)",
    ),
    Option(
        setting="judging.labels",
        key="judge.labels",
        kind="text",
        flag="--judge-labels",
        metavar="FILE",
        help="people's labels of some cases, which correct the judge's means",
    ),
    Option(
        setting="retrieval_only",
        key="retrieval_only",
        kind="boolean",
        flag="--retrieval-only",
        help="score retrieval alone: no judge, and no answer metric is gated",
    ),
    # --- the run
    Option(
        setting="results_dir",
        key="results",
        kind="text",
        flag="--rageval-results",
        metavar="DIR",
        help="folder of stored runs, relative to the rootdir (default: evals/results)",
    ),
    Option(
        setting="run_id",
        key="",
        kind="run_id",
        flag="--rageval-run-id",
        metavar="ID",
        help="name of this run's folder (default: UTC time and 4 hex digits)",
    ),
    Option(
        setting="repeats",
        key="repeats",
        kind="integer",
        flag="--rageval-repeats",
        metavar="N",
        minimum=1,
        help="how often each case is asked, which tells noise from change (default: 1)",
    ),
    Option(
        setting="resume",
        key="",
        kind="text",
        flag="--rageval-resume",
        metavar="RUN",
        help="continue in the folder of a run that did not come to its end (an id, the beginning "
        "of one, last, last~N or a path), and ask only what it lacks",
    ),
    Option(
        setting="failed_from",
        key="",
        kind="text",
        flag="--rageval-failed-from",
        metavar="RUN",
        help="select the cases that missed or erred in a stored run",
    ),
    Option(
        setting="shard",
        key="",
        kind="shard",
        flag="--rageval-shard",
        metavar="I/N",
        help="select the I-th of N parts of the set, for several machines; `rageval merge` puts "
        "their runs together",
    ),
    Option(
        setting="concurrency",
        key="concurrency",
        kind="integer",
        flag="--rageval-concurrency",
        metavar="N",
        minimum=1,
        help="HTTP requests in flight in this process, target and judge together; 1 asks strictly "
        "one by one (default: 8)",
    ),
    Option(
        setting="max_errors",
        key="max_errors",
        kind="integer",
        flag="--rageval-max-errors",
        metavar="N",
        minimum=1,
        help="connection errors or timeouts in a row before the run gives up (default: 10)",
    ),
    Option(
        setting="store_full_text",
        key="store_full_text",
        kind="boolean",
        flag="--rageval-store-full-text",
        help="store whole chunk texts instead of 200 characters of each",
    ),
    Option(
        setting="no_report",
        key="no_report",
        kind="boolean",
        flag="--rageval-no-report",
        help="write no report.html at the end; rageval report writes it at any time",
    ),
    Option(
        setting="documents_cleanup",
        key="documents.cleanup",
        kind="choice",
        flag="--rageval-cleanup",
        choices=("none", "on-success", "always"),
        help="when documents that a set brings along are deleted from the target again "
        "(default: always)",
    ),
    Option(
        setting="extra_gates",
        key="gates",
        kind="gates",
        flag="--gate",
        metavar="EXPR",
        help="further check such as 'recall_at_k>=0.9'; repeatable",
    ),
    Option(
        setting="baseline",
        key="baseline",
        kind="text",
        flag="--rageval-baseline",
        metavar="RUN",
        help="run that checks against a baseline compare with (default: that of thresholds.toml)",
    ),
    Option(
        setting="allow_regressions",
        key="allow_regressions",
        kind="boolean",
        flag="--allow-regressions",
        help="let checks against the baseline warn instead of fail",
    ),
    # --- pyproject.toml alone
    Option(
        setting="testpaths",
        key="testpaths",
        kind="texts",
        help="folders or files that hold cases, relative to the rootdir",
    ),
    Option(
        setting="target.path",
        key="target.path",
        kind="text",
        help="path and query of the request below the base URL",
    ),
    Option(
        setting="target.vault",
        key="target.vault",
        kind="text",
        help="folder of Markdown for the embedded reference server",
    ),
    Option(
        setting="target.headers",
        key="target.headers",
        kind="headers",
        help='request headers; secrets by name, as in Authorization = "env:RAG_TOKEN"',
    ),
    Option(
        setting="target.request",
        key="target.request",
        kind="mapping",
        help="JMESPath over our request body, for an API of another shape",
    ),
    Option(
        setting="target.response",
        key="target.response",
        kind="mapping",
        help="JMESPath over the API's reply, for an API of another shape",
    ),
    Option(
        setting="target.connect_timeout_s",
        key="target.connect_timeout",
        kind="number",
        minimum=0,
        above_minimum=True,
        help="seconds to wait for a connection",
    ),
    Option(
        setting="target.read_timeout_s",
        key="target.read_timeout",
        kind="number",
        minimum=0,
        above_minimum=True,
        help="seconds to wait between two pieces of a reply (default: the whole timeout)",
    ),
    Option(
        setting="target.retries",
        key="target.retries",
        kind="integer",
        minimum=0,
        help="attempts after the first, on 408, 429, 5xx and connection errors",
    ),
    Option(
        setting="judging.spot_check_model",
        key="judge.spot_check_model",
        kind="text",
        help="second judge of the spot check (default: the same under another wording)",
    ),
    Option(
        setting="judging.temperature",
        key="judge.temperature",
        kind="number",
        minimum=0,
        help="sampling temperature of the judge",
    ),
    Option(
        setting="judging.seed",
        key="judge.seed",
        kind="integer",
        help="sampling seed of the judge",
    ),
    Option(
        setting="judging.max_tokens",
        key="judge.max_tokens",
        kind="integer",
        minimum=1,
        help="longest reply of the judge in tokens",
    ),
    Option(
        setting="judging.timeout_s",
        key="judge.timeout",
        kind="number",
        minimum=0,
        above_minimum=True,
        help="seconds one attempt of the judge may take",
    ),
    Option(
        setting="judging.retries",
        key="judge.retries",
        kind="integer",
        minimum=0,
        help="attempts of the judge after the first",
    ),
    Option(
        setting="judging.structured_output",
        key="judge.structured_output",
        kind="choice",
        choices=("auto", "json_schema", "json_object", "text"),
        help="how the shape of a verdict is asked for",
    ),
    Option(
        setting="judging.requests_per_minute",
        key="judge.requests_per_minute",
        kind="number",
        minimum=0,
        above_minimum=True,
        help="requests to the judge per minute, over all processes",
    ),
    Option(
        setting="judging.tokens_per_minute",
        key="judge.tokens_per_minute",
        kind="number",
        minimum=0,
        above_minimum=True,
        help="tokens to and from the judge per minute, over all processes",
    ),
    Option(
        setting="judging.input_per_mtok",
        key="judge.input_per_mtok",
        kind="number",
        minimum=0,
        help="US dollars per million tokens sent to the judge",
    ),
    Option(
        setting="judging.output_per_mtok",
        key="judge.output_per_mtok",
        kind="number",
        minimum=0,
        help="US dollars per million tokens of the judge's replies",
    ),
    Option(
        setting="judging.cache_url",
        key="judge.cache_url",
        kind="text",
        help="SQLAlchemy URL of the judge's cache (default: cache/judge.sqlite of the cases)",
    ),
    Option(
        setting="path_case",
        key="matching.path_case",
        kind="choice",
        choices=("sensitive", "insensitive"),
        help="whether paths of golds and chunks must agree in case",
    ),
    Option(
        setting="snippets",
        key="matching.snippets",
        kind="choice",
        choices=("off", "any", "all"),
        help="whether a chunk must also hold the gold's snippets",
    ),
    Option(
        setting="coarse_chunks",
        key="matching.coarse_chunks",
        kind="boolean",
        help="whether a chunk of a parent section matches when it holds all snippets of the gold",
    ),
    Option(
        setting="documents_path",
        key="documents.path",
        kind="text",
        help="where below the target's URL documents of a set are put and deleted",
    ),
    Option(
        setting="documents_loader",
        key="documents.loader",
        kind="text",
        help="module:function that returns the text of a document that a set names by a ref",
    ),
    Option(
        setting="dataset_version",
        key="versions.dataset",
        kind="text",
        help="name of the dataset's version",
    ),
    Option(
        setting="index_build_version",
        key="versions.index_build",
        kind="text",
        help="name of the index build",
    ),
    Option(
        setting="retriever_version",
        key="versions.retriever",
        kind="text",
        help="name of the retriever's version",
    ),
    Option(
        setting="answerer_version",
        key="versions.answerer",
        kind="text",
        help="name of the answerer's version",
    ),
)
"""Every option; those with a flag in the order of ``--help``."""
