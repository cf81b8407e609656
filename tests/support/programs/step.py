"""One step of a program: a statement, whether the order of its rows counts, and what it is not."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Adoption:
    """A journal that the tested database has before the gateway adopts it.

    ``journal`` is the server's own statement that creates it; the name is without quotes.
    """

    journal: str
    name: str
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A statement of a program, or a mark: a moment that later statements read at.

    A table that is read at a mark is written `name/*@mark*/`. Upkeep concerns what is tested only,
    and changes no answer but by what the oracle does `instead`. One that `removes` rows takes them
    out of the past as well. With an adoption, what the statement creates is adopted where it is
    tested. `values` are those of its parameters, each written `?`. With `odd` values, which are of
    other types than their columns, either side may fail. It runs on the program's main connection,
    or on another one named by `session`, which is another process's if that ends in `!`.
    """

    sql: str
    ordered: bool = False
    mark: str = ""
    upkeep: bool = False
    instead: tuple[str, ...] = ()
    removes: bool = False
    adoption: Adoption | None = None
    session: str = ""
    values: tuple[object, ...] | None = None
    odd: bool = False

    def __str__(self) -> str:
        told = f"{self.sql};" if self.values is None else f"{self.sql}; -- {self.values!r}"
        return f"[{self.session}] {told}" if self.session else told
