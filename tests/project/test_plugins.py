"""Loading of plug-ins; their use is in tests/plugin/test_own_metrics.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_rageval.project.plugins import Extensions, load_plugins
from pytest_rageval.values.errors import ConfigError


def test_a_module_below_the_rootdir_is_imported_once_for_all_that_it_defines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "acme_loaded.py").write_text(
        "from pytest_rageval import Scored, metric\n"
        "@metric('acme.a')\ndef a(case, reply): return Scored(1)\n"
        "@metric('acme.b')\ndef b(case, reply): return Scored(1)\nalias = a\n"
    )
    (tmp_path / "acme_again.py").write_text("from acme_loaded import a\n")
    found = load_plugins(["acme_loaded", "acme_again"], str(tmp_path))
    assert [getattr(info, "key", "") for info in found] == ["acme.a", "acme.b"]


@pytest.mark.parametrize("name", ["no_such_module", "no-such", "a..b", "a:b", ""])
def test_an_unknown_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="entry point"):
        load_plugins([name], str(tmp_path))


@pytest.mark.parametrize("value", [3, print, sys, object(), Extensions])
def test_what_defines_no_metric_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r"expected a function below @metric, .* or a module"):
        Extensions().add(value)
