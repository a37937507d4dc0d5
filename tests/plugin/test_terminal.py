from __future__ import annotations

import pytest

from tests.plugin.scratch import CASES, REFUSED, Project, case, summary_lines


@pytest.mark.parametrize(("width", "verbosity"), [(50, "-q"), (50, "-v"), (80, "--verbosity=0")])
def test_the_summary_keeps_to_ascii_and_to_the_width(
    project: Project, monkeypatch: pytest.MonkeyPatch, width: int, verbosity: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    long = case("a-case-with-a-rather-long-id-" + "x" * 60, "miss it", category="c" * 40)
    project.cases([*CASES, REFUSED, long])
    project.write("thresholds.toml", '[category.multi_hop]\nrecall_all_at_k = ">= 0.9"\n')
    lines = list(summary_lines(project.run(verbosity)))
    assert lines[0].startswith("FAIL 2 of 2 checks; ")
    assert all(line.isascii() for line in lines)
    assert [line for line in lines if len(line) > width] == []


HOSTILE = "\x1b[31mred\x1b[0m \u202eevil \n::error::boom \x07"


def test_hostile_text_never_reaches_the_terminal_raw(project: Project) -> None:
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8")
    conftest = conftest.replace('"The answer text."', ascii(HOSTILE))
    conftest = conftest.replace('"nobody listens"', ascii(HOSTILE))
    project.write("conftest.py", conftest)
    project.cases(
        [
            case("ok-1", f"hit {HOSTILE}"),
            case("short-1", f"miss {HOSTILE}"),
            case("dead-1", f"refuse {HOSTILE}", required=True),
        ]
    )
    result = project.run("-vv", "--color=no")
    assert result.ret == 1
    told = result.stdout.str() + result.stderr.str()
    assert "ConnectionRefusedError" in told
    assert not [c for c in ("\x1b", "\u202e", "\x07") if c in told]
    assert not [line for line in told.splitlines() if line.lstrip().startswith("::error")]


def _serve_vault(project: Project) -> None:
    project.write("conftest.py", "")
    project.write(
        "pyproject.toml",
        '[tool.pytest.ini_options]\nfilterwarnings = ["error"]\n'
        '[tool.rageval.target]\nvault = "evals/vault"\n',
    )
    project.write("evals/vault/a.md", "# A\n\nThe hit counter of the gate is seven.\n")


def test_faults_of_a_vault_are_told_in_a_run_that_passes(project: Project) -> None:
    _serve_vault(project)
    vault = project.path / "evals" / "vault"
    (vault / "bad.md").write_bytes(b"# Bad\n\nbyte \xff here\n")
    (vault / "empty.md").write_bytes(b"")
    (vault / "gone.md").symlink_to(project.path / "gone.md")
    project.cases([case("ok-1", "What is the hit counter of the gate?")])
    result = project.run()
    assert result.ret == 0
    told = " ".join(line[9:] for line in summary_lines(result))
    expected = [
        "bad.md: invalid UTF-8 at byte 12 (line 3); read with U+FFFD there",
        "empty.md: no chunk made: the note is empty",
        "gone.md: not read: No such file or directory",
    ]
    for line in expected:
        assert f"indexing coverage: {line}" in told
    stored = project.stored("metrics.json")
    assert not [w for w in stored["warnings"] if w.startswith("indexing")]
    assert stored["indexing"]["n_target_warnings"] == 3
    page = (project.run_folders()[0] / "report.html").read_text(encoding="utf-8")
    assert all(f"indexing coverage: {line}" in page for line in expected)
