from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from pytest_rageval.authoring.inbox.messages import LOGS
from pytest_rageval.authoring.interchange.registry import FORMATS
from pytest_rageval.cli import main as cli
from pytest_rageval.project.case_reader import load_cases
from tests.authoring.interchange.sources import SAMPLES
from tests.build.http_server import serving
from tests.build.ir_datasets import library, local_dataset

Output = pytest.CaptureFixture[str]
OF_FORMAT = {
    "beir": ["beir"],
    "csv": ["cases.csv"],
    "deepeval": ["deepeval-goldens.json", "deepeval-goldens.csv"],
    "json": ["suite.json"],
    "promptfoo": ["promptfooconfig.yaml"],
    "ragas": ["ragas-0.2.jsonl", "ragas-0.1.csv"],
    "squad": ["squad-2.0.json"],
    "trec": ["topics.tsv", "qrels.txt", "demo.run"],
    "unrag": ["unrag-dataset.json", "unrag-report.json"],
    "yaml": ["suite.yaml"],
}


def run(*arguments: str) -> int:
    return cli.run(["import", *arguments])


def samples(name: str) -> list[str]:
    return [str(SAMPLES / file) for file in OF_FORMAT[name]]


def test_there_is_a_sample_of_every_format_and_every_format_is_offered() -> None:
    command = cli.cli.get_command(
        cli.cli.make_context("x", ["import"], resilient_parsing=True), "import"
    )
    assert command is not None
    (choice,) = [param.type for param in command.params if param.name == "name"]
    assert {*choice.choices} == {*FORMATS, *LOGS}  # type: ignore[attr-defined]
    of_files = sorted(name for name, one in FORMATS.items() if not one.is_named)
    assert of_files == sorted(OF_FORMAT)


@pytest.mark.parametrize("name", OF_FORMAT)
def test_whatever_is_imported_passes_the_check(name: str, capsys: Output) -> None:
    assert run(name, *samples(name), "-o", "evals/set.jsonl", "--responses", "r.jsonl") == 0
    assert cli.run(["check", "evals/set.jsonl"]) in {0, 1}
    assert load_cases(Path("evals/set.jsonl")).cases
    capsys.readouterr()
    assert run(name, *samples(name), "-o", "evals/set.jsonl", "--on-clash", "skip", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_cases"] == 0


def test_what_was_carried_over_and_what_was_not_is_told(capsys: Output) -> None:
    assert run("unrag", *samples("unrag"), "-o", "evals/garden.jsonl") == 0
    out = capsys.readouterr().out
    assert "unrag: 4 cases, 4 documents below eval/garden/, 2 recorded responses" in out
    assert "  1  documents[].assets: images, audio and the like are not sent" in out
    assert '  recall_at_k = ">= 0.75"' in out
    assert "note    the recorded responses are written with --responses FILE" in out
    assert "wrote  evals/documents/garden.jsonl" in out


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: Output) -> None:
    assert run("unrag", *samples("unrag"), "--dry-run", "--responses", "r.jsonl") == 0
    assert list(tmp_path.iterdir()) == []
    assert "would write  evals/eval_set.jsonl" in capsys.readouterr().out


def test_ids_that_are_taken_are_refused_and_nothing_is_written(capsys: Output) -> None:
    Path("set.jsonl").write_text('{"id": "c2", "question": "own"}\n', encoding="utf-8")
    assert run("csv", *samples("csv"), "-o", "set.jsonl") == 2
    assert "c2 (line 1); choose --on-clash skip" in capsys.readouterr().err
    assert Path("set.jsonl").read_text(encoding="utf-8").count("\n") == 1
    assert run("csv", *samples("csv"), "-o", "set.jsonl", "--on-clash", "rename") == 0
    ids = [one.case.id for one in load_cases(Path("set.jsonl")).cases]
    assert ids == ["c2", "c1", "c2-2"]
    assert "renamed c2 to c2-2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["xlsx", "f"], "'xlsx' is not one of"),
        (["csv"], "Missing argument 'FILE...'"),
        (["csv", "no.csv"], "no.csv: cannot be read"),
        (["csv", "t.csv", "--column", "question"], "expected FIELD=HEADER"),
        (["csv", "t.csv", "--column", "k=a", "--column", "k=b"], "k=b: k is named twice"),
        (["csv", "t.csv", "--column", "k=a", "--column", "id=a"], "id=a: a is named twice"),
        (["csv", "t.csv", "--delimiter", "ab"], "expected one character"),
        (
            ["ragas", "t.csv", "--column", "question=a"],
            "--column: goes with csv, json, jsonl, yaml, not",
        ),
        (["trec", "t.csv", "--delimiter", ";"], "--delimiter: goes with csv, deepeval, promptfoo,"),
        (["json", "t.csv", "--split", "dev"], "--split: goes with beir, not with json"),
        (["csv", "http://127.0.0.1:9/t.csv"], "a URL; add --fetch to fetch it"),
        (["csv", "http://127.0.0.1:9/t.csv", "--fetch"], "cannot be fetched"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str, capsys: Output) -> None:
    Path("t.csv").write_text("question\na\n", encoding="utf-8")
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_the_next_command_scores_answers_where_nothing_was_retrieved(capsys: Output) -> None:
    rows = [{"input": "When?", "expected_output": "In May.", "actual_output": "In May."}]
    Path("g.json").write_text(json.dumps(rows), encoding="utf-8")
    assert run("deepeval", "g.json", "-o", "my set.jsonl", "--responses", "my r.jsonl") == 0
    out = capsys.readouterr().out
    assert "so retrieval is not scored: 1 case\n" in out
    (line,) = [line for line in out.splitlines() if line.startswith("next")]
    assert line == "next    rageval score 'my set.jsonl' 'my r.jsonl' --judge offline"
    assert cli.run(shlex.split(line)[2:]) == 0
    assert (
        "1 passed, 0 missed, 0 flawed, 0 errors, 0 with nothing checked" in capsys.readouterr().out
    )


# --- what is fetched -------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "site"
    folder.mkdir()
    shutil.copy(SAMPLES / "cases.csv", folder)
    (folder / "fees.md").write_text("The fee is ten pounds.", encoding="utf-8")

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, format: str, *args: object) -> None:
            pass

    with serving(Handler) as url:
        yield url


def test_a_url_is_fetched_when_asked(site: str, capsys: Output) -> None:
    assert run("csv", f"{site}/cases.csv", "--fetch") == 0
    assert run("csv", f"{site}/missing.csv", "--fetch") == 2
    assert capsys.readouterr().err.endswith("HTTP 404, expected the text\n")


def test_texts_behind_urls_are_stored_when_asked(site: str) -> None:
    text = (SAMPLES / "unrag-dataset.json").read_text(encoding="utf-8")
    Path("d.json").write_text(text.replace('"fees.md"', f'"{site}/fees.md"'), encoding="utf-8")
    assert run("unrag", "d.json", "-o", "evals/a.jsonl") == 0
    assert run("unrag", "d.json", "-o", "evals/b.jsonl", "--fetch") == 0
    kept, fetched = (
        json.loads(
            Path(f"evals/documents/{name}.jsonl").read_text(encoding="utf-8").splitlines()[-1]
        )
        for name in "ab"
    )
    assert kept["ref"] == f"{site}/fees.md"
    assert fetched["text"] == "The fee is ten pounds."


@pytest.fixture
def named(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Name of a dataset of the library ir-datasets."""
    ir_datasets = library(tmp_path_factory)
    found = dict(ir_datasets.registry._registered)
    monkeypatch.setattr(ir_datasets.registry, "_registered", found)
    ir_datasets.registry.register("demo/test", local_dataset(ir_datasets, tmp_path / "demo"))
    return "demo/test"


def test_a_named_dataset_is_imported_with_its_documents(named: str, capsys: Output) -> None:
    arguments = ["ir-datasets", named, "-o", "evals/set.jsonl", "--documents", "notes"]
    assert run(*arguments, "--dry-run") == 0
    assert "would write  notes" in capsys.readouterr().out
    assert not Path("notes").exists()
    assert run(*arguments) == 0
    assert "2 cases, 3 documents below notes/" in capsys.readouterr().out
    for located in load_cases(Path("evals/set.jsonl")).cases:
        for gold in located.case.gold_supports:
            assert Path("notes", gold.rel_path).is_file()
    assert run(*arguments, "--on-clash", "skip") == 2
    assert "notes: exists, and nothing is overwritten" in capsys.readouterr().err


def test_a_dataset_that_cannot_be_downloaded_ends_with_4(
    named: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # closed: nothing leaves the machine
    monkeypatch.setenv("IR_DATASETS_DL_TRIES", "1")
    assert run("ir-datasets", "beir/scifact/test", "-o", "evals/set.jsonl") == 4
    assert "beir/scifact/test cannot be downloaded" in capsys.readouterr().err
    assert not Path("evals/set.jsonl").exists()


# --- logs --------------------------------------------------------------------------------------


def test_a_log_becomes_cases_with_the_responses_that_were_given(capsys: Output) -> None:
    log = SAMPLES.parent / "logs" / "langfuse.jsonl"
    inbox = Path("evals/inbox/langfuse.jsonl")

    assert run("langfuse", str(log), "--sample", "2", "--by", "thumbs-down,random", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert cli.run(["score", str(inbox), str(inbox), "--judge", "offline"]) == 0

    assert document["written"] == [inbox.as_posix()]
    assert (document["n_requests"], document["n_cases"]) == (2, 2)
    assert document["strata"]["thumbs_down"] == {"n_families": 1, "n_sampled": 1}
    assert len(load_cases(inbox).cases) == 2
    assert run("langfuse", str(log)) == 2  # the file exists


@pytest.mark.parametrize(
    "arguments",
    [
        ["csv", "x.csv", "--mask"],
        ["otel", "x.json", "--responses", "r.jsonl"],
        ["otel", "x.json", "--by", "luck"],
        ["jsonl", "x.jsonl", "--column", "gold=x"],
        ["jsonl", "missing.jsonl"],
    ],
)
def test_options_that_do_not_fit_a_log_are_refused(arguments: list[str]) -> None:
    assert run(*arguments) == 2
