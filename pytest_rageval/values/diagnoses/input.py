"""The diagnoses of what people write: files, settings, flags and values given in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pytest_rageval.values.diagnoses.table import Diagnosis, Fact, Facts, joined, known

_Row = Diagnosis[Literal["input"]]


def _input(*says: str, **example: Fact) -> _Row:
    return Diagnosis(kind="input", says=says, examples=(example,))


def _unlike(**example: Fact) -> _Row:
    return _input("got {found}, ", "expected {expected}", **example)


_EXPECTED: Final = ", expected {expected}"

INPUT: Final[Mapping[str, _Row]] = {
    # --- one value -------------------------------------------------------------------------
    "missing": _input("missing", _EXPECTED, expected="a text that is not blank"),
    "unknown": _input("unknown {what}", what="field", nearest="question"),
    "type": _unlike(found='"5"', expected="an integer of at least 1"),
    "bound": _unlike(found="1.5", expected="a number from 0 to 1, the scale of recall_at_5"),
    "choice": _unlike(found='"maybe"', expected='one of "offline", "none"'),
    "value": _unlike(found="'b.md'", expected="a path below 'docs/bot/'"),
    "duplicate": _input(
        "{found} is already {owner}", found='"refund"', owner="the id of line 3"
    ),
    "not_finite": _input("{found}, expected a finite number", found="NaN"),
    "half_character": _input("contains half of a surrogate pair; write the whole character"),
    "duplicate_key": _input("duplicate key; keep one of them"),
    "listed_twice": _input("{found} is listed twice", found="0.5"),
    "not_json_value": _input(
        "{reason}, which JSON does not allow", reason="Out of range float values"
    ),
    "pattern": _input(
        "{reason} (look-around and back-references are not supported)",
        reason="not a pattern: unclosed group"
    ),
    "invalid": _input("{reason}", reason="got 'recall', expected a gate such as recall_at_5>=0.9"),
    # --- a file as a whole -----------------------------------------------------------------
    "unreadable": _input("cannot be read: {reason}", reason="Permission denied"),
    "unwritable": _input("cannot be written: {reason}", reason="No space left on device"),
    "empty": _input("empty", _EXPECTED, expected='{"id": ..., "question": ...}'),
    "no_such_file": _input("contains no file {pattern}", pattern="*.jsonl"),
    "many_files": _input("contains {n:file}; at most {most} are read", n=20_000, most="10,000"),
    "large": _input("larger than {most_mb} MB, the most that is read", most_mb=256),
    "utf16": _input("text in UTF-16; save it in UTF-8"),
    "not_utf8": _input("byte 0x{byte}, expected UTF-8 text", byte="e4"),
    "not_json": _input("not JSON: {reason}", _EXPECTED, "{hint}",
                       reason="Expecting value at column 9", expected="JSON",
                       hint=' with straight quotes (")'),
    "more_json": _input("not JSON: {reason}", _EXPECTED, "{hint}", reason="Extra data at column 9",
                        expected="JSON"),
    "deep": _input("nested too deeply", _EXPECTED, expected="JSON"),
    "long_number": _input("a number is too long", _EXPECTED, expected="JSON"),
    "over_lines": _input(
        "one JSON value is on lines {first} to {last}",
        ", and {n_more:,} more such",
        "; write each object on one line",
        "; `rageval import json` reads {list} if the file is named .json",
        first=1, last=12, list="a list",
    ),
    "not_toml": _input("not TOML: {reason}", reason="Invalid value (at line 3, column 9)"),
    "changed": _input(
        "was changed by another program since it was read; nothing was written"
    ),
    "changing": _input("is being changed by another program; try again"),
    "no_variable": _input(
        "the environment variable {variable} is not set",
        "; it should contain the key of judge '{judge}'",
        variable="OPENAI_API_KEY", judge="gpt-4o-2024-08-06",
    ),
    "no_runs": _input(
        "no runs in {folder} yet: run `{command}` first",
        folder="evals/results", command="pytest evals",
    ),
    "first_run": _input("this is the first run in {folder}", folder="evals/results"),
    # --- settings, thresholds.toml and sweep.toml ------------------------------------------
    "conflict": _input("{reason}; ", "keep one of them", reason="the preset has an address"),
    "needs_vars": _input(
        "preset '{preset}' needs {names}; write {write}", "{mistaken}",
        preset="dify", names="app (its id)", write='vars = { app = "..." }',
    ),
    "misplaced": _input(
        '"{key}" is in {here}, put it {place}', key="min_n", here="[overall]", place="in [defaults]"
    ),
    "of_the_run": _input(
        "{key} is a figure of the whole run, put it in [overall]", key="latency_ms.p95"
    ),
    "limited_twice": _input(
        '"{key}" means "{metric}", which line {first} limits already',
        key="recall", metric="recall_at_5", first=4,
    ),
    "no_limits": _input(
        "there is no file {found}; write limits to it, such as [overall] and, below, pass_rate = "
        '">= 0.8", or remove the key for those of {instead}',
        found="'smoke.toml'", instead="thresholds.toml",
    ),
    "no_limit": _input("no limit", _EXPECTED, expected="one of min, max"),
    "above_max": _input("got {found}, which is above max {most}", found="0.9", most="0.8"),
    "in_query": _input('"{key}" is already a parameter of [query]', key="k"),
    "no_values": _input("{key}: no value, expected at least one", key="k"),
    "not_range": _input(
        'got "{found}", but a range needs "optuna"; list the values instead', found="grid"
    ),
    "log_range": _input("log = true needs a min above 0 and no step"),
    "neutral": _input(
        "{key} is neither better when higher nor when lower; name another metric", key="n_chunks"
    ),
    "only_first": _input("{key} must be the first objective", key="sweep_score"),
    "undecided": _input(
        "{key} is one figure for the whole run, so no test over pairs of cases can compare it; "
        "make a metric of cases the first objective, such as recall_at_k",
        key="latency_ms.p95",
    ),
    "weights": _input(
        'weights are used only by "{score}"; name it as an objective', score="sweep_score"
    ),
    "not_weighed": _input(
        "cannot be weighted; expected a metric from 0 to 1 that is better when higher"
    ),
    "no_build": _input("says nowhere how to build an index", _EXPECTED, expected="[index.build]"),
    "ignored": _input("ignored, because {reason}", reason="no preset is set"),
    "no_such_variable": _input(
        "ignored, because preset '{preset}' has no such variable", preset="dify", nearest="user"
    ),
    "open_secret": _input(
        "{where}; name an environment variable instead, as in {example}",
        where="the value is in the file", example='"env:RAG_TOKEN"',
    ),
    "secret_path": _input(
        "a key is in its query; send it in headers, as in {example}",
        example='X-Api-Key = "env:RAG_TOKEN"',
    ),
    "secret_name": _input("looks like a secret; send it in {place}", place="headers"),
    # --- documents, labels, recorded responses ---------------------------------------------
    "outside": _input(
        "{found} is not a path below the scope prefix '{prefix}'",
        found="'b.md'", prefix="docs/bot/",
    ),
    "scope_prefix": _input(
        "got {found}, expected {expected}; name one with --scope-prefix",
        found="'docs'", expected="a folder of at least two segments",
    ),
    "second_label": _input(
        "a second label of {id} for {rubric}; keep one of them", id="'refund'", rubric="correctness"
    ),
    "which_file": _input(
        '{id} is a case of {files}; add a "file" that says which',
        id="'refund'", files="a.jsonl and of b.jsonl",
    ),
    "other_vector": _input("{found} has a different vector on an earlier line", found="'c-1'"),
    "broken_record": _input(
        "{reason}; remove this line, then --rageval-resume asks its case again",
        reason="not JSON",
    ),
    "fields_missing": _input(
        "{names} missing", _EXPECTED,
        names="text and chunk_id", expected='{"text" or "chunk_id": a string, "embedding": [...]}',
    ),
    # --- files of other tools --------------------------------------------------------------
    "other_format": _input(
        "{place}", "{what}: it has {fields}; `rageval import {command}` reads such files",
        place="row 1: ", what="not a row of this format", fields="vars", command="promptfoo",
    ),
    "repeated_header": _input(
        "{what}, expected a row; if two files were joined here, pass each one by itself",
        what="a second header",
    ),
    "not_table": _input(
        "{reason}, expected a table of comma-separated values", reason="unexpected end of data"
    ),
    "late_header": _input("a header that is not on the first line; remove the lines above it"),
    "many_cells": _input(
        "{n_cells:cell} under {n_headers:header}; quote cells that contain {delimiter}",
        n_cells=4, n_headers=3, delimiter="','",
    ),
    "one_cell": _input(
        "1 cell under {n_headers:header}; separate the cells with {delimiter}",
        n_headers=3, delimiter="','",
    ),
    "other_grade": _input(
        "{document} has grade {grade} for {query}, but {other} at {at}; expected one grade",
        document="'d1'", grade=2, query="'q1'", other=1, at="qrels.tsv:4",
    ),
    "no_questions": _input(
        "none of {names} is known as the {kind} of questions; name it with {option}",
        kind="column", names="'a', 'b'", option="--column question=HEADER",
    ),
    "no_header": _input(
        "--column {option}: no such header; the headers are {names}",
        option="question=q", names="a, b"
    ),
    "unused_column": _input(
        "named with --column but not used: it needs a case with one gold, and a document"
    ),
    "url": _input("a URL; add --fetch to fetch it"),
    "beside_url": _input(
        "{found} cannot be read: a file that was fetched has no folder; download both",
        found="'tests.yaml'"
    ),
    "outside_folder": _input(
        "{found} is outside the folder of the file that names it", found="'../tests.yaml'"
    ),
    "no_further_file": _input(
        "{found} cannot be read: this text may not name further files", found="'tests.yaml'"
    ),
    "no_topics": _input("qrels without topics: name the file of the questions as well"),
    "odd_run": _input(
        "{found} looks like a line of a run but has {n} columns instead of six (topic, Q0, "
        "document, rank, score and a tag without blanks); fix the run, or pass topics (id, tab, "
        "question) and qrels (topic, iteration, document, grade)",
        found="'1 Q0 d1 1 0.5'", n=5,
    ),
    "between_topics": _input(
        "{found} is text between topics; if two files were joined here, pass each one by itself",
        found="'x'"
    ),
    "dataset_parts": _input(
        "{found} has no {lacking}", "; expected one of its parts: {parts}",
        found="'beir'", lacking="queries and no qrels", parts="beir/arguana",
    ),
    "yaml_size": _input("more than {most} characters of YAML; write JSON", most="2,000,000"),
    "yaml_alias": _input("an alias is part of the value that it names; write plain values"),
    "yaml_aliases": _input("its aliases expand to more than {most} values", most="1,000,000"),
    "not_yaml": _input(
        "not YAML: {reason}", "; put {what} into quotes",
        reason="mapping values are not allowed here", what="a text with such characters",
    ),
}  # fmt: skip
"""Facts of any row: ``nearest`` (and ``home``, of a nearest name) or ``advice``."""


def input_sentence(code: str, facts: Facts) -> str:
    """Say what is wrong with a value, a line or a file, and what to write.

    >>> input_sentence("unknown", {"what": "field", "nearest": "question"})
    'unknown field, did you mean "question"?'
    """
    there: Mapping[str, Any] = known(facts)
    text = joined(INPUT[code].says, there)
    if "nearest" in there:
        return text + joined((', did you mean "{nearest}"', "{home}"), there) + "?"
    return text + str(there.get("advice", ""))
