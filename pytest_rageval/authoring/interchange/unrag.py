"""Unrag's eval datasets and reports (version "1" of both, as of unrag's ``registry/eval``).

A dataset names its documents by ``sourceId`` and puts them under a ``scopePrefix`` such as
``eval:sample:``. Here they become notes below a folder, ``eval/sample/...md``, and the questions
are asked in that folder. A report holds what was retrieved: it becomes responses that ``rageval
score`` scores again, under the same paths.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final

from pytest_rageval.authoring.interchange.ids import DocumentPaths, UniqueIds, folder_of_prefix
from pytest_rageval.authoring.interchange.parsing import parse_json
from pytest_rageval.authoring.interchange.values import (
    Imported,
    Ledger,
    Source,
    SourceFile,
    fault,
    keep_in_metadata,
    listed,
)
from pytest_rageval.metrics.matching import norm_text
from pytest_rageval.project.documents import Document
from pytest_rageval.support.text import shown
from pytest_rageval.values.json_documents import part
from pytest_rageval.values.json_documents import value as value_at

DEFAULT_TOP_K: Final = 10
"""Default of unrag."""
_THRESHOLDS: Final = {
    ("min", "hitAtK"): ("hit_at_k", ">="),
    ("min", "recallAtK"): ("recall_at_k", ">="),
    ("min", "mrrAtK"): ("mrr", ">="),
    ("max", "p95TotalMs"): ("latency_ms.p95", "<="),
}
_ROOM: Final = "unrag"
_QUERY: Final = frozenset({"id", "query", "topK", "scopePrefix", "relevant", "notes"})
_STAGES: Final = ("retrieved", "reranked")
_SETTING: Final = "a setting of the run that was reported"
_ANEW: Final = "computed anew by rageval score"
_RELEVANT: Final = frozenset(
    {"sourceIds", "anyOfSourceIdPrefixes", "containsText", "metadataKeyEquals", "chunks",
     "chunkMatchers"}
)  # fmt: skip
_DOCUMENT: Final = frozenset({"sourceId", "content", "loaderRef", "metadata", "assets"})


def read(source: Source) -> Imported:
    """Read datasets, reports, or a report with its dataset.

    Raises:
        DatasetError: a file is neither, or lacks required fields.
    """
    reader = _Reader(source)
    datasets, reports = [], []
    for file in source.files:
        value = parse_json(file, reader.ledger)
        if isinstance(value, dict) and isinstance(value.get("queries"), list):
            datasets.append((file, value))
        elif isinstance(value, dict) and isinstance(value_at(value, "results", "queries"), list):
            reports.append((file, value))
        else:
            message = "expected a dataset of unrag with a list of queries, or a report of its run"
            raise fault(file.name, message)
    for file, value in datasets:
        reader.take_dataset(file, value)
    for file, value in reports:
        reader.take_report(file, value, with_cases=not datasets)
    return reader.close()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._options = source.options
        self.ledger = Ledger()
        self._ids = UniqueIds()
        self._case_ids: dict[str, str] = {}
        self._lines: list[dict[str, Any]] = []
        self._documents: list[Document] = []
        self._contents: dict[str, tuple[str, Mapping[str, Any]]] = {}
        """By source id: text and metadata of a document."""
        self._responses: list[dict[str, Any]] = []
        self._thresholds: dict[str, str] = {}
        self._paths: dict[str, DocumentPaths] = {}
        self._scope: str | None = None

    def close(self) -> Imported:
        return self.ledger.close(
            cases=tuple(self._lines),
            documents=tuple(self._documents),
            scope_prefix=self._scope if self._documents else None,
            responses=tuple(self._responses),
            thresholds=self._thresholds,
        )

    # --- a dataset

    def take_dataset(self, file: SourceFile, value: dict[str, Any]) -> None:
        defaults = value.get("defaults")
        if not isinstance(defaults, dict) or not isinstance(defaults.get("scopePrefix"), str):
            raise fault(file.name, "missing, expected a text", field="defaults.scopePrefix")
        prefix = defaults["scopePrefix"].strip()
        self.ledger.note(
            "the dataset judges retrieval alone: run it with --retrieval-only, or without a judge"
        )
        why = "belongs to the dataset, and no case holds it"
        self._leave("", value, {"defaults", "documents", "queries"}, why)
        known = {"scopePrefix", "topK", "mode", "thresholds"}
        self._leave("defaults", defaults, known, "unknown")
        if defaults.get("mode") == "retrieve+rerank":
            why = "how a target retrieves is its own; say it with --rag-param rerank=true"
            self.ledger.leave("defaults.mode", why)
        elif "mode" in defaults:
            self.ledger.carry("defaults.mode")
        self._take_documents(file, value.get("documents") or [], prefix)
        self._take_thresholds(file, defaults.get("thresholds"))
        for index, query in enumerate(value["queries"]):
            where = f"queries[{index}]"
            self._take_query(file, where, query, prefix, defaults.get("topK"))

    def _take_documents(self, file: SourceFile, documents: Any, prefix: str) -> None:
        if not isinstance(documents, list):
            raise fault(file.name, f"{shown(documents)}, expected a list", field="documents")
        for index, given in enumerate(documents):
            where = f"documents[{index}]"
            source_id = _text(file, given, where, "sourceId")
            if not source_id.startswith(prefix):
                message = f"{shown(source_id)}, expected an id below the scope prefix {prefix!r}"
                raise fault(file.name, message, field=f"{where}.sourceId")
            self._contents[source_id] = str(given.get("content") or ""), part(given, "metadata")
            self._leave("documents[]", given, _DOCUMENT, "unknown")
            if given.get("assets"):
                why = "images, audio and the like are not sent, and no URL is fetched for them"
                self.ledger.leave("documents[].assets", why)
            if self._options.ids == "keep":
                why = "with --ids keep the documents are the target's already"
                self.ledger.leave("documents[]", why)
                continue
            self._documents.append(self._document(file, where, given, source_id, prefix))

    def _document(
        self, file: SourceFile, where: str, given: Any, source_id: str, prefix: str
    ) -> Document:
        content, ref = given.get("content"), given.get("loaderRef")
        if not isinstance(content, str) and not isinstance(ref, str):
            raise fault(file.name, "expected content or loaderRef", field=where)
        for name in ("sourceId", "content", "loaderRef", "metadata"):
            if given.get(name):
                self.ledger.carry(f"documents[].{name}")
        has_text = isinstance(content, str) and bool(content.strip())
        return Document(
            rel_path=self._doc_path(source_id, prefix),
            text=content if has_text else None,
            ref=None if has_text else ref,
            source_id=source_id,
            metadata=self._contents[source_id][1],
        )

    def _take_thresholds(self, file: SourceFile, thresholds: Any) -> None:
        for (side, name), (metric, sign) in _THRESHOLDS.items():
            limit = value_at(thresholds, side, name)
            if limit is None:
                continue
            if isinstance(limit, bool) or not isinstance(limit, int | float):
                where = f"defaults.thresholds.{side}.{name}"
                raise fault(file.name, f"{shown(limit)}, expected a number", field=where)
            self._thresholds[metric] = f"{sign} {limit}"
            self.ledger.carry(f"defaults.thresholds.{side}.{name}")
        for side, limits in thresholds.items() if isinstance(thresholds, dict) else ():
            known = {name for of, name in _THRESHOLDS if of == side}
            self._leave(f"defaults.thresholds.{side}", limits, known, "unknown")

    # --- a query, of a dataset or of a report

    def _take_query(self, file: SourceFile, where: str, query: Any, prefix: str, top_k: Any) -> str:
        raw_id = _text(file, query, where, "id")
        question = _text(file, query, where, "query")
        case_id = self._ids.take(raw_id, question)
        self._case_ids[raw_id] = case_id
        line: dict[str, Any] = {"id": case_id, "question": question}
        self.ledger.carry("queries[].id")
        self.ledger.carry("queries[].query")
        own_scope = "scopePrefix" in query
        scope = _text(file, query, where, "scopePrefix") if own_scope else prefix
        line |= self._golds(file, f"{where}.relevant", query, scope)
        line["k"] = _cutoff(file, where, query, top_k)
        self.ledger.carry("queries[].topK" if "topK" in query else "defaults.topK")
        if folder := self._folder(scope):
            line["folders"] = [folder.rstrip("/")]
            self.ledger.carry("queries[].scopePrefix" if own_scope else "defaults.scopePrefix")
        if isinstance(query.get("notes"), str):
            line["notes"] = query["notes"]
            self.ledger.carry("queries[].notes")
        if case_id != raw_id:
            keep_in_metadata(line, _ROOM, "id", raw_id)
        others = {name: query[name] for name in sorted(query.keys() - _QUERY)}
        self.ledger.keep_values(line, _ROOM, others, prefix="queries[].")
        self._lines.append(line)
        return case_id

    def _golds(
        self, file: SourceFile, where: str, query: Mapping[str, Any], prefix: str
    ) -> dict[str, Any]:
        relevant = query.get("relevant")
        if not isinstance(relevant, dict):
            raise fault(file.name, f"{shown(relevant)}, expected an object", field=where)
        golds = _Golds()
        for source_id in _strings(file, where, relevant, "sourceIds"):
            if golds.add(self._doc_path(source_id, prefix), source_id, needed=True):
                self.ledger.carry("queries[].relevant.sourceIds[]")
            else:
                self.ledger.leave("queries[].relevant.sourceIds[]", "stands twice in its query")
        for begin in _strings(file, where, relevant, "anyOfSourceIdPrefixes"):
            fits = [one for one in self._contents if one.startswith(begin)]
            self._take_any(golds, prefix, "anyOfSourceIdPrefixes[]", fits)
        self._take_matchers(relevant, golds, prefix)
        self._leave("queries[].relevant", relevant, _RELEVANT, "no anchor can say it")
        return golds.fields()

    def _take_any(self, golds: _Golds, prefix: str, name: str, source_ids: Iterable[str]) -> None:
        """Add documents of which any one suffices."""
        found = [golds.add(self._doc_path(one, prefix), one, needed=False) for one in source_ids]
        if found:
            self.ledger.carry(f"queries[].relevant.{name}")
        else:
            why = "no document of the dataset fits, and an anchor names one document"
            self.ledger.leave(f"queries[].relevant.{name}", why)

    def _take_matchers(self, relevant: Mapping[str, Any], golds: _Golds, prefix: str) -> None:
        matchers = [relevant, *listed(relevant.get("chunks"))]
        matchers += listed(relevant.get("chunkMatchers"))
        for matcher in matchers:
            if not isinstance(matcher, dict):
                self.ledger.leave("queries[].relevant.chunks[]", "not an object")
                continue
            for text in listed(matcher.get("containsText")):
                self._take_text(text, golds, prefix)
            wanted = matcher.get("metadataKeyEquals")
            for key, value in wanted.items() if isinstance(wanted, dict) else ():
                fits = [s for s, (_, about) in self._contents.items() if about.get(key) == value]
                self._take_any(golds, prefix, "metadataKeyEquals", fits)

    def _take_text(self, text: Any, golds: _Golds, prefix: str) -> None:
        name = "queries[].relevant.containsText"
        if not isinstance(text, str) or not text.strip():
            self.ledger.leave(name, "no plain text: a snippet is looked for word for word")
            return
        wanted = norm_text(text)
        holders = [s for s, (held, _) in self._contents.items() if wanted in norm_text(held)]
        if not golds.source_ids:
            self._take_any(golds, prefix, "containsText", holders)
        elif self._contents and not any(one in golds.source_ids for one in holders):
            self.ledger.leave(name, "no relevant document of the dataset holds it")
            return
        else:
            self.ledger.carry(name)
        golds.add_snippet(text, among=holders if self._contents else None)
        self.ledger.note(
            "snippets decide about chunks without a heading, and about others only with snippets = "
            '"any" or "all" in [tool.rageval.matching]'
        )

    def _folder(self, prefix: str) -> str:
        if self._options.ids == "keep":
            return prefix
        return self._options.scope_prefix or folder_of_prefix(prefix)

    def _doc_path(self, source_id: str, prefix: str) -> str:
        if self._options.ids == "keep":
            return source_id
        folder = self._folder(prefix)
        self._scope = self._scope or folder
        if prefix not in self._paths:
            self._paths[prefix] = DocumentPaths(prefix, folder)
        return self._paths[prefix].path(source_id)

    # --- a report

    def take_report(self, file: SourceFile, value: dict[str, Any], *, with_cases: bool) -> None:
        config = part(value, "config")
        self._leave("", value, {"config", "results"}, "about the run that was reported")
        self._leave("config", config, (), _SETTING)
        self._leave("results", value["results"], {"queries"}, _ANEW)
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
            self._responses.append({"id": case_id, "response": self._response(query, prefix)})
            self._count_result(query, with_cases=with_cases)

    def _count_result(self, query: Mapping[str, Any], *, with_cases: bool) -> None:
        """Count the fields of a reported query that became a response."""
        where = "results.queries[]"
        if "rerankTopK" in query:
            self.ledger.leave(f"{where}.rerankTopK", _SETTING)
        if not with_cases:
            self.ledger.carry(f"{where}.id")
            known = {*_STAGES, "rerankTopK", "id"}
            self._leave(where, query, known, "that of the dataset is taken")
        for stage in filter(query.__contains__, _STAGES):
            given, name = query[stage], f"{where}.{stage}"
            if not isinstance(given, dict):
                self.ledger.leave(name, "not an object")
                continue
            if "sourceIds" in given:
                self.ledger.carry(f"{name}.sourceIds")
            self._leave(name, given, {"sourceIds", "durationsMs"}, _ANEW)
            if _number(value_at(given, "durationsMs", "totalMs")) is not None:
                self.ledger.carry(f"{name}.durationsMs.totalMs")
            why = "a response holds the total of each stage"
            self._leave(f"{name}.durationsMs", given.get("durationsMs"), {"totalMs"}, why)

    def _leave(self, where: str, given: Any, known: Container[str], why: str) -> None:
        """Count the fields of an object that are left out: all but the known ones."""
        for name in given if isinstance(given, dict) else ():
            if name not in known:
                self.ledger.leave(f"{where}.{name}" if where else name, why)

    def _response(self, query: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        before = listed(value_at(query, "retrieved", "sourceIds"))
        after = value_at(query, "reranked", "sourceIds")
        chunks = []
        for rank, source_id in enumerate(before if after is None else listed(after), 1):
            chunk = {"rel_path": self._doc_path(str(source_id), prefix), "rank": rank}
            if after is not None and source_id in before:
                chunk["rank_before_rerank"] = before.index(source_id) + 1
            chunks.append(chunk)
        latency = {
            "retrieval_ms": _number(value_at(query, "retrieved", "durationsMs", "totalMs")),
            "rerank_ms": _number(value_at(query, "reranked", "durationsMs", "totalMs")),
        }
        times = {name: ms for name, ms in latency.items() if ms is not None}
        if times:
            times["total_ms"] = sum(times.values())
        return {"answer": "", "debug": {"retrieved_chunks": chunks, "latency": times}}


class _Golds:
    """The golds of one query, and the alternatives among them."""

    def __init__(self) -> None:
        self.source_ids: list[str] = []
        self._golds: list[dict[str, Any]] = []
        self._needed: list[int] = []
        self._any: list[int] = []

    def add(self, rel_path: str, source_id: str, *, needed: bool) -> bool:
        """Add a document; False: it was already added."""
        if source_id in self.source_ids:
            return False
        (self._needed if needed else self._any).append(len(self._golds))
        self._golds.append({"rel_path": rel_path})
        self.source_ids.append(source_id)
        return True

    def add_snippet(self, text: str, *, among: list[str] | None) -> None:
        """Add a snippet to the documents that contain it; None: to all documents."""
        for source_id, gold in zip(self.source_ids, self._golds, strict=True):
            snippets = gold.setdefault("snippets", [])
            if (among is None or source_id in among) and text not in snippets:
                snippets.append(text)
            if not snippets:
                del gold["snippets"]

    def fields(self) -> dict[str, Any]:
        """Return the golds, with groups for alternatives."""
        found: dict[str, Any] = {}
        if self._golds:
            found["gold_supports"] = self._golds
        if self._any:
            groups = [self._needed] if self._needed else []
            found["required_support_groups"] = groups + [[index] for index in self._any]
        return found


# --- reading values --------------------------------------------------------------------------


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(file: SourceFile, given: Any, where: str, name: str) -> str:
    value = given.get(name) if isinstance(given, dict) else None
    if not isinstance(value, str) or not value.strip():
        came = "missing" if value is None else shown(value)
        raise fault(
            file.name, f"{came}, expected a text that is not blank", field=f"{where}.{name}"
        )
    return value


def _strings(file: SourceFile, where: str, given: Mapping[str, Any], name: str) -> Iterator[str]:
    for index, value in enumerate(listed(given.get(name))):
        if not isinstance(value, str) or not value.strip():
            message = f"{shown(value)}, expected a text that is not blank"
            raise fault(file.name, message, field=f"{where}.{name}[{index}]")
        yield value


def _cutoff(file: SourceFile, where: str, query: Mapping[str, Any], top_k: Any) -> int:
    value = query.get("topK", DEFAULT_TOP_K if top_k is None else top_k)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fault(file.name, f"{shown(value)}, expected a number", field=f"{where}.topK")
    return max(1, int(value))
