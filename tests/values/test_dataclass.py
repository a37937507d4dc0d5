"""Behaviour that dataclasses of the package share with those of the standard decorator."""

import copy
import dataclasses
import inspect
from typing import Any, Generic, TypeVar

import pytest

from pytest_rageval.values import dataclass as ours

T = TypeVar("T")


def _point(decorator: Any) -> Any:
    @decorator(frozen=True, slots=True, kw_only=True)
    class Point:
        x: Any
        y: int = 2
        uuid: str = dataclasses.field(default="", compare=False)
        secret: str = dataclasses.field(default="", repr=False)

    return Point


@pytest.fixture(params=[ours.dataclass, dataclasses.dataclass], ids=["ours", "standard"])
def kind(request: pytest.FixtureRequest) -> Any:
    return _point(request.param)


def test_values_are_equal_when_their_compared_fields_are(kind: Any) -> None:
    assert kind(x=1) == kind(x=1, uuid="another")
    assert kind(x=1) != kind(x=2)
    assert hash(kind(x=1)) == hash(kind(x=1, uuid="another"))
    assert {kind(x=1): "found"}[kind(x=1)] == "found"


def test_values_of_another_class_are_never_equal(kind: Any) -> None:
    assert kind(x=1) != _point(dataclasses.dataclass)(x=1)
    assert kind(x=1) != (1, 2, "")


def test_the_fields_are_shown_without_those_left_out(kind: Any) -> None:
    assert repr(kind(x=[1])).endswith("Point(x=[1], y=2, uuid='')")


def test_a_value_that_holds_itself_is_shown(kind: Any) -> None:
    held: list[object] = []
    held.append(kind(x=held))
    assert "x=[...]" in repr(held[0]) or "(...)" in repr(held[0])


def test_a_frozen_value_keeps_its_fields_and_can_be_replaced(kind: Any) -> None:
    value = kind(x=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.x = 3
    assert dataclasses.replace(value, x=3) == kind(x=3)
    assert dataclasses.asdict(value) == {"x": 1, "y": 2, "uuid": "", "secret": ""}


@pytest.mark.parametrize("decorator", [ours.dataclass, dataclasses.dataclass])
def test_values_that_can_change_are_not_hashable(decorator: Any) -> None:
    @decorator
    class Counter:
        n: int = 0

    made: Any = Counter
    assert made(1) == made(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(made())


@pytest.mark.parametrize("decorator", [ours.dataclass, dataclasses.dataclass])
def test_methods_of_the_class_itself_are_kept(decorator: Any) -> None:
    @decorator
    class Odd:
        n: int = 0

        def __repr__(self) -> str:
            return "odd"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Odd)

    made: Any = Odd
    assert repr(made(1)) == "odd"
    assert made(1) == made(2)


@pytest.mark.parametrize("decorator", [ours.dataclass, dataclasses.dataclass])
def test_comparing_can_be_left_out(decorator: Any) -> None:
    @decorator(frozen=True, eq=False, repr=False)
    class Handle:
        n: int

    made: Any = Handle
    one = made(1)
    assert one == one
    assert one != made(1)
    assert {one: 1}[one] == 1
    assert "object at" in repr(one)


@pytest.mark.parametrize("decorator", [ours.dataclass, dataclasses.dataclass])
def test_a_constructor_takes_the_fields_with_their_defaults(decorator: Any) -> None:
    @decorator
    class Mixed:
        named: int = dataclasses.field(kw_only=True)
        first: str
        many: list[int] = dataclasses.field(default_factory=list)
        last: bool = dataclasses.field(default=True, kw_only=True)
        derived: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            self.derived = self.named + 1

    made: Any = Mixed
    parameters = inspect.signature(made).parameters
    assert [*parameters] == ["first", "many", "named", "last"]
    assert [one.kind.name for one in parameters.values()] == [
        *["POSITIONAL_OR_KEYWORD"] * 2,
        *["KEYWORD_ONLY"] * 2,
    ]
    assert (parameters["first"].annotation, parameters["last"].default) == (str, True)
    value = made("a", named=3)
    assert dataclasses.asdict(value) == {
        "named": 3,
        "first": "a",
        "many": [],
        "last": True,
        "derived": 4,
    }
    assert made("a", named=3).many is not value.many
    with pytest.raises(TypeError, match=r"Mixed.__init__\(\) missing 1 required keyword-only"):
        made("a")


@pytest.mark.parametrize("decorator", [ours.dataclass, dataclasses.dataclass])
@pytest.mark.parametrize("slots", [True, False])
def test_a_frozen_value_can_be_copied_but_not_changed(decorator: Any, slots: bool) -> None:
    @decorator(frozen=True, slots=slots)
    class Held:
        items: list[int]

    made: Any = Held
    value = made([1])
    assert copy.copy(value) == value
    assert copy.deepcopy(value) == value
    assert copy.deepcopy(value).items is not value.items
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'items'"):
        value.items = []
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'items'"):
        del value.items


@pytest.mark.parametrize("decorator", [ours.dataclass, dataclasses.dataclass])
def test_a_class_can_be_derived_with_and_without_fields_of_its_own(decorator: Any) -> None:
    @decorator(frozen=True, kw_only=True)
    class Base:
        x: int

    @decorator(frozen=True, kw_only=True)
    class Derived(Base):
        y: int = 0

    class Plain(Base):
        def __init__(self) -> None:
            super().__init__(x=1)  # type: ignore[call-arg]
            self.note = "mine"

    base: Any = Base
    derived: Any = Derived
    assert derived(x=1) == derived(x=1, y=0) != base(x=1)
    plain: Any = Plain()
    assert (plain.x, plain.note) == (1, "mine")
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain.x = 2
    with pytest.raises(TypeError, match="cannot inherit"):

        @dataclasses.dataclass
        class Loose(Base):
            z: int = 0


def test_a_copy_computes_fields_that_are_not_given_anew() -> None:
    @ours.dataclass(slots=True)
    class Square:
        side: int
        area: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            self.area = self.side**2

    assert ours.replace(Square(2), side=3).area == 9


def test_a_maker_does_what_a_call_of_the_class_does(kind: Any) -> None:
    make = ours.maker(kind)
    assert make(x=1) == kind(x=1)
    assert repr(make(x=1, y=3, secret="s")) == repr(kind(x=1, y=3))
    with pytest.raises(TypeError, match=r"missing 1 required .* argument: 'x'"):
        make(y=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        make(x=1, z=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        make(x=1).x = 2


def test_a_maker_makes_frozen_objects_of_derived_classes() -> None:
    @ours.dataclass(frozen=True, slots=True)
    class Base:
        x: int

    @ours.dataclass(frozen=True, slots=True, kw_only=True)
    class Derived(Base):
        y: int = 0

    one = ours.maker(Derived)(y=2, x=1)
    assert (type(one), one) == (Derived, Derived(1, y=2))
    assert copy.deepcopy(one) == ours.replace(one) == one
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.x = 2  # type: ignore[misc]


def test_a_maker_makes_objects_of_generic_classes() -> None:
    @ours.dataclass(frozen=True, slots=True)
    class Held(Generic[T]):
        one: T

    assert ours.maker(Held)(one=1) == Held(1) == ours.replace(Held(2), one=1)


def test_a_maker_calls_a_class_with_a_constructor_of_its_own() -> None:
    @ours.dataclass
    class Doubled:
        x: int

        def __init__(self, x: int) -> None:
            self.x = 2 * x

    assert ours.maker(Doubled)(x=2).x == ours.replace(Doubled(1), x=2).x == 4


def test_a_maker_runs_what_follows_the_fields_and_keeps_lists_apart() -> None:
    @ours.dataclass(kw_only=True)
    class Pair:
        one: int
        both: list[int] = dataclasses.field(default_factory=list)

        def __post_init__(self) -> None:
            self.both.append(self.one)

    make = ours.maker(Pair)
    assert [make(one=1).both, make(one=2).both] == [[1], [2]]
