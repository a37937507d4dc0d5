"""What lies behind a case without a word that a case, a document, a model or a server wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.report.explain.values import AnchorReason, JudgementReason
from pytest_rageval.report.html.values import CaseDetail, ChunkView
from pytest_rageval.values.record import CaseRecord

_KIND: Final = re.compile("[a-z_]{1,20}")
"""A word of ours for what went wrong, unlike a message."""


def redacted(detail: CaseDetail, record: CaseRecord) -> CaseDetail:
    """Keep ids, numbers and words of our own; paths and headings are of the documents."""
    base = detail.base
    return replace(
        detail,
        question=None,
        expected_facts=(),
        expected_answer=None,
        answer=None,
        error="" if record.error is None else record.error.kind,
        abstained="abstained" if record.abstained else "",
        citations=(),
        chunks=_bare_chunks(detail.chunks),
        golds=tuple(_bare_gold(gold) for gold in detail.golds),
        judgements=tuple(_bare_judgement(one) for one in detail.judgements),
        steps=(),
        base=None
        if base is None
        else replace(base, answer=None, diff=None, chunks=_bare_chunks(base.chunks)),
    )


def _bare_chunks(chunks: Sequence[ChunkView] | None) -> tuple[ChunkView, ...] | None:
    if chunks is None:
        return None
    return tuple(replace(c, path="", heading="", text="", truncated=False) for c in chunks)


def _bare_gold(gold: AnchorReason) -> AnchorReason:
    return replace(gold, rel_path="", heading_path="", vault=None, reason="")


def _bare_judgement(one: JudgementReason) -> JudgementReason:
    claims = tuple(
        replace(c, text="", rel_path=None, heading_path=None, reason="") for c in one.claims
    )
    error = None
    if one.error is not None:
        kind = one.error.split(":", 1)[0]
        error = kind if _KIND.fullmatch(kind) else "failed"
    return replace(one, reasoning="", error=error, claims=claims, facts=())
