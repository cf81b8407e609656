"""Whether columns are the key of the rows that a table of others has, before it is relied on.

Who changes one of two rows under one key would lose the other. Reads the table in the session it
is given; changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from journal.model.errors import Code, PalimpsestError
from journal.stores.postgres.privileges import quoted
from journal.stores.postgres.store import PostgresSession


def check_key(
    session: PostgresSession, place: str, key: Sequence[str], version: str | None = None
) -> None:
    """Raise NOT_NULL or DUPLICATE_KEY unless the key's columns tell the rows of a table apart.

    In a classic journal they do together with the ``version`` of a row. ``place`` is in SQL.
    """
    columns = [*key, version] if version is not None else [*key]
    listed = ", ".join(map(quoted, columns))
    nothing = " OR ".join(f"{quoted(c)} IS NULL" for c in columns)
    ((nulls,),) = session.text(f"SELECT count(*) FROM {place} WHERE {nothing}")  # noqa: S608
    if nulls:
        raise PalimpsestError(
            Code.NOT_NULL,
            f"{', '.join(columns)} cannot tell the rows apart: {nulls} have NULL there",
            advice=f"give them values, or name other columns with --key; they are those WHERE"
            f" {nothing}",
        )
    again = f"SELECT {listed} FROM {place} GROUP BY {listed} HAVING count(*) > 1"  # noqa: S608
    ((twice,),) = session.text(f"SELECT count(*) FROM ({again}) AS again")  # noqa: S608
    if twice:
        raise PalimpsestError(
            Code.DUPLICATE_KEY,
            f"{', '.join(columns)} cannot tell the rows apart: {twice} of its values stand in"
            " several",
            advice="make them differ, or name other columns with --key; they are found by"
            f" GROUP BY {listed} HAVING count(*) > 1",
        )
