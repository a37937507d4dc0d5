"""Variables of a request: facts about the case and the run besides the question.

A mapping sees them as fields of the request; a path and a header name them in braces, as in
``{case.metadata.user}``. They are sent only where the settings name them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from pytest_rageval.project.case_variables import CASE_VARIABLES, PLACEHOLDER
from pytest_rageval.project.option_values import REQUEST_FIELDS
from pytest_rageval.support.http.address import ENV_VALUE, is_sendable
from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import clean, did_you_mean
from pytest_rageval.target.contract import request_body
from pytest_rageval.values.errors import ConfigError, EndpointError, target_error
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import TargetSettings

VARIABLES: Final = ("case", "env", "history", "language", "run_id", "session", "turn", "uuid")
NO_RUN: Final = "no-run"
"""``run_id`` of a request that belongs to no run, such as one of the doctor."""
_UUID_END: Final = "726167657661"
"""The last 12 digits, ``rageva`` in ASCII, so that cassettes recognise the rest as random."""
_UUID: Final = re.compile(
    rf"[0-9a-f]{{8}}-[0-9a-f]{{4}}-4[0-9a-f]{{3}}-[89ab][0-9a-f]{{3}}-{_UUID_END}"
)
_WHERE: Final = "[tool.rageval.target]"
_WHOLE_REQUEST: Final[Mapping[str, object]] = {
    "question": "-",
    "vaults": ["-"],
    "folders": ["-"],
    "k": 1,
    "folder_mode": "-",
    "rerank_weights": {"vector": 1.0, "lexical": 1.0},
}
"""A request with every field that ``request_body`` can set."""


def new_uuid() -> str:
    """Return a random UUID of version 4, whose last 12 digits are fixed."""
    digits = secrets.token_hex(10)
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:]}-{_UUID_END}"


def without_uuids(text: str) -> str:
    """Replace every UUID of ``new_uuid`` by one that is the same in every run.

    >>> without_uuids("session=0b0c-x") == "session=0b0c-x"
    True
    """
    return _UUID.sub(f"00000000-0000-4000-8000-{_UUID_END}", text)


class _Document(dict[str, Any]):
    """A request whose variables are found by name, but are not among its fields.

    So ``@`` and ``merge(@, ...)`` send the same fields as without variables.
    """

    variables: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or else a variable."""
        return self[name] if name in self else self.variables.get(name, default)


_Document.__name__ = "dict"  # jmespath knows an object by the name of its type


def request_document(
    request: AskRequest, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the request as mappings and placeholders see it; it is sent without its variables.

    Args:
        request: the question, and facts about its case.
        environment: variables of the environment that the mapping names; None if absent.
    """
    document = _Document(request_body(request))
    document.variables = {
        "case": request.case or None,
        "env": dict(environment or {}) or None,
        "language": request.case.get("language"),
        "run_id": request.run_id or NO_RUN,
        "turn": request.turn,
        "uuid": request.uuid,
    }
    return document


def whole_request(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with every field and variable that there is, those of a request first."""
    whole = _Document({**_WHOLE_REQUEST, **document})
    case = {**dict.fromkeys(CASE_VARIABLES, "-"), "tags": ["-"], "metadata": {"-": "-"}}
    history = [{"role": "user", "content": "-"}]
    whole.variables = {**dict.fromkeys(VARIABLES, "-"), "case": case, "env": document.get("env")}
    whole.variables |= {"history": history, "turn": 2}
    return whole


def check_placeholders(target: TargetSettings) -> None:
    """Refuse placeholders that no request can fill.

    Raises:
        ConfigError: a field of ``case`` is unknown, or a placeholder names a variable of the
            environment.
    """
    texts = {f"headers.{name}": value for name, value in target.headers.items()}
    for where, text in {"path": target.path, **texts}.items():
        names = [match["name"] for match in PLACEHOLDER.finditer(text) if match["name"]]
        for name in names:
            root, *below = name.split(".")
            if root == "env":
                raise ConfigError.of(
                    f"{_WHERE} {where}",
                    "value",
                    found=f"{{{name}}}",
                    expected=f"env:{'.'.join(below) or 'NAME'} as the value of a header, alone "
                    "or after a word; a path has no secrets",
                )
            if root == "case" and not set(below[:1]) & set(CASE_VARIABLES):
                expected = ", ".join(f"case.{one}" for one in CASE_VARIABLES)
                raise ConfigError.of(
                    f"{_WHERE} {where}",
                    "choice",
                    found=f"{{{name}}}",
                    expected=expected,
                    **hint("".join(below[:1]), CASE_VARIABLES),
                )
        if names and re.search(r"(?:^|\s)env:", text):
            raise ConfigError.of(
                f"{_WHERE} {where}", "env_placeholder", found=repr(clean(text, 80))
            )


def filled_path(path: str, document: Mapping[str, Any]) -> str:
    """Return a path with its placeholders filled, percent-encoded.

    Raises:
        EndpointError: one has no value, or a value that a path cannot hold.
    """

    def encoded(name: str, text: str) -> str:
        if text in {".", ".."}:
            raise _fault("placeholder_path", "path", name, document, found=repr(text))
        try:
            return quote(text, safe="")
        except UnicodeEncodeError:
            raise _fault("placeholder_unicode", "path", name, document) from None

    return _filled(path, document, "path", encoded)


def filled_headers(
    headers: Mapping[str, str], resolved: Mapping[str, str], document: Mapping[str, Any]
) -> dict[str, str]:
    """Return the headers with their placeholders filled.

    Args:
        headers: as configured; the value of a variable of the environment is never searched.
        resolved: the same with those values.
        document: the request.

    Raises:
        EndpointError: a placeholder has no value, or one that no header may hold.
    """

    def checked(where: str, name: str, text: str) -> str:
        if not is_sendable(text):
            raise _fault("placeholder_header", where, name, document)
        return text

    found = dict(resolved)
    for header, value in headers.items():
        if ENV_VALUE.fullmatch(value) is None and "{" in value:
            where = f"headers.{header}"
            found[header] = _filled(value, document, where, partial(checked, where))
    return found


def _filled(text: str, document: Mapping[str, Any], where: str, encoded: Any) -> str:
    def value(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return f"{{{match['literal']}}}"
        found: Any = document
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        written = _written(found)
        if written is None:
            code = "placeholder_empty" if found is None else "placeholder_object"
            root = name.split(".")[0]
            known = [*REQUEST_FIELDS, *VARIABLES]
            hint = "" if root in known else did_you_mean(root, known, before="; ")
            raise _fault(code, where, name, document, hint=hint)
        return str(encoded(name, written))

    return PLACEHOLDER.sub(value, text)


def _written(value: object) -> str | None:
    """Write a value into a path or a header: lists with commas; None: it cannot be written."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value) or None
    if isinstance(value, list) and value:
        parts = [None if isinstance(one, list) else _written(one) for one in value]
        return None if None in parts else ",".join(part for part in parts if part)
    return None


def _fault(
    code: str, where: str, name: str, document: Mapping[str, Any], **facts: str
) -> EndpointError:
    case = document.get("case")
    asking = {"case": case["id"]} if case else {"asker": "no case"}
    shown = f"{{{name}}}"
    return target_error(code, attempts=0, setting=where, placeholder=shown, **asking, **facts)


def query_parameters(body: object) -> list[tuple[str, str]]:
    """Return the fields of a request as the query of a GET, lists as repeated parameters.

    Raises:
        EndpointError: the request is not an object, or a field is an object or a nested list.
    """
    if not isinstance(body, Mapping):
        raise target_error("query_shape", attempts=0)
    pairs = []
    for name, value in body.items():
        for one in value if isinstance(value, list) else [value]:
            written = None if isinstance(one, list) else "" if one == "" else _written(one)
            if written is None and one is not None:
                raise target_error("query_field", attempts=0, field=str(name))
            if written is not None:
                pairs.append((name, written))
    return pairs
