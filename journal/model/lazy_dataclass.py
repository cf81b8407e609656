"""Data classes whose functions are made when they are first needed, so that programs start fast.

``dataclasses.dataclass`` writes the source of six functions for each class, and every program that
starts compiles them: half a millisecond a class, and one statement loads three hundred classes, of
which it makes instances of few. Here all classes share one function for each of comparison, hash
and representation, and ``__init__`` is compiled at the first instance.

To a type checker it is ``dataclasses.dataclass``. ``fields``, ``replace``, ``asdict``, ``match``,
copies and pickles work as with it. Classes with its other options (``order``, ``kw_only``,
``weakref_slot``) or with ``InitVar`` use the original.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, slots: bool, frozen: bool = False, eq: bool = True):
        """Make a data class with slots, as ``dataclasses.dataclass`` does with these options.

        Raises TypeError for a class without slots.

        >>> @dataclass(frozen=True, slots=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(1, 0), dataclasses.replace(Point(1), y=2)
        (Point(x=1, y=0), True, Point(x=1, y=2))
        """
        if not slots:
            raise TypeError("a class without slots needs dataclasses.dataclass")

        def decorate(cls):
            return _with_functions(cls, frozen=frozen, eq=eq)

        return decorate


def _with_functions(cls: type[Any], *, frozen: bool, eq: bool) -> type[Any]:
    """The class with slots and the functions of a data class, but for those that it defines."""
    own = {name for name, value in vars(cls).items() if value is not None}
    made = dataclasses.dataclass(slots=True, init=False, repr=False, eq=False)(cls)
    functions: dict[str, Any] = {"__init__": _first_init(made, frozen=frozen), "__repr__": _repr}
    if eq:
        values = _compared_values(made)
        functions |= {"__eq__": _eq(values), "__hash__": _hash(values) if frozen else None}
    if frozen:
        functions |= {
            "__setattr__": _refuse_assignment,
            "__delattr__": _refuse_deletion,
            "__getstate__": _state,
            "__setstate__": _set_state,
        }
    for name, function in functions.items():
        if name not in own:
            setattr(made, name, function)
    return made


def _first_init(cls: type[Any], *, frozen: bool) -> Callable[..., None]:
    """An ``__init__`` that gives way to the one that its fields ask for."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        compiled = _compiled_init(cls, frozen=frozen)
        cls.__init__ = compiled
        compiled(self, *args, **kwargs)

    return init


def _compiled_init(cls: type[Any], *, frozen: bool) -> Callable[..., None]:
    """The ``__init__`` that ``dataclasses`` would write, compiled alone.

    A class that ``dataclasses`` makes for it costs a millisecond: five more functions, and the
    text of a signature.
    """
    known: dict[str, Any] = {"_set": object.__setattr__, "_absent": dataclasses.MISSING}
    parameters, by_name, lines = ["self"], ["*"], []
    for field in dataclasses.fields(cls):
        name = value = field.name
        default = ""
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            default, value = "_absent", f"_make_{name}() if {name} is _absent else {name}"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            default = f"_default_{name}"
        if field.init:
            taken = by_name if field.kw_only else parameters
            taken.append(f"{name}={default}" if default else name)
        elif default:
            lines.append(f" {name} = {default}")
        else:
            continue
        lines.append(f" _set(self, '{name}', {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    if len(by_name) > 1:
        parameters += by_name
    source = f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"])
    # As ``dataclasses`` does; of what is variable, names of fields alone are in it.
    exec(compile(source, f"<{cls.__module__}.{cls.__qualname__}>", "exec"), known)  # noqa: S102
    made: Callable[..., None] = known.pop("__init__")
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {f.name: f.type for f in dataclasses.fields(cls) if f.init}
    return made


def _compared_values(cls: type[Any]) -> Callable[[Any], Any]:
    """From an instance to a tuple of the values that it is compared by."""
    names = [f.name for f in dataclasses.fields(cls) if f.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _eq(values: Callable[[Any], Any]) -> Callable[[Any, object], Any]:
    def is_equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return is_equal


def _hash(values: Callable[[Any], Any]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_assignment(_self: Any, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
