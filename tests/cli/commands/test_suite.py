from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from pytest_rageval.authoring.suites.catalogue import PackagedDataset
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.read import open_run
from tests.build.targets import fake_target, json_reply

Output = pytest.CaptureFixture[str]
FOLDER = Path("evals/cache/suites/tiny")


def use_target(url: str) -> None:
    Path("pyproject.toml").write_text(
        f'[tool.rageval.target]\nurl = "{url}"\nretries = 0\n', encoding="utf-8"
    )


def reply(*paths: str) -> Any:
    chunks = [{"rel_path": path, "text": "t"} for path in paths]
    return json_reply({"answer": "", "debug": {"retrieved_chunks": chunks}})


@pytest.fixture(scope="module")
def embedded_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Document of a run over the embedded server, and the folder of the suite."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as printed:
        patch.chdir(folder)
        assert cli.run(["suite", "run", "tiny", "--json"]) == ExitCode.YES
    document = json.loads(printed.getvalue())
    document["run"] = str(folder / document["run"])
    return document, folder / FOLDER


def test_the_embedded_server_lands_where_bm25_does(
    embedded_run: tuple[dict[str, Any], Path],
) -> None:
    document, _ = embedded_run
    assert document["verdict"] == "in_range"
    assert document["n_questions"] == 14
    assert document["left_out"] == {}
    for figure in document["figures"].values():
        assert figure["low"] <= figure["published"]["BM25"] <= figure["high"]


def test_the_figures_are_those_of_ir_measures_over_the_stored_run(
    embedded_run: tuple[dict[str, Any], Path],
) -> None:
    document, _ = embedded_run
    qrels: dict[str, dict[str, int]] = {}
    for row in PackagedDataset("tiny").qrels_iter():
        qrels.setdefault(row.query_id, {})[f"{row.doc_id}.md"] = row.relevance
    run = {
        record.case.id: {
            path: -float(rank)
            for rank, path in enumerate(
                dict.fromkeys(chunk.rel_path for chunk in record.reply.retrieved_chunks or ())
            )
        }
        for record in open_run(document["run"], {}).records
    }
    measures = {"ndcg@10": ir_measures.nDCG @ 10, "recall@3": ir_measures.R @ 3}
    theirs = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
    for key, measure in measures.items():
        assert document["figures"][key]["value"] == pytest.approx(theirs[measure], abs=1e-12)


def test_the_run_is_an_ordinary_one_in_the_folder_of_the_suite(
    embedded_run: tuple[dict[str, Any], Path], tmp_path: Path, capsys: Output
) -> None:
    _, folder = embedded_run
    work = tmp_path / "copy"
    shutil.copytree(folder, work)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work)
        assert cli.run(["explain", "last", "1"]) == ExitCode.YES
    assert "tide-mill.md" in capsys.readouterr().out


def test_a_target_of_the_project_has_to_index_the_corpus_first(
    project: Path, capsys: Output
) -> None:
    use_target("http://127.0.0.1:9")
    assert cli.run(["suite", "run", "tiny"]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert "Index each note in" in err
    assert "repeat the command with --indexed" in err
    assert len(list((FOLDER / "corpus").iterdir())) == 12
    assert not (FOLDER / "evals/results").exists()
    assert cli.run(["suite", "run", "tiny", "--indexed"]) == ExitCode.UNREACHABLE
    assert "no question was answered; the first: " in capsys.readouterr().err
    assert cli.run(["suite", "run", "tiny", "--embedded"]) == ExitCode.YES


def test_the_target_of_the_project_is_asked_once_it_is_indexed(
    project: Path, capsys: Output
) -> None:
    with fake_target(reply("lighthouse")) as target:
        use_target(target.url)
        arguments = ["suite", "run", "tiny", "--indexed", "--ids", "keep", "-k", "10", "--json"]
        assert cli.run(arguments) == ExitCode.NO
        assert {received.json["k"] for received in target.received} == {10}
        assert len(target.received) == 14
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "below"
    assert document["figures"]["recall@3"]["value"] == pytest.approx(1 / 14)
    assert document["target"] == f"{target.url}/api/v1/ask"
    assert not (FOLDER.with_name("tiny-ids") / "corpus").exists()


def test_a_suite_that_cannot_be_downloaded_ends_with_4(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # closed: nothing leaves the machine
    monkeypatch.setenv("IR_DATASETS_DL_TRIES", "1")
    monkeypatch.setenv("IR_DATASETS_HOME", str(project / "downloads"))
    # The library reads its environment when it is imported, so in a process of its own.
    command = [sys.executable, "-m", "pytest_rageval.cli.main", "suite", "run", "scifact"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == ExitCode.UNREACHABLE
    begun, line = ended.stderr.splitlines()  # and nothing that the library prints
    assert begun.startswith("scifact: 5,183 documents")
    assert "beir/scifact/test cannot be downloaded" in line
    assert " through the proxy; without a network" in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scifakt"], "unknown suite 'scifakt', did you mean"),
        (["hotpotqa"], "the embedded server takes notes, and not 5,233,329 documents"),
        (["tiny", "--ids", "keep"], "the embedded server takes notes, and not --ids keep"),
        (["tiny", "--indexed", "--embedded"], "expected one of them"),
        (["tiny", "-k", "2"], "and -k 3 or more"),
    ],
)
def test_a_wrong_use_is_named(
    project: Path, capsys: Output, arguments: list[str], message: str
) -> None:
    assert cli.run(["suite", "run", *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err
