from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pytest_rageval.server.chunking import Chunk, chunk_note, count_tokens
from tests.build.shared_data import shared_path

LONG = "One sentence of eight words stands here again. " * 40


EXAMPLES = Path(__file__).parents[2] / "evals" / "vault"


def chunks_of(
    text: str | bytes, *, max_tokens: int = 400, overlap: int = 0, rel_path: str = "a.md"
) -> tuple[Chunk, ...]:
    data = text if isinstance(text, bytes) else text.encode()
    found = chunk_note(
        vault="v", rel_path=rel_path, data=data, max_tokens=max_tokens, overlap=overlap
    )
    for position, chunk in enumerate(found):
        assert data[chunk.start_byte : chunk.end_byte].decode(errors="replace") == chunk.text
        assert chunk.chunk_index == position
        before = data[: chunk.start_byte].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        assert before.count(b"\n") + 1 == chunk.start_line
        inside = data[chunk.start_byte : chunk.end_byte].replace(b"\r\n", b"\n")
        assert chunk.end_line - chunk.start_line == inside.replace(b"\r", b"\n").count(b"\n")
        assert chunk.token_count == count_tokens(chunk.text)
    return found


def headings(text: str | bytes) -> list[str]:
    return [chunk.heading_path for chunk in chunks_of(text)]


def test_sections_carry_the_path_of_their_headings() -> None:
    text = "# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne\n"
    assert headings(text) == ["# A", "# A > ## B", "# A > ## B > ### C", "# A > ## D", "# E"]


def test_a_skipped_level_keeps_the_marks_of_its_heading() -> None:
    assert headings("# A\na\n#### B\nb\n## C\nc\n") == ["# A", "# A > #### B", "# A > ## C"]


@pytest.mark.parametrize("fence", ["```", "~~~", "````md"])
def test_hash_lines_in_a_code_fence_are_no_headings(fence: str) -> None:
    close = fence[:4].rstrip("md")
    found = chunks_of(f"# A\n\n{fence}\n# not one\n## nor this\n{close}\n\n# B\nb\n")
    assert [chunk.heading_path for chunk in found] == ["# A", "# B"]
    assert "## nor this" in found[0].text


def test_setext_headings_count_and_their_lines_are_joined() -> None:
    assert headings("Long\ntitle\n=====\na\n\nPart\n----\nb\n") == [
        "# Long title",
        "# Long title > ## Part",
    ]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_and_bytes_hold_for_every_line_ending(ending: str) -> None:
    found = chunks_of("# A\n\nfirst\nsecond\n\n## B\nthird\n".replace("\n", ending))
    assert [(chunk.start_line, chunk.end_line) for chunk in found] == [(1, 4), (6, 7)]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_front_matter_is_neither_heading_nor_text(bom: bytes) -> None:
    (chunk,) = chunks_of(bom + b"---\ntitle: x\n---\n# A\ntext\n")
    assert (chunk.heading_path, chunk.start_line, chunk.text) == ("# A", 4, "# A\ntext")


@pytest.mark.parametrize("max_tokens", [40, 120, 400])
def test_no_chunk_passes_the_budget_and_no_word_is_lost(max_tokens: int) -> None:
    text = f"# A\n\n{LONG}\n\n" + "- item with some words\n" * 60 + f"\n{LONG}\n\n## B\n{LONG}\n"
    found = chunks_of(text, max_tokens=max_tokens)
    assert max(chunk.token_count for chunk in found) <= max_tokens
    covered = b" ".join(text.encode()[chunk.start_byte : chunk.end_byte] for chunk in found)
    assert covered.split() == text.encode().split()


def test_overlap_repeats_the_end_of_the_piece_before() -> None:
    text = f"# A\n\n{LONG}\n"
    without = chunks_of(text, max_tokens=100)
    found = chunks_of(text, max_tokens=100, overlap=20)
    assert all(one.end_byte <= two.start_byte for one, two in pairwise(without))
    for one, two in pairwise(found):
        repeated = text.encode()[two.start_byte : one.end_byte]
        assert 0 < count_tokens(repeated) <= 20
        assert text.encode()[two.start_byte - 1 : two.start_byte].isspace()
    assert max(chunk.token_count for chunk in found) <= 100


def test_a_long_table_is_cut_between_rows() -> None:
    table = "| a | b |\n|---|---|\n" + "| one two | three four |\n" * 40
    found = chunks_of(f"# A\n\n{table}", max_tokens=60)
    assert len(found) > 2
    for chunk in found:
        assert all(line[0] in "|#" for line in chunk.text.splitlines() if line)
        assert chunk.text.endswith("|")


def test_ids_are_32_hex_and_depend_on_every_part_of_the_identity() -> None:
    base = chunks_of("# A\ntext\n")[0].chunk_id
    assert len(base) == 32
    assert int(base, 16) >= 0
    others = [
        chunks_of("# A\ntext\n", rel_path="b.md")[0].chunk_id,
        chunks_of("# B\ntext\n")[0].chunk_id,
        chunks_of("# A\ntexts\n")[0].chunk_id,
        chunks_of("\n# A\ntext\n")[0].chunk_id,
    ]
    assert len({base, *others}) == 5
    assert chunks_of("# A\ntext\n")[0].chunk_id == base


@pytest.mark.parametrize("max_tokens", [60, 400])
def test_byte_ranges_hold_for_every_example_note(max_tokens: int) -> None:
    assert_byte_ranges_hold(EXAMPLES, max_tokens)


@pytest.mark.slow
def test_byte_ranges_hold_for_every_shared_note() -> None:
    assert_byte_ranges_hold(shared_path("data", "rag", "vault", "claude_docs"), 250)


def assert_byte_ranges_hold(root: Path, max_tokens: int) -> None:
    notes = sorted(root.rglob("*.md"))
    ids: set[tuple[str, str]] = set()
    total = 0
    for path in notes:
        found = chunks_of(path.read_bytes(), max_tokens=max_tokens, rel_path=path.name)
        assert found
        assert max(chunk.token_count for chunk in found) <= max_tokens
        ids.update((str(path), chunk.chunk_id) for chunk in found)
        total += len(found)
    assert len(ids) == total > len(notes)
