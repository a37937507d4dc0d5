""""""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_rageval.authoring.linting.anchors import AnchorIndex, lost_anchors
from pytest_rageval.authoring.linting.findings import LintFinding, PlacedCase
from pytest_rageval.authoring.notes import parse_note
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import start_in_thread
from pytest_rageval.target.opening import open_target
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.reply import AskRequest, AskResponse, RetrievedChunk
from pytest_rageval.values.settings import Settings, TargetSettings
from tests.authoring.linting.builders import anchor, placed
from tests.plugin.rag_server import rag_server

GATES = b"""# Gates

## North gate

The north gate opens at 8:15 and closes at 17:40.

### Winter

In winter it opens at 9:00.

## South gate

The south gate is shut.
"""
INDEX = AnchorIndex(
    [
        parse_note("site/gates.md", GATES),
        parse_note("site/tolls.md", b"# Tolls\n\nTen cents.\n"),
        parse_note("site/fees.md", b"# Fees\n\nThe ferry takes two cents.\n"),
        parse_note("site/ferry.md", b"# Ferry\n\nThe ferry takes ten cent.\n"),
        parse_note("site/hours.md", b"# The *long* `day` {#day}\n\n[Open](a.md)\n---\nAt ten.\n"),
    ]
)


def check(*golds: Anchor) -> list[LintFinding]:
    return list(INDEX.check(placed("When?", 7, gold_supports=golds)))


@pytest.mark.parametrize(
    "gold",
    [
        anchor("site/gates.md"),
        anchor("./site//gates.md", "# Gates"),
        anchor("site/gates.md", "gates > North  Gate", "the north gate opens at 8:15"),
        anchor("site/gates.md", "# Gates > ## North gate", "In winter it opens at 9:00."),
        anchor("site/gates.md", "", "The south gate is shut."),
        anchor("site/hours.md", "# The long day > ## Open"),
        anchor("site/hours.md", "# The *long* `day` {#day} > ## [Open](a.md)"),
    ],
)
def test_an_anchor_that_is_there_is_no_finding(gold: Anchor) -> None:
    assert check(gold) == []


@pytest.mark.parametrize(
    ("gold", "rule", "field", "said"),
    [
        (
            anchor("gates.md"),
            "unknown-document",
            "gold_supports[0].rel_path",
            "'gates.md' is not a note of the vault, did you mean 'site/gates.md'?",
        ),
        (anchor("site/Gates.md"), "unknown-document", "gold_supports[0].rel_path", "site/gates.md"),
        (anchor("site/gaets.md"), "unknown-document", "gold_supports[0].rel_path", "site/gates.md"),
        (
            anchor("site/gates.md", "# Gates > ## Nort gate"),
            "unknown-section",
            "gold_supports[0].heading_path",
            "did you mean '# Gates > ## North gate'?",
        ),
        (
            anchor("site/gates.md", "# Old title > ## Opening", "opens at 8:15"),
            "unknown-section",
            "gold_supports[0].heading_path",
            "did you mean '# Gates > ## North gate', which holds its snippets?",
        ),
        (
            anchor("site/gates.md", "# Everything else > ## More > ### South gate"),
            "unknown-section",
            "gold_supports[0].heading_path",
            "did you mean '# Gates > ## South gate'?",
        ),
        (
            anchor("site/gates.md", "# Gates > ## South gate", "opens at 8:15"),
            "unknown-snippet",
            "gold_supports[0].snippets[0]",
            "it stands in '# Gates > ## North gate'",
        ),
        (
            anchor("site/gates.md", "# Gates > ## North gate", "The north gate opens at 8:30."),
            "unknown-snippet",
            "gold_supports[0].snippets[0]",
            "did you mean 'The north gate opens at 8:15 and closes at 17:40.'?",
        ),
    ],
)
def test_what_is_not_there_is_named_with_what_is_nearest(
    gold: Anchor, rule: str, field: str, said: str
) -> None:
    [found] = check(gold)
    assert (found.severity, found.rule, found.field) == ("error", rule, field)
    assert (found.file, found.line, found.case_id) == ("a.jsonl", 7, "c7")
    assert said in found.message


HELD = "did you mean 'site/tolls.md # Tolls', which holds its snippets?"


@pytest.mark.parametrize(
    ("gold", "hint"),
    [
        (anchor("site/prices.md", "", "Ten cents."), HELD),
        (anchor("toll.pdf", "", "Ten cents.", "Two cents."), "files are read"),
        (anchor("site/gates.md", "# Zoology", "ten  cents"), HELD),
        (
            anchor("site/gates.md", "# Gates", "Ten cents."),
            "; it stands in 'site/tolls.md # Tolls'",
        ),
        (anchor("toll.pdf", "", "opens at"), "files are read"),
        # A heading or a sentence that is only similar says less than the words themselves.
        (anchor("site/gates.md", "# Gates > ## South gates", "Ten cents."), HELD),
        (
            anchor("site/fees.md", "# Fees", "The ferry takes ten cent."),
            "; it stands in 'site/ferry.md # Ferry'",
        ),
    ],
)
def test_evidence_that_moved_to_another_note_is_found_by_its_snippets(
    gold: Anchor, hint: str
) -> None:
    [found] = check(gold)
    assert found.message.endswith(hint)


def test_nothing_is_offered_where_nothing_is_near() -> None:
    [path] = check(anchor("zzz.md"))
    [heading] = check(anchor("site/gates.md", "# Zoology"))
    [snippet] = check(anchor("site/gates.md", "# Gates", "Quokkas are marsupials."))
    assert not any("did you mean" in one.message for one in (path, heading, snippet))


@pytest.mark.parametrize(
    "snippet", ["The port is 8080", "port is 8080, see docs.", "The **port** is 8080"]
)
def test_a_snippet_that_only_lacks_markup_is_named_with_it(snippet: str) -> None:
    sentence = "The **port** is `8080`, see [docs](x)."
    note = parse_note("p.md", f"# P\n\nRun once. {sentence} The port opens last.\n".encode())
    [found] = AnchorIndex([note]).check(
        placed("?", 1, gold_supports=[anchor("p.md", "# P", snippet)])
    )
    assert found.message.endswith(f"is not in p.md # P; it stands there with markup: {sentence!r}")


@pytest.mark.parametrize(
    ("snippet", "near"),
    [
        ("红茶的价格是每斤一百三十元。", "红茶的价格是每斤一百二十元。"),
        ("员工每年可以休十六天年假", "员工每年可以休十五天年假。"),
    ],
)
def test_a_similar_sentence_is_suggested_where_words_have_no_blanks(
    snippet: str, near: str
) -> None:
    note = "# 茶\n\n红茶的价格是每斤一百二十元。绿茶八十元。\n\n员工每年可以休十五天年假。\n"
    index = AnchorIndex([parse_note("zh.md", note.encode())])
    [found] = index.check(placed("?", 1, gold_supports=[anchor("zh.md", "# 茶", snippet)]))
    assert found.message.endswith(f"did you mean {near!r}?")


# --- anchors looked for in a real embedded server, and in targets that misbehave

NOTE = "# Gates\n\n## North gate\n\nIt opens at 8:15.\n\n## South gate\n\nIt is shut.\n"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    vault = tmp_path_factory.mktemp("vault")
    (vault / "site").mkdir()
    (vault / "site/gates.md").write_text(NOTE, encoding="utf-8")
    (vault / "tolls.md").write_text("# Tolls\n\nTen cents a boat.\n", encoding="utf-8")
    with start_in_thread(ReferenceConfig(vault=vault)) as handle:
        yield handle.url


def look(url: str, *cases: PlacedCase) -> list[LintFinding]:
    target = TargetSettings(url=url, retries=0)
    settings = Settings(rootdir=".", target=target)
    with open_target(settings, environ={}) as client:
        return list(lost_anchors(client, cases, settings))


def test_anchors_of_the_index_are_found(url: str) -> None:
    case = placed(
        "When does it open?",
        gold_supports=(
            anchor("site/gates.md", "# Gates > ## North gate", "It opens at 8:15."),
            anchor("tolls.md"),
        ),
    )
    assert look(url, case) == []


def test_a_section_that_was_renamed_is_an_error_with_the_nearest(url: str) -> None:
    case = placed(
        "When?", 3, gold_supports=(anchor("site/gates.md", "# Gates > ## Northern gate"),)
    )
    [found] = look(url, case)
    assert (found.severity, found.rule, found.line) == ("error", "unknown-section", 3)
    assert "did you mean '# Gates > ## North gate'?" in found.message


def test_a_document_that_never_comes_is_a_warning(url: str) -> None:
    [found] = look(url, placed("When?", gold_supports=(anchor("gates.md"),)))
    assert (found.severity, found.rule) == ("warning", "not-in-index")
    assert "did you mean 'site/gates.md'?" in found.message


def test_an_anchor_is_looked_for_as_the_user_of_each_case() -> None:
    """The case of a user who may not see the document comes first, as in docs/cases.md."""
    closed = anchor("hr/pay.md", "# Pay")
    ana, boss = {"user": "ana"}, {"user": "boss"}
    cases = [
        placed("q", 1, answerable=False, irrelevant_supports=(closed,), metadata=ana),
        placed("q", 2, gold_supports=(closed,), metadata=boss),
    ]

    def guarded(request: AskRequest) -> AskResponse:
        assert request.case is not None
        may_see = request.case["metadata"]["user"] == "boss"
        chunk = RetrievedChunk(rel_path="hr/pay.md", heading_path="# Pay")
        return AskResponse(answer="a", retrieved_chunks=(chunk,) if may_see else ())

    settings = Settings(rootdir=".")
    assert list(lost_anchors(guarded, cases, settings)) == []
    [found] = lost_anchors(guarded, [placed("q", gold_supports=(closed,), metadata=ana)], settings)
    assert found.rule == "not-in-index"


@pytest.mark.parametrize(
    ("reply", "kind"), [(500, "http"), ({"answer": 7}, "protocol"), ({"answer": "a"}, "protocol")]
)
def test_a_target_that_fails_ends_the_check(reply: dict[str, object] | int, kind: str) -> None:
    with rag_server(lambda question, nth: reply) as server:
        with pytest.raises(EndpointError) as caught:
            look(server.url, placed("q", gold_supports=(anchor("a.md"),)))
    assert caught.value.kind == kind
