from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.step_summary import fit_markdown

LINES = "".join(f"| {i} | value |\n" for i in range(100))
SAID = "Cut here: "


def test_a_cut_falls_between_lines_and_is_said() -> None:
    kept = fit_markdown(LINES, len(LINES) - 1)
    table, said = kept.split("\n\n")
    assert LINES.startswith(f"{table}\n")
    assert said.startswith(SAID)


def test_a_part_that_is_folded_away_does_not_take_in_what_follows() -> None:
    text = f"## one\n<details><summary>many</summary>\n\n{LINES}\n</details>\n"
    kept = fit_markdown(text, 400)
    assert kept.count("<details>") == kept.count("</details>") == 1
    assert kept.index("</details>") < kept.index(SAID)


@given(st.text(alphabet="ab\n|é€\U0001f600", max_size=400), st.integers(-10, 500))
def test_the_room_is_never_exceeded(text: str, room: int) -> None:
    kept = fit_markdown(text, room)
    assert len(kept.encode()) <= max(room, 0)
    assert kept in {text, ""} or SAID in kept
