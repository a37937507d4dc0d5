from pathlib import Path

import pytest

from pytest_rageval.project.sweep_file import parse_sweep, read_sweep
from pytest_rageval.values.errors import ConfigError

WHOLE = """
objective = ["recall_at_k", "context_tokens", "latency_ms.p95"]
constraints = ["over_abstention_rate<=0.10", "latency_ms.p95 <= 2500"]
baseline = { k = 5 }
[query]
k = [3, 5, 10]
rerank = [false, true]
[index]
chunk_tokens = [200, 400]
[index.build]
command = "make index"
[search]
method = "halving"
budget = 2000
holdout = 0.25
seed = 11
"""


def faults(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_sweep(text, display="sweep.toml")
    return str(caught.value)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(WHOLE, encoding="utf-8")
    found = read_sweep(path)
    assert found.objectives == ("recall_at_k", "context_tokens", "latency_ms.p95")
    assert [(one.metric, one.kind, one.limit) for one in found.constraints] == [
        ("over_abstention_rate", "max", 0.1),
        ("latency_ms.p95", "max", 2500.0),
    ]
    assert found.query == {"k": (3, 5, 10), "rerank": (False, True)}
    assert found.index == {"chunk_tokens": (200, 400)}
    assert found.baseline == {"k": 5, "rerank": False, "chunk_tokens": 200}
    assert (found.build, found.build_embedded, found.build_fixture) == ("make index", False, None)
    assert (found.method, found.budget, found.holdout, found.seed) == ("halving", 2000, 0.25, 11)
    assert (found.path, found.continuous) == (path.as_posix(), False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("objectve = 'mrr'\n[query]\nk=[1,2]", '1: unknown key "objectve"'),
        ("objective = 'recal_at_k'\n[query]\nk=[1,2]", 'did you mean "recall_at_k"?'),
        ("objective = 'latency_ms.p95'\n[query]\nk=[1,2]", "latency_ms.p95"),
        ("objective = 'fallback_rate'\n[query]\nk=[1,2]", "fallback_rate is neither"),
        ("objective = ['mrr', 'mrr']\n[query]\nk=[1,2]", "mrr is listed twice"),
        ("objective = ['mrr', 'sweep_score']\n[query]\nk=[1,2]", "sweep_score must be the first"),
        ("objective = []\n[query]\nk=[1,2]", "expected a metric or a list of metrics"),
        ("constraints = ['mrr = 3']\n[query]\nk=[1,2]", "expected METRIC>=NUMBER"),
        ("constraints = ['mrr >= 3']\n[query]\nk=[1,2]", "the scale of mrr"),
        ("constraints = 'mrr >= 1'\n[query]\nk=[1,2]", "expected a list such as"),
        ("weights = { mrr = 1 }\n[query]\nk=[1,2]\n", ""),
        ("weights = { recall_at_k = 1 }\n[query]\nk=[1,2]\n", "sweep_score"),
        ("objective='mrr'\nweights = { mrr = 1 }\n[query]\nk=[1,2]\n", "sweep_score"),
        (
            "objective='sweep_score'\nweights = { mrr = -1 }\n[query]\nk=[1,2]\n",
            "mrr: got -1, expected a number above 0",
        ),
        ("[query]\nk = 5", "k: got 5, expected a list of values such as [3, 5], or a range"),
        ("[query]\nk = []", "k: no value, expected at least one"),
        (
            "index = 3\n[query]\nk = [1, 2]",
            "expected a table such as [index] with chunk_tokens = [200, 400] below it",
        ),
        (
            '[index]\na = [1, 2]\nbuild = "make"',
            "build: got 'make', expected a table such as [index.build] with embedded = true",
        ),
        ("[query]\nk = [3, 3]", "k: 3 is listed twice"),
        ("[query]\nk = [3, 3.0]", "k: 3.0 is listed twice"),
        ("[query]\nk = [[1]]", "k: got [1], expected texts, finite numbers and booleans"),
        ("[query]\nk = [nan]", "k: got nan"),
        pytest.param(f"[query]\nk = [1{'0' * 400}]", "expected texts, finite", id="huge"),
        ("[query]\nw = { min = 2, max = 1 }", "with min below max"),
        ("[query]\nw = { min = 0, max = 1, log = true }", "log = true needs"),
        ("[query]\nw = { min = 0, mx = 1 }", 'unknown key "mx" ... did you mean "max"?'),
        ("[query]\nw = {min=0,max=1}\n[search]\nmethod='grid'", 'a range needs "optuna"'),
        (
            "[query]\nk = [1]\n[index]\nk = [1]\nbuild={embedded=true}",
            "already a parameter of [query]",
        ),
        ("[index]\nchunk = [1, 2]", "expected [index.build] with embedded = true, command or"),
        ("[index]\nc = [1]\nbuild={embedded=true,command='x'}", "expected one of embedded = true"),
        ("[query]\nk=[1,2]\n[search]\nmetod='grid'", 'did you mean "method"?'),
        (
            "[query]\nk=[1,2]\n[search]\nmethod='gird'",
            "method: got 'gird', expected one of \"auto\"",
        ),
        ("[query]\nk=[1,2]\n[search]\nholdout=1.5", "holdout: got 1.5, expected a number from 0"),
        ("[query]\nk=[1,2]\n[search]\nbudget=true", "budget: got True, expected an integer"),
        ("baseline={q=1}\n[query]\nk=[1,2]", 'unknown parameter "q"'),
        ("baseline={k=7}\n[query]\nk=[1,2]", "k: got 7, expected one of 1, 2"),
        ("", "sweep.toml:1: no parameter to vary"),
        ("[query\n", "not TOML"),
    ],
)
def test_faults_name_place_value_and_expectation(text: str, expected: str) -> None:
    if not expected:
        text = text.replace("weights", "objective = 'sweep_score'\nweights")
        assert parse_sweep(text, display="sweep.toml").weights == {"mrr": 1.0}
        return
    found = faults(text)
    assert found.startswith("sweep.toml")
    assert all(part in found for part in expected.split(" ... "))


def test_all_faults_are_reported_at_once() -> None:
    found = faults("objectve = 1\n[query]\nk = 5\n[search]\nseed = -1")
    assert [line.split(":")[1] for line in found.splitlines() if line.startswith("sweep")] == [
        "1",
        "3",
        "5",
    ]
