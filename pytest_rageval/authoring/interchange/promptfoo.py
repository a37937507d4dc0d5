"""Tests of promptfoo: a config such as ``promptfooconfig.yaml``, or a file of tests.

Tests have ``vars`` and ``assert`` and come in YAML, JSON, JSON Lines or CSV (``__expected``).

Assertions are carried over if a case can express them: required and forbidden texts and patterns
become ``answer_rules``, similarity to a text becomes the expected answer. Code, models of other
vendors and thresholds of single tests are listed and left out; nothing in the file is executed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import as_lines
from pytest_rageval.authoring.interchange.chats import keep_history, read_chat, take_history
from pytest_rageval.authoring.interchange.fields import BadFieldError, FieldMap, read_fields
from pytest_rageval.authoring.interchange.ids import UniqueIds
from pytest_rageval.authoring.interchange.parsing import (
    is_table,
    parse_document,
    parse_table,
    refuse_others,
)
from pytest_rageval.authoring.interchange.rows import with_id
from pytest_rageval.authoring.interchange.values import (
    Imported,
    Ledger,
    Source,
    SourceFile,
    fault,
    listed,
    unfit,
)
from pytest_rageval.support.patterns import PatternError, compile_pattern
from pytest_rageval.values.case import RuleKind
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.lenient import part

_ROOM: Final = "promptfoo"
_FORM: Final = FieldMap(room=_ROOM)
_QUESTION: Final = ("question", "query", "input", "user_input", "prompt", "message", "text",
             "messages", "chat", "conversation")  # fmt: skip
_RULES: Final[Mapping[str, tuple[RuleKind, bool]]] = {
    "contains": ("contains", False),
    "contains-all": ("contains", False),
    "icontains": ("contains", True),
    "icontains-all": ("contains", True),
    "not-contains": ("not_contains", False),
    "not-icontains": ("not_contains", True),
    "not-contains-any": ("not_contains", False),
    "not-icontains-any": ("not_contains", True),
    "regex": ("matches", False),
    "contains-any": ("matches", False),
    "icontains-any": ("matches", True),
    "starts-with": ("matches", False),
}
"""Kind of a rule, and whether it ignores case, by type of an assertion on the text."""
_ANSWERS: Final = (
    "equals", "factuality", "model-graded-factuality", "similar", "context-recall", "levenshtein",
    "rouge-n", "bleu", "meteor",
)  # fmt: skip
_RUBRICS: Final = frozenset(
    {"llm-rubric", "model-graded-closedqa", "g-eval", "answer-relevance", "context-faithfulness",
     "context-relevance"}
)  # fmt: skip
_TEST: Final = frozenset({"vars", "assert", "description", "metadata"})
_CONFIG: Final = frozenset({"tests", "defaultTest", "scenarios"})
_VARIABLE: Final = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")
_TYPES: Final = (
    "bleu", "classifier", "contains-html", "contains-json", "contains-sql",
    "contains-xml", "conversation-relevance", "cost", "finish-reason", "gleu", "guardrails",
    "human", "is-html", "is-json", "is-sql", "is-valid-function-call",
    "is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml", "javascript",
    "latency", "max-score", "moderation", "perplexity", "perplexity-score", "pi", "python",
    "ruby", "search-rubric", "select-best", "similar:cosine", "similar:dot",
    "similar:euclidean", "skill-used", "tool-call-f1", "trace-error-spans",
    "trace-span-count", "trace-span-duration", "trajectory:goal-success",
    "trajectory:step-count", "trajectory:tool-args-match", "trajectory:tool-sequence",
    "trajectory:tool-used", "webhook", "word-count",
)  # fmt: skip
"""Types of assertions besides those of which a case holds something."""
_KNOWN: Final = sorted({*_RULES, *_ANSWERS, *_RUBRICS, *_TYPES, "is-refusal"}, key=len)[::-1]
_STRING: Final = re.compile(
    rf"(?P<type>(?:not-)?(?:{'|'.join(_KNOWN)}))(?:\([\d.]+\))?(?::(?P<value>.*))?", re.DOTALL
)
"""An assertion in a table cell, with or without a value, as promptfoo parses it."""
_PIECE: Final = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,]+))')
"""A text of a list that is written as one text."""
_UNKNOWN: Final = re.compile(
    r"(?P<type>[a-z]+(?:-[a-z]+)+)(?:\([\d.]+\))?:(?P<value>.*)", re.DOTALL
)
"""An assertion of a later version."""
_CODE: Final = ("javascript:", "fn:", "eval:", "python:", "file://")
_COMMA: Final = re.compile(r"(?<!\\),")
_MAY_FAIL: Final = "below a threshold of 1 some assertions may fail, which no rule says"
_MAX_TESTS: Final = 100_000


def read(source: Source) -> Imported:
    """Read tests.

    Raises:
        DatasetError: a file has no tests, or refers to a file that may not be read.
    """
    reader = _Reader(source)
    for file in source.files:
        reader.take(file)
    return reader.ledger.close(cases=tuple(reader.lines))


def _many_tests(file: SourceFile, n: int, field: str = "") -> DatasetError:
    expected = f"at most {_MAX_TESTS:,}"
    return fault(file.name, "bound", field=field, found=f"{n:,} tests", expected=expected)


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self.ledger = Ledger()
        self._ids = UniqueIds()
        self.lines: list[dict[str, Any]] = []

    def take(self, file: SourceFile) -> None:
        value = self._value(file)
        default: Any = None
        if isinstance(value, dict):
            if _CONFIG.isdisjoint(value):
                raise unfit(file, value, "a config with tests, or a list of tests")
            for name in sorted(value.keys() - _CONFIG):
                self.ledger.leave(name, "about prompts and providers, not about cases")
            default = value.get("defaultTest")
            if isinstance(default, str):
                default = self._value(self._source.beside(file, default)[0])
            tests = [*self._tests(file, value.get("tests")), *self._scenarios(file, value)]
        else:
            tests = list(self._tests(file, value))
        if len(tests) > _MAX_TESTS:
            raise _many_tests(file, len(tests))
        for test in tests:
            self._take_test(_merged(part(default), test))

    def _value(self, file: SourceFile) -> Any:
        if not is_table(file):
            return parse_document(file, self.ledger)
        table = parse_table(file, delimiter=self._source.options.delimiter)
        if not any(header.startswith("__") for header in table.headers):
            refuse_others(file, table.headers, ("ragas", "deepeval", "csv"))
        return [_row_test(row.cells) for row in table.rows]

    def _tests(
        self, file: SourceFile, tests: Any, *, referred: bool = False
    ) -> Iterator[Mapping[str, Any]]:
        """Yield tests, those of files that they refer to included, but no further ones."""
        for test in listed(tests):
            reference = test.get("path", test) if isinstance(test, dict) else test
            if isinstance(reference, str) and not referred:
                path = reference.removeprefix("file://").split(":", 1)[0]
                if path.endswith((".py", ".js", ".ts", ".mjs", ".cjs")):
                    self.ledger.leave(f"tests: {reference}", "a program, and none is run")
                    continue
                for beside in self._source.beside(file, reference):
                    value = self._value(beside)
                    inside = value.get("tests", value) if isinstance(value, dict) else value
                    yield from self._tests(beside, inside, referred=True)
            elif isinstance(test, dict):
                yield test
            else:
                raise unfit(file, test, "a test", field="tests")

    def _scenarios(self, file: SourceFile, config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        n = 0
        for scenario in listed(config.get("scenarios")):
            if not isinstance(scenario, dict):
                self.ledger.leave("scenarios[]", "a file of scenarios; name it itself")
                continue
            tests = list(self._tests(file, scenario.get("tests"))) or [{}]
            for shared in listed(scenario.get("config")):
                n += len(tests)
                if n > _MAX_TESTS:
                    raise _many_tests(file, n, field="scenarios")
                yield from (_merged(part(shared), test) for test in tests)

    def _take_test(self, test: Mapping[str, Any]) -> None:
        given, ledger = part(test, "vars"), self.ledger
        values = {variable: _filled(value, given) for variable, value in given.items()}
        name = self._question_name(values)
        if name is None:
            why = "no vars in it, so no question"
            if values:
                names = ", ".join(sorted(values)[:8])
                why = f"no question among its vars {names}; name it with --question-var"
            ledger.leave("tests[]", why)
            return
        field, chat = f"tests[].vars.{name}", read_chat(given[name])
        # promptfoo sends one request for every text of a list, and one for a chat.
        for value in [chat.question] if chat else listed(values[name]):
            question = _filled(value, values)
            if isinstance(value, dict | list):
                ledger.leave(field, "neither a text nor a chat")
            elif str(question).startswith("file://"):
                ledger.leave("tests[].vars", "a text in a file; put it into the test")
            else:
                line = self._from_metadata(part(test, "metadata")) | {"question": str(question)}
                if chat:
                    before = [{**one, "content": _filled(one["content"], values)}
                              for one in chat.before]  # fmt: skip
                    keep_history(line, before, f"{field}[]", ledger)
                    if n_left := chat.n_others + len(chat.after):
                        ledger.leave(f"{field}[]", "another message of the chat", n_left)
                ledger.carry(field)
                self._take_rest(line, test, values, name)

    def _question_name(self, values: Mapping[str, Any]) -> str | None:
        wanted = self._source.options.question_var
        if wanted is not None:
            return wanted if values.get(wanted) else None
        texts = [name for name, value in values.items() if isinstance(value, str | list) and value]
        known = next((name for name in _QUESTION if name in texts), None)
        return known or (texts[0] if len(texts) == 1 else None)

    def _take_rest(
        self, line: dict[str, Any], test: Mapping[str, Any], values: Mapping[str, Any], name: str
    ) -> None:
        """Take all of a test but its question, and keep the case."""
        ledger = self.ledger
        if isinstance(test.get("description"), str):
            line["notes"] = test["description"]
            ledger.carry("tests[].description")
        partial = _is_partial(test) or "assertScoringFunction" in test
        for assertion, why in _assertions(listed(test.get("assert")), partial=partial):
            kind = str(assertion.get("type", ""))
            if why and (why != _MAY_FAIL or kind in {*_RULES, "is-refusal"}):
                ledger.leave(f"assert {kind}", why)
            else:
                self._take_assertion(assertion, kind, line, values)
        others = {other: values[other] for other in sorted(values.keys() - {name})}
        take_history(others, line, ledger)
        ledger.keep_values(line, _ROOM, others, prefix="tests[].vars.")
        for other in sorted(test.keys() - _TEST):
            ledger.leave(f"tests[].{other}", "a matter of its own tool")
        try:
            self.lines.append(with_id(line, self._ids, room=_ROOM))
        except BadFieldError:
            ledger.leave("tests[]", "its question is blank")

    def _from_metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        inner = Ledger()
        try:
            line = read_fields(metadata, inner, _FORM)
        except BadFieldError:
            self.ledger.keep("tests[].metadata")
            return {"metadata": {_ROOM: dict(metadata)}}
        self.ledger.take(inner, prefix="tests[].metadata.")
        return line

    def _take_assertion(
        self,
        assertion: Mapping[str, Any],
        kind: str,
        line: dict[str, Any],
        values: Mapping[str, Any],
    ) -> None:
        measure = kind.partition(":")[0]  # similar:cosine is similar
        name = f"assert {kind or 'without type'}"
        texts = [_filled(one, values) for one in listed(assertion.get("value"))]
        if kind.endswith(("-all", "-any")) and isinstance(assertion.get("value"), str):
            texts = _pieces(texts[0])
        plain = [text for one in texts if (text := _written(one)).strip()]
        left = "a case cannot say it"
        if any(text.startswith("file://") for text in plain):
            left = "its value stands in a file"
        elif kind in _RULES and plain:
            left = "a value is empty, or neither a text nor a number"
            # Without one of them a rule would ask for more, or for less.
            if len(plain) == len(texts):
                left = self._take_rules(name, kind, plain, line)
        elif measure in _ANSWERS and plain and "expected_answer" not in line:
            line["expected_answer"], left = as_lines(plain), ""
            self.ledger.carry(name)
        elif kind == "is-refusal":
            line["answerable"], left = False, ""
            self.ledger.carry(name)
        elif (kind in _RUBRICS or measure in _ANSWERS) and plain:
            kept = line.setdefault("metadata", {}).setdefault(_ROOM, {})
            kept.setdefault("asserts", []).append({"type": kind, "value": plain[0]})
            self.ledger.keep(name)
            left = ""
        if left:
            self.ledger.leave(name, left)

    def _take_rules(self, name: str, kind: str, texts: list[str], line: dict[str, Any]) -> str:
        """Add the rules of an assertion; return why it has none, or an empty text."""
        field, ignores = _RULES[kind]
        rules: list[dict[str, Any]] = []
        if field == "matches":
            either = "|".join(map(re.escape, texts)).replace(r"\ ", " ")  # a blank means itself
            anchor = r"\A" if kind == "starts-with" else ""
            for text in texts if kind == "regex" else [f"{anchor}(?:{either})"]:
                try:
                    compile_pattern(text)
                except PatternError as error:
                    return str(error)
                rules.append({field: text, **({"ignore_case": True} if ignores else {})})
        else:
            # promptfoo compares texts as they are written.
            more = {"ignore_whitespace": False, **({} if ignores else {"ignore_case": False})}
            rules = [{field: text, **more} for text in texts]
        known = line.setdefault("answer_rules", [])
        known += [rule for rule in rules if rule not in known]
        self.ledger.carry(name, len(rules))
        return ""


# --- tests -----------------------------------------------------------------------------------


def _row_test(cells: Mapping[str, str]) -> dict[str, Any]:
    """Return a row as promptfoo's test."""
    test: dict[str, Any] = {"vars": {}, "assert": []}
    for header, cell in cells.items():
        if header.startswith("__expected"):
            test["assert"].append(cell)
        elif header == "__description":
            test["description"] = cell
        elif header.startswith("__metadata:"):
            key = header.removeprefix("__metadata:")
            values: Any = cell
            if key.endswith("[]"):
                values = [part.replace("\\,", ",").strip() for part in _COMMA.split(cell)]
            test.setdefault("metadata", {})[key.removesuffix("[]")] = values
        elif header == "__threshold":
            with contextlib.suppress(ValueError):
                test["threshold"] = float(cell)
        elif header.startswith("__"):
            test[header.lstrip("_")] = cell
        else:
            test["vars"][header] = cell
    return test


def _merged(default: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**default, **given}
    for name in ("vars", "metadata"):
        parts = [part for one in (default, given) if isinstance(part := one.get(name), dict)]
        if parts:
            merged[name] = {key: value for part in parts for key, value in part.items()}
    both = [*listed(default.get("assert")), *listed(given.get("assert"))]
    if both:
        merged["assert"] = both
    return merged


def _assertions(given: Iterable[Any], *, partial: bool) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield each assertion, and the reason why it is not a rule of its own; empty: it may be.

    Args:
        given: assertions, sets of them, or texts from a table.
        partial: whether an answer may pass that fails some of them.
    """
    for one in given:
        if isinstance(one, str):
            yield _assertion_of_text(one), _MAY_FAIL if partial else ""
        elif isinstance(one, dict) and one.get("type") == "assert-set":
            within = partial or _is_partial(one)
            yield from _assertions(listed(one.get("assert")), partial=within)
        elif isinstance(one, dict):
            yield one, _reason_against(one) or (_MAY_FAIL if partial else "")


def _reason_against(assertion: Mapping[str, Any]) -> str:
    if assertion.get("weight") == 0 or assertion.get("metricOnly") is True:
        return "it weighs nothing, so no answer fails by it"
    return "it compares a text made from the answer" if "transform" in assertion else ""


def _is_partial(scored: Mapping[str, Any]) -> bool:
    """Whether a test or a set of assertions passes at a score below 1."""
    threshold = scored.get("threshold")
    return isinstance(threshold, int | float) and threshold < 1


def _assertion_of_text(text: str) -> dict[str, Any]:
    """Parse an assertion in a table cell, such as ``contains:Paris``."""
    for code in _CODE:
        if text.startswith(code):
            return {"type": code.rstrip(":/")}
    if text.startswith("grade:"):
        return {"type": "llm-rubric", "value": text.removeprefix("grade:").strip()}
    match = _STRING.fullmatch(text.strip()) or _UNKNOWN.fullmatch(text)
    if match is None:
        return {"type": "equals", "value": text}
    kind = match["type"]
    return {"type": kind, "value": (match["value"] or "").strip()}


def _written(value: Any) -> str:
    """Return a text, or a number as JavaScript writes it; empty: the value is neither."""
    if type(value) is float:
        return str(value).removesuffix(".0")
    return str(value) if type(value) in {str, int} else ""


def _pieces(text: str) -> list[str]:
    """Return the texts that commas separate, of which a quoted one may hold some."""
    return [
        piece
        for match in _PIECE.finditer(text)
        if (piece := match[2].strip() if match[1] is None else match[1].replace('""', '"'))
    ]


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """Substitute variables in a text, as promptfoo does; other templates are kept."""
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        found = values.get(match[1])
        return match[0] if not isinstance(found, str | int | float) else str(found)

    return _VARIABLE.sub(variable, value)
