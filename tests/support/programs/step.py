"""One step of a program: a statement, and whether the order of its rows counts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """A statement of a program."""

    sql: str
    ordered: bool = False
