"""Answers questions (docs/target.md#an-http-api), and manages documents added to the vault.

A follow-up question is searched in full, by words alone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from typing import Any

from pytest_rageval.server.answer import (
    ANSWERER_VERSION,
    COMPARED_CHUNKS,
    Answer,
    abstain,
    answer_from,
    note_date,
)
from pytest_rageval.server.chunking import Chunk
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.index import Index, build_index, open_index
from pytest_rageval.server.requests import AskQuery
from pytest_rageval.server.retrieval import Hit, Retrieval, retrieve
from pytest_rageval.server.terms import words
from pytest_rageval.server.upstream import PROMPT_VERSION, Endpoint, generate
from pytest_rageval.server.vault import Note, content_findings, finding_lines, read_vault

_REFERS = frozenset(
    "it its itself that this they them their theirs there those these then one ones he she him her "
    "his hers same else".split()
)
_CONTINUES = frozenset("and but so or also otherwise why".split())
_SHORT = 4
"""A question of at most so many words is taken to continue the one before."""


def in_full(question: str, before: Sequence[str]) -> str:
    """Return a question with the one before it in front, if it refers to it.

    It does if it has a pronoun such as *it* or *that*, begins with *and* or another word that
    continues, or is very short. Only one question is taken, so a topic that was named earlier is
    lost, as it is in many chatbots.

    Args:
        question: of the user.
        before: the user's questions before it, in order.

    >>> in_full("And how long does that take?", ["How do I get a refund?"])
    'How do I get a refund? And how long does that take?'
    """
    said = words(question)
    refers = not _REFERS.isdisjoint(said) or (said[:1] and said[0] in _CONTINUES)
    return f"{before[-1]} {question}" if before and (refers or len(said) <= _SHORT) else question


_log = logging.getLogger("rageval.reference")


class ReferenceEngine:
    """A vault, its index and an answerer; its methods may be called from several threads."""

    def __init__(self, config: ReferenceConfig) -> None:
        """Read the vault and load or build its index.

        Raises:
            VaultError: The vault is not a readable folder.
            UpstreamError: The embedding endpoint failed.
        """
        self.config = config
        vault = read_vault(config.vault)
        self._notes = {note.rel_path: note for note in vault.notes}
        self._findings = vault.findings
        self._overlay: dict[str, Note] = {}
        self._vault_index = self._with_warnings(open_index(config, vault.notes), vault.notes)
        for warning in self._vault_index.coverage["warnings"]:
            _log.warning("vault %s: %s", config.effective_vault_name, warning)
        self.index = self._vault_index
        """The current one, which is replaced as a whole."""
        self._update_lock = threading.Lock()

    def ask(self, query: AskQuery, *, debug: bool) -> dict[str, Any]:
        """Answer a question.

        Returns:
            The response body; `debug` is in it only when asked for.

        Raises:
            UpstreamError: A configured model endpoint failed.
        """
        started = time.perf_counter()
        index = self.index
        before = [message.content for message in query.history if message.role == "user"]
        query = query.model_copy(update={"question": in_full(query.question, before)})
        found = retrieve(index, query)
        retrieved = time.perf_counter()
        chunks = [hit.chunk for hit in found.hits]
        answer = self._answer(query, chunks, index)
        done = time.perf_counter()
        response: dict[str, Any] = {
            "answer": answer.text,
            "references": [_reference(chunks[position]) for position in answer.cited],
            "abstained": answer.abstained,
            "abstain_reason": answer.abstain_reason,
        }
        if debug:
            latency = {
                **found.latency,
                "generation_ms": (done - retrieved) * 1000,
                "total_ms": (done - started) * 1000,
            }
            response["debug"] = self._debug(found, index, latency)
        return response

    def put_documents(self, notes: Sequence[Note]) -> int:
        """Add documents to the vault, replacing those of the same path; files are not changed.

        Returns:
            Number of documents now added to the vault.

        Raises:
            UpstreamError: The embedding endpoint failed; nothing is changed.
        """
        with self._update_lock:
            overlay = {**self._overlay, **{note.rel_path: note for note in notes}}
            self._replace_overlay(overlay)
            return len(overlay)

    def delete_documents(self, scope_prefix: str) -> int:
        """Remove the documents added under a scope, never a file of the vault.

        Returns:
            Number of removed documents.
        """
        with self._update_lock:
            kept = {p: n for p, n in self._overlay.items() if not p.startswith(scope_prefix)}
            removed = len(self._overlay) - len(kept)
            if removed:
                self._replace_overlay(kept)
            return removed

    def _replace_overlay(self, overlay: dict[str, Note]) -> None:
        """Replace the index atomically: a question sees all of an update or none of it."""
        if overlay:
            merged = {**self._notes, **overlay}
            notes = [merged[path] for path in sorted(merged)]
            index = self._with_warnings(build_index(self.config, notes, known=self.index), notes)
        else:
            index = self._vault_index
        self._overlay, self.index = overlay, index

    def _with_warnings(self, index: Index, notes: Sequence[Note]) -> Index:
        """Return the index with findings, also about files of the folder that are not in it."""
        lines = finding_lines([*self._findings, *content_findings(notes, index.chunks)])
        return replace(index, coverage={**index.coverage, "warnings": lines})

    def _answer(self, query: AskQuery, chunks: Sequence[Chunk], index: Index) -> Answer:
        if query.folders and not chunks:
            folders = ", ".join(query.folders)
            return abstain("no passage matches the question", f" in the folders {folders}")
        if self.config.llm_url:
            endpoint = Endpoint(
                url=self.config.llm_url,
                model=str(self.config.llm_model),
                api_key_env=self.config.llm_api_key_env,
            )
            return generate(endpoint, query.question, chunks)
        return answer_from(query.question, chunks, index.frequencies, self._dates(chunks))

    def _dates(self, chunks: Sequence[Chunk]) -> dict[str, date]:
        """Return the dates of the notes of some chunks, by path, as far as they have one."""
        overlay = self._overlay
        notes = {
            path: overlay.get(path) or self._notes.get(path)
            for path in {c.rel_path for c in chunks[:COMPARED_CHUNKS]}
        }
        dates = {path: note_date(path, note.data) for path, note in notes.items() if note}
        return {path: day for path, day in dates.items() if day is not None}

    def _debug(self, found: Retrieval, index: Index, latency: dict[str, float]) -> dict[str, Any]:
        llm = bool(self.config.llm_url)
        return {
            "retrieved_chunks": [_chunk(hit) for hit in (*found.hits, *found.displaced)],
            "folder_selection": asdict(found.folder_selection),
            "latency": {phase: round(value, 3) for phase, value in latency.items()},
            "indexing_coverage": index.coverage,
            "models": {
                "llm_model": self.config.llm_model if llm else ANSWERER_VERSION,
                "embedding_model": self.config.embedding_model,
                "prompt_version": PROMPT_VERSION if llm else ANSWERER_VERSION,
            },
        }


def _reference(chunk: Chunk) -> dict[str, Any]:
    return {
        "vault": chunk.vault,
        "rel_path": chunk.rel_path,
        "heading_path": chunk.heading_path,
        "chunk_index": chunk.chunk_index,
    }


def _chunk(hit: Hit) -> dict[str, Any]:
    found = {**asdict(hit.chunk), **asdict(hit)}
    for name in ("chunk", "vault", "chunk_index", "start_byte", "end_byte"):
        del found[name]
    return found
