"""Checks of a target by two replies to one question (docs/target.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pytest_rageval.authoring.doctor.findings import Finding, Findings
from pytest_rageval.authoring.linting.findings import LintFinding
from pytest_rageval.engine.case import ask_request
from pytest_rageval.metrics.deciding import anchors_of
from pytest_rageval.metrics.matching import citation_in_chunks, norm_path, with_own_names
from pytest_rageval.metrics.prepared import PreparedAnswer
from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.support.project_code import places
from pytest_rageval.support.text import clean, counted, part, shown_json
from pytest_rageval.support.thoughts import thought_spans
from pytest_rageval.support.threads import session_loop
from pytest_rageval.target.calling import call_client, raised_error
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.target.mapping import MappingReport, unread_fields
from pytest_rageval.target.proposing import Proposal
from pytest_rageval.values.case import Case
from pytest_rageval.values.diagnoses.target import TARGET, target_advice
from pytest_rageval.values.errors import RagEvalError
from pytest_rageval.values.reply import (
    AskRequest,
    AskResponse,
    AskResult,
    ErrorInfo,
    RetrievedChunk,
)
from pytest_rageval.values.settings import REQUEST_TABLE, RESPONSE_TABLE, Settings

_FOUND: Final = Findings("target")
_UNREACHABLE: Final = frozenset({"connection", "timeout", "not_attempted"})
_TABLE: Final = "[tool.rageval.target]"
_HELP: Final = "help(pytest_rageval.AskResponse) has the fields"
_CHUNK_HELP: Final = "help(pytest_rageval.RetrievedChunk) has the fields"
_END_TAG: Final = re.compile(r"</(?:p|div|span|sup|a|li|b|strong|em|h\d)>", re.IGNORECASE)
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]|file:|https?:")


@dataclass(frozen=True, slots=True)
class AskedTwice:
    """A question that was asked twice, and the kind of client that asked it."""

    case: Case
    k: int
    """Number of chunks requested."""
    mapping: MappingReport | None = None
    """None: not over HTTP, so the client is code of the user."""
    ranked: bool = True
    """Whether the order of the chunks is their rank."""
    sent: Sequence[str] = ()
    """Fields of the body, one a line."""
    reply: Sequence[str] = ()
    """Fields of the decoded reply, one a line."""
    proposal: Proposal | None = None
    """Settings that read more of the reply."""

    def fix(self, field: str, server: str) -> str:
        """Return the advice for a field that is missing: for the mapping, the code or the server.

        Args:
            field: such as ``abstained``.
            server: advice for a server that is asked without a mapping.
        """
        if self.mapping is None:
            inner = field in {"retrieved_chunks", "latency"}
            place = f"debug.{field}, or an AskResponse with {field}," if inner else field
            return f"return {place} in your client: {_HELP}"
        if not self.mapping.response:
            return server
        if (name := self.mapping.name_of(field)) is None:
            return f"map {field} in {RESPONSE_TABLE}, if the reply has it"
        return f"change the expression of {name or 'the reply'} in {RESPONSE_TABLE}"

    def proposed(self, finding: Finding) -> Finding:
        """Return a finding with the settings that would read more as its fix, if there are any."""
        if (proposal := self.proposal) is None:
            return finding
        fix = "set the tables below in place of yours"
        if proposal.searches:
            fix += ", and retrieval_only = true in [tool.rageval], since no answer is written"
        fix += f"; tried now, they read {proposal.reads}"
        return replace(finding, fix=fix, settings=proposal.settings)

    def nothing(self, field: str) -> str:
        """Name the expression that gave nothing for a field; empty: none."""
        return "" if self.mapping is None else self.mapping.nothing(field)


def ask_case(client: object, case: Case, settings: Settings) -> tuple[AskResult, AskedTwice]:
    """Ask a client the question of a case once; exceptions of the project's code are data.

    Raises:
        ConfigError: the settings of the target are wrong.
    """
    request, rootdir = ask_request(case, settings), Path(settings.rootdir)
    asked = AskedTwice(case, request.k or settings.k, ranked=settings.ranked)
    if not isinstance(client, HttpRagClient):
        result = session_loop().run(call_client(client, request, rootdir=rootdir))
    else:
        try:
            result, asked = inspected(client, request, asked)
        except RagEvalError:
            raise
        except Exception as error:  # of the function of [tool.rageval.target] auth
            result = AskResult(response=None, error=raised_error(error, rootdir), total_ms=None)
            asked = replace(asked, mapping=MappingReport())
    if result.response is not None:
        own = with_own_names(result.response, anchors_of(case), score_settings(settings))
        result = replace(result, response=own)
    return result, asked


def inspected(
    client: HttpRagClient, request: AskRequest, asked: AskedTwice
) -> tuple[AskResult, AskedTwice]:
    """Ask a target over HTTP, and note what was sent, what came and which settings read more."""
    golds = asked.case.gold_supports
    headings = [(gold.heading_path or "").rpartition(">")[2].strip("# ") for gold in golds]
    named = filter(None, [*(gold.rel_path for gold in golds), *headings])
    found = client.inspect(request, [*named])
    return found.result, replace(
        asked,
        mapping=found.report,
        sent=found.sent,
        reply=found.reply,
        proposal=found.proposal,
    )


def check_replies(
    first: AskResult, second: AskResult | None, asked: AskedTwice
) -> Iterator[Finding]:
    """Check a target by its replies to the same question, asked twice.

    Args:
        first: result of the first request.
        second: result of the second one; None: not sent, because the first failed.
        asked: the question and the client.
    """
    if asked.mapping is not None:
        yield from _unsent(asked.mapping)
        yield from _unread_fields(asked.mapping)
    if first.response is None:
        yield _failed(first.error, asked)
        return
    time = part(" in {:.0f} ms", first.total_ms)
    yield _FOUND.ok("reachable", f"answered{time}", shown=_shown("reply", asked.reply))
    yield from _answer(first, asked)
    again = second.response if second is not None else None
    if again is None and second is not None:
        yield _failed(second.error, asked, check="second call")
    yield from _chunks(first.response, again, asked)
    yield from _session(first.response, again, asked)
    yield from _fields(first.response, asked)


def check_golds(case: Case, lost: Iterable[LintFinding]) -> Iterator[Finding]:
    """Check that the golds of a case exist in the target.

    Args:
        case: with at least one gold.
        lost: findings about those of its anchors that no request retrieved.
    """
    fix = "name document and headings, or quote snippets, as the target returns them; "
    fix += "`rageval check --target`, or with --rag-url URL, looks up all cases"
    found = list(lost)
    for one in found:
        add = _FOUND.fail if one.severity == "error" else _FOUND.warn
        yield add("golds", f"{one.case_id} {one.field}: {one.message}", fix)
    if not found:
        golds = counted(len(case.gold_supports), "gold")
        yield _FOUND.ok("golds", f"{golds} of {case.id}: the target retrieves all")


def _unsent(mapping: MappingReport) -> Iterator[Finding]:
    if not mapping.asks:
        fix = f'name the field that takes it in {REQUEST_TABLE}, such as q = "question"'
        yield _FOUND.fail("request", "the question is not sent: nothing names it", fix)
    shown = [f'{name} = "{text}"' for name, text in mapping.unsent.items()]
    never = [f'{n} = "{text}"' for n, text in mapping.unsent.items() if n in mapping.never_sent]
    if never:
        fix = "a request has question, vaults, folders, k, folder_mode, rerank_weights, params, "
        fix += "case, language, run_id and uuid; a constant text has single quotes: \"'text'\""
        yield _FOUND.warn("request", f"null for every case, so not sent: {', '.join(never)}", fix)
    elif shown:
        yield _FOUND.ok("request", f"null for this case, so not sent: {', '.join(shown)}")


def _unread_fields(mapping: MappingReport) -> Iterator[Finding]:
    for field, said in unread_fields(mapping.response):
        check = "chunks" if field == "retrieved_chunks" else field
        fix = f"rename it in the expression of {field} in {RESPONSE_TABLE}, or leave it out"
        yield _FOUND.warn(check, said, fix)


def _failed(error: ErrorInfo | None, asked: AskedTwice, *, check: str = "reachable") -> Finding:
    error = error or ErrorInfo(kind="protocol", message="no answer", attempts=1)
    kind, message = error.kind, error.message
    if place := " <- ".join(reversed(places(error.traceback))):
        message = f"{message}, at {place}"
    if asked.mapping is None:
        return _failed_fixture(kind, message, check)
    lost = kind in _UNREACHABLE
    if place:  # over HTTP nothing else of the project runs
        fix = f"change the function that {_TABLE} auth names"
        return _FOUND.fail("auth", message, fix, unreachable=lost)
    fix = target_advice(error.code, kind, error.facts, "doctor")
    if kind == "target":
        message = f"the target reports an error: {message}"
    elif kind == "protocol" and error.attempts:
        return _unread(error, fix, asked, asked.mapping)
    row = TARGET.get(error.code)
    if not error.attempts and not fix:  # such as of a cassette
        check, fix = "request", f"give the case what its request needs, or change {_TABLE}"
    check = "request" if asked.proposal is not None else (row and row.check) or check
    found = _FOUND.fail(check, message, fix, unreachable=lost)
    sent = _shown("sent", asked.sent) if kind == "http" else []
    return asked.proposed(replace(found, shown=[*sent, *_shown("reply", asked.reply)]))


def _unread(error: ErrorInfo, fix: str, asked: AskedTwice, mapping: MappingReport) -> Finding:
    """Advise on a reply that came and could not be read."""
    shown = _shown("reply", asked.reply)
    if fix:
        return replace(_FOUND.fail("reply", error.message, fix), shown=shown)
    if nothing := asked.nothing("answer"):
        found = _FOUND.fail("answer", nothing, asked.fix("answer", ""))
    else:
        fix = 'answer with {"answer": ..., "references": [...], "debug": {"retrieved_chunks": '
        fix += f"[...]}}}}, or map yours in {RESPONSE_TABLE}"
        fix = f"change {RESPONSE_TABLE}" if mapping.response else fix
        found = _FOUND.fail("reply", error.message, fix)
    return asked.proposed(replace(found, shown=shown))


def _shown(what: str, lines: Sequence[str]) -> list[str]:
    return [f"{what}:", *(f"  {line}" for line in lines)] if lines else []


def _failed_fixture(kind: str, message: str, check: str) -> Finding:
    if kind in _UNREACHABLE:
        late = "find out why it takes so long, or raise that timeout"
        fix = late if kind == "timeout" else "start the service it asks"
        return _FOUND.fail(check, message, fix, unreachable=True)
    if check == "reachable":  # not the second call
        check = {"protocol": "reply", "raised": "rag_client"}.get(kind, check)
    fix = "change the code of your client there"
    if kind == "protocol":
        fix = f"return answer and debug.retrieved_chunks there: {_HELP}"
    return _FOUND.fail(check, message, fix)


def _answer(result: AskResult, asked: AskedTwice) -> Iterator[Finding]:
    if result.error is not None:
        fix = "return the text of the answer in the field answer, or abstained = true"
        fix = asked.fix("answer", fix)
        if result.response is not None and result.response.retrieved_chunks:
            fix += "; a search that writes no answer gives a placeholder, such as '-'"
        yield asked.proposed(_FOUND.fail("answer", result.error.message, fix))
        return
    text = result.response.answer if result.response else ""
    if thoughts := thought_spans(text):
        start, end = thoughts[0]
        n_chars = sum(end - start for start, end in thoughts)
        message = f"{n_chars} of {len(text)} chars are thoughts of the model, such as "
        message += f"{clean(text[start:end], 60)!r}: they are left out of scores and judging"
        fix = "let the target return thoughts in a field of their own, or none: users may see them"
        yield _FOUND.warn("answer", message, fix)
        text = PreparedAnswer(text).visible
    if tag := _END_TAG.search(text):
        fix = "return plain text or Markdown; where the API has HTML alone, remove tags in a client"
        message = f"{tag[0]} in it, so it may be HTML, whose tags the offline judge reads as words"
        yield _FOUND.warn("answer", message, fix)
    elif not thoughts:
        yield _FOUND.ok("answer", f"{len(text)} chars")


# --- retrieved chunks ------------------------------------------------------------------------


def _chunks(first: AskResponse, second: AskResponse | None, asked: AskedTwice) -> Iterator[Finding]:
    chunks = first.retrieved_chunks
    if not chunks:
        yield _no_chunks(asked, first.reply_keys, reported=chunks is not None)
        return
    yield _count(len(chunks), asked)
    yield _ids(chunks, asked)
    if second is not None:
        yield _stability(chunks, second.retrieved_chunks)
    yield _paths(chunks, asked)
    yield _headings(chunks, asked)
    yield _texts(chunks, asked)


def _no_chunks(asked: AskedTwice, came: Sequence[str], *, reported: bool) -> Finding:
    server = "return debug.retrieved_chunks when asked with debug=true"
    if len(came) > 1:
        server += f", or map the list that has them in {RESPONSE_TABLE}"
    fix = asked.fix("retrieved_chunks", server)
    if nothing := asked.nothing("retrieved_chunks"):
        return asked.proposed(_FOUND.fail("chunks", nothing, fix))
    if not reported:
        # What came over HTTP is shown above.
        keys = part("; keys that came: {}", not asked.reply and ", ".join(came))
        message = f"not reported, so retrieval is not scored{keys}"
        return asked.proposed(_FOUND.warn("chunks", message, fix))
    if asked.case.gold_supports:
        name, golds = asked.case.id, counted(len(asked.case.gold_supports), "gold")
        message = f"none were retrieved for {name}, which has {golds}: it scores 0"
        return _FOUND.fail("chunks", message, "index the documents that the golds name")
    fix = "ask something that your documents answer, with --question"
    return _FOUND.warn("chunks", "none were retrieved for this question", fix)


def _count(n: int, asked: AskedTwice) -> Finding:
    k, sent = asked.k, asked.mapping is None or asked.mapping.sends_k
    if n > k and asked.ranked and sent:
        fix = "return no more than k chunks; those beyond are not scored"
        return _FOUND.warn("k", f"{n} chunks came, {k} were asked for", fix)
    if n > k and asked.ranked:
        fix = f"send k in {REQUEST_TABLE}, or set k in [tool.rageval] to what the target returns"
        return _FOUND.warn("k", f"{n} chunks came, of which the first {k} are scored", fix)
    return _FOUND.ok("chunks", f"{n} retrieved, {f'{k} asked for' if sent else 'k is not sent'}")


def _ids(chunks: Sequence[RetrievedChunk], asked: AskedTwice) -> Finding:
    if missing := sum(not chunk.chunk_id for chunk in chunks):
        effect = ", so copies are recognised by their text"
        return _lacking("chunk_id", missing, chunks, effect, asked)
    distinct = {(chunk.chunk_id, norm_path(chunk.rel_path)) for chunk in chunks}
    if len(distinct) < len(chunks):
        fix = "give each chunk an id of its own: later ones of the same id count as copies"
        return _FOUND.warn("chunk_id", f"{len(distinct)} ids for {len(chunks)} chunks", fix)
    return _FOUND.ok("chunk_id", "each chunk has one of its own")


def _lacking(
    field: str, n: int, chunks: Sequence[RetrievedChunk], effect: str, asked: AskedTwice
) -> Finding:
    fix = "return it for each chunk in debug.retrieved_chunks when asked with debug=true"
    if asked.mapping is None:
        fix = f"give each chunk its {field} in your client: {_CHUNK_HELP}"
    elif asked.mapping.response:
        fix = asked.fix("retrieved_chunks", fix) + f", with {field} for each chunk"
    return _FOUND.warn(field, f"missing from {n} of {len(chunks)} chunks{effect}", fix)


def _stability(first: Sequence[RetrievedChunk], second: Sequence[RetrievedChunk] | None) -> Finding:
    again = second or ()
    places, places_again = {*map(_place, first)}, {*map(_place, again)}
    if places != places_again:
        fix = "make retrieval repeatable (seeds, exact search), or measure it by --rageval-repeats"
        message = f"{len(places - places_again)} of {len(places)} chunks were not retrieved again"
        return _FOUND.warn("same twice", message, fix)
    if {chunk.chunk_id for chunk in first} != {chunk.chunk_id for chunk in again}:
        fix = "derive chunk ids from the content (path, position, text), not from the call"
        return _FOUND.fail("same twice", "the same chunks came with other chunk ids", fix)
    if [*map(_place, first)] != [*map(_place, again)]:
        fix = "break ties of the scores in a fixed way, such as by chunk id"
        return _FOUND.warn("same twice", "the same chunks came in another order", fix)
    ids = " with the same ids" if all(chunk.chunk_id for chunk in first) else ""
    return _FOUND.ok("same twice", f"the same chunks{ids} in the same order")


def _session(first: AskResponse, again: AskResponse | None, asked: AskedTwice) -> Iterator[Finding]:
    """Warn if two questions were answered in one conversation, which the target may remember."""
    if again is not None and first.session is not None and first.session == again.session:
        uuid = "request.uuid" if asked.mapping is None else f"uuid in {REQUEST_TABLE}"
        fix = f"send an id that is new for each question, such as {uuid}"
        message = f"both questions were answered in session {clean(first.session, 60)!r}"
        yield _FOUND.warn("session", f"{message}, so one case may change the next", fix)


def _place(chunk: RetrievedChunk) -> tuple[str | None, ...]:
    return chunk.vault, norm_path(chunk.rel_path), chunk.heading_path, chunk.text


def _paths(chunks: Sequence[RetrievedChunk], asked: AskedTwice) -> Finding:
    odd = [chunk.rel_path for chunk in chunks if _DRIVE.match(chunk.rel_path)]
    named_so = any(_DRIVE.match(gold.rel_path) for gold in asked.case.gold_supports)
    empty = sum(not norm_path(chunk.rel_path) for chunk in chunks)
    fix = "return rel_path relative to the folder of your documents, as gold_supports name it, "
    fix += "or name it there as it comes"
    golds = {norm_path(gold.rel_path) for gold in asked.case.gold_supports}
    found = {norm_path(chunk.rel_path): chunk.rel_path for chunk in chunks}
    below = [(path, gold) for path in found for gold in golds if path.endswith(f"/{gold}")]
    if empty:
        return _FOUND.fail("rel_path", f"empty in {empty} of {len(chunks)} chunks", fix)
    if below and golds.isdisjoint(found):
        (path, gold), *_ = below
        message = f"{found[path]!r} has folders in front that no gold of {asked.case.id} names"
        root = shown_json(found[path][: -len(gold)].rstrip("/\\") or path)
        return _FOUND.warn("rel_path", message, f"set strip_root = {root} in {_TABLE}, or {fix}")
    if odd and not named_so:
        return _FOUND.warn("rel_path", f"{odd[0]!r} is not a path below a folder", fix)
    if len(found) == 1 < len(chunks) and golds and golds.isdisjoint(found):
        message = f"all {len(chunks)} chunks are named {chunks[0].rel_path!r}, and no gold of "
        fix = "if your documents have other names, note them in their metadata, and map rel_path"
        return _FOUND.warn("rel_path", f"{message}{asked.case.id} is", fix)
    return _FOUND.ok("rel_path", f"such as {chunks[0].rel_path!r}")


def _headings(chunks: Sequence[RetrievedChunk], asked: AskedTwice) -> Finding:
    if missing := sum(chunk.heading_path is None for chunk in chunks):
        lost = ": there a gold that names a heading is matched by its snippets or pages, if at all"
        return _lacking("heading_path", missing, chunks, lost, asked)
    shown = next((chunk.heading_path for chunk in chunks if chunk.heading_path), "")
    return _FOUND.ok("heading_path", f"such as {shown!r}")


def _texts(chunks: Sequence[RetrievedChunk], asked: AskedTwice) -> Finding:
    if missing := sum(not chunk.text for chunk in chunks):
        lost = ": a judge cannot see there what the answer rests on"
        return _lacking("text", missing, chunks, lost, asked)
    return _FOUND.ok("text", "each chunk has its own")


# --- the rest of the reply -------------------------------------------------------------------


def _fields(response: AskResponse, asked: AskedTwice) -> Iterator[Finding]:
    yield _abstention(response, asked)
    yield _references(response, asked)
    yield _latency(response, asked)
    names = ("folder_selection", "indexing_coverage", "models", "usage")
    absent = [name for name in names if not getattr(response, name)]
    optional = part("not reported, and not required: {}", absent) or "all reported"
    yield _FOUND.ok("optional", optional)


def _abstention(response: AskResponse, asked: AskedTwice) -> Finding:
    if response.abstained is None:
        fix = asked.fix("abstained", "return abstained, true or false, with each answer")
        return _FOUND.warn("abstained", "not reported, so the judge decides by the text", fix)
    return _FOUND.ok("abstained", f"{str(response.abstained).lower()} for this question")


def _references(response: AskResponse, asked: AskedTwice) -> Finding:
    references = response.references
    if references is None:
        fix = "return references, a list of {rel_path, heading_path}; [] for none"
        message = asked.nothing("references") or "not reported"
        message += ", so only citations in the answer's text count"
        return _FOUND.warn("references", message, asked.fix("references", fix))
    if not references:
        if response.abstained:
            return _FOUND.ok("references", "none, as it abstained")
        if nothing := asked.nothing("references"):
            return _FOUND.warn("references", nothing, asked.fix("references", ""))
        fix = "name in references what the answer rests on"
        return _FOUND.warn("references", "none for this answer", fix)
    chunks = response.retrieved_chunks
    lost = [one for one in references if not citation_in_chunks(one, chunks or ())]
    if chunks and lost:
        fix = "name sources in references as in retrieved_chunks: the same rel_path and headings"
        message = f"{len(lost)} of {len(references)} name nothing that was retrieved"
        return _FOUND.warn("references", message, fix)
    return _FOUND.ok("references", f"{len(references)} for this answer")


def _latency(response: AskResponse, asked: AskedTwice) -> Finding:
    if not response.latency:
        fix = "return debug.latency with retrieval_ms, generation_ms and total_ms"
        message = "no phases reported, only the whole is measured"
        return _FOUND.warn("latency", message, asked.fix("latency", fix))
    return _FOUND.ok("latency", ", ".join(sorted(response.latency)))
