"""Nasty inputs per operation, drawn from small pools so that things collide often.

Only inputs that a case file may hold: what is refused at load (equal golds, empty groups, a
gold equal to an irrelevant anchor) is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from pytest_rageval.metrics.matching import norm_path, norm_text
from tests.naive.matching import Values, anchor_segments

WORDS = (
    *("Setup", "setup", "SETUP", "Embeddings", "C#", "#", "##", "#Overview", "Vec<T>", "a>b"),
    *("caf\u00e9", "cafe\u0301", "\u0130stanbul", "i\u0307stanbul", "\u0131", "stra\u00dfe"),
    *(
        "STRASSE",
        "\u1e9e",
        "\u039f\u0394\u039f\u03a3",
        "\u03bf\u03b4\u03bf\u03c2",
        "\u03bf\u03b4\u03bf\u03c3",
    ),
    *("\ud55c\uae00", "\u1112\u1161\u11ab\u1100\u1173\u11af", "Set\u00adup", "Set\u200bup"),
    *(
        "\ufeffSetup",
        "\ufb01n",
        "\u2126",
        "\u03a9",
        "\u0345",
        "\u1fb3",
        "\u01f0",
        "J\u030c",
        "\u0390",
        "\u212b",
        "a\u0323\u0307",
    ),
    *("a\u0307\u0323", "\U0001f600", "\u201cq\u201d", "2.", "(x)", "<!-- -->", "\u200b", "\u00ad"),
)
JOINTS = (
    *(" > ", " > ", " > ", ">", "> ", " >", " >> ", " > > ", ">## ", "> ## ", " >## ", ">##"),
    *(" > ## ", " > ### ", "\t>\t", "\u00a0>\u00a0", "\n>\n", ">####### ", " > ####### ", " / "),
    *("\u200b>\u200b", " >\u200b ", " \uff1e ", ">\u0338 "),
)
SPACES = (" ", " ", " ", "  ", "\t", "\u00a0", "\u2003", "\n", "\u200b", "", "\x1f", "\x85")
OPENINGS = ("", "", "# ", "## ", "###### ", "####### ", "#", "#\t", " # ", "# # ", "\u200b# ")
CLOSINGS = (
    "",
    "",
    "",
    " ##",
    " #",
    "#",
    "##",
    " # ",
    " ## #",
    " \\#",
    " #x",
    "\u00a0##",
    " ########",
)

SECTIONS = ("# A", "# A > ## B", "# A > ## B > ### C", "# A > ## Old", "# Z", "# AB", "")
SAME_SECTION = ("A", "a", "#  A ##", "A > B", "# A>## B", "# a > ## b > ### c", "A > Old", "z")
PATHS = ("a.md", "b.md", "docs/a.md", "docs/b.md", "notes/x.md", "notes-archive/x.md")
SAME_PATH = ("./a.md", "/b.md", "docs\\a.md", "docs//b.md", "notes/./x.md", "docs/../a.md", "A.md")
SNIPPETS = ("set MODEL", "use  Redis", "stra\u00dfe", "caf\u00e9", "v2")
TEXTS = ("we SET\nmodel and use redis", "STRASSE, cafe\u0301", "set mo\u00addel", "v2", "", "other")
FOLDERS = ("docs", "notes", "note", "docs/", "./docs", "", ".", "/", "*", "docs/a.md", "DOCS", "..")


def chance(rng: Random, probability: float) -> bool:
    """True that often."""
    return rng.random() < probability


def words(rng: Random, most: int = 3) -> str:
    """Words with odd spaces between them."""
    return "".join(rng.choice(WORDS) + rng.choice(SPACES) for _ in range(rng.randint(0, most)))


def heading_text(rng: Random) -> str:
    """A heading path as somebody might print it."""
    segments = [
        rng.choice(OPENINGS) + words(rng) + rng.choice(CLOSINGS) for _ in range(rng.randint(0, 4))
    ]
    made = segments[0] if segments else rng.choice(("", " ", ">", "> ", "# ", "#", " > "))
    for segment in segments[1:]:
        made += rng.choice(JOINTS) + segment
    return made


def heading(rng: Random) -> Values:
    """Input of ``norm_heading``."""
    return {"heading_path": None if chance(rng, 0.02) else heading_text(rng)}


def match(rng: Random) -> Values:
    """Input of ``match``."""
    wild = chance(rng, 0.3)
    section = heading_text(rng) if wild else rng.choice(SECTIONS)
    got = rng.choice((section, section + " > Sub", section.upper(), rng.choice(SAME_SECTION)))
    row: Values = {
        "anchor": {"rel_path": rng.choice(PATHS[:2]), "heading_path": section},
        "chunk": {"rel_path": rng.choice((*PATHS[:2], *SAME_PATH[:2], "A.md"))},
    }
    if chance(rng, 0.9):
        row["chunk"]["heading_path"] = None if chance(rng, 0.1) else got
    if chance(rng, 0.5):
        row["anchor"]["snippets"] = rng.sample(SNIPPETS, rng.randint(0, 2))
    if chance(rng, 0.6):
        row["chunk"]["text"] = rng.choice(TEXTS)
    for side in ("anchor", "chunk"):
        if chance(rng, 0.2):
            row[side]["vault"] = rng.choice(("v", "w"))
    if chance(rng, 0.7):
        row["settings"] = settings(rng)
    return row


def settings(rng: Random) -> Values:
    """Matching settings."""
    made: Values = {}
    if chance(rng, 0.2):
        made["path_case"] = rng.choice(("sensitive", "insensitive"))
    if chance(rng, 0.5):
        made["snippets"] = rng.choice(("off", "any", "all"))
    if chance(rng, 0.4):
        made["coarse_chunks"] = chance(rng, 0.7)
    if chance(rng, 0.3):
        made["matching_mode"] = rng.choice(("auto", "heading"))
    for fact in ("texts_reported", "pages_reported"):
        if chance(rng, 0.1):
            made[fact] = False
    return made


QUOTED = (
    *("set the model", "first step", "second step of it", "use redis for the cache", "5.00 euros"),
    *(
        "hyphenation",
        "well-known",
        "caf\u00e9 stra\u00dfe",
        "\u7d22\u5f15\u306e\u8a2d\u5b9a",
        "snake_case",
        "C#",
    ),
)
MARKED = (
    *("{}", "{}", "**{}**", "_{}_", "`{}`", "[{}](a.md)", "[{}][1]", "![{}](x.png)", "[[a|{}]]"),
    *("| {} |", "- {}", "1. {}", "> {}", "## {}", "<b>{}</b>", "{}[^1]", "<!-- x -->{}", "({})"),
)
GLUE = (" ", " ", "\n", "\n\n", "\n- ", "\n2. ", "\n> ", " | ", "\n|---|---|\n", ", ", "\r\n")


def marked_text(rng: Random, most: int) -> str:
    """Words with Markdown, broken at any place."""
    parts = [rng.choice(MARKED).format(rng.choice(QUOTED)) for _ in range(rng.randint(1, most))]
    text = parts[0]
    for part in parts[1:]:
        text += rng.choice(GLUE) + part
    if chance(rng, 0.3):
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice(("-\n", "\u00ad\n", "\n", "*", "-", "\u200b")) + text[at:]
    return text


def quote(rng: Random) -> Values:
    """Input of ``quote``: a quotation, and a text with all, a part or nothing of it."""
    wanted = marked_text(rng, 3)
    kind = rng.choice(("within", "head", "tail", "inside", "other"))
    at = rng.randint(0, len(wanted))
    before, after = marked_text(rng, 2) + rng.choice(GLUE), rng.choice(GLUE) + marked_text(rng, 2)
    texts = {
        "within": before + wanted + after,
        "head": before + wanted[:at],
        "tail": wanted[at:] + after,
        "inside": wanted[at : at + rng.randint(0, 30)],
        "other": before + after,
    }
    return {"quote": wanted, "text": texts[kind]}


def rule(rng: Random) -> Values:
    """Input of ``rule``."""
    row = match(rng)
    for side in ("anchor", "chunk"):
        if chance(rng, 0.4):
            row[side]["pages"] = rng.sample((1, 2, 3), rng.randint(1, 2))
    if chance(rng, 0.3):
        row["chunk"]["heading_path"] = None
    if chance(rng, 0.3):
        row["anchor"]["heading_path"] = ""
    if chance(rng, 0.1):
        row["chunk"]["text_truncated"] = True
    row["settings"] = {**settings(rng), "headings_reported": chance(rng, 0.5)}
    return row


def anchor(rng: Random) -> Values:
    """A gold or irrelevant support."""
    made: Values = {"rel_path": rng.choice((*PATHS, *PATHS, *SAME_PATH))}
    if chance(rng, 0.9):
        made["heading_path"] = rng.choice((*SECTIONS, *SECTIONS, *SAME_SECTION))
    if chance(rng, 0.25):
        made["snippets"] = rng.sample(SNIPPETS, rng.randint(1, 2))
    if chance(rng, 0.15):
        made["pages"] = rng.sample((1, 2, 3), rng.randint(1, 2))
    if chance(rng, 0.3):
        made["grade"] = rng.randint(1, 4)
    return made


def identity(one: Values) -> tuple[object, ...]:
    """Return the parts that two anchors share if they are equal at load."""
    segments = tuple(anchor_segments(one))
    snippets = tuple(sorted(map(norm_text, one.get("snippets") or [])))
    return norm_path(one["rel_path"]), segments, snippets, tuple(sorted(one.get("pages") or []))


def distinct_anchors(rng: Random, most: int, taken: set[tuple[object, ...]]) -> list[Values]:
    """Anchors that differ from each other and from those taken."""
    made = []
    for _ in range(rng.randint(0, most)):
        one = anchor(rng)
        if identity(one) not in taken:
            taken.add(identity(one))
            made.append(one)
    return made


def case(rng: Random) -> Values:
    """A case."""
    taken: set[tuple[object, ...]] = set()
    made: Values = {"id": "x", "question": "q?", "answerable": not chance(rng, 0.2)}
    if made["answerable"]:
        made["gold_supports"] = distinct_anchors(rng, rng.choice((1, 2, 5)), taken)
    if chance(rng, 0.35):
        made["irrelevant_supports"] = distinct_anchors(rng, 2, taken)
        golds = made.get("gold_supports")
        if golds and chance(rng, 0.3):
            # The same place told apart by a snippet alone: the tie that irrelevant wins.
            rival = {**rng.choice(golds), "snippets": [rng.choice(SNIPPETS)]}
            if identity(rival) not in taken:
                made["irrelevant_supports"].append(rival)
    n = len(made.get("gold_supports", []))
    if n and chance(rng, 0.5):
        made["required_support_groups"] = [
            [rng.randrange(n) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(1, 3))
        ]
    if chance(rng, 0.35):
        rules = ("cite_newer", "acknowledge_both", "cite_both", None)
        made["recency_conflict_rule"] = rng.choice(rules)
    if chance(rng, 0.15):
        made["k"] = rng.choice((1, 2, 3, 30))
    if chance(rng, 0.3):
        made["answer_rules"] = [
            rng.choice(({"contains": "IT IS"}, {"not_contains": "File"}, {"matches": r"\d|so\."}))
            for _ in range(rng.randint(1, 2))
        ]
    if chance(rng, 0.4):
        made |= rng.choice(({"metadata": {"user": "ana"}}, {"tags": ["acl"]}))
    return made


def chunk(rng: Random, anchors: list[Values]) -> Values:
    """A retrieved chunk, often near an anchor."""
    near = rng.choice(anchors) if anchors and chance(rng, 0.6) else None
    made: Values = {"rel_path": near["rel_path"] if near else rng.choice((*PATHS, *SAME_PATH))}
    if near and chance(rng, 0.7):
        made["heading_path"] = near.get("heading_path", "") + rng.choice(("", "", " > ## Sub"))
    elif chance(rng, 0.9):
        made["heading_path"] = rng.choice((*SECTIONS, *SAME_SECTION, None))
    if chance(rng, 0.15):
        made["pages"] = rng.sample((1, 2, 3), rng.randint(1, 2))
    return made


def chunks(rng: Random, anchors: list[Values]) -> list[Values]:
    """A result list with copies, ranks, ids and texts that may be missing."""
    made: list[Values] = []
    ids, texts, ranks = chance(rng, 0.4), chance(rng, 0.6), chance(rng, 0.3)
    for _ in range(rng.choice((0, 1, 2, 3, 5, 8))):
        one = dict(rng.choice(made)) if made and chance(rng, 0.25) else chunk(rng, anchors)
        if ids and chance(rng, 0.9):
            # An id names one passage, so it goes with the section.
            one["chunk_id"] = f"{one.get('heading_path')}-{rng.randint(0, 1)}"
        if texts and "text" not in one and chance(rng, 0.9):
            one["text"] = rng.choice(TEXTS)
            if chance(rng, 0.1):
                one["text_truncated"] = True
        if ranks and chance(rng, 0.97):
            one["rank"] = rng.choice((rng.randint(1, 9), rng.randint(-2, 3)))
        if chance(rng, 0.2):
            one["score_final"] = rng.random()
        made.append(one)
    return made


def reference(rng: Random, anchors: list[Values]) -> Values:
    """A citation as the target reports it."""
    made = chunk(rng, anchors)
    if chance(rng, 0.15):
        made["heading_path"] = None
    return made


def answer(rng: Random, anchors: list[Values]) -> str:
    """An answer, sometimes with citations written in it, sometimes blank."""
    if chance(rng, 0.08):
        return rng.choice(("", " ", "\n\t", "\u00a0"))
    said = ["It is so."]
    for _ in range(rng.choice((0, 0, 1, 2, 3))):
        place = rng.choice(anchors) if anchors else {"rel_path": "a.md"}
        section = rng.choice((place.get("heading_path") or "# A", "B", "Old", "# A > ## B"))
        where = place["rel_path"]
        forms = (
            f"[File: {where}, Section: {section}]",
            f"(File: {where}, Section: {section})",
            f"[{where}, Section: {section}]",
            f"[File: {where}]",
            f"(File: {where})",
            f"[{rng.randint(0, 9)}]",
            f"[{rng.randint(1, 3)}]",
        )
        said.append(rng.choice(forms))
    return " ".join(said)


def folder_selection(rng: Random, anchors: list[Values]) -> Values:
    """Return a report of the folder selector; at times it names a gold's file, not a folder."""
    made: Values = {}
    if chance(rng, 0.85):
        pool = FOLDERS[: rng.choice((5, len(FOLDERS)))]
        folders = [rng.choice(pool) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
        if anchors and chance(rng, 0.15):
            folders = [rng.choice(anchors)["rel_path"]]
        made["selected_folders"] = None if chance(rng, 0.15) else folders
    if chance(rng, 0.6):
        made["fallback_used"] = rng.choice((True, False, None))
    return made


def response(rng: Random, anchors: list[Values]) -> Values:
    """A response from which anything but the answer may be missing."""
    made: Values = {"answer": answer(rng, anchors)}
    if chance(rng, 0.6):
        made["references"] = [reference(rng, anchors) for _ in range(rng.choice((0, 1, 2, 4)))]
    if chance(rng, 0.6):
        made["abstained"] = rng.choice((True, False, None))
    debug: Values = {}
    if chance(rng, 0.9):
        debug["retrieved_chunks"] = chunks(rng, anchors)
    if chance(rng, 0.5):
        debug["folder_selection"] = folder_selection(rng, anchors)
    if debug or chance(rng, 0.5):
        made["debug"] = debug
    return made


def with_vaults(rng: Random, anchors: list[Values], reply: Values) -> None:
    """Name vaults: the golds' may differ, what one target reports lies in one vault."""
    for one in anchors:
        one["vault"] = rng.choice(("v", "v", "v", "w", None))
    references: list[Values] = reply.get("references") or []
    for one in [*reported_chunks(reply), *references]:
        one["vault"] = "v"


def with_nulls(rng: Random, reply: Values) -> None:
    """Write some of what is absent as null."""
    for key in ("references", "abstained", "abstain_reason", "debug"):
        if key not in reply and chance(rng, 0.3):
            reply[key] = None
    debug = reply.get("debug")
    for key in ("retrieved_chunks", "folder_selection", "latency", "models"):
        if debug is not None and key not in debug and chance(rng, 0.3):
            debug[key] = None
    for one in (debug or {}).get("retrieved_chunks") or []:
        for key in ("chunk_id", "text", "rank", "vault", "heading_path"):
            if key not in one and chance(rng, 0.1):
                one[key] = None


def reported_chunks(reply: Values | None) -> list[Values]:
    """Chunks of a response, if any."""
    debug: Values = (reply or {}).get("debug") or {}
    found: list[Values] = debug.get("retrieved_chunks") or []
    return found


def score(rng: Random) -> Values:
    """Input of ``score``."""
    made: Values = {"case": case(rng), "k": rng.choice((1, 2, 3, 5, 5, 20))}
    anchors = [
        *made["case"].get("gold_supports", []),
        *made["case"].get("irrelevant_supports", []),
    ]
    made["response"] = response(rng, anchors)
    if chance(rng, 0.15):
        with_vaults(rng, anchors, made["response"])
    with_nulls(rng, made["response"])
    if chance(rng, 0.5):
        made["settings"] = settings(rng)
        if chance(rng, 0.5):
            made["settings"]["citations_reported"] = True
        if chance(rng, 0.2):
            made["settings"]["headings_reported"] = False
            for one in reported_chunks(made["response"]):
                one.pop("heading_path", None)
    if chance(rng, 0.1):
        made["response"] = None
        kinds = ("timeout", "connection", "http", "protocol", "status", "not_attempted")
        made["error"] = {"kind": rng.choice(kinds)}
    if chance(rng, 0.5):
        made["folder_mode"] = rng.choice(("off", "on", "on_with_fallback"))
    if chance(rng, 0.1):
        made["retrieval_only"] = True
    if chance(rng, 0.4):
        made["judge"] = verdict(rng)
    return with_evidence(rng, made) if chance(rng, 0.5) else made


def with_evidence(rng: Random, made: Values) -> Values:
    """Give a row key facts and claims, with what was found of them; at times of other facts."""
    facts = [rng.choice(("30 days", "a fee", " ")) for _ in range(rng.randint(0, 3))]
    made["case"]["expected_key_facts"] = facts
    n = len([fact for fact in facts if fact.strip()]) + (1 if chance(rng, 0.1) else 0)
    if chance(rng, 0.8):
        for one in reported_chunks(made["response"]):
            one.pop("text_truncated", None)
            one["text"] = one.get("text") or rng.choice(TEXTS)
    if made["response"] is not None and chance(rng, 0.9):
        evidence: Values = {}
        if chance(rng, 0.9):
            evidence["facts"] = [rng.choice(([], [1], [2, 3])) for _ in range(n)]
        if chance(rng, 0.8):
            evidence["facts_stated"] = [chance(rng, 0.5) for _ in range(n)]
        if chance(rng, 0.9):
            evidence["claims"] = [claim(rng) for _ in range(rng.randint(0, 3))]
        made["evidence"] = evidence
    if chance(rng, 0.5):
        made["settings"] = {**made.get("settings", {}), "citations_in_text": True}
    return made


def claim(rng: Random) -> Values:
    """A claim with its citations as they were looked up."""
    states = (True, True, True, False, False, *([None] if chance(rng, 0.1) else []))
    checks = [{"ranks": [1], "supports": rng.choice(states)} for _ in range(rng.randint(0, 2))]
    return {"text": "It is so.", "citations": checks}


def verdict(rng: Random) -> Values:
    """Return a judge's fields; null or absent: no verdict."""
    keys = [key for key in ("acknowledges_conflict", "abstained") if chance(rng, 0.7)]
    return {key: rng.choice((True, False, None)) for key in keys}


def rerank_delta(rng: Random) -> Values:
    """Input of ``rerank_delta``."""
    made = score(rng)
    while made["response"] is None:
        made = score(rng)
    for key in ("error", "judge", "folder_mode", "retrieval_only", "evidence"):
        made.pop(key, None)
    found = reported_chunks(made["response"])
    before = [rng.randint(1, 6) for _ in found]
    for one, rank in zip(found, before, strict=True):
        if chance(rng, 0.98):
            one["rank_before_rerank"] = rank
    return made


GENERATORS: dict[str, Callable[[Random], Values]] = {
    "norm_heading": heading,
    "rule": rule,
    "quote": quote,
    "match": match,
    "score": score,
    "rerank_delta": rerank_delta,
}
