"""One step of a program: a statement, and whether the order of its rows counts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """A statement of a program, or a mark: a moment that later statements read at.

    A table that is read at a mark is written `name/*@mark*/`. Upkeep concerns what is tested only:
    it changes no answer.
    """

    sql: str
    ordered: bool = False
    mark: str = ""
    upkeep: bool = False
