from __future__ import annotations

import time

import pytest

from pytest_rageval.metrics.non_claims import closing_sources
from pytest_rageval.values.reply import Citation

STATED = "The warranty lasts two years."


@pytest.mark.parametrize(
    "listed",
    [
        "\n\nSources:\n- warranty.md\n- repair.md",
        "\n\nSource: https://shop.example/warranty",
        " [1]\n\nReferences\n[1] warranty.md",
        "\n\n### References\n\n- [1] warranty.md",
        "\n\n**Sources:** [1], [2]",
        "\nQuellen :\n* Handbuch Garantie\n* Preisliste",
        "\n\nSources :\n1. Guide du client\n2. guide.pdf, p. 3",
        "\n\n**Fuentes consultadas:**\n- [Garantía](https://tienda.example/g)",
        "\n\n参考:\n- 保修手册",
        "\n\n出典：\n・保証書.md",
        "\n출처: 보증서.pdf",
        "\n\n[1] warranty.md\n[2] https://shop.example/x",
        "\n\nReferences:\n[1] Miller, A. (2020). Effects of X on Y. Journal of Z, 12(3), 1-10.",
        '\n\nSources:\n[1] warranty.md\n    "It lasts two years."\n[2] repair.md\n    a quote',
        "\n\n_Source: Customer Handbook, Section 3_",
        " Source: warranty.md",
        "\n\n## 📚 Sources\n\n1. **warranty.md** (page 3)\n2. Repair Guide",
    ],
)
@pytest.mark.parametrize("after", ["", "\n\nLet me know if you need more."])
def test_a_closing_list_is_found_in_any_usual_form(listed: str, after: str) -> None:
    answer = f"{STATED}{listed}"
    found = closing_sources(answer + after)
    assert found is not None
    assert answer[: found[0]].rstrip(" []1\n") == STATED
    assert found[1] == len(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Sources:\n- warranty.md",
        "Sources:\n- Rent\n- Salary",
        "The firm earns money.\n\nSources:\n- rent\n- salary",
        "These files are read:\n- a.md\n- b.md",
        "Applicants send:\n\nReferences:\nYou must give two of them before Friday, both current.",
        "The river is long.\nSources of the river are two lakes in the north.",
        "Use the file config.yaml.",
        "The booking is confirmed.\n\nReference: AB-123456",
        "Two lakes feed it.\n\nSources\nLake Toma is the source of the Rhine",
        "Do this first.\n\nLinks:\nReset the drill",
        "Hello!\n\nSources:\n- warranty.md",
        f"{STATED}\n\nSource: the manual says that it lasts two years and more.",
        "",
    ],
)
def test_what_answers_is_not_a_list_of_sources(answer: str) -> None:
    assert closing_sources(answer) is None


@pytest.mark.parametrize(
    "run", ["Sources: ", "[1] a.md\n", "- a.md\n", "\n", "a. Source: ", "(", "Sources ", "[1] "]
)
def test_the_time_grows_with_the_length_alone(run: str) -> None:
    started = time.process_time()
    closing_sources(f"x.\n{run * (1_000_000 // len(run))}")
    assert time.process_time() - started < 3


def test_a_list_may_name_what_was_retrieved_without_a_bullet() -> None:
    answer = f"{STATED}\n\nSources:\nWarranty terms\nCard fees, part two"
    known = [
        Citation(rel_path="help/warranty_terms.md"),
        Citation(rel_path=None, heading_path="Fees > Card fees"),
    ]
    found = closing_sources(answer, known)
    assert found is not None
    assert answer[: found[0]].rstrip() == STATED
    assert closing_sources(answer) is None


@pytest.mark.parametrize(
    ("entry", "longest"),
    [
        ("Miller et al, Effects", 60),
        ("Effects of care, 2020,", 60),
        ("Effects of care 2020", 12),
        ("Guide for our clients", 16),
        ("a.md - Guide", 25),
    ],
)
def test_an_entry_of_a_list_has_a_largest_number_of_words(entry: str, longest: int) -> None:
    words = longest - len(entry.split())
    for more, found in ((words, True), (words + 1, False)):
        listed = f"{STATED}\n\nSources:\n- {entry}{' on' * more}"
        assert (closing_sources(listed) is not None) is found


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("read more in a.md.", True),
        ("now read more in a.md.", False),
        ("now read more in a.md", True),
        ("a.md says more.", False),
        ("the a.md - a guide to all.", True),
        ("of the a.md - a guide to all.", False),
    ],
)
def test_an_entry_that_names_a_document_states_nothing_of_it(entry: str, found: bool) -> None:
    assert (closing_sources(f"{STATED}\n\nSources:\n- {entry}") is not None) is found


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("- Guide for our clients.", True),
        ("- Guide for all our clients.", False),
        ("- guide for clients", False),
        (f"- {'保' * 40}", True),
        (f"- {'保' * 41}", False),
        (f"- {'保' * 9}。", False),
        ("docs/fees", True),
        ("docs/fees - the list", True),
        ("on/off switch", False),
        ("INV/2024/001", False),
        ("Guide, page 3", True),  # without a bullet a place within a document is needed
        ("Guide, part three", False),
        ("- Fees for lending", True),
    ],
)
def test_an_entry_is_short_and_names_rather_than_states(entry: str, found: bool) -> None:
    assert (closing_sources(f"{STATED}\n\nSources:\n{entry}") is not None) is found


@pytest.mark.parametrize("before", ["Sources:\n- [1] a.md", "Sources"])
def test_labels_and_entries_are_lines_up_to_a_length(before: str) -> None:
    for n, found in ((1000, True), (1001, False)):
        length = n - len(before.rpartition("\n")[2])
        answer = f"{STATED}\n\n{before}{' ' * length}\n- [2] b.md"
        assert (closing_sources(answer) == (31, len(answer))) is found


def test_courtesies_after_a_list_are_read_up_to_a_length() -> None:
    for n, found in ((1000, True), (1001, False)):
        answer = f"{STATED}\n\nSources:\n- a.md\n\n{'Thanks! ' * 124}{'Thanks!':<{n - 992}}"
        assert (closing_sources(answer) is not None) is found


@pytest.mark.parametrize("said", [STATED, "Yes.", f"{STATED} " * 80])
def test_a_list_may_follow_a_statement_of_any_length(said: str) -> None:
    answer = f"{said}\n\nSources:\n- a.md"
    assert closing_sources(answer) == (len(said) + 2, len(answer))
    answer = f"{said} Source: a.md"
    assert closing_sources(answer) == (len(said) + 1, len(answer))


def test_a_list_is_read_up_to_400_lines_from_the_end() -> None:
    for entries, found in ((399, True), (400, False)):
        answer = f"{STATED}\n\nSources:" + "\n- a.md" * entries
        assert (closing_sources(answer) is not None) is found
