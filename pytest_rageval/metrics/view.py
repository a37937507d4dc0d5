"""View of one case shared by judge and metrics: matched chunks, citations, states of a score.

A score is a number, *not applicable* (outside the metric's population, with the reason) or
*failed* (the target or the judge failed where the metric applied). The population is decided
first, so that it never depends on the result of the case.

Citations are references and citations in the text of an answer (docs/site/metrics.toml):
``[File: path.md, Section: heading]``, ``(File: path.md, Section: heading)``,
``[path.md, Section: heading]``, ``File: path.md, Section: heading`` and numbers such as ``[1]``,
``[1, 3]`` or ``[1-3]`` that index the retrieved chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, Literal

from pytest_rageval.metrics.citation_markers import find_markers
from pytest_rageval.metrics.deciding import anchors_of, decide_chunks, headings_decide
from pytest_rageval.metrics.matching import (
    PathCase,
    Segments,
    norm_heading,
    norm_path,
    own_names,
    vaults_agree,
    with_own_names,
    without_roots,
)
from pytest_rageval.metrics.prepared import (
    BRACKETED,
    STATED,
    PreparedAnswer,
    cited_numbers,
    without_code,
)
from pytest_rageval.values.case import Case, Message
from pytest_rageval.values.record import AskedAlone, Evidence, ScoreSettings
from pytest_rageval.values.reply import (
    AskResponse,
    Citation,
    ErrorInfo,
    RetrievedChunk,
    is_empty_answer,
)


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The case is outside the metric's population."""

    reason: str
    """One short sentence for people."""
    known_by: Literal["case", "settings", "run"] = field(default="run", compare=False)
    """Source that tells it alone; ``run``: a reply or its verdicts are needed."""


class Failed(Enum):
    """The metric applied, and the target or the judge failed."""

    FAILED = "failed"


FAILED = Failed.FAILED
ANSWERABLE: Final = NotApplicable("The case is answerable.", "case")
NO_JUDGE: Final = NotApplicable("The run has no judge.")
UNANSWERABLE: Final = NotApplicable("The case is unanswerable.", "case")
_NO_GOLDS: Final = NotApplicable("The case has no gold_supports.", "case")
Score = float | NotApplicable | Failed
Scores = Mapping[str, Score]


@dataclass(slots=True, kw_only=True)
class Verdicts:
    """Verdicts of a judge on one answer. None means: asked without a valid verdict."""

    abstained: bool | None = None
    """Whether the answer abstains; read only if the target does not report it."""
    acknowledges_conflict: bool | None = None
    """Whether the answer states that its sources differ."""
    scores: Mapping[str, float | None] = field(default_factory=dict)
    """Judged metric key to raw score; None is a judge error."""
    judged_keys: frozenset[str] = frozenset()
    """Judged metric keys of the rubrics in use, besides those in ``scores``. A key in use without
    a score is an error where it applies, so pass this for failed cases too."""
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Judged metric key to the reason why the judge found it not applicable (no claims)."""
    unsure: frozenset[str] = frozenset()
    """Those of ``not_applicable`` that apply, but of which the judge is not sure."""
    evidence: Evidence | None = None
    """Key facts and claims looked up in the passages; None: not looked up."""


@dataclass(slots=True, kw_only=True)
class CaseView:
    """One case with its response, prepared once for the judge and every metric family."""

    case: Case
    settings: ScoreSettings
    response: AskResponse | None
    """Response of the target, its answer without thoughts and with citations in our own form; None:
    it failed to give one."""
    failed: bool
    """Whether the target failed or its answer was empty; the chunks and folders of an empty answer
    still count for retrieval and scope."""
    chunks: tuple[RetrievedChunk, ...] | None
    """Chunks in rank order, compared with the anchors; None: not reported."""
    citations: tuple[Citation, ...] | None
    """Distinct citations from references and answer text; None: not reported."""
    verdicts: Verdicts | None = None
    prepared: PreparedAnswer | None = None
    """The answer as delivered, with its parts; None: as in ``response``."""
    history: tuple[Message, ...] = ()
    """Messages of the conversation before the question."""
    alone: AskedAlone | None = None
    """The standalone question asked alone; None: not asked."""

    k: int = field(init=False)
    """Cutoff in delivered chunks: the case's, else the run's; where their order is not their rank,
    at least their number."""
    cut: tuple[RetrievedChunk, ...] = field(init=False)
    """The first ``k`` chunks; empty if they are not reported."""
    texts_whole: bool = field(init=False)
    """Whether every chunk in the cut came with its whole text."""

    def __post_init__(self) -> None:
        """Derive what every metric family asks for."""
        self.k = self.case.k if self.case.k is not None else self.settings.k
        if not self.settings.ranked:
            self.k = max(self.k, len(self.chunks or ()))
        self.cut = (self.chunks or ())[: self.k]
        self.texts_whole = not [c for c in self.cut if c.text is None or c.text_truncated]

    @property
    def evidence(self) -> Evidence:
        """Key facts and claims looked up in the passages; of what was not, each part is None."""
        found = None if self.verdicts is None else self.verdicts.evidence
        return found or Evidence()

    @property
    def abstained(self) -> bool | None:
        """Whether the answer abstains, by the target's flag, else by the judge; None: unknown."""
        if self.response is None:
            return None
        if self.response.abstained is not None:
            return self.response.abstained
        return self.verdicts.abstained if self.verdicts is not None else None


def view_case(
    case: Case,
    response: AskResponse | None,
    settings: ScoreSettings,
    *,
    error: ErrorInfo | None = None,
) -> CaseView:
    """Order and decide the chunks of a response and read its citations.

    Args:
        case: the question and its evidence.
        response: response of the target; None if it failed. With an empty answer (whitespace, not
            flagged as an abstention) the answer-side metrics are errors, while retrieval and scope
            are scored.
        settings: cutoff, matching and the kind of run. Chunks without full text keep an earlier
            decision in ``matched_golds`` and ``irrelevant``: clear both before scoring with other
            matching settings or another case.
        error: reason for which the target failed; required if ``response`` is None.

    Raises:
        ValueError: ``response`` and ``error`` are both None.
    """
    if response is None and error is None:
        raise ValueError(f"case {case.id!r}: expected a response or an error, got neither")
    chunks = citations = None
    prepared = None
    if response is not None:
        response = with_own_names(response, anchors_of(case), settings)
        if response.retrieved_chunks is not None:
            chunks = decide_chunks(case, response.retrieved_chunks, settings)
        prepared = prepare(response, chunks, settings)
        citations = read_citations(response, prepared, chunks, case, settings)
        abstained = says_it_abstains(response, settings)
        if (prepared.read, abstained) != (response.answer, response.abstained):
            response = replace(response, answer=prepared.read, abstained=abstained)
        if citations is None and settings.citations_reported:
            citations = ()
    return CaseView(
        case=case,
        settings=settings,
        response=response,
        failed=error is not None or response is None or is_empty_answer(response),
        chunks=chunks,
        citations=citations,
        prepared=prepared,
    )


def prepare(
    response: AskResponse, chunks: Sequence[RetrievedChunk] | None, settings: ScoreSettings
) -> PreparedAnswer:
    """Return the answer of a response with its parts, and its citations in our own form."""
    if settings.strip_root:
        response = replace(response, answer=without_roots(response.answer, settings.strip_root))
    known: list[RetrievedChunk | Citation] = [*(chunks or ()), *(response.references or ())]
    plain = PreparedAnswer(response.answer, known=known)
    markers = find_markers(
        response, chunks, settings.markers, settings.path_case, listed=plain.sources
    )
    return plain.with_markers(markers) if markers else plain


def says_it_abstains(response: AskResponse, settings: ScoreSettings) -> bool | None:
    """Return whether a response abstains, by its flag, else by the texts of the settings.

    An answer is one of these texts if its first line is, apart from courtesies, case, white space
    and what surrounds the words. Without a judge the texts alone decide.
    """
    if response.abstained is not None or not settings.abstention_texts:
        return response.abstained
    said = _first_line(PreparedAnswer(response.answer).text(STATED))
    if said and said in map(_first_line, settings.abstention_texts):
        return True
    return None if settings.judge_configured else False


def _first_line(text: str) -> str:
    lines = (_AROUND.sub("", line) for line in text.splitlines())
    return next((" ".join(line.casefold().split()) for line in lines if line), "")


def gold_population(case: Case) -> NotApplicable | None:
    """Return why a case is outside the population "answerable, at least one gold", if it is."""
    if not case.answerable:
        return UNANSWERABLE
    return None if case.gold_supports else _NO_GOLDS


# One level of nesting, because headings contain brackets: "(File: a.md, Section: Setup (Linux))".
# The limits keep an answer full of opening brackets linear.
_IN_SQUARE: Final = r"(?:[^\[\]\n]|\[[^\[\]\n]{0,200}\]){1,600}"
_IN_ROUND: Final = r"(?:[^()\n]|\([^()\n]{0,200}\)){1,600}"
_WRITTEN: Final = re.compile(
    rf"\[(?P<numbers>{BRACKETED})\]"
    rf"|\[(?P<square>\s*File\s*:{_IN_SQUARE})\]"
    rf"|\((?P<round>\s*File\s*:{_IN_ROUND})\)"
    rf"|\[(?P<bare>[^\[\]\n]{{1,300}}?,\s*Section\s*:{_IN_SQUARE})\]"
    # Without brackets it is one only with a path and a section: "File: see below" is prose.
    r"|(?<!\w)File[ \t]*:[ \t]*(?P<path>[^\n,;:()\[\]]{1,200}),[ \t]*Section[ \t]*:[ \t]*"
    r"(?P<section>(?:(?!\bFile[ \t]*:)[^()\[\]\n;]|\([^()\n]{0,200}\)|\[[^\[\]\n]{0,200}\])"
    r"{1,300})",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(r"(?<=\w{2})[.!?:](?=\s|\Z)|[,](?=\s)|\s[-\u2013\u2014]\s")
"""Ends of a section that is not within brackets, unless it is part of a retrieved heading."""
_AROUND: Final = re.compile(r"^[\W_]+|[\W_]+$")
_NEXT: Final = re.compile(
    r"[;,]\s*(?=File\s*:)|;\s*(?=[^;,]+\.\w{1,8}\s*,\s*Section\s*:)", re.IGNORECASE
)
_SECTION: Final = re.compile(r"[,;|]\s*Section\s*:", re.IGNORECASE)
_FILE: Final = re.compile(r"\s*File\s*:", re.IGNORECASE)
# Without "File:" it must look like a path: "[see above, Section: 3]" is prose.
_PATH_LIKE: Final = re.compile(r"/|\S\.\w{1,8}$")
_QUOTE_PAIRS: Final = ("``", "''", '""', "**", "__", "“”", "‘’", "«»")


def read_citations(
    response: AskResponse,
    prepared: PreparedAnswer,
    chunks: Sequence[RetrievedChunk] | None,
    case: Case,
    settings: ScoreSettings,
) -> tuple[Citation, ...] | None:
    """Return the distinct citations of a response, references first.

    Args:
        response: response of the target.
        prepared: its answer.
        chunks: its retrieved chunks in rank order; None: not reported.
        case: the case that was asked.
        settings: matching settings of the run.

    Returns:
        None if the target reports no references and its text cites nothing; empty if it reports an
        empty list.
    """
    path_case = settings.path_case
    found = list(response.references or ())
    for rank, citation in located_citations(prepared.cited, chunks, path_case):
        found.append(citation if rank is None else replace(citation, chunk_rank=rank))
    if response.references is None and not found:
        return None
    found = [*own_names(found, anchors_of(case), settings)]
    if any(citation.chunk_rank is not None for citation in found):
        found = [_by_section(citation, case, chunks or (), settings) for citation in found]
        found = _without_whole_documents(found, path_case)
    return distinct_citations(found, path_case)


def _without_whole_documents(citations: Sequence[Citation], path_case: PathCase) -> list[Citation]:
    """Drop a citation of a whole document where another one names a chunk of it.

    Many targets also list the documents of the markers in their text as references.
    """
    vaults: dict[str | None, set[str | None]] = {}  # by document of a cited chunk
    for one in citations:
        if one.chunk_rank is not None:
            vaults.setdefault(_document(one, path_case), set()).add(one.vault)

    def is_covered(citation: Citation) -> bool:
        if citation.chunk_rank is not None or norm_heading(citation.heading_path):
            return False
        found = vaults.get(_document(citation, path_case), set())
        return bool(found) and (citation.vault is None or bool(found & {None, citation.vault}))

    return [one for one in citations if not is_covered(one)]


def _document(citation: Citation, path_case: PathCase) -> str | None:
    path = citation.rel_path
    return None if path is None else norm_path(path, path_case)


def _by_section(
    citation: Citation, case: Case, chunks: Sequence[RetrievedChunk], settings: ScoreSettings
) -> Citation:
    """Return a citation of a chunk as one of its section where headings decide about the chunk."""
    rank = citation.chunk_rank
    if rank is None or (
        1 <= rank <= len(chunks) and not headings_decide(case, chunks[rank - 1], settings)
    ):
        return citation
    return replace(citation, chunk_rank=None)


def located_citations(
    answer: str, chunks: Sequence[RetrievedChunk] | None, path_case: PathCase = "sensitive"
) -> Iterator[tuple[int | None, Citation]]:
    """Yield the citations written in an answer with their rank, in order, repeats included.

    The rank, from 1, is the number of a citation that counts the chunks, even one that is out of
    range; None: the citation names a document.

    Args:
        answer: the answer, as of ``PreparedAnswer.cited``.
        chunks: retrieved chunks in rank order; None (not reported) leaves numbers unread, since
            their meaning is unknown.
        path_case: comparison of paths when a section name is looked up.
    """
    if "[" not in answer and "(" not in answer and answer.count(":") < 2:
        return  # without brackets it is "File: ..., Section: ..."
    prose = without_code(answer)
    for match in _WRITTEN.finditer(answer):
        numbers = match.group("numbers")
        if match.group("path") is not None:
            path = _unquote(match.group("path"))
            if _PATH_LIKE.search(path) and not prose[match.start()].isspace():
                section = match.group("section")
                yield None, _without_brackets(path, section, chunks or (), path_case)
        elif numbers is None:
            content = match.group("square") or match.group("round") or match.group("bare")
            yield from ((None, found) for found in _named(content, chunks or (), path_case))
        elif chunks is not None and prose[match.start()] == "[":  # "items[0]" in code is not one
            yield from ((rank, _numbered(rank, chunks)) for rank in cited_numbers(numbers))


def _numbered(number: int, chunks: Sequence[RetrievedChunk]) -> Citation:
    if not 1 <= number <= len(chunks):
        return Citation(rel_path=None)
    chunk = chunks[number - 1]
    return Citation(rel_path=chunk.rel_path, heading_path=chunk.heading_path, vault=chunk.vault)


def _named(
    content: str, chunks: Sequence[RetrievedChunk], path_case: PathCase
) -> Iterator[Citation]:
    for part in _NEXT.split(content):
        marker = _FILE.match(part)
        path, *section = _SECTION.split(part[marker.end() :] if marker else part, maxsplit=1)
        path = _unquote(path)
        if path and (marker or (section and _PATH_LIKE.search(path))):
            heading = _unquote(section[0]) if section else ""
            yield _resolve(path, heading or None, chunks, path_case)


def _without_brackets(
    path: str, text: str, chunks: Sequence[RetrievedChunk], path_case: PathCase
) -> Citation:
    """Read a citation whose section ends somewhere in the rest of its line.

    The longest part that names a retrieved section counts, else the first.
    """
    ends = [match.start() for match in _ENDS.finditer(text)][:4]
    sections = [_unquote(text[:end].rstrip(" .,")) for end in (*ends, len(text))]
    for section in reversed(sections):
        if _chunk_of(path, section, chunks, path_case) is not None:
            return _resolve(path, section, chunks, path_case)
    return Citation(rel_path=path, heading_path=sections[0] or None)


def _unquote(text: str) -> str:
    """Trim blanks and the quotes or emphasis that models put around names."""
    text = text.strip()
    while len(text) > 1 and text[0] + text[-1] in _QUOTE_PAIRS:
        text = text[1:-1].strip()
    return text


def _resolve(
    path: str, section: str | None, chunks: Sequence[RetrievedChunk], path_case: PathCase
) -> Citation:
    """Return a citation with the heading path of the retrieved chunk that it names, if any."""
    chunk = _chunk_of(path, section, chunks, path_case)
    if chunk is None:
        return Citation(rel_path=path, heading_path=section)
    return Citation(rel_path=path, heading_path=chunk.heading_path, vault=chunk.vault)


def _chunk_of(
    path: str, section: str | None, chunks: Sequence[RetrievedChunk], path_case: PathCase
) -> RetrievedChunk | None:
    """Find the retrieved chunk whose heading path ends with a section name, best rank first."""
    wanted, normal = norm_heading(section), norm_path(path, path_case)
    for chunk in chunks:
        found = norm_heading(chunk.heading_path)
        at_end = wanted and found and found[-len(wanted) :] == wanted
        if at_end and norm_path(chunk.rel_path, path_case) == normal:
            return chunk
    return None


def distinct_citations(
    citations: Iterable[Citation], path_case: PathCase = "sensitive"
) -> tuple[Citation, ...]:
    """Drop every citation with the normalised path, heading and chunk of an earlier one.

    Citations of nothing count once. Vaults distinguish citations only if both are known.
    """
    seen: dict[tuple[str | None, Segments | None, int | None], list[str | None]] = {}
    kept = []
    for citation in citations:
        heading = norm_heading(citation.heading_path)
        vaults = seen.setdefault((_document(citation, path_case), heading, citation.chunk_rank), [])
        if any(vaults_agree(vault, citation.vault) for vault in vaults):
            continue
        kept.append(citation)
        vaults.append(citation.vault)
    return tuple(kept)
