from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.project.options import OPTIONS
from pytest_rageval.project.settings import (
    config_hash,
    target_kind,
)
from pytest_rageval.values.declared import Setting
from pytest_rageval.values.settings import Settings, TargetSettings
from tests.build.setting_values import (
    TEXT,
    another_value,
    as_flag,
    as_toml,
    as_variable,
    with_value,
)
from tests.project.settings_files import faults, load, write

FLAGS = [option for option in OPTIONS if option.flag is not None]


# --- sources and their order -----------------------------------------------------------------


def test_without_any_source_every_setting_is_a_default(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings == Settings(rootdir=str(tmp_path), origins=settings.origins)
    assert set(settings.origins.values()) == {"default"}


def test_a_flag_wins_over_its_variable_and_that_over_pyproject(tmp_path: Path) -> None:
    write(tmp_path, "[tool.rageval]\nk = 1\nmax_errors = 2\nresults = 'r'\n")
    settings = load(
        tmp_path,
        {"rageval_rag_k": "3"},
        {"RAGEVAL_RAG_K": "4", "RAGEVAL_MAX_ERRORS": "5"},
    )
    assert (settings.k, settings.max_errors, settings.results_dir) == (3, 5, "r")
    assert settings.origins["k"] == "flag"
    assert settings.origins["max_errors"] == "env RAGEVAL_MAX_ERRORS"
    assert settings.origins["results_dir"] == "pyproject.toml"
    assert settings.origins["judge"] == "default"


def only(folder: Path, option: Setting, origin: str) -> Settings:
    """Settings of which one option alone is not at its default."""
    value = another_value(option)
    whole = with_value(Settings(rootdir=str(folder)), option, value)
    origins = {one.name: "default" for one in OPTIONS} | {option.name: origin}
    if option.kind == "params":
        origins |= {f"{option.name}.{key}": origin for key in value}
    if option.name == "target.timeout_s":
        whole = replace(whole, target=replace(whole.target, read_timeout_s=value))
        origins["target.read_timeout_s"] = origin
    if option.name == "judging.client":
        whole = replace(whole, judge=value)
        origins["judge"] = origin
    return replace(whole, origins=origins)


@pytest.mark.parametrize(
    # A preset reaches many settings: tests/project/presets.
    "option",
    [o for o in OPTIONS if o.key and o.kind != "preset"],
    ids=lambda o: o.key,
)
def test_every_key_of_pyproject_reaches_its_setting(tmp_path: Path, option: Setting) -> None:
    table, _, key = f"tool.rageval.{option.key}".rpartition(".")
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "limits.toml").touch()  # that of thresholds has to be there
    write(tmp_path, f"[{table}]\n{key} = {as_toml(another_value(option))}\n")
    assert load(tmp_path) == only(tmp_path, option, "pyproject.toml")


TIER = f"[tool.rageval.tier.{TEXT}]\n"
"""Table of the tier that a flag names."""


@pytest.mark.parametrize("option", FLAGS, ids=lambda o: o.flag)
def test_every_flag_reaches_its_setting(tmp_path: Path, option: Setting) -> None:
    write(tmp_path, TIER)
    given = as_flag(another_value(option))
    assert load(tmp_path, {option.dest: given}) == only(tmp_path, option, "flag")


@pytest.mark.parametrize("option", FLAGS, ids=lambda o: o.env)
def test_every_variable_reaches_its_setting(tmp_path: Path, option: Setting) -> None:
    write(tmp_path, TIER)
    environ = {str(option.env): as_variable(another_value(option))}
    expected = only(tmp_path, option, f"env {option.env}")
    assert load(tmp_path, environ=environ) == expected


def test_the_slash_at_the_end_of_a_url_goes(tmp_path: Path) -> None:
    write(tmp_path, "[tool.rageval.target]\nurl = 'http://127.0.0.1:8000/'\n")
    assert load(tmp_path).target.url == "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("temperature = 1", ": got 'temperature', expected a field that the request does not have"),
        (
            "api_key = 'hunter2'",
            ".api_key: got what looks like a secret, expected its variable in api_key_env",
        ),
        (
            "x = { y = [{ token = 'hunter2' }] }",
            ".x: got what looks like a secret, expected its variable in",
        ),
    ],
)
def test_further_fields_of_a_judge_are_neither_its_own_nor_secrets(
    tmp_path: Path, extra: str, expected: str
) -> None:
    write(tmp_path, f"[tool.rageval.judge]\nextra_body = {{ {extra} }}\n")
    (fault,) = faults(tmp_path)
    assert fault.startswith(f"pyproject.toml:2: [tool.rageval.judge] extra_body{expected}")
    assert "hunter2" not in fault


# --- params and gates --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("0.5", 0.5),
        ("true", True),
        ("null", None),
        ('"1"', "1"),
        ("fast", "fast"),
        ("", ""),
        ("a=b", "a=b"),
        ("[1]", "[1]"),
        ("NaN", "NaN"),
        ("1e999", "1e999"),
    ],
)
def test_a_param_is_a_json_scalar_or_text(tmp_path: Path, text: str, value: object) -> None:
    params = load(tmp_path, {"rageval_rag_param": [f"mode={text}"]}).params
    assert params == {"mode": value}
    assert type(params["mode"]) is type(value)


# --- faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dest", "text", "expected"),
    [
        ("rageval_rag_k", "0", "--rag-k: got '0', expected an integer of at least 1"),
        ("rageval_rag_k", "2.0", "--rag-k: got '2.0', expected an integer of at least 1"),
        (
            "rageval_rag_k",
            "9" * 20,
            f"--rag-k: got '{'9' * 20}', expected an integer of at least 1 and at most {2**53}",
        ),
        (
            "rageval_repeats",
            "1001",
            "--rageval-repeats: got '1001', expected an integer of at least 1 and at most 1000, or "
            '"auto"',
        ),
        ("rageval_rag_timeout", "inf", "--rag-timeout: got 'inf', expected a number above 0"),
        (
            "rageval_rag_vector_weight",
            "-0.1",
            "--rag-vector-weight: got '-0.1', expected a number of at least 0",
        ),
        (
            "rageval_rag_folder_mode",
            "maybe",
            '--rag-folder-mode: got \'maybe\', expected one of "off", "on", "on_with_fallback"',
        ),
        (
            "rageval_judge",
            " ",
            "--judge: got ' ', expected a string that is not empty",
        ),
        (
            "rageval_rag_url",
            "localhost:8000",
            "--rag-url: got 'localhost:8000', expected a URL such as http://127.0.0.1:8000",
        ),
        (
            "rageval_rag_url",
            "http://host:99999",
            "--rag-url: got 'http://host:99999', expected a URL such as http://127.0.0.1:8000",
        ),
    ],
)
def test_a_wrong_flag_is_named_with_what_came_and_what_was_expected(
    tmp_path: Path, dest: str, text: str, expected: str
) -> None:
    assert faults(tmp_path, {dest: text}) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kk = 3", '[tool.rageval] kk: unknown key, did you mean "k"?'),
        ("resultz = 'x'", '[tool.rageval] resultz: unknown key, did you mean "results"?'),
        ('target."" = 1', '[tool.rageval.target] "": unknown key'),
        ("url = 'http://x'", '[tool.rageval] url: unknown key, did you mean "target.url"?'),
        ("target.k = 5", '[tool.rageval.target] k: unknown key, did you mean "k" in'
         " [tool.rageval]?"),
        ("target.ulr = ''", '[tool.rageval.target] ulr: unknown key, did you mean "url"?'),
        ("targt.url = ''", '[tool.rageval] targt: unknown key, did you mean "target"?'),
        ("target = 1", "[tool.rageval] target: got 1, expected a table"),
        ("k = 0", "[tool.rageval] k: got 0, expected an integer of at least 1"),
        (f"k = {2**63 - 1}", f"[tool.rageval] k: got {2**63 - 1}, expected an integer of at least"
         f" 1 and at most {2**53}"),
        ("repeats = 1000000", "[tool.rageval] repeats: got 1000000, expected an integer of at"
         ' least 1 and at most 1000, or "auto"'),
        ("k = true", "[tool.rageval] k: got True, expected an integer of at least 1"),
        ("vector_weight = nan", "[tool.rageval] vector_weight: got nan, expected a number of at"
         " least 0"),
        ("retrieval_only = 1", "[tool.rageval] retrieval_only: got 1, expected true or false"),
        ("target.strip_root = '/'", "[tool.rageval.target] strip_root: got '/', expected a folder"
         ' such as "/srv/docs"'),
        ("target.strip_root = 7", "[tool.rageval.target] strip_root: got 7, expected a list of"
         " strings"),
        ("testpaths = 'evals'", "[tool.rageval] testpaths: got 'evals', expected a list of"
         " strings"),
        ("matching.snippets = 'some'", "[tool.rageval.matching] snippets: got 'some', expected one"
         ' of "off", "any", "all"'),
        ("target.retries = -1", "[tool.rageval.target] retries: got -1, expected an integer of at"
         " least 0"),
        ("target.request = { q = 1 }", "[tool.rageval.target] request.q: got 1, expected an"
         ' expression; a constant is one in backquotes, such as "`5`"'),
        ("target.request = 1", "[tool.rageval.target] request: got 1, expected a JMESPath"
         " expression or a table of them"),
        ("params = 1", "[tool.rageval] params: got 1, expected a table"),
        ("params.day = 2026-01-01", "[tool.rageval] params.day: got datetime.date(2026, 1, 1),"
         " expected a value that JSON can hold"),
        ("params.x = inf", "[tool.rageval] params.x: got inf, expected a value that JSON can"
         " hold"),
        ("judge = { model = 7 }", "[tool.rageval.judge] model: got 7, expected a string"),
        ("judge = 'off'", "[tool.rageval] judge: got 'off', expected offline, none or the name of"
         " a model"),
        ("judge = { rubrics = [] }", "[tool.rageval.judge] rubrics: got [], expected a list of"
         " strings"),
        ("judge = { modle = 'x' }", '[tool.rageval.judge] modle: unknown key, did you mean'
         ' "model"?'),
        ("gates = ['mrr']", "[tool.rageval] gates: got 'mrr', expected METRIC>=NUMBER or"
         " METRIC<=NUMBER in quotes, such as 'recall_at_k>=0.9', 'recall_all_at_k[multi_hop]>=0.7'"
         " or 'recall_at_k[tag work]>=0.8'"),
    ],
)  # fmt: skip
def test_a_wrong_key_of_pyproject_is_named_with_its_table(
    tmp_path: Path, text: str, expected: str
) -> None:
    write(tmp_path, f"[tool.rageval]\n{text}\n")
    assert faults(tmp_path) == [f"pyproject.toml:2: {expected}"]


def test_all_faults_of_all_sources_come_at_once(tmp_path: Path) -> None:
    write(tmp_path, "[tool.rageval]\nk = 0\nfoo = 1\n[tool.rageval.target]\nretries = 'x'\n")
    found = faults(
        tmp_path,
        {"rageval_rag_k": "x", "rageval_rag_param": ["a", "b"]},
        {"RAGEVAL_RETRIEVAL_ONLY": "perhaps"},
    )
    assert len(found) == 7


def test_a_pyproject_that_is_no_toml_says_where(tmp_path: Path) -> None:
    write(tmp_path, "[tool.rageval\n")
    (fault,) = faults(tmp_path)
    assert fault.startswith("pyproject.toml: cannot be read:")
    assert "line 1" in fault


# --- targets and comparability -----------------------------------------------------------------


def test_a_url_goes_before_a_vault() -> None:
    assert target_kind(Settings(rootdir="")) == "none"
    assert target_kind(Settings(rootdir="", target=TargetSettings(vault="v"))) == "vault"
    assert target_kind(Settings(rootdir="", target=TargetSettings(vault="v", url="u"))) == "url"


BASE = Settings(rootdir="a")


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, rootdir="b"),
        replace(BASE, run_id="x"),
        replace(BASE, results_dir="x"),
        replace(BASE, origins={"k": "flag"}),
        replace(BASE, store_full_text=True),
        replace(BASE, extra_gates=("mrr>=1",)),
        replace(BASE, max_errors=1),
        replace(BASE, resume="last"),
        replace(BASE, failed_from="last"),
        replace(BASE, shard="1/2"),
        replace(BASE, target=TargetSettings(timeout_s=1, retries=0)),
    ],
)
def test_where_a_run_is_kept_does_not_change_its_hash(other: Settings) -> None:
    assert config_hash(other) == config_hash(BASE)


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, k=6),
        replace(BASE, repeats=2),
        replace(BASE, folder_mode="on"),
        replace(BASE, vector_weight=0.5),
        replace(BASE, params={"a": 1}),
        replace(BASE, judge="model"),
        replace(BASE, retrieval_only=True),
        replace(BASE, path_case="insensitive"),
        replace(BASE, snippets="all"),
        replace(BASE, coarse_chunks=True),
        replace(BASE, abstention_texts=("NO ANSWER",)),
        replace(BASE, retriever_version="2"),
        replace(BASE, target=TargetSettings(url="http://x")),
        replace(BASE, target=TargetSettings(vault="v")),
    ],
)
def test_what_changes_the_numbers_changes_the_hash(other: Settings) -> None:
    assert config_hash(other) != config_hash(BASE)
