"""What only the catalog beside a Hive store keeps: claims, leases, and its public views.

Everything else about its rows is in ``journal.records``. Here are rows; when they are read and
written is decided above.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.records.catalog import put_journal as put_journal
from journal.records.catalog import put_state as put_state
from journal.records.schema import AUDIT, CLAIMS, LEASES, SHOWN
from journal.records.schema import STATE as STATE
from journal.records.statements import by, delete, execute, insert, select, update, upsert
from journal.stores.hive.catalog_db.engine import CatalogConnection

RECORDS = AUDIT
"""The table that whoever changes records locks, so that entries of the log follow one another."""
_CLAIMS = select(CLAIMS, ["claims"], {"table_id": exp.EQ, "version": exp.GT})
_FORGET_CLAIMS = delete(CLAIMS, {"version": exp.LT})
_FORGET_CLAIMS_OF = delete(CLAIMS, by("table_id"))
_SHOWN, _PUT_SHOWN, _REMOVE_SHOWN = select(SHOWN), upsert(SHOWN), delete(SHOWN, by("name"))
_LEASE, _PUT_LEASE = select(LEASES, (), by("name")), upsert(LEASES)
_RENEW = update(LEASES, ["expires_us"], {"name": exp.EQ, "token": exp.EQ, "holder": exp.NEQ})
_FREE = update(LEASES, ["holder"], by("name", "token"))
_FORGET_LEASE = delete(LEASES, by("name", "token"))
_NOBODY = ""


def add_claims(
    connection: CatalogConnection, version: Version, claims: dict[int, str | None]
) -> None:
    """Note which keys a commit has written, by table; None where they are too many to list."""
    if claims:
        values = [value for i, text in claims.items() for value in (version, i, text)]
        execute(connection, insert(CLAIMS, len(claims)), values)


def load_claims(connection: CatalogConnection, table_id: int, after: Version) -> list[str | None]:
    """What commits after a version have written to a table."""
    return [text for (text,) in execute(connection, _CLAIMS, [table_id, after])]


def forget_claims(connection: CatalogConnection, before: Version) -> None:
    """Forget which keys were written before a version; later conflicts are looked up in rows."""
    execute(connection, _FORGET_CLAIMS, [before])


def forget_claims_of(connection: RecordSession, table_id: int) -> None:
    """Forget which keys were written to a table; the epoch of its manifest tells who is late."""
    execute(connection, _FORGET_CLAIMS_OF, [table_id])


def load_shown(connection: CatalogConnection) -> dict[str, str]:
    """What the store's views stand for, by name."""
    return dict(execute(connection, _SHOWN))


def put_shown(connection: CatalogConnection, name: str, stands_for: str | None) -> None:
    """Note what a view stands for now; None: it is gone."""
    if stands_for is None:
        execute(connection, _REMOVE_SHOWN, [name])
    else:
        execute(connection, _PUT_SHOWN, [name, stands_for])


def take_lease(
    connection: CatalogConnection, name: str, holder: str, now_us: int, until_us: int
) -> int | None:
    """Take a lease that is free or has ended: its new fencing token; None while it is another's."""
    token = 1
    for _, held_by, last, expires_us in execute(connection, _LEASE, [name]):
        if held_by is not None and expires_us > now_us:
            return None
        token = int(last) + 1
    execute(connection, _PUT_LEASE, [name, holder, token, until_us])
    return token


def is_held_by_another(connection: CatalogConnection, name: str, holder: str, now_us: int) -> bool:
    """True while somebody else holds a lease."""
    found = execute(connection, _LEASE, [name])
    return any(by not in {None, holder} and expires > now_us for _, by, _, expires in found)


def are_held(connection: CatalogConnection, names: Iterable[str]) -> bool:
    """True if one of some leases was not given back, also if its time is up.

    Whoever overslept may not know yet that others could write.
    """
    found = [lease for name in names for lease in execute(connection, _LEASE, [name])]
    return any(holder is not None for _, holder, _, _ in found)


def renew_leases(
    connection: CatalogConnection, held: Sequence[tuple[str, int]], until_us: int
) -> bool:
    """Let leases last longer; False if one of them is no longer held under its token."""
    for name, token in held:
        execute(connection, _RENEW, [until_us, name, token, _NOBODY])
        if connection.changed != 1:
            return False
    return True


def release_lease(
    connection: CatalogConnection, name: str, token: int, *, forget: bool = False
) -> None:
    """Give a lease back, if it is still held under that token; ``forget`` that there was one."""
    if forget:
        execute(connection, _FORGET_LEASE, [name, token])
    else:
        execute(connection, _FREE, [None, name, token])
