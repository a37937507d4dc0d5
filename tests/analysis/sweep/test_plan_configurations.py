from pytest_rageval.analysis.sweep.plan import Configuration, expand_grid


def test_a_grid_has_every_combination_and_keeps_those_of_an_index_together() -> None:
    grid = expand_grid({"k": (3, 5), "rerank": (False, True)}, {"chunk_tokens": (200, 400)})
    assert [one.name for one in grid[:3]] == [
        "k=3 rerank=false chunk_tokens=200",
        "k=3 rerank=true chunk_tokens=200",
        "k=5 rerank=false chunk_tokens=200",
    ]
    assert [one.index["chunk_tokens"] for one in grid] == [200] * 4 + [400] * 4
    assert len({one.key for one in grid}) == 8


def test_a_key_is_stable_whatever_the_order_of_the_names() -> None:
    one = Configuration(query={"k": 3, "rerank": True}, index={})
    other = Configuration(query={"rerank": True, "k": 3}, index={})
    assert one.key == other.key == "873e53c2ec4e"
    assert one.key != Configuration(query={"k": 3}, index={"rerank": True}).key
    assert Configuration(query={"k": 1}).key != Configuration(query={"k": True}).key
