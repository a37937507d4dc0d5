from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import fields
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_rageval.project.case_edit import (
    EditConflictError,
    FileLine,
    FileLines,
    append_texts,
    change_line,
    read_file_lines,
    remove_line,
)
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import DatasetError

BOM = b"\xef\xbb\xbf"
ODD = (
    BOM + b'{"id":"a" , "k":1.0e0}\r\n'
    b"\r\n"
    b'{ "id": "b", "mine": [1,2],"question":"\\u00e9" }\n'
    b"\xff not even UTF-8\n"
    b'{"id": "c"}'
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(ODD)
    return path


def line_with(path: Path, text: str) -> FileLine:
    found = [one for one in read_file_lines(path).filled() if text.encode() in one.raw]
    assert len(found) == 1
    return found[0]


# --- what stays --------------------------------------------------------------------------------


def test_bom_line_ends_and_other_lines_stay_as_they_are(file: Path) -> None:
    change_line(file, line_with(file, '"b"'), {"k": 3})
    change_line(file, line_with(file, '"a"'), {"k": 2})
    change_line(file, line_with(file, '"c"'), {"k": 4})
    assert file.read_bytes() == (
        BOM + b'{"id": "a", "k": 2}\r\n'
        b"\r\n"
        b'{"id": "b", "question": "\xc3\xa9", "k": 3, "mine": [1, 2]}\n'
        b"\xff not even UTF-8\n"
        b'{"id": "c", "k": 4}'
    )


def test_a_symlink_is_followed_and_stays(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link = folder / "link.jsonl"
    link.symlink_to(Path("..") / file.name)
    change_line(link, line_with(link, '"a"'), {"k": 2})
    assert link.is_symlink()
    assert b'"k": 2' in file.read_bytes()
    assert [path.name for path in folder.iterdir()] == ["link.jsonl"]


def test_what_a_killed_editor_left_is_removed_and_nothing_else(file: Path) -> None:
    left = file.parent / f".{file.name}.rageval-0123abcd-1-0a1b2c3d.tmp"
    left.write_text("half", encoding="utf-8")
    os.utime(left, (0, 0))
    (file.parent / f".{file.name}.swp").write_text("an editor's", encoding="utf-8")
    change_line(file, line_with(file, '"a"'), {"k": 2})
    assert sorted(p.name for p in file.parent.iterdir()) == [f".{file.name}.swp", file.name]


# --- what others do meanwhile --------------------------------------------------------------------


def test_a_line_that_moved_meanwhile_is_found(file: Path) -> None:
    line = line_with(file, '"b"')
    file.write_bytes(ODD.replace(BOM, BOM + b'{"id": "new"}\n'))
    assert change_line(file, line, {"k": 3}).number == 4
    assert b'"new"' in file.read_bytes()
    assert b'"k": 3' in file.read_bytes()


@pytest.mark.parametrize("changed", [ODD.replace(b"[1,2]", b"[1, 2]"), b"", ODD[:30]])
def test_a_change_of_the_same_line_meanwhile_is_a_conflict(file: Path, changed: bytes) -> None:
    line = line_with(file, '"b"')
    file.write_bytes(changed)
    with pytest.raises(EditConflictError, match=r"cases\.jsonl:3: was changed by another program"):
        change_line(file, line, {"k": 3}, display="cases.jsonl")
    with pytest.raises(EditConflictError):
        remove_line(file, line)
    assert file.read_bytes() == changed


# --- lines that come and go ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b'{"id": "n"}\n'),
        (b'{"id":"a"}\n', b'{"id":"a"}\n{"id": "n"}\n'),
        (b'{"id":"a"}\r\n', b'{"id":"a"}\r\n{"id": "n"}\r\n'),
        (b'{"id": "a"}', b'{"id": "a"}\n{"id": "n"}\n'),
        (b'{}\r\n{"id": "a"}', b'{}\r\n{"id": "a"}\r\n{"id": "n"}\r\n'),
        (b'{"id": "a"}\nnot JSON\n', b'{"id": "a"}\nnot JSON\n{"id": "n"}\n'),
    ],
)
def test_a_new_line_is_ended_as_the_others_are(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(before)
    append_texts(path, ['{"id": "n"}'])
    assert path.read_bytes() == after


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), {"a"}, object(), "\ud800"])
def test_a_value_that_json_cannot_hold_is_refused(file: Path, value: object) -> None:
    with pytest.raises(DatasetError, match=r"^x:1: .*JSON does not allow"):
        change_line(file, line_with(file, '"a"'), {"k": value}, display="x")
    assert file.read_bytes() == ODD


# --- at random -----------------------------------------------------------------------------------

odd_lines = st.sampled_from(
    [
        b"",
        b"  ",
        b'{"id":"%d"}',
        b'\t{ "id" : "%d" , "mine":[1 ,2],"gold_supports":[ {"rel_path":"a.md","x":1e2} ] } ',
        b'{"id": "%d", "question": "\\u00e9\\ud83d\\ude00", "notes" :"old"}',
        '{"id": "%d", "notes":"é\u2028", "k": 5, "unknown": {"deep": [null]}}'.encode(),
    ]
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file of many habits."""
    lines = [
        line.replace(b"%d", str(i).encode())
        for i, line in enumerate(draw(st.lists(odd_lines, max_size=8)))
    ]
    lines.append(b'{"id": "always", "k":1}')
    ends = draw(
        st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=len(lines), max_size=len(lines))
    )
    data = b"".join(line + end for line, end in zip(lines, ends, strict=True))
    data = draw(st.sampled_from([data, data.rstrip(b"\r\n")]))
    return draw(st.sampled_from([b"", BOM])) + data


new_values = st.fixed_dictionaries(
    {},
    optional={
        "answerable": st.booleans(),
        "notes": st.text(max_size=5),
        "k": st.integers(1, 9) | st.none(),
        "gold_supports": st.lists(
            st.fixed_dictionaries({"rel_path": st.sampled_from(["a.md", "é.md", "c d.md"])}),
            max_size=3,
        ),
    },
)


@pytest.mark.slow
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=files(), which=st.integers(0, 8), changes=new_values)
def test_random_edits_change_only_what_was_meant(
    tmp_path: Path, data: bytes, which: int, changes: dict[str, object]
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(data)
    lines = list(FileLines.of(data).filled())
    line = lines[which % len(lines)]
    change_line(path, line, changes)
    after = path.read_bytes()
    assert after.startswith(BOM) == data.startswith(BOM)
    old, new = data.removeprefix(BOM).split(b"\n"), after.removeprefix(BOM).split(b"\n")
    assert len(old) == len(new)
    index = line.number - 1
    assert old[:index] + old[index + 1 :] == new[:index] + new[index + 1 :]
    assert old[index].endswith(b"\r") == new[index].endswith(b"\r")
    before, found = json.loads(old[index]), json.loads(new[index])
    assert found == {**before, **changes}
    if found != before:
        known = [one.name for one in fields(Case) if one.name in found]
        assert list(found)[: len(known)] == known


# --- kill -9 -------------------------------------------------------------------------------------

SAVER = """
    import sys
    from pathlib import Path
    from pytest_rageval.project.case_edit import change_line, read_file_lines
    path = Path(sys.argv[1])
    line = list(read_file_lines(path).filled())[int(sys.argv[2])]
    print("ready", flush=True)
    for n in range(10 ** 9):
        line = change_line(path, line, {"notes": "x" * (n % 50_000), "n": n})
        print("saved", flush=True)
"""


def content(data: bytes) -> list[str]:
    """Check that every line is whole and unmixed, and return the ids."""
    documents = [json.loads(line) for line in data.decode("utf-8").splitlines()]
    for document in documents:
        n = document.get("n", 0)
        assert document["notes"] == ("x" * (n % 50_000) if "n" in document else "first")
    return [document["id"] for document in documents]


@pytest.mark.posix
@pytest.mark.slow
def test_a_kill_during_saves_never_leaves_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    ids = [f"case-{i}" for i in range(40)]
    first = "".join(json.dumps({"id": one, "notes": "first"}) + "\n" for one in ids)
    path.write_text(first, encoding="utf-8")
    draw = Random(7)
    command = [sys.executable, "-c", textwrap.dedent(SAVER), str(path)]
    n_saves = 0
    for round_ in range(8):
        before = path.read_bytes()
        with subprocess.Popen([*command, str(round_)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            began, n_before = time.monotonic(), draw.randint(10, 20)
            for _ in range(n_before):
                assert process.stdout.readline() == b"saved\n"
            # At any moment of a save, however slow the machine is.
            time.sleep(draw.uniform(0, (time.monotonic() - began) / n_before))
            process.send_signal(signal.SIGKILL)
        data = path.read_bytes()
        assert content(data) == ids
        n_saves += json.loads(data.splitlines()[round_]).get("n", -1) + 1
        old, new = before.splitlines(), data.splitlines()
        assert [i for i in range(len(ids)) if old[i] != new[i]] in ([round_], [])
    assert n_saves >= 80
    for left in tmp_path.glob("*.tmp"):
        os.utime(left, (0, 0))
    change_line(path, next(iter(read_file_lines(path).filled())), {"notes": "last"})
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.slow
def test_editors_of_different_lines_at_the_same_time_all_succeed(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(f'{{"id": "{i}"}}\n' for i in range(4)), encoding="utf-8")
    saver = textwrap.dedent(SAVER).replace("10 ** 9", "30").replace("50_000", "50")
    command = [sys.executable, "-c", saver, str(path)]
    editors = [subprocess.Popen([*command, str(i)], stdout=subprocess.DEVNULL) for i in range(4)]
    assert [editor.wait(60) for editor in editors] == [0, 0, 0, 0]
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert found == [{"id": str(i), "notes": "x" * 29, "n": 29} for i in range(4)]
