"""Each tutorial works as it says, in a clean folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.examples import DOCS, read_chapter
from tests.docs.tutorials import Reader, missing_part

TUTORIALS = {
    path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "tutorials").glob("*.md")
}
MIGRATIONS = {
    name: read_chapter("migrate.md", f"From {name}") for name in ("ragas", "deepeval", "promptfoo")
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({**TUTORIALS, **MIGRATIONS}))
def test_every_command_of_a_page_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    reader.follow({**TUTORIALS, **MIGRATIONS}[name])
    assert "\n\n".join(reader.faults) == ""
    assert reader.n_commands


PAGE = """# T

Write `a/b.txt`:

```text
one
two
```

```console
cat a/b.txt
cd a && (exit 3)  # exit code 3
pwd  # exit code 1
```

```text
one
...
```

Change `b.txt`:

```diff
 one
-two
+three
```

```console
cat b.txt
```

```text
two
```
"""


def test_a_command_or_output_that_differs_is_a_fault(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    reader.follow(PAGE)
    assert (tmp_path / "a" / "b.txt").read_text(encoding="utf-8") == "one\nthree\n"
    assert reader.n_commands == 4
    assert len(reader.faults) == 2
    assert "pwd  # exit code 1: exit code 0" in reader.faults[0]
    assert "not printed:\ntwo" in reader.faults[1]


@pytest.mark.parametrize(
    ("shown", "part"),
    [
        ("a\n...\nc\n", None),
        ("run 20260101-1200-abcd in 3.2 s\n", None),
        ("c\n...\na\n", "a\n"),
        ("a\nc\n", "a\nc\n"),
    ],
    ids=["left out", "differs from run to run", "another order", "not together"],
)
def test_shown_lines_are_looked_up_in_order(shown: str, part: str | None) -> None:
    printed = "a\nb\nc\nrun 20261122-0900-0f0f in 11 s\n"
    assert missing_part(shown, printed) == part
