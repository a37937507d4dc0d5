"""Settings of a run from flags, environment, pyproject.toml and defaults.

A flag overrides its variable, a variable ``[tool.rageval]``, and that the default.
``params`` merge key by key; every other value, ``gates`` included, comes whole from the highest
source that sets it. A variable is ``RAGEVAL_`` and the flag without dashes and without a
``rageval-`` prefix (``--rag-url``: ``RAGEVAL_RAG_URL``, ``--rageval-results``:
``RAGEVAL_RESULTS``); an empty one counts as not set, and one of a repeatable flag holds one
value per line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal

from pytest_rageval.project.case_variables import PLACEHOLDER
from pytest_rageval.project.discovery import THRESHOLDS
from pytest_rageval.project.option_values import (
    Read,
    is_secret_param,
    read_text,
    read_value,
    without_secrets,
)
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.support.files import read_plain
from pytest_rageval.support.http.address import (
    ENV_VALUE,
    SENSITIVE_HEADER,
    blot_out_of_reply,
    request_literals,
    without_query_secrets,
)
from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import clean, part, shown, shown_json
from pytest_rageval.support.toml_text import key_lines
from pytest_rageval.values.declared import Setting
from pytest_rageval.values.errors import ConfigError, Fault, StorageError
from pytest_rageval.values.settings import JudgeSettings, Settings, TargetSettings

_PYPROJECT: Final = "pyproject.toml"
_BY_KEY: Final = {option.key: option for option in OPTIONS if option.key}
_BY_NAME: Final = {option.name: option for option in OPTIONS}
_TABLES: Final = {key.split(".")[0] for key in _BY_KEY if "." in key}
_TIER: Final = "tier"
"""Table of the tiers, each a table of settings."""
_KEY_ALIASES: Final = {"judge.model": "judge"}
"""``judge = "offline"`` and a table ``[tool.rageval.judge]`` cannot be in one file."""


@dataclass(slots=True)
class _Found:
    """Values by setting with their origins, and every fault so far."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Place of each value, and its key below ``[tool.rageval]``."""
    faults: list[Fault] = field(default_factory=list)
    text: str = ""
    """That of pyproject.toml."""

    def take(self, option: Setting, read: Read, origin: str, place: str, key: str = "") -> None:
        """Take a value that was read, or its faults at a place."""
        value, faults = read
        for fault in faults:
            self.fault(fault.below(place), key)
        if faults:
            return
        if option.kind == "params":
            self.origins.update({f"{option.name}.{key}": origin for key in value})
            value = {**self.values.get(option.name, {}), **value}
        self.values[option.name] = value
        self.origins[option.name] = origin
        self.places[option.name] = place, key

    def fault(self, fault: Fault, key: str = "") -> None:
        """Note a fault, of a key below ``[tool.rageval]`` if one is given."""
        if key:
            path: tuple[str, ...] = ("tool", "rageval", *key.split("."))
            lines = key_lines(self.text)
            while path not in lines:
                path = path[:-1]
            fault = replace(fault, file=_PYPROJECT, line=lines[path])
        self.faults.append(fault)

    def refuse(self, table: str, keys: str, **why: str) -> None:
        """Note that keys of a table contradict each other."""
        key = f"{table}.{keys.split(',')[0]}"
        self.fault(Fault(code="conflict", facts=why, field=f"[tool.rageval.{table}] {keys}"), key)


def load_settings(
    rootdir: Path,
    *,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    keywords: bool = False,
) -> Settings:
    """Build the settings of a run.

    Args:
        rootdir: pytest's rootdir; its ``pyproject.toml`` is read if there is one.
        flags: parsed flags by ``Setting.dest``; None or an empty list means not given.
        environ: environment variables.
        keywords: whether the flags came as arguments in Python, which faults then name.

    Raises:
        ConfigError: one line per fault, all sources in one message.
    """
    found = _Found()
    _take_pyproject(found, rootdir / _PYPROJECT, _tier(flags, environ))
    for option in OPTIONS:
        if option.env and environ.get(option.env, "").strip():
            _take_text(found, option, environ[option.env], source=option.env, env=True)
        if option.flag and flags.get(option.dest) not in (None, []):
            source = option.keyword if keywords else option.flag
            _take_text(found, option, flags[option.dest], source=source, env=False)
    if name := found.values.get("target.preset"):
        _take_preset(found, name)
    if fault := missing_limits(rootdir, found.values.get("thresholds", THRESHOLDS)):
        place, key_of_limits = found.places["thresholds"]
        found.fault(replace(fault, field=place), key_of_limits)
    for table, key, name, client in (
        ("target", "url", "target.url", "target.client"),
        ("judge", "model", "judge", "judging.client"),
    ):
        if found.origins.get(client) == found.origins.get(name) == _PYPROJECT:
            found.refuse(table, f"{key} and client")
    if found.faults:
        raise ConfigError.of_faults(found.faults)
    return _build(rootdir, found)


def no_target(settings: Settings, code: str = "no_target") -> ConfigError:
    """Return the usage error when nothing can be asked.

    Args:
        settings: which name no target.
        code: of the error.
    """
    if settings.target.preset is None:
        return ConfigError.of("", code)
    from pytest_rageval.project.presets.preset import load_preset

    preset = load_preset(settings.target.preset)
    return ConfigError.of(f"preset {preset.name!r}", "preset_address", address=preset.address)


def target_kind(settings: Settings) -> Literal["url", "client", "vault", "none"]:
    """Return the kind of target used unless a ``rag_client`` fixture is overridden.

    The address goes first, because a flag may name one for a project with another target.
    """
    if settings.target.url is not None:
        return "url"
    if settings.target.client is not None:
        return "client"
    return "none" if settings.target.vault is None else "vault"


# --- sources -------------------------------------------------------------------------------


def _tier(flags: Mapping[str, object], environ: Mapping[str, str]) -> str | None:
    """Return the tier that a flag or a variable names; its settings are read before the others."""
    option = _BY_NAME["tier"]
    given = flags.get(option.dest) or environ.get(option.env or "", "").strip()
    return str(given) if given else None


def _take_pyproject(found: _Found, path: Path, tier: str | None) -> None:
    import tomllib

    try:
        found.text = read_plain(path, "utf-8")
        document = tomllib.loads(found.text)
    except FileNotFoundError:
        document = {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError.of(_PYPROJECT, "unreadable", reason=error) from error
    tool = document.get("tool", {})
    table = tool.get("rageval", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError.of(
            f"{_PYPROJECT}: [tool.rageval]", "type", found=shown(table), expected="a table"
        )
    tiers = table.get(_TIER, {})
    _take_table(found, {key: value for key, value in table.items() if key != _TIER})
    if tier is None:
        return
    place = f"tool.rageval.{_TIER}.{tier}"
    if not isinstance(tiers, dict) or not isinstance(tiers.get(tier), dict):
        facts = {
            "what": f"tier {shown(tier)}",
            **hint(tier, tiers if isinstance(tiers, dict) else ()),
        }
        facts.setdefault("advice", f"; expected a table [{place}] in {_PYPROJECT}")
        found.fault(Fault(code="unknown", field="--rageval-tier", facts=facts))
    else:
        _take_table(found, tiers[tier], f"{_TIER}.{tier}")


def missing_limits(rootdir: Path, name: str) -> Fault | None:
    """Say that a file of limits is absent; None: it is there, or has the name that may be."""
    if name == THRESHOLDS or (rootdir / name).is_file():
        return None
    return Fault(code="no_limits", facts={"found": shown(name), "instead": THRESHOLDS})


def _take_table(found: _Found, table: Mapping[str, Any], tier: str = "") -> None:
    """Take the settings of a table of pyproject.toml: that of the package, or of a tier."""
    origin = f"{_PYPROJECT}, {tier}" if tier else _PYPROJECT
    top = ".".join(filter(None, ("tool.rageval", tier)))
    for section, key, value in _pyproject_items(table):
        path_of_key = f"{section}.{key}" if section else key
        option = _BY_KEY.get(_KEY_ALIASES.get(path_of_key, path_of_key))
        # A message loses the characters that a terminal obeys, of which a name may consist.
        name = key if key and clean(key) == key else shown_json(key)
        place = f"[{'.'.join(filter(None, (top, section)))}] {name}"
        here = f"{tier}.{path_of_key}" if tier else path_of_key
        if key in _TABLES and not section and option is None:
            facts = {"found": shown(value), "expected": "a table"}
            found.fault(Fault(field=place, code="type", facts=facts), here)
        elif option is None:
            facts = {"what": "key", **_nearest_key(section, key)}
            found.fault(Fault(field=place, code="unknown", facts=facts), here)
        else:
            found.take(option, read_value(option, value), origin, place, here)


def _take_preset(found: _Found, name: str) -> None:
    """Add the settings of a preset to those that were found, which go before them."""
    from pytest_rageval.project.presets.preset import load_preset, resolve

    if "target.vault" in found.values:
        found.refuse("target", "preset, vault", reason="the embedded server has no preset")
    own = {_BY_NAME[name].key: value for name, value in found.values.items()}
    values, faults = resolve(load_preset(name), found.values.get("target.vars", {}), own)
    for fault in faults:
        found.fault(fault.below("[tool.rageval.target]"), f"target.{fault.field.split('.')[0]}")
    if "target.client" in found.values and "target.url" in values:
        found.refuse("target", "preset, client", reason="the preset has an address")
    for key, value in values.items():
        option = _BY_KEY[key]
        origin = f"preset {name}"
        if option.name in found.values:
            merged = isinstance(found.values[option.name], dict) and isinstance(value, dict)
            origin = f"{origin}, {_PYPROJECT}" if merged else found.origins[option.name]
        place = f"[tool.rageval.target] {option.field}, by preset {name!r}"
        found.take(option, read_value(option, value), origin, place, key)


def _pyproject_items(table: Mapping[str, Any]) -> Iterator[tuple[str, str, object]]:
    """Yield section, key and value of every entry; the section is empty at the top."""
    for key, value in table.items():
        if key in _TABLES and isinstance(value, dict):
            yield from ((key, inner, item) for inner, item in value.items())
        else:
            yield "", key, value


def _nearest_key(section: str, key: str) -> dict[str, str]:
    """Return the key that was probably meant, as facts."""
    prefix = part("{}.", section)
    known = {*_BY_KEY, *_TABLES, *_KEY_ALIASES}
    names = [name.removeprefix(prefix) for name in known if name.startswith(prefix)]
    found = hint(key, [name for name in names if "." not in name])
    home = min((name for name in known if name.split(".")[-1] == key), default=None)
    if found or home is None:
        return found
    return {"nearest": home, **({"home": " in [tool.rageval]"} if home == key else {})}


def _take_text(found: _Found, option: Setting, given: object, *, source: str, env: bool) -> None:
    """Read one flag or variable: text, a list of texts, or True for a bare flag."""
    if isinstance(given, str):
        repeated = env and option.repeatable
        lines = map(str.strip, given.splitlines())
        pieces: list[Any] = [line for line in lines if line] if repeated else [given]
    else:
        pieces = list(given) if isinstance(given, (list, tuple)) else [given]
    read = [
        read_text(option, one) if isinstance(one, str) else read_value(option, one)
        for one in pieces
    ]
    if option.kind == "gates":
        faults = [fault for _, some in read for fault in some]
        read = [(tuple(gate for gates, _ in read for gate in gates or ()), faults)]
    for one in read:
        found.take(option, one, f"env {source}" if env else "flag", source)


def _build(rootdir: Path, found: _Found) -> Settings:
    values, origins = dict(found.values), dict(found.origins)
    if "target.read_timeout_s" not in values and "target.timeout_s" in values:
        # A longer limit would have no effect if the default read timeout ended the wait first.
        values["target.read_timeout_s"] = values["target.timeout_s"]
        origins["target.read_timeout_s"] = origins["target.timeout_s"]
    client = values.get("judging.client")
    if client is not None and origins.get("judge", _PYPROJECT) == _PYPROJECT:
        values["judge"], origins["judge"] = client, origins["judging.client"]
    response = values.get("target.response")
    if isinstance(response, dict):
        # Written beside the expressions over all events, these two belong to the stream.
        values["target.response"] = kept = dict(response)
        for name in {"first_token", "last_event"} & response.keys():
            values.setdefault(f"target.{name}", kept.pop(name))
            origins.setdefault(f"target.{name}", origins["target.response"])
    for option in OPTIONS:
        origins.setdefault(option.name, "default")
    sections: dict[str, dict[str, Any]] = {"target": {}, "judging": {}, "": {}}
    for name, value in values.items():
        section, _, setting = name.rpartition(".")
        sections[section][setting] = value
    return Settings(
        rootdir=str(rootdir),
        target=TargetSettings(**sections["target"]),
        judging=JudgeSettings(**sections["judging"]),
        origins=origins,
        **sections[""],
    )


# --- stored settings -------------------------------------------------------------------------


def config_warnings(settings: Settings) -> list[Fault]:
    """Return one fault for each setting that is ignored or seems to hold an open secret."""
    place = {"place": "[tool.rageval.target] headers"}
    return [
        *(fault.below("[tool.rageval.target]") for fault in _target_faults(settings)),
        *(
            Fault(code="secret_name", facts=place, field=f"params {key}")
            for key, value in settings.params.items()
            if is_secret_param(key, value)
        ),
    ]


def _target_faults(settings: Settings) -> Iterator[Fault]:
    target = settings.target
    for name, value in target.headers.items():
        if SENSITIVE_HEADER.search(name) and not ENV_VALUE.fullmatch(value):
            facts = {"where": "the value is in the file", "example": '"env:RAG_TOKEN"'}
            yield Fault(code="open_secret", facts=facts, field=f"headers {name}")
    if target.vars:
        from pytest_rageval.project.presets.preset import load_preset, unneeded

        yield from unneeded(load_preset(target.preset) if target.preset else None, target.vars)
    for name, value in target.vars.items():
        if is_secret_param(name, value):
            yield Fault(code="secret_name", facts={"place": "headers"}, field=f"vars {name}")
    given = "the client is given our request and returns answer and debug.retrieved_chunks itself"
    for key in ("request", "response") if target_kind(settings) == "client" else ():
        if getattr(target, key):
            yield Fault(code="ignored", facts={"reason": given}, field=key)
    if request_literals(target.request):
        facts = {"where": "a key is in it", "example": "env.RAG_TOKEN"}
        yield Fault(code="open_secret", facts=facts, field="request")
    if without_query_secrets(target.path) != target.path:
        facts = {"example": 'X-Api-Key = "env:RAG_TOKEN"'}
        yield Fault(code="secret_path", facts=facts, field="path")


def _stored_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Hide values that may be secret: not those of the environment by name or of the case."""
    return {
        name: value
        if ENV_VALUE.fullmatch(value)
        or (PLACEHOLDER.search(value) and not SENSITIVE_HEADER.search(name))
        else "(hidden)"
        for name, value in headers.items()
    }


def stored_settings(settings: Settings) -> Settings:
    """Return the settings without a secret and without the project's folder, for ``config.json``.

    Header values stay only where they name a variable (``env:NAME``) or, in a header whose name is
    not that of a secret, a fact of the case in braces; parameters, and fields of
    the path's query, whose name looks like a secret lose their value.
    """
    target = settings.target
    trace_url = target.trace_url
    return replace(
        settings,
        rootdir=".",
        params=without_secrets(settings.params),
        target=replace(
            target,
            vars=without_secrets(target.vars),
            headers=_stored_headers(target.headers),
            path=without_query_secrets(target.path),
            request=blot_out_of_reply(target.request, request_literals(target.request)),
            trace_url=None if trace_url is None else without_query_secrets(trace_url),
        ),
    )


def check_stored(settings: Settings) -> None:
    """Check stored settings by which records are scored again, as those of a file are checked.

    Raises:
        StorageError: names those that no file of settings can have.
    """
    from msgspec import to_builtins

    faults = [
        replace(fault, field=f"settings.{option.name}")
        for option in OPTIONS
        if option.rescoring and (value := getattr(settings, option.name)) != option.default
        for fault in read_value(option, to_builtins(value))[1]
    ]
    if faults:
        raise StorageError.of_faults(faults)


_COMPARED: Final = {"subject", "everything", "answers", "judged"}


def compared_settings(settings: Settings) -> dict[str, Any]:
    """Return by name the stored settings on which comparable numbers depend.

    Of those of the judge, the ones that change verdicts: none without a judge.
    """
    of_judge = {"none": set(), "offline": {"subject"}}.get(settings.judge, _COMPARED)
    return {
        one.name: attrgetter(one.name)(settings)
        for one in OPTIONS
        if one.role in (of_judge if one.section == "judging" else _COMPARED)
    }


def config_hash(settings: Settings) -> str:
    """Return 16 hex digits over the settings on which comparable numbers depend.

    Location, case selection and timeouts of a run are left out: rootdir, test paths
    (the dataset has its own hash), results folder, run id, resumed run, shard, origins, stored
    text, gates, timeouts, retries and the error limit. Secrets are left out as in
    ``stored_settings``.
    """
    import hashlib
    import json

    kept = compared_settings(stored_settings(settings))
    canonical = json.dumps(kept, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
