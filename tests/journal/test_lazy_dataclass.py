"""Lazy data classes do what those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from journal.model.lazy_dataclass import dataclass as lazy

STANDARD = dataclasses.dataclass
BOTH = pytest.mark.parametrize("dataclass", [STANDARD, lazy], ids=["standard", "lazy"])
NAN = float("nan")


def classes(dataclass: Any) -> SimpleNamespace:
    """Classes of all the shapes that the project has, made by one of the two decorators."""

    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 0
        name: str = field(default="p", compare=False)
        hidden: str = field(default="s", repr=False, kw_only=True)
        kind: ClassVar[str] = "point"

        def moved(self, by: int) -> Any:
            return dataclasses.replace(self, x=self.x + by)

    @dataclass(frozen=True, slots=True)
    class Space(Point):
        z: int = 0

        def moved(self, by: int) -> Any:
            # Without arguments, super() would look for the class before it had slots.
            return dataclasses.replace(Point.moved(self, by), z=self.z + by)

    @dataclass(slots=True)
    class Basket:
        items: list[Any] = field(default_factory=list)
        sum: int = field(init=False)
        open: bool = field(default=True, init=False)

        def __post_init__(self) -> None:
            self.sum = len(self.items)

    @dataclass(slots=True, eq=False)
    class Alone:
        value: float

    @dataclass(frozen=True, slots=True)
    class One:
        value: float

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    @dataclass(frozen=True, slots=True)
    class Own:
        value: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and abs(self.value) == abs(other.value)

        def __hash__(self) -> int:
            return abs(self.value)

        def __repr__(self) -> str:
            return "own"

    return SimpleNamespace(**{k: v for k, v in locals().items() if isinstance(v, type)})


@pytest.fixture(name="made", params=[STANDARD, lazy], ids=["standard", "lazy"])
def made_classes(request: pytest.FixtureRequest) -> SimpleNamespace:
    """The classes, made by each of the decorators."""
    return classes(request.param)


def test_values_compare_hash_and_show_themselves(made: SimpleNamespace) -> None:
    one = made.Point(1, name="q")
    assert one == made.Point(1, 0)
    assert hash(one) == hash(made.Point(1))
    assert one != made.Point(2)
    assert one != made.Space(1)
    assert repr(one).endswith("Point(x=1, y=0, name='q')")
    assert one.kind == "point"
    assert repr(made.Space(1, 2, z=3)).endswith("Space(x=1, y=2, name='p', z=3)")
    assert made.Space(1, 2, z=3).moved(1) == made.Space(2, 2, z=4)
    assert made.Empty() == made.Empty()
    assert hash(made.Empty()) == hash(made.Empty())
    assert made.One(NAN) == made.One(NAN)
    assert made.Alone(1) != made.Alone(1)
    assert len({made.Alone(1), made.Alone(1)}) == 2
    assert made.Own(1) == made.Own(-1)
    assert repr([made.Own(1)]) == "[own]"


def test_fields_are_filled_as_declared(made: SimpleNamespace) -> None:
    basket = made.Basket([1, 2])
    assert (basket.sum, basket.open, made.Basket().items) == (2, True, [])
    assert basket == made.Basket([1, 2])
    basket.items.append(basket)
    assert "..." in repr(basket)
    with pytest.raises(TypeError, match="unhashable"):
        hash(basket)
    with pytest.raises(AttributeError):
        basket.other = 1


@pytest.mark.parametrize(
    ("args", "named"), [((), {}), ((1, 2, "n", "s"), {}), ((1,), {"w": 2}), ((1,), {"x": 2})]
)
def test_wrong_arguments_are_refused(
    made: SimpleNamespace, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=r"Point.__init__\(\)"):
            made.Point(*args, **named)


def test_frozen_values_stay(made: SimpleNamespace) -> None:
    point = made.Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="assign to field 'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="delete field 'x'"):
        del point.x
    assert point.x == 1


def test_the_functions_of_the_standard_library_know_them(made: SimpleNamespace) -> None:
    point = made.Space(1, 2, z=3)
    names = ["x", "y", "name", "hidden", "z"]
    assert [f.name for f in dataclasses.fields(point)] == names
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "name": "p", "hidden": "s", "z": 3}
    assert dataclasses.astuple(point) == (1, 2, "p", "s", 3)
    assert dataclasses.is_dataclass(point)
    match point:
        case made.Space(x, y, "p", z):
            assert (x, y, z) == (1, 2, 3)
        case _:
            pytest.fail("the positions of the fields are lost")


@BOTH
@pytest.mark.parametrize("name", ["Point", "Space", "Basket", "Alone", "One", "Empty", "Own"])
def test_copies_and_pickles_are_equal(
    dataclass: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = getattr(classes(dataclass), name)
    cls.__qualname__ = name
    monkeypatch.setattr(sys.modules[__name__], name, cls, raising=False)
    one = cls() if name in {"Empty", "Basket"} else cls(1)
    for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):  # noqa: S301
        assert dataclasses.asdict(again) == dataclasses.asdict(one)
        assert again == one or name == "Alone"


def test_threads_may_make_the_first_instances() -> None:
    for _ in range(20):
        point = classes(lazy).Point
        with ThreadPoolExecutor(8) as pool:
            assert [p.y for p in pool.map(point, range(8), range(8))] == list(range(8))


def test_a_class_without_slots_is_refused() -> None:
    with pytest.raises(TypeError, match=r"needs dataclasses\.dataclass"):
        lazy(slots=False)
