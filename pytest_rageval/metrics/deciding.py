"""Decisions on retrieved chunks: the anchors of a case that each matches, and by which rule.

In mode ``heading`` headings decide. In mode ``auto`` the first rule decides that chunk and anchor
allow: heading, snippet, pages, document (docs/matching.md#matching). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from pytest_rageval.metrics.matching import (
    anchor_segments,
    citation_points_into,
    document_key,
    matches_anchor,
    matches_section,
    norm_heading,
    norm_path,
    order_chunks,
    same_document,
    vaults_agree,
)
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord, Reported, ScoreSettings
from pytest_rageval.values.reply import MATCH_RULES, Citation, MatchRule, RetrievedChunk
from pytest_rageval.values.settings import MatchingMode

UNDECIDED: Final = "undecided"
"""Name, beside the rules, of chunks that no rule can compare with an anchor of the case."""
_BY_HEADING: Final[tuple[MatchRule, ...]] = ("heading",)
_NO_GOLDS: Final[frozenset[int]] = frozenset()


def anchors_of(case: Case) -> tuple[Anchor, ...]:
    """Return the gold and the irrelevant supports of a case."""
    return case.gold_supports + case.irrelevant_supports


def reads_snippets(case: Case, settings: ScoreSettings) -> bool:
    """Return whether the rule of headings, too, depends on the texts of chunks."""
    in_use = settings.snippets != "off" or settings.coarse_chunks
    return in_use and any(anchor.snippets for anchor in anchors_of(case))


def has_whole_text(chunk: RetrievedChunk) -> bool:
    """Return whether a chunk has its text, and not only the beginning."""
    return chunk.text is not None and not chunk.text_truncated


def has_heading(chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    """Return whether a chunk reports its heading.

    An empty one is text before the first heading, unless no chunk of the run has another.
    """
    known = settings.headings_reported and chunk.heading_path is not None
    return known or bool(norm_heading(chunk.heading_path))


@dataclass(slots=True, kw_only=True)
class ReportedParts:
    """Collects which parts the replies of a run have at all; without chunks all of them count."""

    chunks: bool = False
    headings: bool = False
    texts: bool = False
    pages: bool = False
    citations: bool = False
    citations_in_text: bool = False

    def add(self, chunks: Iterable[RetrievedChunk]) -> None:
        """Take the chunks of one reply."""
        for chunk in chunks:
            self.chunks = True
            self.headings = self.headings or bool(norm_heading(chunk.heading_path))
            self.texts = self.texts or has_whole_text(chunk)
            self.pages = self.pages or bool(chunk.pages)

    def extend(self, other: ReportedParts) -> None:
        """Take the replies that another one has seen."""
        for name, seen in asdict(other).items():
            setattr(self, name, seen or getattr(self, name))

    def found(self) -> Reported:
        """Return the facts."""
        none = not self.chunks
        return Reported(
            headings=self.headings or none,
            texts=self.texts or none,
            pages=self.pages or none,
            citations=self.citations,
            citations_in_text=self.citations_in_text,
        )


def rule_for(anchor: Anchor, chunk: RetrievedChunk, settings: ScoreSettings) -> MatchRule | None:
    """Return the rule that compares a chunk with an anchor of its document; None: none can.

    Args:
        anchor: gold or irrelevant support.
        chunk: of its document, with its whole text if that is known.
        settings: ``matching_mode`` and ``headings_reported`` are used.
    """
    if settings.matching_mode == "heading":
        return "heading"
    section = bool(anchor_segments(anchor))
    if (section or not anchor.pages) and has_heading(chunk, settings):
        return "heading"
    if anchor.snippets and has_whole_text(chunk):
        return "snippet"
    if anchor.pages and chunk.pages:
        return "pages"
    if not section and not anchor.pages:
        return "document"
    # Where others have a heading, a chunk without one is text before the first.
    return "heading" if section and settings.headings_reported else None


def matches_by(
    rule: MatchRule, anchor: Anchor, chunk: RetrievedChunk, settings: ScoreSettings
) -> bool:
    """Return whether a chunk matches an anchor of its document by a rule."""
    match rule:
        case "heading":
            return matches_anchor(anchor, chunk, settings)
        case "snippet":
            # Its patterns take long to compile, and only chunks without headings need them.
            from pytest_rageval.metrics.quotes import holds_quote

            found = (holds_quote(snippet, chunk.text or "") for snippet in anchor.snippets)
            return all(found) if settings.snippets == "all" else any(found)
        case "pages":
            return not set(anchor.pages).isdisjoint(chunk.pages or ())
        case "document":
            return True


def is_at(anchor: Anchor, chunk: RetrievedChunk, settings: ScoreSettings) -> bool | None:
    """Return whether a chunk matches an anchor by the first rule that applies; None: none does."""
    case = settings.path_case
    if not same_document(document_key(anchor, case), document_key(chunk, case)):
        return False
    rule = rule_for(anchor, chunk, settings)
    return None if rule is None else matches_by(rule, anchor, chunk, settings)


class _Decider:
    """Comparison of chunks with the anchors of one case, which are normalised once."""

    def __init__(self, case: Case, settings: ScoreSettings) -> None:
        self._settings = settings
        self._path_case = settings.path_case
        self._golds = case.gold_supports
        self._anchors = anchors = anchors_of(case)
        # Most chunks are from documents without an anchor.
        self._paths = [norm_path(anchor.rel_path, self._path_case) for anchor in anchors]
        self._reads_snippets = reads_snippets(case, settings)
        self._by_page = _some_only_page(case)
        self._texts_needed: list[tuple[int, ...]] = []
        if settings.matching_mode != "heading" and not settings.headings_reported:
            # As with headings, a missing text is missing whatever the document of its chunk.
            self._texts_needed = [
                anchor.pages
                for anchor in anchors
                if anchor.snippets and (anchor_segments(anchor) or anchor.pages)
            ]

    def decide(self, chunk: RetrievedChunk) -> RetrievedChunk:
        path = norm_path(chunk.rel_path, self._path_case)
        if (chunk.text is None or chunk.text_truncated) and self._lacks_text(chunk):
            return chunk
        if path not in self._paths:
            return replace(chunk, matched_golds=(), irrelevant=False, matched_by=None)
        if self._settings.matching_mode == "heading" or (
            not self._by_page and has_heading(chunk, self._settings)
        ):
            return self._by_headings(chunk, path)
        return self._by_rules(chunk)

    def _lacks_text(self, chunk: RetrievedChunk) -> bool:
        """Return whether a chunk without a text needs it, or was decided when it had one."""
        if self._reads_snippets or "snippet" in (chunk.matched_by or ()):
            return True
        unread = self._texts_needed and not has_heading(chunk, self._settings)
        return bool(unread) and any(not (chunk.pages and pages) for pages in self._texts_needed)

    def _by_headings(self, chunk: RetrievedChunk, path: str) -> RetrievedChunk:
        anchors = self._anchors
        same = [
            index
            for index, (own, anchor) in enumerate(zip(self._paths, anchors, strict=True))
            if own == path and vaults_agree(anchor.vault, chunk.vault)
        ]
        if not same:
            return replace(chunk, matched_golds=(), irrelevant=False, matched_by=None)
        at = [index for index in same if matches_section(anchors[index], chunk, self._settings)]
        golds, irrelevant = tuple(at), False
        if at and at[-1] >= len(self._golds):
            golds = tuple([index for index in at if index < len(self._golds)])
            # The more specific anchor wins; on a tie the irrelevant one.
            deepest_bad = max(len(anchor_segments(anchors[i])) for i in at[len(golds) :])
            deepest_gold = max((len(anchor_segments(anchors[i])) for i in golds), default=-1)
            irrelevant = deepest_bad >= deepest_gold
        matched = () if irrelevant else golds
        return replace(chunk, matched_golds=matched, irrelevant=irrelevant, matched_by=_BY_HEADING)

    def _by_rules(self, chunk: RetrievedChunk) -> RetrievedChunk:
        used: set[MatchRule] = set()
        golds, best_gold, best_bad = [], (-1, False), (-1, False)
        key = document_key(chunk, self._path_case)
        n_golds = len(self._golds)
        for index, anchor in enumerate(self._anchors):
            if not same_document(document_key(anchor, self._path_case), key):
                continue
            rule = rule_for(anchor, chunk, self._settings)
            if rule is None:
                return replace(chunk, matched_golds=None, irrelevant=None, matched_by=None)
            used.add(rule)
            if not matches_by(rule, anchor, chunk, self._settings):
                continue
            # The more specific anchor wins, then the more specific rule.
            precision = len(anchor_segments(anchor)), rule in {"snippet", "pages"}
            if index < n_golds:
                golds.append(index)
                best_gold = max(best_gold, precision)
            else:
                best_bad = max(best_bad, precision)
        irrelevant = best_bad[0] >= 0 and best_bad >= best_gold
        rules = tuple([rule for rule in MATCH_RULES if rule in used]) or None
        matched = () if irrelevant else tuple(golds)
        return replace(chunk, matched_golds=matched, irrelevant=irrelevant, matched_by=rules)


def headings_decide(case: Case, chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    """Return whether headings compare a chunk with every anchor of a case."""
    compared = has_heading(chunk, settings) and not _some_only_page(case)
    return compared or settings.matching_mode == "heading"


def _some_only_page(case: Case) -> bool:
    """Return whether an anchor is pages of a document, whatever their heading."""
    return any(anchor.pages and not anchor_segments(anchor) for anchor in anchors_of(case))


def cited_golds(
    citation: Citation, case: Case, chunks: Sequence[RetrievedChunk], settings: ScoreSettings
) -> frozenset[int] | None:
    """Return the golds that a citation points into; None: its chunk cannot be compared with them.

    Args:
        citation: one that names a chunk points into the golds that the chunk matches.
        case: the case with the golds.
        chunks: decided, in rank order.
        settings: matching settings of the run.
    """
    rank = citation.chunk_rank
    if rank is not None and 1 <= rank <= len(chunks):
        found = chunks[rank - 1].matched_golds
        unknown = found is None or unreadable_anchor(case, settings) is not None
        return None if unknown else frozenset(found or ())
    if citation.rel_path is None:
        return _NO_GOLDS
    golds, path_case = case.gold_supports, settings.path_case
    return frozenset(
        [i for i, gold in enumerate(golds) if citation_points_into(citation, gold, path_case)]
    )


def decide_chunks(
    case: Case, chunks: Sequence[RetrievedChunk], settings: ScoreSettings
) -> tuple[RetrievedChunk, ...]:
    """Return the chunks in rank order, with ``matched_golds``, ``irrelevant`` and ``matched_by``.

    If a text is needed and a chunk has none, or only the beginning, an earlier decision, made with
    the text, is kept; without one the fields stay None: it cannot be decided.

    Args:
        case: the case with the anchors.
        chunks: in any order.
        settings: matching settings of the run.
    """
    decider = _Decider(case, settings)
    return tuple([decider.decide(chunk) for chunk in order_chunks(chunks)])


def unreadable_anchor(case: Case, settings: ScoreSettings) -> str | None:
    """Return the reason why an anchor of a case cannot be compared in a run; None: all can.

    It depends on the parts that the run reports, never on which chunks came back.
    """
    auto = settings.matching_mode == "auto"
    if settings.headings_reported and not names_pages(case):
        return None
    for anchor in anchors_of(case):
        section = bool(anchor_segments(anchor))
        needs = {"a heading": settings.headings_reported} if section else {}
        if auto and anchor.snippets and (section or anchor.pages):
            needs["its whole text"] = settings.texts_reported
        if auto and anchor.pages:
            needs["its pages"] = settings.pages_reported
        if any(needs.values()) or not needs:
            continue
        if list(needs) == ["a heading"]:
            return "No chunk of the run reports a heading, and the case names one."
        *most, last = needs
        lacking = f"{', '.join(most)} or {last}" if most else last
        return f"No chunk of the run reports {lacking}, which an anchor of the case needs."
    return None


def names_pages(case: Case) -> bool:
    """Return whether any gold or irrelevant support of a case names pages."""
    return any(anchor.pages for anchor in anchors_of(case))


def relevant_facts(case: Case, reported: Reported, mode: MatchingMode) -> Reported:
    """Return the facts of a run with texts and pages reported where a case does not need them."""
    quoted, paged = needed_parts(case, reported.headings, mode)
    texts, pages = reported.texts or not quoted, reported.pages or not paged
    if (texts, pages) == (reported.texts, reported.pages):
        return reported
    return replace(reported, texts=texts, pages=pages)


def needed_parts(case: Case, headings: bool, mode: MatchingMode) -> tuple[bool, bool]:
    """Return whether the rules of a case depend on texts, and on pages, of the target's chunks.

    Args:
        case: with its anchors.
        headings: whether the target reports headings.
        mode: of matching.
    """
    paged = names_pages(case)
    if mode == "heading" or (headings and not paged):
        return False, False
    return any(anchor.snippets for anchor in anchors_of(case)), paged


def rules_of_cut(record: CaseRecord) -> list[tuple[str, ...]]:
    """Return the rules that compared each chunk in the cut of a record with anchors.

    Chunks of documents without an anchor are left out; ``undecided`` stands for those that no rule
    can compare. Records of older versions, which name no rule, were decided by headings.
    """
    found: list[tuple[str, ...]] = []
    for chunk in (record.reply.retrieved_chunks or ())[: record.k]:
        if chunk.matched_by:
            found.append(chunk.matched_by)
        elif chunk.matched_golds is None:
            found.append((UNDECIDED,))
        elif chunk.matched_golds or chunk.irrelevant:
            found.append(_BY_HEADING)
    return found
