"""Erases one plane: all versions of its rows, with a receipt.

The plane that flew most often is in three tables. From the acceptance of the request on, no query
of any point in time shows its rows; the purge removes them from the files, backups included.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gateway.dbapi.connection import Connection
from gateway.demo import demo_queries
from gateway.demo.teller import Teller
from gateway.procedures.procedures import embedded
from gateway.shell.result import ShownColumn

PLANE = "N725MQ"
TABLES = ("flights", "operations", "planes")
ONBOARD = "ALTER TABLE {table} SET TBLPROPERTIES ('erasure' = 'tailnum AS plane')"
SUBMIT = "palimpsest erase submit --subject plane={plane} --reason 'the owner asked'"
RUN = "palimpsest erase run"
OTHERS = (
    "SELECT count(*), sum(arr_delay) FROM flights{past} WHERE tailnum <> ?",
    "SELECT count(*), sum(miles) FROM planes{past} WHERE tailnum <> ?",
    "SELECT count(*), sum(distance) FROM operations{past} WHERE tailnum <> ?",
)
OWN = "SELECT count(*) FROM {table}{past} WHERE tailnum = ?"


def erase_plane(connection: Connection, teller: Teller) -> dict[str, Any]:
    """Erase the plane; ``equal`` says whether all others are untouched and it is gone."""
    from gateway.jobs.engines import ENGINES
    from gateway.procedures.erasure_program import erasure_of
    from journal.erasure.erasure_spec import ErasureSpec, find_request

    teller.chapter(f"Erasure: the owner of {PLANE} asks to be forgotten")
    for table in TABLES:
        connection.execute(ONBOARD.format(table=table))
    connection.commit()
    teller.sql(ONBOARD.format(table=" | ".join(TABLES)) + ";")
    teller.sql(f"$ {SUBMIT.format(plane=PLANE)}\n$ {RUN}")
    pasts = (
        "",
        f" FOR SYSTEM_VERSION AS OF {demo_queries.version_after(connection, demo_queries.EVE)}",
    )
    others = _other_counts(connection, pasts)
    session = connection.session
    journal = embedded(session, "an erasure")
    started = time.perf_counter()
    with teller.progress("erasing"):
        wanted = ErasureSpec(subjects={"plane": [PLANE]}, reason="the owner asked")
        erasure = erasure_of(session)
        request = erasure.accept(wanted, "demo")
        unseen = not any(_plane_counts(connection, pasts))
        size = sum(s.bytes for t in journal.state.tables.values() for s in t.manifest.segments)
        engine = ENGINES.choose(session.settings, size)
        erasure.purge(lambda: nullcontext(engine), "demo", [request.id])
        receipt = find_request(journal, request.id)
    seconds = round(time.perf_counter() - started, 2)
    same = (
        _other_counts(connection, pasts) == others
        and unseen
        and not any(_plane_counts(connection, pasts))
    )
    left = files_with_bytes(Path(journal.root))
    _show_receipt(teller, receipt, seconds, left, same=same)
    state = receipt.state.value
    return {
        "request": receipt.to_json(),
        "seconds": seconds,
        "bytes_left": left,
        "equal": same and state == "COMPLETED" and not left,
    }


def files_with_bytes(root: Path) -> int:
    """In how many files of the warehouse the plane's number can still be read."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return sum(PLANE.encode() in path.read_bytes() for path in files)


def _plane_counts(connection: Connection, pasts: tuple[str, ...]) -> list[int]:
    found = []
    for past in pasts:
        for table in TABLES:
            query = OWN.format(table=table, past=past)
            found.append(int(connection.execute(query, [PLANE]).fetchall()[0][0]))
    connection.rollback()
    return found


def _other_counts(connection: Connection, pasts: tuple[str, ...]) -> list[Any]:
    queries = [query.format(past=past) for past in pasts for query in OTHERS]
    found = [connection.execute(query, [PLANE]).fetchall() for query in queries]
    connection.rollback()
    return found


def _show_receipt(teller: Teller, receipt: Any, seconds: float, left: int, *, same: bool) -> None:
    teller.say(f"The receipt of request {receipt.id}: {receipt.state} in {seconds:.1f} s")
    names = ("table", "outcome", "keys", "versions removed", "files searched", "files skipped")
    rows = [
        (t.table, t.outcome.value, f"{t.keys:,}", f"{t.versions_removed:,}", t.files_searched,
         t.files_skipped)
        for t in receipt.targets if t.keys
    ]  # fmt: skip
    teller.table([ShownColumn(n, "VARCHAR") for n in names], rows)
    teller.say(f"  Files of the warehouse in which {PLANE} can still be read: {left}")
    teller.say(f"  Every other row, now and as of 7 February: {'equal' if same else 'DIFFERENT'}")
