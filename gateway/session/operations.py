"""Operations that front ends run in a session besides statements: jobs, erasures, files.

An operation is a function that takes the session and a callable for progress first. ``perform`` of
a session runs it where the warehouse is open: here, or in the process that owns the folder. So its
arguments and what it returns are values: of the language, or frozen ones of this project.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from journal.model.errors import Code, PalimpsestError

P = ParamSpec("P")
T = TypeVar("T")
Advance = Callable[..., None]
"""Told how far an operation is, in terms of that operation."""
Operation = Callable[Concatenate[Any, Advance, P], T]
"""Takes a ``Session`` first."""
_MARK, _SINGLE = "is_operation", "is_single"


def operation(function: Operation[P, T]) -> Operation[P, T]:
    """Let other processes ask for a function; see the module's head."""
    setattr(function, _MARK, True)
    return function


def single_operation(function: Operation[P, T]) -> Operation[P, T]:
    """An operation that must not be asked for twice: where the answer is lost, so is the call."""
    setattr(function, _SINGLE, True)
    return operation(function)


def is_single(function: Callable[..., Any]) -> bool:
    """True for an operation that must not be asked for twice."""
    return getattr(function, _SINGLE, False)


def name_of(function: Callable[..., Any]) -> str:
    """What an operation is called between processes."""
    return f"{function.__module__}:{function.__qualname__}"


def find(name: str) -> Callable[..., Any]:
    """The operation of a name; raises INTERFACE for anything else."""
    module, _, attribute = name.partition(":")
    found = None
    if module.split(".")[0] == "gateway" and attribute.isidentifier():
        found = getattr(importlib.import_module(module), attribute, None)
    if not callable(found) or not getattr(found, _MARK, False):
        raise PalimpsestError(
            Code.INTERFACE,
            f"there is no operation {name}",
            advice="use the same version of palimpsest in all programs",
        )
    return cast("Callable[..., Any]", found)


def no_progress(*_done: object) -> None:
    """Progress that nobody looks at."""
