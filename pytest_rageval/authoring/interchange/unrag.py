"""Unrag's eval datasets and reports (version "1" of both, as of unrag's ``registry/eval``).

A dataset names its documents by ``sourceId`` and puts them under a ``scopePrefix`` such as
``eval:sample:``. Here they become notes below a folder, ``eval/sample/...md``, and the questions
are asked in that folder. A report holds what was retrieved: it becomes responses that ``rageval
score`` scores again, under the same paths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_rageval.authoring.interchange.ids import DocumentPaths, UniqueIds, folder_of_prefix
from pytest_rageval.authoring.interchange.parsing import parse_json
from pytest_rageval.authoring.interchange.values import (
    CARRIED,
    COUNTED,
    KEPT,
    NOT_BLANK,
    Imported,
    Ledger,
    Source,
    SourceFile,
    keep_in_metadata,
    listed,
    unfit,
)
from pytest_rageval.metrics.matching import norm_text
from pytest_rageval.project.documents import Document
from pytest_rageval.values.lenient import items, number, part, word
from pytest_rageval.values.lenient import value as value_at

DEFAULT_TOP_K: Final = 10
"""Default of unrag."""
_THRESHOLDS: Final = {
    ("min", "hitAtK"): ("hit_at_k", ">="),
    ("min", "recallAtK"): ("recall_at_k", ">="),
    ("min", "mrrAtK"): ("mrr", ">="),
    ("max", "p95TotalMs"): ("latency_ms.p95", "<="),
}
_ROOM: Final = "unrag"


def _each(fate: str, path: str, *names: str) -> dict[str, str]:
    return {f"{path}.{name}": fate for name in names}


_RELEVANT: Final = "queries[].relevant"
_QUERY: Final = {
    "queries[].*": KEPT,
    **_each(CARRIED, "queries[]", "id", "query", "topK", "scopePrefix", "notes"),
    f"{_RELEVANT}.*": "no anchor can say it",
    **_each(COUNTED, _RELEVANT, "sourceIds", "anyOfSourceIdPrefixes", "containsText",
            "metadataKeyEquals", "chunks", "chunkMatchers"),
}  # fmt: skip
_LIMITS: Final = "defaults.thresholds"
_DATASET: Final = {
    "*": "belongs to the dataset, and no case holds it",
    **_each("unknown", "defaults", "*", "thresholds.*", "thresholds.min.*", "thresholds.max.*"),
    **_each(CARRIED, "defaults", "scopePrefix", "topK", "mode"),
    **_each(CARRIED, _LIMITS, *map(".".join, _THRESHOLDS)),
    **_QUERY,
}
_DOCUMENTS: Final = {
    "documents[].*": "unknown",
    **_each(CARRIED, "documents[]", "sourceId", "content", "loaderRef", "metadata"),
    "documents[].assets": "images, audio and the like are not sent, and no URL is fetched for them",
}
_ANEW: Final = "computed anew by rageval score"
_SETTING: Final = "a setting of the run that was reported"
_STAGES: Final = ("retrieved", "reranked")
_REPORT: Final = {
    "*": "about the run that was reported",
    "config.*": _SETTING,
    "results.*": _ANEW,
    "results.queries[].*": "that of the dataset is taken",
    "results.queries[].id": CARRIED,
    "results.queries[].rerankTopK": _SETTING,
    **_each(_ANEW, "results.queries[]", "retrieved.*", "reranked.*"),
    **_each("a response holds the total of each stage", "results.queries[]",
            "retrieved.durationsMs.*", "reranked.durationsMs.*"),
    **{
        f"results.queries[].{stage}.{name}": CARRIED
        for stage in _STAGES
        for name in ("sourceIds", "durationsMs.totalMs")
    },
}  # fmt: skip


def read(source: Source) -> Imported:
    """Read datasets, reports, or a report with its dataset.

    Raises:
        DatasetError: a file is neither, or lacks required fields.
    """
    reader = _Reader(source)
    datasets, reports = [], []
    for file in source.files:
        value = parse_json(file, reader.ledger)
        if isinstance(value_at(value, "queries"), list):
            datasets.append((file, value))
        elif isinstance(value_at(value, "results", "queries"), list):
            reports.append((file, value))
        else:
            expected = "a dataset of unrag with a list of queries, or a report of its run"
            raise unfit(file, value, expected)
    for file, value in datasets:
        reader.take_dataset(file, value)
    for file, value in reports:
        reader.take_report(file, value, with_cases=not datasets)
    return reader.ledger.close(
        cases=tuple(reader.lines),
        documents=tuple(reader.documents),
        scope_prefix=reader.scope if reader.documents else None,
        responses=tuple(reader.responses),
        thresholds=reader.thresholds,
    )


class _Reader:
    def __init__(self, source: Source) -> None:
        self._options = source.options
        self.ledger = Ledger()
        self.lines: list[dict[str, Any]] = []
        self.documents: list[Document] = []
        self.responses: list[dict[str, Any]] = []
        self.thresholds: dict[str, str] = {}
        self.scope: str | None = None
        self._ids = UniqueIds()
        self._case_ids: dict[str, str] = {}
        self._contents: dict[str, tuple[str, Mapping[str, Any]]] = {}
        """By source id: text and metadata of a document."""
        self._paths: dict[str, DocumentPaths] = {}

    # --- a dataset

    def take_dataset(self, file: SourceFile, value: dict[str, Any]) -> None:
        defaults = part(value, "defaults")
        if not isinstance(defaults.get("scopePrefix"), str):
            raise unfit(file, defaults.get("scopePrefix"), "a text", field="defaults.scopePrefix")
        prefix, top_k = defaults["scopePrefix"].strip(), defaults.get("topK")
        self.ledger.note(
            "the dataset judges retrieval alone: run it with --retrieval-only, or without a judge"
        )
        fates = _DATASET | _DOCUMENTS
        if defaults.get("mode") == "retrieve+rerank":
            why = "how a target retrieves is its own; say it with --rag-param rerank=true"
            fates["defaults.mode"] = why
        if self._options.ids == "keep":
            why = "with --ids keep the documents are the target's already"
            fates = _DATASET | {"documents[]": why}
        self.ledger.account(value, fates)
        self._take_documents(file, value.get("documents") or [], prefix)
        for (side, name), (metric, sign) in _THRESHOLDS.items():
            limit = value_at(defaults, "thresholds", side, name)
            if limit is None:
                continue
            if isinstance(limit, bool) or not isinstance(limit, int | float):
                where = f"{_LIMITS}.{side}.{name}"
                raise unfit(file, limit, "a number", field=where)
            self.thresholds[metric] = f"{sign} {limit}"
        for index, query in enumerate(value["queries"]):
            self._take_query(file, f"queries[{index}]", query, prefix, top_k)

    def _take_documents(self, file: SourceFile, documents: Any, prefix: str) -> None:
        if not isinstance(documents, list):
            raise unfit(file, documents, "a list", field="documents")
        for index, given in enumerate(documents):
            where = f"documents[{index}]"
            source_id = _text(file, given, where, "sourceId")
            if not source_id.startswith(prefix):
                expected = f"an id below the scope prefix {prefix!r}"
                raise unfit(file, source_id, expected, field=f"{where}.sourceId")
            content, ref = word(given, "content"), word(given, "loaderRef")
            metadata = part(given, "metadata")
            self._contents[source_id] = content or "", metadata
            if self._options.ids == "keep":
                continue
            if content is None and ref is None:
                raise unfit(file, None, "content or loaderRef", field=where)
            has_text = content is not None and bool(content.strip())
            self.documents.append(
                Document(
                    rel_path=self._doc_path(source_id, prefix),
                    text=content if has_text else None,
                    ref=None if has_text else ref,
                    source_id=source_id,
                    metadata=metadata,
                )
            )

    # --- a query, of a dataset or of a report

    def _take_query(self, file: SourceFile, where: str, query: Any, prefix: str, top_k: Any) -> str:
        raw_id, question = _text(file, query, where, "id"), _text(file, query, where, "query")
        case_id = self._case_ids[raw_id] = self._ids.take(raw_id, question)
        line: dict[str, Any] = {"id": case_id, "question": question}
        if "scopePrefix" in query:
            prefix = _text(file, query, where, "scopePrefix")
        line |= self._golds(file, f"{where}.relevant", query, prefix)
        k = query.get("topK", DEFAULT_TOP_K if top_k is None else top_k)
        if isinstance(k, bool) or not isinstance(k, int | float):
            raise unfit(file, k, "a number", field=f"{where}.topK")
        line["k"] = max(1, int(k))
        if folder := self._folder(prefix):
            line["folders"] = [folder.rstrip("/")]
        if isinstance(query.get("notes"), str):
            line["notes"] = query["notes"]
        if case_id != raw_id:
            keep_in_metadata(line, _ROOM, "id", raw_id)
        for name in query:
            if f"queries[].{name}" not in _QUERY and name != "relevant":
                keep_in_metadata(line, _ROOM, name, query[name])
        self.lines.append(line)
        return case_id

    def _golds(
        self, file: SourceFile, where: str, query: Mapping[str, Any], prefix: str
    ) -> dict[str, Any]:
        relevant = query.get("relevant")
        if not isinstance(relevant, dict):
            raise unfit(file, relevant, "an object", field=where)
        for name in ("sourceIds", "anyOfSourceIdPrefixes"):
            for index, one in enumerate(listed(relevant.get(name))):
                if not isinstance(one, str) or not one.strip():
                    raise unfit(file, one, NOT_BLANK, field=f"{where}.{name}[{index}]")
        golds = _Golds(self.ledger)
        golds.need(listed(relevant.get("sourceIds")))
        for begin in listed(relevant.get("anyOfSourceIdPrefixes")):
            fits = [one for one in self._contents if one.startswith(begin)]
            golds.take_any("anyOfSourceIdPrefixes[]", fits)
        matchers = [relevant, *listed(relevant.get("chunks"))]
        for matcher in [*matchers, *listed(relevant.get("chunkMatchers"))]:
            if not isinstance(matcher, dict):
                self.ledger.leave(f"{_RELEVANT}.chunks[]", "not an object")
                continue
            for text in listed(matcher.get("containsText")):
                golds.take_text(text, self._contents)
            for key, value in part(matcher, "metadataKeyEquals").items():
                fits = [s for s, (_, about) in self._contents.items() if about.get(key) == value]
                golds.take_any("metadataKeyEquals", fits)
        return golds.fields(lambda source_id: self._doc_path(source_id, prefix))

    def _folder(self, prefix: str) -> str:
        if self._options.ids == "keep":
            return prefix
        return self._options.scope_prefix or folder_of_prefix(prefix)

    def _doc_path(self, source_id: str, prefix: str) -> str:
        if self._options.ids == "keep":
            return source_id
        folder = self._folder(prefix)
        self.scope = self.scope or folder
        if prefix not in self._paths:
            self._paths[prefix] = DocumentPaths(prefix, folder)
        return self._paths[prefix].path(source_id)

    # --- a report

    def take_report(self, file: SourceFile, value: dict[str, Any], *, with_cases: bool) -> None:
        config, taken = part(value, "config"), []
        for index, query in enumerate(value["results"]["queries"]):
            where = f"results.queries[{index}]"
            raw_id = _text(file, query, where, "id")
            prefix = str(query.get("scopePrefix") or config.get("scopePrefix") or "").strip()
            if with_cases:
                asked = {name: query[name] for name in query.keys() - {*_STAGES, "rerankTopK"}}
                case_id = self._take_query(file, where, asked, prefix, config.get("topK"))
            else:
                case_id = self._case_ids.get(raw_id, "")
            if not case_id:
                self.ledger.leave("results.queries[]", "the dataset has no query of this id")
                continue
            self.responses.append({"id": case_id, "response": self._response(query, prefix)})
            taken.append(query)
        own = {f"results.{path}": fate for path, fate in _QUERY.items()} if with_cases else {}
        results = {**value["results"], "queries": taken}
        self.ledger.account({**value, "results": results}, _REPORT | own)

    def _response(self, query: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        before, after = (
            items(query, "retrieved", "sourceIds"),
            value_at(query, "reranked", "sourceIds"),
        )
        chunks = []
        for rank, source_id in enumerate(before if after is None else listed(after), 1):
            chunk = {"rel_path": self._doc_path(str(source_id), prefix), "rank": rank}
            if after is not None and source_id in before:
                chunk["rank_before_rerank"] = before.index(source_id) + 1
            chunks.append(chunk)
        names = dict(zip(("retrieval_ms", "rerank_ms"), _STAGES, strict=True))
        latency = {
            name: ms
            for name, stage in names.items()
            if (ms := number(query, stage, "durationsMs", "totalMs")) is not None
        }
        if latency:
            latency["total_ms"] = sum(latency.values())
        return {"answer": "", "debug": {"retrieved_chunks": chunks, "latency": latency}}


class _Golds:
    """The golds of one query, and the alternatives among them, by source id."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._snippets: dict[str, list[str]] = {}
        self._needed: list[int] = []
        self._any: list[int] = []

    def need(self, source_ids: list[str]) -> None:
        """Add documents that are all needed."""
        for source_id in source_ids:
            if self._add(source_id, self._needed):
                self._ledger.carry(f"{_RELEVANT}.sourceIds[]")
            else:
                self._ledger.leave(f"{_RELEVANT}.sourceIds[]", "is repeated in its query")

    def take_any(self, name: str, source_ids: list[str]) -> None:
        """Add documents of which any one suffices."""
        for source_id in source_ids:
            self._add(source_id, self._any)
        if source_ids:
            self._ledger.carry(f"{_RELEVANT}.{name}")
        else:
            why = "no document of the dataset fits, and an anchor names one document"
            self._ledger.leave(f"{_RELEVANT}.{name}", why)

    def _add(self, source_id: str, group: list[int]) -> bool:
        if source_id in self._snippets:
            return False
        group.append(len(self._snippets))
        self._snippets[source_id] = []
        return True

    def take_text(self, text: Any, contents: Mapping[str, tuple[str, object]]) -> None:
        """Add a snippet to the documents that contain it; to all, if the dataset has no texts."""
        name = f"{_RELEVANT}.containsText"
        if not isinstance(text, str) or not text.strip():
            self._ledger.leave(name, "no plain text: a snippet is looked for word for word")
            return
        wanted = norm_text(text)
        holders = [s for s, (content, _) in contents.items() if wanted in norm_text(content)]
        if not self._snippets:
            self.take_any("containsText", holders)
        elif contents and self._snippets.keys().isdisjoint(holders):
            self._ledger.leave(name, "no relevant document of the dataset holds it")
            return
        else:
            self._ledger.carry(name)
        for source_id, snippets in self._snippets.items():
            if (not contents or source_id in holders) and text not in snippets:
                snippets.append(text)
        self._ledger.note(
            "snippets decide about chunks without a heading, and about others only with snippets = "
            '"any" or "all" in [tool.rageval.matching]'
        )

    def fields(self, path: Callable[[str], str]) -> dict[str, Any]:
        """Return the golds, with groups for alternatives."""
        golds = [
            {"rel_path": path(source_id), **({"snippets": texts} if texts else {})}
            for source_id, texts in self._snippets.items()
        ]
        groups = [self._needed] if self._needed else []
        return {
            **({"gold_supports": golds} if golds else {}),
            **({"required_support_groups": groups + [[i] for i in self._any]} if self._any else {}),
        }


def _text(file: SourceFile, given: Any, where: str, name: str) -> str:
    value = value_at(given, name)
    if not isinstance(value, str) or not value.strip():
        raise unfit(file, value, NOT_BLANK, field=f"{where}.{name}")
    return value
