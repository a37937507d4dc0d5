from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.support.toml_text import KeyPath, locate, read_toml
from pytest_rageval.values.errors import ConfigError


def key_text(text: str, path: KeyPath) -> str:
    place = locate(text)[path]
    return text[place.key : place.key_end]


def value_text(text: str, path: KeyPath) -> str:
    place = locate(text)[path]
    return text[place.value : place.value_end]


@pytest.mark.parametrize(
    ("text", "path", "key", "value"),
    [
        ("a = 1", ("a",), "a", "1"),
        ("\ta=1 # b = 2\n", ("a",), "a", "1"),
        ("a.b . c = 1", ("a", "b", "c"), "c", "1"),
        ("a.b = 1\na.c = 2", ("a", "c"), "c", "2"),
        ("[t]\na = 1", ("t", "a"), "a", "1"),
        ("[ t . u ]\na = 1", ("t", "u"), "u", "u"),
        ("[t]\nx = 1\n[u]\n[t.v]\na = 1", ("t", "v", "a"), "a", "1"),
        ('["a.b"]\n\'c d\' = 1', ("a.b", "c d"), "'c d'", "1"),
        ('"\\u00e9\\"]" = 1', ('é"]',), '"\\u00e9\\"]"', "1"),
        ("a = { b = 1, c = { d = 2 } }", ("a", "c", "d"), "d", "2"),
        ("a = { b.c = 1 }", ("a", "b", "c"), "c", "1"),
        ("a = {}\nb = 1", ("a",), "a", "{}"),
        ("a = [[1, 2], [{ z = '}' }]] # ]\nb = 1", ("b",), "b", "1"),
        ("a = [\n 1, # ]\n 2,\n]\nb = 1", ("a",), "a", "[\n 1, # ]\n 2,\n]"),
        ('a = """\nb = 1 \\""" \'""\'\n"""\nc = 2', ("c",), "c", "2"),
        ('a = """x"""""\nc = 2', ("a",), "a", '"""x"""""'),
        ("a = '''\n\\'''''\nc = 2", ("c",), "c", "2"),
        ('a = "# \\\\"\nc = 2', ("a",), "a", '"# \\\\"'),
        ("a = 1979-05-27 07:32:00 # x", ("a",), "a", "1979-05-27 07:32:00"),
        ("a = { b = 1979-05-27 }", ("a", "b"), "b", "1979-05-27"),
        ("[[t]]\na = 1\n[[t]]\nb = 2", ("t",), "t", "t"),
    ],
)  # fmt: skip
def test_a_key_and_its_value_are_found(text: str, path: KeyPath, key: str, value: str) -> None:
    tomllib.loads(text)
    assert key_text(text, path) == key
    assert value_text(text, path) == value


def test_keys_inside_arrays_are_left_out() -> None:
    assert set(locate("a = [{ b = 1, c = { d = 2 } }]\ne = { f = [{ g = 1 }] }")) == {
        ("a",),
        ("e",),
        ("e", "f"),
    }


def test_a_dotted_key_remembers_where_it_begins() -> None:
    text = "a.b = 1\n[x.y]\nlatency_ms . p95 = 1"
    places = locate(text)
    assert text[places["x", "y", "latency_ms", "p95"].start :].startswith("latency_ms . p95")
    assert text[places["x", "y"].start :].startswith("y]")


# --- any document ----------------------------------------------------------------------------

KEYS = st.from_regex(r"[a-z0-9_-]{1,4}|[ .#=\[\]{}',é]{1,3}", fullmatch=True)
LEAVES = st.sampled_from(
    [
        *("1", "-1.5e3", "true", "nan", "1979-05-27 07:32:00"),
        *("'#=\\'", '"\\"]"', '"""a\n"b" = 1\n"""', "'''\n[x]\n'''"),
        *("[]", "[1, [2]]", "[ # ]\n1,\n]", "[{ a = 1 }]"),
    ]
)
TREES = st.recursive(
    st.dictionaries(KEYS, LEAVES, max_size=3),
    lambda inner: st.dictionaries(KEYS, LEAVES | inner, max_size=3),
    max_leaves=6,
)
BLANKS = st.sampled_from(["", " ", "\t", "  "])


def quoted(key: str) -> str:
    plain = key.replace("-", "").replace("_", "").isalnum() and key.isascii()
    return key if plain else f'"{key}"'


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Write a tree with headers, dotted keys and inline tables, as it comes."""
    lines: list[str] = []
    tables: list[str] = []

    def inline(tree: Mapping[str, Any]) -> str:
        items = (
            f"{quoted(key)}{draw(BLANKS)}={draw(BLANKS)}"
            + (value if isinstance(value, str) else inline(value))
            for key, value in tree.items()
        )
        return "{" + draw(BLANKS) + ", ".join(items) + draw(BLANKS) + "}"

    def body(prefix: str, tree: Mapping[str, Any]) -> Iterator[str]:
        for key, value in tree.items():
            name = prefix + quoted(key)
            if isinstance(value, str):
                yield f"{draw(BLANKS)}{name}{draw(BLANKS)}={draw(BLANKS)}{value} # x = 1"
            elif value and draw(st.booleans()):
                yield from body(f"{name}{draw(BLANKS)}.", value)
            else:
                yield f"{name} = {inline(value)}"

    root = draw(TREES)
    for key, value in root.items():
        if isinstance(value, str):
            lines.extend(body("", {key: value}))
        else:
            tables.append("\n".join([f"[{draw(BLANKS)}{quoted(key)}] # [y]", *body("", value)]))
    return "\n".join([*lines, *tables])


def paths(tree: Mapping[str, Any], base: KeyPath = ()) -> Iterator[KeyPath]:
    for key, value in tree.items():
        yield (*base, key)
        if isinstance(value, dict):
            yield from paths(value, (*base, key))


@given(documents())
def test_every_key_of_any_document_is_found_where_it_stands(text: str) -> None:
    values = tomllib.loads(text)
    places = locate(text)
    assert set(places) == set(paths(values))
    for path, place in places.items():
        raw = text[place.key : place.key_end]
        assert next(iter(tomllib.loads(f"{raw} = 0"))) == path[-1]
        value: Any = values
        for key in path:
            value = value[key]
        if not isinstance(value, dict):
            shown = tomllib.loads(f"x = {text[place.value : place.value_end]}")
            assert repr(shown["x"]) == repr(value)


# --- faults ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a = 1\nb = \n",
            "t.toml:2:5: not TOML: Invalid value\n    2 | b =\n      |     ^",
        ),
        (
            "x = [1,",
            "t.toml:1:8: not TOML: Invalid value at the end of the file\n"
            "    1 | x = [1,\n"
            "      |        ^",
        ),
        (
            "\ta = \x01",
            "t.toml:1:6: not TOML: Invalid value\n    1 |  a =\n      |      ^",
        ),
    ],
)
def test_a_text_that_is_no_toml_is_shown_where_it_breaks(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_toml(text, display="t.toml")
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("header", "written"),
    [
        ("[category.recency/conflict]", '[category."recency/conflict"]'),
        ("  [ tag . größe ] # of the parcel", '[tag."größe"]'),
        ("[tag.c++]", '[tag."c++"]'),
        ("[category.alpha] mrr = 1", ""),
        ("[category.a/b", ""),
        ('[tag."a" b]', ""),
    ],
)
def test_a_name_of_a_table_that_needs_quotes_is_shown_with_them(header: str, written: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_toml(f"a = 1\n{header}\n[overall]\n", display="t.toml")
    assert str(caught.value).partition("^")[2] == (f" write {written}" if written else "")


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "1" * 5000])
def test_a_text_beyond_all_measure_is_no_crash(text: str) -> None:
    with pytest.raises(ConfigError, match=r"t\.toml:.* not TOML"):
        read_toml(text, display="t.toml")


def test_lines_of_windows_count_like_others() -> None:
    source = read_toml("a = 1\r\n\r\nb = 2\r\n", display="t.toml")
    assert source.line(("b",)) == 3
    source.key_fault(("b",), "odd")
    with pytest.raises(ConfigError, match=r"t\.toml:3:1: odd"):
        source.raise_faults()


def test_a_long_line_is_cut_around_its_fault() -> None:
    text = f"{'a' * 300} = 1; # {'b' * 300}".replace(";", "")
    source = read_toml(text, display="t.toml")
    source.value_fault(("a" * 300,), "odd")
    with pytest.raises(ConfigError) as caught:
        source.raise_faults()
    head, excerpt, carets = str(caught.value).splitlines()
    assert head == "t.toml:1:304: odd"
    assert len(excerpt) < 120
    assert excerpt[carets.index("^")] == "1"


def test_no_fault_raises_nothing() -> None:
    read_toml("a = 1", display="t.toml").raise_faults()


def test_of_very_many_faults_the_first_are_reported_and_the_rest_is_not_read() -> None:
    source = read_toml("".join(f"a{n} = 1\n" for n in range(200)), display="t.toml")
    with pytest.raises(ConfigError) as caught:
        source.plain((), {})
    lines = str(caught.value).split("\n")
    assert lines[-4:] == [
        't.toml:90:1: unknown key "a89"',
        "   90 | a89 = 1",
        "      | ^^^",
        "t.toml: after 90 faults the rest was not read",
    ]


@pytest.mark.parametrize("text", ["{} = 1", "\n[ {} ]", "a = {{ {} = 1 }}", "a = {{ b=1, {} = 1}}"])
@pytest.mark.parametrize("part", ["a.", "'a b'\t. ", '"a".'])
def test_a_key_of_very_many_parts_is_refused_before_it_is_parsed(text: str, part: str) -> None:
    assert read_toml(text.format(part * 99 + "z"), display="t.toml").values
    with pytest.raises(ConfigError, match=r"^t\.toml:[12]:[0-9]+: a key of more than 100 parts\n"):
        read_toml(text.format(part * 100 + "z"), display="t.toml")


def test_values_are_no_key_of_many_parts() -> None:
    text = f"a = '{'a.' * 200}'\nb = [{'0.5, ' * 200}]"
    assert len(read_toml(text, display="t.toml").values["b"]) == 200
