from __future__ import annotations

from pytest_rageval.authoring.interchange.values import CARRIED, COUNTED, KEPT, Ledger

FATES = {
    "*": "about the run",
    "id": CARRIED,
    "rows[].*": KEPT,
    "rows[].text": CARRIED,
    "rows[].own": COUNTED,
    "tags[]": CARRIED,
}


def test_each_field_is_counted_by_the_fate_that_a_map_declares() -> None:
    ledger = Ledger()
    rows = [{"text": "a", "own": 1, "odd": {"x": 1}}, {"text": " ", "odd": 2}, "no object"]
    ledger.account({"id": 1, "rows": rows, "tags": ["a", "b"], "cost": [1, 2]}, FATES)
    found = ledger.close()
    assert found.carried == {"id": 1, "rows[].text": 1, "tags[]": 2}
    assert found.kept == {"rows[].odd": 2}
    assert [(one.field, one.why, one.count) for one in found.left_out] == [
        ("rows[]", "not an object", 1),
        ("cost", "about the run", 1),
        ("rows[].text", "empty", 1),
    ]
