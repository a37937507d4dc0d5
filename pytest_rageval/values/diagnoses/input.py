"""The diagnoses of what people write: files, settings, flags and values given in Python."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any, Final, Literal

from pytest_rageval.values.diagnoses.table import Diagnosis, Fact, Facts, joined, known

_Row = Diagnosis[Literal["input"]]
_USUAL: Final[Facts] = {
    "write": "recall_at_k = 1",
    "n_cases": 40,
    "n_held": 2,
    "n_chunks": 5,
    "address": "http://localhost:8000",
    "judge": "the offline judge",
    "command": "rageval label FILE --annotator NAME",
    "field": "_id",
    "who": "ann",
    "reason": "Permission denied",
    "expected": "a text that is not blank",
    "folder": "evals/results",
    "file": "evals/cases.jsonl",
    "names": "a, b",
    "id": "'refund'",
    "run": "20260314-a",
    "other": "20260315-b",
    "what": "file",
    "key": "latency_ms.p95",
    "most": "10,000",
    "n": 3,
    "option": "-o",
    "variable": "RAG_TOKEN",
    "ref": "'a.md'",
    "nearest": "question",
    "preset": "dify",
    "tag": "v1",
    "extra": "dask",
    "found": "'b.md'",
    "delimiter": "','",
    "n_headers": 3,
    "metric": "recall_at_5",
    "score": "sweep_score",
    "rubric": "correctness",
    "group": "pytest_rageval",
    "owner": "the id of line 3",
    "prefix": "docs/bot/",
    "differences": "k: 5 then, 8 now",
    "error": "KeyError",
    "said": "'score'",
    "module": "bot",
    "setting": "`path`",
    "scheme": "ftp",
    "least": 256,
    "byte": "e4",
    "most_mb": 256,
    "place": "in [defaults]",
    "latest": "20260314-a",
    "example": '"env:RAG_TOKEN"',
    "fetch": "--fetch",
}
"""Example of a fact in the rows that name no other."""


def _input(*says: str, **example: Fact) -> _Row:
    """Return a row; a fact without an example here has its usual one."""
    names = [name for part in says for _, name, _, _ in Formatter().parse(part) if name]
    usual = {name: _USUAL[name] for name in names if name in _USUAL}
    return Diagnosis(kind="input", says=says, examples=({**usual, **example},))


def _unlike(**example: Fact) -> _Row:
    return _input("got {found}, ", "expected {expected}", **example)


_EXPECTED: Final = ", expected {expected}"

_SAYS: Final[Mapping[str, str | tuple[str, ...] | _Row]] = {
    # --- one value -------------------------------------------------------------------------
    "missing": (
        "missing",
        _EXPECTED,
    ),
    "unknown": _input(
        "unknown {what}",
        what="field",
        nearest="question",
    ),
    "type": _unlike(found='"5"', expected="an integer of at least 1"),
    "bound": _unlike(found="1.5", expected="a number from 0 to 1, the scale of recall_at_5"),
    "choice": _unlike(found='"maybe"', expected='one of "offline", "none"'),
    "value": _unlike(found="'b.md'", expected="a path below 'docs/bot/'"),
    "duplicate": _input(
        "{found} is already {owner}",
        found='"refund"',
    ),
    "not_finite": _input(
        "{found}, expected a finite number",
        found="NaN",
    ),
    "half_character": "contains half of a surrogate pair; write the whole character",
    "duplicate_key": "duplicate key; keep one of them",
    "listed_twice": _input(
        "{found} is listed twice",
        found="0.5",
    ),
    "not_json_value": _input(
        "{reason}, which JSON does not allow",
        reason="Out of range float values",
    ),
    "pattern": _input(
        "not a pattern: {reason} (look-around and back-references are not supported)",
        reason="unclosed group",
    ),
    "pattern_long": _input("{n:character}, expected at most {least}", n=1200, least=500),
    "pattern_slow": _input("takes over {limit} s in the first {n:character}", limit="1", n=16_000),
    "invalid": _input(
        "{reason}",
        reason="got 'recall', expected a gate such as recall_at_5>=0.9",
    ),
    # --- a file as a whole -----------------------------------------------------------------
    "unreadable": "cannot be read: {reason}",
    "not_fetched": "cannot be fetched: {reason}",
    "unwritable": _input(
        "cannot be written: {reason}",
        reason="No space left on device",
    ),
    "unremovable": "cannot be removed: {reason}",
    "empty": _input(
        "empty",
        _EXPECTED,
        expected='{"id": ..., "question": ...}',
    ),
    "no_such_file": _input(
        "contains no file {pattern}",
        pattern="*.jsonl",
    ),
    "many_files": _input(
        "contains {n:file}; at most {most} are read",
        n=20_000,
    ),
    "large": "larger than {most_mb} MB, the most that is read",
    "utf16": "text in UTF-16; save it in UTF-8",
    "not_utf8": "byte 0x{byte} is not UTF-8; save the file in UTF-8",
    "not_json": _input(
        "not JSON: {reason}",
        _EXPECTED,
        "{hint}",
        reason="Expecting value at column 9",
        expected="JSON",
        hint=' with straight quotes (")',
    ),
    "more_json": _input(
        "not JSON: {reason}",
        _EXPECTED,
        "{hint}",
        reason="Extra data at column 9",
        expected="JSON",
    ),
    "deep": _input(
        "nested too deeply",
        _EXPECTED,
        expected="JSON",
    ),
    "long_number": _input(
        "a number is too long",
        _EXPECTED,
        expected="JSON",
    ),
    "over_lines": _input(
        "one JSON value is on lines {first} to {last}",
        ", and {n_more:,} more such",
        "; write each object on one line",
        "; `rageval import json` reads {list} if the file is named .json",
        first=1,
        last=12,
        list="a list",
    ),
    "not_toml": _input(
        "not TOML: {reason}",
        reason="Invalid value (at line 3, column 9)",
    ),
    "changed": "was changed by another program since it was read; nothing was written",
    "changing": "is being changed by another program; try again",
    "no_variable": _input(
        "the environment variable {variable} is not set",
        "; it should contain the key of judge '{judge}'",
        variable="OPENAI_API_KEY",
        judge="gpt-4o-2024-08-06",
    ),
    "exists": (
        "exists, and nothing is overwritten; move it away, or name another {what}",
        " with {option}",
    ),
    "absent": "there is no such {what}",
    "not_found": (
        "not found",
        "; there are: {names}",
        "; {hint}",
        "; the latest in {folder} are {latest}",
    ),
    "ambiguous": "{n:name} begin like this, among them {names}; write more of it",
    "locked": "another session is writing this {what}; wait until it has ended",
    "link": "is a link, which is not followed for changes; name the file that it leads to",
    "folder_there": "is a folder, expected a file",
    "unusable": "cannot be used: {reason}",
    "needs_extra": _input(
        "needs the extra {extra}: pip install 'pytest-rageval[{extra}]'",
        " ({reason})",
        reason="No module named 'distributed'",
    ),
    # --- addresses and names of code -------------------------------------------------------
    "not_url": (
        "expected a URL such as http://localhost:8000",
        "; it begins with {scheme}://",
    ),
    "url_query": _input(
        "contains a query or a fragment",
        "; put a query into {setting}",
        ", expected a base URL, such as {example} for a deployment of Azure OpenAI",
        example="",
    ),
    "url_host": "the host or the port is not valid",
    "url_blank": "contains whitespace or a control character",
    "unsendable": "contains a character that headers do not allow",
    "open_variable": (
        "the value of {variable} is hidden in replies and messages, so its name must end with KEY, "
        "TOKEN, SECRET, PASSWORD, AUTH or CREDENTIALS; write what is not secret into the request"
    ),
    "not_variable": "expected the name of an environment variable, not a key",
    "unset_variable": "the environment variable of this name is not set",
    "not_imported": _input(
        "{found} cannot be imported: {reason}",
        "; module {module} must be in the project's folder, installed (pip install -e .) or on "
        "PYTHONPATH",
        found="'bot:ask'",
        reason="No module named 'bot'",
    ),
    "fixture": _input(
        "{found} is a fixture, which only pytest can call; name a function or an object, which "
        "the fixture may use too",
        found="'conftest:rag_client'",
    ),
    "no_module": (
        "there is no module of this name, and no installed package has it as an entry point of "
        "the group '{group}'"
    ),
    "raised": (
        "{error}",
        ": {said}",
    ),
    "loader_failed": _input(
        "the loader failed for {ref}: {reason}",
        reason="KeyError: 'a.md'",
    ),
    "no_loader": _input(
        "its text is elsewhere, at the ref {ref}; name the function that loads it, as in "
        '[tool.rageval.documents] loader = "my_package.texts:load"',
        ", or import the dataset with {fetch}, which stores the text",
        ref="'https://a.example/b'",
    ),
    # --- runs ------------------------------------------------------------------------------
    "gone": (
        "cannot be written: the folder of the run was removed or moved away; move it back and "
        "repeat the command (a session resumes with --rageval-resume)"
    ),
    "no_results": _input(
        "there is no {found}, which git does not keep; copy the whole folder of the run",
        found="results.jsonl",
    ),
    "no_results_folder": _input(
        "{found} cannot be a folder for the results of runs, because it or a folder above it is "
        "a file or a broken link; move it away, or name another folder with --rageval-results",
        found="evals/results",
    ),
    "results_unwritable": _input(
        "{found} cannot be written, so the answers could not be stored; name another folder with "
        "--rageval-results",
        found="evals/results",
    ),
    "repeated_records": (
        "contains more than one record of the same case and repeat; keep one line of each"
    ),
    "few_runs": "{folder} contains only {n:run}",
    "tag_lost": "the tag names run {run}, which is not in {folder}",
    "tag_malformed": (
        "the file of tag '{tag}' is malformed: got {found}, expected the id of a run; `rageval "
        "runs tag RUN {tag}` writes it anew"
    ),
    "not_unpacked": _input(
        "cannot be unpacked, expected a zip or tar of runs: {reason}", reason="bad header"
    ),
    "unfinished": "has not ended, so it cannot be approved",
    "same_run": "run {run} is the compared run itself or a part of it; name another one",
    "different_runs": "the runs differ: {differences}",
    "in_both": "runs {run} and {other} both contain {id}; expected each case in one of them",
    "no_set": (
        "does not say which cases the whole run has; expected a run of pytest under this version"
    ),
    "kept_id": _input(
        "a resumed run keeps its id: leave out --rageval-run-id {found} or resume another run "
        "than {run}",
        found="20260315-b",
    ),
    "settings_lost": _input(
        "{reason}; without it the settings of the records are unknown: start a new run",
        reason="missing",
    ),
    "other_settings": (
        "run {run} was made with other settings: {differences}; give the same ones, or start a "
        "new run"
    ),
    "unread_file": (
        "the run contains cases of {file}, which this session does not read; name the file on the "
        "command line as it was named then"
    ),
    "chunk_cut": "the target cut the text of a chunk, and a judge needs all of it",
    "answer_cut": "the answer was too long to be stored in full",
    "tier_select": _input(
        "got {found}, and only pytest selects cases so; leave the tier out", found="multi_hop"
    ),
    "open_files": _input(
        "{n} files and connections may be open at once, and concurrency {found} needs {least}: "
        "allow more (`ulimit -n {least}`), or lower --rageval-concurrency",
        n=64,
        found=32,
    ),
    "target_gone": _input("the target cannot be reached: {reason}", reason="3 timeouts in a row"),
    "nothing_answered": _input("no question was answered; the first: {reason}", reason="HTTP 500"),
    "nothing_judged": _input(
        "all {n:judgement} failed, so nothing is saved; the last: {reason}",
        reason="unreachable: judge at localhost: no connection",
    ),
    # --- the index of runs -----------------------------------------------------------------
    "no_index": "there is no index of runs; `rageval runs sync` makes one",
    "no_folder": "its folder cannot be made: {reason}",
    "other_table": _input(
        "table {found} belongs to no index of runs; name another file or database, or "
        "another schema by ?options=-csearch_path%3DNAME",
        found="'metrics'",
    ),
    "index_version": _input(
        "an index of version {found}, expected {expected}; `rageval runs sync --rebuild` makes it "
        "anew, and every other project in it has to sync again",
        found="1",
        expected="2",
    ),
    "database_failed": (
        "{reason}",
        "; delete {file}; what it contained is stored again",
    ),
    "index_row": _input(
        "a row of the index is damaged ({reason}); `rageval runs sync --rebuild` makes it anew",
        reason="Expecting value",
    ),
    # --- scoring in several processes ------------------------------------------------------
    "one_process": (
        "a metric or a section of the project needs all records in one process; leave both out"
    ),
    "workers_died": (
        "{n:worker} died at the same shard, perhaps for lack of memory; start again with fewer"
    ),
    "scheduler_ended": "the scheduler has ended; start it, and repeat the command",
    # --- sweeps ----------------------------------------------------------------------------
    "no_cases": "no case: expected case files (.jsonl) below {folder}",
    "documents_of_pytest": (
        "the cases have documents of their own, which only pytest loads into the target; name a "
        "target that has them already"
    ),
    "no_sweep": "{folder} contains no sweep {id} to resume; leave --resume out",
    "other_sweep": _input(
        "the sweep file has changed since {folder} was begun, in {names}; give the same, or leave "
        "--resume out for a new sweep",
        names="query, seed",
    ),
    "other_cases": _input(
        "{folder} was begun with other cases ({n} then, {found} now); give the same, or leave "
        "--resume out for a new sweep",
        folder="evals/results/chunking",
        n=40,
        found=41,
    ),
    "not_embedded": (
        "embedded = true builds the index of the embedded server, and the settings name another "
        "target; expected [tool.rageval.target] with a vault and no url or client"
    ),
    "build_failed": _input(
        "{found} with {index}: exit code {n}; its output is in {file}",
        found="'make index'",
        index="chunk_size=300",
        n=2,
        file="evals/results/chunking/build.log",
    ),
    "stopped": _input(
        "stopped; what was measured is kept: `{command}` continues",
        command="rageval sweep sweep.toml --resume chunking",
    ),
    "no_parameter": (
        "no parameter to vary, expected [query] or [index] with lists of values, such as "
        "k = [3, 5, 10]"
    ),
    # --- sweeps, their plans and results ---------------------------------------------------
    "no_unanswerable": (
        "has a weight for negative_accuracy, and no case is unanswerable; add such cases, or set "
        "other weights, such as weights = {{ {write} }}"
    ),
    "no_group": _input(
        "no case has the {what} {found}, expected one of {names}",
        what="tag",
        found="'wrk'",
        names="'faq', 'work'",
    ),
    "no_population": _input(
        "no case can have a value of it, because it is defined only for {group}",
        group="answerable cases with golds",
    ),
    "few_questions": _input(
        "too few questions to choose among {n:configuration} with {n_cases} cases: at most {least} "
        '(the budget, or 45 % of all); use a larger budget, more cases or method = "grid"',
        n=40,
        n_cases=100,
        least=400,
    ),
    "many_configurations": (
        "{n:configuration}, expected at most {most}: give fewer values, or ranges such as "
        "k = {{ min = 3, max = 10 }}"
    ),
    "one_configuration": "one configuration, expected a parameter with two values or more",
    "no_reviewed_case": "no case to ask, expected at least one that a person has reviewed",
    "holdout": _input(
        "got {found}, which holds out {n_held} of {n:case}; at least {least} must be held out, "
        "and as many left to search with; use more cases or no holdout",
        found="0.1",
        n=20,
        least=30,
    ),
    "no_session": (
        "a sweep is not a session of pytest, so it cannot use a fixture; expected embedded = "
        "true, or a command that builds the index from the variables RAGEVAL_SWEEP_... "
        "(docs/sweep.md)"
    ),
    "retrieval_objective": "needs answers, and retrieval_only is set; name a metric of retrieval",
    "judged_objective": "needs a judge, and none is set; set one, or name another objective",
    "only_baseline": _input(
        "only the baseline could be measured: {reason}", reason="k=8: HTTP 500"
    ),
    "baseline_not_held": _input(
        "the held-out cases could not be asked with the values of the baseline: {reason}",
        reason="no case was asked",
    ),
    "baseline_unmeasured": _input(
        "the baseline could not be measured: {reason}", reason="no answer in 3 cases: timeout"
    ),
    # --- targets ---------------------------------------------------------------------------
    "no_target": (
        "no target to ask: set url, client or vault in [tool.rageval.target], or give --rag-url or "
        "RAGEVAL_RAG_URL; pytest also asks what a rag_client fixture in conftest.py returns"
    ),
    "no_target_given": (
        "evaluate(): no target given, and the settings name none; expected a function of one "
        "AskRequest, an object with ask(request), or a target in [tool.rageval.target]"
    ),
    "preset_address": (
        'needs the address of your server: --rag-url, or in [tool.rageval.target] url = "{address}"'
    ),
    "overlap": _input(
        "{found} and {other} overlap; keep one", found="'input'", other="'input.query'"
    ),
    "expression": _input(
        "bad JMESPath expression {found}",
        ": {reason}",
        "; write env.{variable} in a request",
        ": unexpected {rest} at position {n}",
        found="'a b'",
        reason="",
        variable="",
        rest="'b'",
        n=3,
    ),
    "auth_returned": _input("returned {reason}", reason="int, expected a mapping of headers"),
    "no_events": "a stream of plain text has no events",
    "env_placeholder": _input(
        "got {found}, expected env:NAME without placeholders: a case must not choose which "
        "variable of the environment is sent; write the value into the case, as in "
        "{{case.metadata.user}}, or "
        'ask through a client of your own (client = "module:factory")',
        found="'Bearer env:TOKEN_{case.metadata.user}'",
    ),
    # --- judges and rubrics ----------------------------------------------------------------
    "cache_row": _input(
        "an entry is damaged ({reason}); delete the file, and what it contained is asked again",
        reason="Expecting value",
    ),
    "cache_version": _input(
        "a judge cache of version {found}, expected {expected}; delete the file, and what it "
        "contained is asked again",
        found="2",
        expected="1",
    ),
    "no_cache": "contains no judge cache, and none can be made in it",
    "no_calibration": "cannot be read: {reason}; make it again with rageval calibrate --save",
    "one_price": "not set, but the other price is; set both or neither",
    "no_rubric": _input(
        "has no rubric {found}, expected one of {names}; others need a model: --judge MODEL",
        found="'tone'",
        names="groundedness, correctness",
    ),
    "no_such_rubric": _input(
        "expected one of {names}, or the path of a .jinja file",
        names="groundedness, correctness",
        nearest="correctness",
    ),
    "own_name": _input("{found} is a name of the package; choose another", found="'correctness'"),
    "no_score": (
        "no property is a score, expected at least one number with minimum and maximum or an enum, "
        "or a boolean"
    ),
    "template_name": _input(
        "got {found}, expected only {names}; question, answer and the other texts are added "
        "after the instructions",
        found="'answer'",
        names="n_passages, n_citations",
    ),
    "not_rendered": _input("cannot be rendered: {reason}", reason="'answer' is undefined"),
    "no_other_wording": (
        "{judge} has one wording only, so it cannot be its own second judge; name a "
        "model with spot_check_model in [tool.rageval.judge], let a model judge (--judge MODEL), "
        "or leave the spot check out (--judge-spot-check 0)"
    ),
    "second_judge": _input(
        "got {found}, expected another model or 'offline'; without it the first judge is asked in "
        "the other wording of its rubrics",
        found="'none'",
    ),
    "not_repeated": _input(
        "a second judge repeats only {names}, and the rubrics in use are {found}",
        names="groundedness, correctness",
        found="claims",
    ),
    "few_annotators": ("fewer than two annotators have labelled it; each does with `{command}`"),
    "no_labels": "the labels of all rows are left out",
    "no_answers": "no case has an answer to read",
    "unread": "no answer of it was reviewed; begin with `rageval review`",
    # --- metrics ---------------------------------------------------------------------------
    "in_no_run": ("in no run", "; there are: {names}"),
    "no_key": _input('the decorator has no key; expected one, such as ("{key}")', key="acme.words"),
    "no_group_figure": _input(
        "no run has it for {group}; a figure of a whole run is not split by category or tag",
        group="tag 'work'",
    ),
    "several_readers": "reviewed by more than one person; add --as {names}",
    "unread_by": "{who} has reviewed no answer of it",
    "no_evidence": _input(
        "{id} has no evidence: mark it with `{command}`, or say that the documents do not answer "
        "it: rageval case edit {id} -f {file} --unanswerable",
        id="refund",
        command="rageval label inbox.jsonl --case refund",
        file="inbox.jsonl",
    ),
    "in_turns": _input(
        "in a conversation, {field} belongs to a turn; name one, such as {id}#1",
        field="question",
        id="talk",
    ),
    "of_turn": _input("a turn has no {field}; change its conversation {id}", field="id", id="talk"),
    "turn_alone": _input("a turn is removed with its conversation; name {id}", id="talk"),
    # --- commands --------------------------------------------------------------------------
    "usage": _input("expected {expected}", expected=":k N, from 1 to 200"),
    "nothing_asked": "nothing was asked yet: type a question",
    "one_answer": "only one answer so far: ask again, such as after :k or :folders",
    "failed_question": "one of the last two questions failed: ask again",
    "no_answer": "the last question has no answer to judge",
    "no_terminal": "there is no terminal here for the app; add --web",
    "file_there": "is a file, expected a folder; move it away, or name another folder",
    "other_files": _input(
        "contains other files, and no {found} of an earlier site; expected a new or empty folder",
        found="site.json",
    ),
    "outside_results": "is not in {folder}; copy it there",
    "tag_moved": "names another run now; reload the page",
    "in_files": "is in {names}; name one of them with --file",
    "no_earlier": "no run given, and no run is older than {run}",
    "no_run_or_case": _input(
        "{reason}; no case of the last run has this name", reason="run 'alpah': not found"
    ),
    "no_vectors": (
        "no line has a vector of the run's {n:question} and {n_chunks:chunk}; expected lines "
        "with exactly their texts, or with chunk ids"
    ),
    "cut_texts": (
        "{n} of the chunk texts were cut when they were stored; run the cases again, or add "
        "--allow-cut-texts to "
        "use them"
    ),
    "no_chunk_text": "no record contains the text of a chunk, so nothing was sent",
    "no_map": "no text of the run has a vector, so there is no map",
    "no_candidates": _input(
        "no case with candidates to rank: {reason}", reason="12 no retrieved_chunks"
    ),
    "many_prefixes": "are below different folders ({names}); export each file by itself",
    "nothing_made": (
        "{n:note}: no question with an answer and no definition, so nothing can become a case",
        "; {reason}",
        "; name a model with --model, which writes questions about any text",
    ),
    "no_notes": "is not a folder of Markdown notes",
    "no_note": _input(
        "no note of {folder} matches {found}, expected a pattern of whole paths below it, such as "
        "'drafts/*.md'",
        folder="notes",
        found="'draft'",
    ),
    "same_path": _input(
        "the document {found} and another one have the path {file}; keep their ids with --ids keep",
        found="'doc 1'",
        file="'doc-1.md'",
    ),
    "ids_taken": (
        "the file has cases of these ids already: {names}; choose --on-clash skip or --on-clash "
        "rename"
    ),
    "http_file": _input(
        "HTTP {n}, expected the text",
        "; it redirects {place}: download the file, as with curl -L, and import that",
        n=302,
        place="elsewhere",
    ),
    "notes_only": _input(
        "the embedded server takes notes",
        ", and not {n:document}",
        ", and not {option}",
        n=5_233_329,
        option="--ids keep",
    ),
    "index_first": _input(
        "the project has a target of its own. Index {what} in {file} so that the target reports "
        "its {field} as rel_path, and repeat the command with --indexed; --embedded asks the "
        "embedded server instead",
        what="each line of corpus.jsonl",
        file="suites/scifact",
    ),
    "nothing_compared": (
        "nothing to compare; expected chunks in the replies, and -k {least} or more"
    ),
    # --- thresholds ------------------------------------------------------------------------
    "no_gate": _input(
        "got {found}, expected METRIC>=NUMBER or METRIC<=NUMBER in quotes, such as "
        "'recall_at_k>=0.9', 'recall_all_at_k[multi_hop]>=0.7' or 'recall_at_k[tag work]>=0.8'",
        found="'recall'",
    ),
    "figure_of_run": "{key} is a figure of the whole run",
    "no_runs": _input(
        "no runs in {folder} yet: run `{command}` first",
        command="pytest evals",
    ),
    "first_run": "this is the first run in {folder}",
    "no_requests": _input(
        "{n_rows:row} read as {log}, and none is a request with a question; check the format",
        n_rows=12,
        log="langfuse",
    ),
    # --- settings, thresholds.toml and sweep.toml ------------------------------------------
    "conflict": _input(
        "{reason}; ",
        "keep one of them",
        reason="the preset has an address",
    ),
    "needs_vars": _input(
        "preset '{preset}' needs {names}; write {write}",
        "{mistaken}",
        names="app (its id)",
        write='vars = { app = "..." }',
    ),
    "misplaced": _input(
        '"{key}" is in {here}, put it {place}',
        key="min_n",
        here="[overall]",
    ),
    "of_the_run": "{key} is a figure of the whole run, put it in [overall]",
    "limited_twice": _input(
        '"{key}" means "{metric}", which line {first} limits already',
        key="recall",
        first=4,
    ),
    "no_limits": _input(
        'there is no file {found}; create it with limits, such as pass_rate = ">= 0.8" below '
        "[overall], or remove the key to use {instead}",
        found="'smoke.toml'",
        instead="thresholds.toml",
    ),
    "no_limit": _input(
        "no limit",
        _EXPECTED,
        expected="one of min, max",
    ),
    "above_max": _input(
        "got {found}, which is above max {most}",
        found="0.9",
        most="0.8",
    ),
    "in_query": _input(
        '"{key}" is already a parameter of [query]',
        key="k",
    ),
    "no_values": _input(
        "{key}: no value, expected at least one",
        key="k",
    ),
    "not_range": _input(
        'got "{found}", but a range needs "optuna"; list the values instead',
        found="grid",
    ),
    "log_range": "log = true needs a min above 0 and no step",
    "neutral": _input(
        "{key} is neither better when higher nor when lower; name another metric",
        key="n_chunks",
    ),
    "only_first": _input(
        "{key} must be the first objective",
        key="sweep_score",
    ),
    "undecided": (
        "{key} is one figure for the whole run, so no test over pairs of cases can compare it; "
        "make a metric of cases the first objective, such as recall_at_k"
    ),
    "weights": 'weights are used only by "{score}"; name it as an objective',
    "not_weighed": "cannot be weighted; expected a metric from 0 to 1 that is better when higher",
    "no_build": _input(
        "says nowhere how to build an index",
        _EXPECTED,
        expected="[index.build]",
    ),
    "ignored": _input(
        "ignored, because {reason}",
        reason="no preset is set",
    ),
    "no_such_variable": _input(
        "ignored, because preset '{preset}' has no such variable",
        nearest="user",
    ),
    "open_secret": _input(
        "{where}; name an environment variable instead, as in {example}",
        where="the value is in the file",
    ),
    "secret_path": _input(
        "a key is in its query; send it in headers, as in {example}",
        example='X-Api-Key = "env:RAG_TOKEN"',
    ),
    "secret_name": _input(
        "looks like a secret; send it in {place}",
        place="headers",
    ),
    # --- documents, labels, recorded responses ---------------------------------------------
    "outside": "{found} is not a path below the scope prefix '{prefix}'",
    "scope_prefix": _input(
        "got {found}, expected {expected}; name one with --scope-prefix",
        found="'docs'",
        expected="a folder of at least two segments",
    ),
    "second_label": "a second label of {id} for {rubric}; keep one of them",
    "which_file": _input(
        '{id} is a case of {files}; add a "file" that says which',
        files="a.jsonl and of b.jsonl",
    ),
    "other_vector": _input(
        "{found} has a different vector on an earlier line",
        found="'c-1'",
    ),
    "broken_record": _input(
        "{reason}; remove this line, then --rageval-resume asks its case again",
        reason="not JSON",
    ),
    "broken_review": _input(
        "{reason}; remove this line: the verdict on it is lost, and its answer is read again",
        reason="not JSON",
    ),
    "fields_missing": _input(
        "{names} missing",
        _EXPECTED,
        names="text and chunk_id",
        expected='{"text" or "chunk_id": a string, "embedding": [...]}',
    ),
    # --- files of other tools --------------------------------------------------------------
    "other_format": _input(
        "{place}",
        "{what}: it has {fields}; `rageval import {command}` reads such files",
        place="row 1: ",
        what="not a row of this format",
        fields="vars",
        command="promptfoo",
    ),
    "repeated_header": _input(
        "{what}, expected a row; if two files were joined here, pass each one by itself",
        what="a second header",
    ),
    "not_table": _input(
        "{reason}, expected a table of comma-separated values",
        reason="unexpected end of data",
    ),
    "late_header": "a header that is not on the first line; remove the lines above it",
    "many_cells": _input(
        "{n_cells:cell} under {n_headers:header}; quote cells that contain {delimiter}",
        n_cells=4,
    ),
    "one_cell": "1 cell under {n_headers:header}; separate the cells with {delimiter}",
    "other_grade": _input(
        "{document} has grade {grade} for {query}, but {other} at {at}; expected one grade",
        document="'d1'",
        grade=2,
        query="'q1'",
        other=1,
        at="qrels.tsv:4",
    ),
    "no_questions": _input(
        "none of {names} is known as the {kind} of questions; name it with {option}",
        kind="column",
        names="'a', 'b'",
        option="--column question=HEADER",
    ),
    "no_header": _input(
        "--column {option}: no such header; the headers are {names}",
        option="question=q",
    ),
    "unused_column": (
        "named with --column but not used: it needs a case with one gold, and a document"
    ),
    "url": "a URL; add --fetch to fetch it",
    "beside_url": _input(
        "{found} cannot be read: a file that was fetched has no folder; download both",
        found="'tests.yaml'",
    ),
    "outside_folder": _input(
        "{found} is outside the folder of the file that names it",
        found="'../tests.yaml'",
    ),
    "no_further_file": _input(
        "{found} cannot be read: this text may not name further files",
        found="'tests.yaml'",
    ),
    "no_topics": "qrels without topics: name the file of the questions as well",
    "odd_run": _input(
        "{found} looks like a line of a run but has {n} columns instead of six (topic, Q0, "
        "document, rank, score and a tag without blanks); fix the run, or pass topics (id, tab, "
        "question) and qrels (topic, iteration, document, grade)",
        found="'1 Q0 d1 1 0.5'",
        n=5,
    ),
    "between_topics": _input(
        "{found} is text between topics; if two files were joined here, pass each one by itself",
        found="'x'",
    ),
    "dataset_parts": _input(
        "{found} has no {lacking}",
        "; expected one of its parts: {parts}",
        found="'beir'",
        lacking="queries and no qrels",
        parts="beir/arguana",
    ),
    "yaml_size": _input(
        "more than {most} characters of YAML; write JSON",
        most="2,000,000",
    ),
    "yaml_alias": "an alias is part of the value that it names; write plain values",
    "yaml_aliases": _input(
        "its aliases expand to more than {most} values",
        most="1,000,000",
    ),
    "not_yaml": _input(
        "not YAML: {reason}",
        "; put {what} into quotes",
        reason="mapping values are not allowed here",
        what="a text with such characters",
    ),
}
INPUT: Final[Mapping[str, _Row]] = {
    code: row if isinstance(row, Diagnosis) else _input(*((row,) if isinstance(row, str) else row))
    for code, row in _SAYS.items()
}
_RESUME: Final = (
    "; the records so far are kept: once it can be written, --rageval-resume {resume} asks the "
    "other cases and decides the gate",
)
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
    return text + str(there.get("advice", "")) + joined(_RESUME, there)
