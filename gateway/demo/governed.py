"""The demonstration's processes: scheduled through 2013, late data, a replica, an approval.

flights.yaml -> submitted, scheduled -> a clock goes through the year, a week a look
a late day changes one week -> that week runs again, and no other
the replica has the same rows; an erasure waits for its approval, and for the replica
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import gateway
from gateway.dbapi.connection import Connection
from gateway.demo.own_folders import clear
from gateway.demo.teller import Teller
from gateway.demo.upkeep import run as run_job
from gateway.governance.entity_scheduling import entity_status
from gateway.governance.entity_templates import find_template, instantiate
from gateway.governance.instance_operations import summarize_instances
from gateway.governance.process_scheduler import run_processes
from gateway.governance.scheduled_submissions import submit_and_schedule
from gateway.privacy_desk import decisions, running
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.questions import list_requests
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, submit
from gateway.session.operations import no_progress
from gateway.shell.result import ShownColumn
from journal.model.errors import PalimpsestError
from journal.records.instance_rows import InstanceFilter

DECLARED = Path(__file__).with_name("flights.yaml")
LATE_DAY = "2013-07-04"
LATE = f"UPDATE flights SET arr_delay = arr_delay + 60 WHERE day = DATE '{LATE_DAY}'"  # noqa: S608
REPORT = "CREATE TABLE weekly_delays (week DATE, flights BIGINT, delay BIGINT)"
SUMS = "SELECT count(*), sum(arr_delay), sum(distance) FROM flights"
WEEKS = """SELECT week, flights, delay FROM weekly_delays ORDER BY week"""
EXPECTED = """SELECT day - CAST((day - DATE '2013-01-01') % 7 AS INTEGER) AS week, count(*),
  sum(arr_delay) FROM flights WHERE day < DATE '2013-12-31' GROUP BY 1 ORDER BY 1"""
OTHER_PLANE = "N722MQ"
OWN = "SELECT count(*) FROM flights WHERE tailnum = ?"
REPLICATE = "CALL system.replicate('flights', to => 'mirror')"
WAIVED = "main.weekly_delays,main.airports"
_WEEK = timedelta(weeks=1)


def govern(connection: Connection, root: Path, teller: Teller) -> dict[str, Any]:
    """Run the chapter; ``equal`` in the summary says whether it came out right."""
    began = time.perf_counter()
    teller.chapter("Governance: one file says what becomes of the flights")
    mirror = root.parent / f"{root.name}-replica"
    clear(mirror)
    _submit(connection, mirror, teller)
    ran = _run_year(connection, teller)
    mirrored = _replicate(connection, mirror, teller)
    erased = _erase_with_two_hands(connection, root, mirror, teller)
    states = _show_status(connection, teller)
    seconds = round(time.perf_counter() - began, 2)
    teller.say(f"  All of it took {seconds:.1f} s.")
    parts = (ran, mirrored, erased)
    return {
        "equal": all(part["equal"] for part in parts),
        "instances": states,
        "year": ran,
        "replica": mirrored,
        "erasure": erased,
        "seconds": seconds,
    }


def _submit(connection: Connection, mirror: Path, teller: Teller) -> None:
    connection.execute(REPORT)
    connection.commit()
    url = f"palimpsest:///{mirror.resolve()}"
    entities = instantiate(find_template(str(DECLARED)), {"mirror": url})
    teller.sql(f"$ palimpsest template instantiate {DECLARED} -p mirror={url}")
    results = submit_and_schedule(connection.session, no_progress, entities)
    for result in results:
        if result.state is not None:
            teller.say(f"  {result.kind} {result.name}: {result.state.lower()}")


def _run_year(connection: Connection, teller: Teller) -> dict[str, Any]:
    """Let the scheduler's clock go through 2013; in July a day of flights changes late."""
    teller.sql(f"$ palimpsest scheduler, its clock at each Tuesday of 2013\n{LATE};")
    now, runs, again = datetime(2013, 1, 8, 12, tzinfo=UTC), 0, []
    is_late = False
    with teller.progress("a year of weeks") as advance:
        while now.year == 2013:
            if now > datetime(2013, 7, 16, tzinfo=UTC) and not is_late:
                is_late = True
                connection.execute(LATE)
                connection.commit()
            found = run_processes(connection.session, no_progress, 1, now)
            runs += len(found)
            again += [one.id for one in found if one.attempt > 1]
            advance(now.timetuple().tm_yday / 365, f"{now:%d %B}")
            now += _WEEK
    same = _rows(connection, WEEKS) == _rows(connection, EXPECTED)
    teller.say(f"  {runs} runs; after the late day of {LATE_DAY} ran again: {', '.join(again)}")
    teller.say(f"  Each week beside one query of the year: {_verdict(same)}")
    return {"runs": runs, "again": again, "equal": same and len(again) == 1}


def _replicate(connection: Connection, mirror: Path, teller: Teller) -> dict[str, Any]:
    teller.sql(f"{REPLICATE};")
    step = run_job(connection, REPLICATE)
    ours, theirs = _rows(connection, SUMS), _mirrored(mirror, SUMS)
    same = ours == theirs
    teller.say(
        f"  The replica has {theirs[0][0]:,} flights after {step.seconds:.1f} s; rows, delays and"
        f" miles: {_verdict(same)}"
    )
    return {"rows": theirs[0][0], "seconds": step.seconds, "equal": same}


def _erase_with_two_hands(
    connection: Connection, root: Path, mirror: Path, teller: Teller
) -> dict[str, Any]:
    """Erase a plane by a request that ann makes, and bea has to approve; the replica follows."""
    teller.sql(
        f"$ palimpsest privacy policy --set four_eyes=erasure --set waived={WAIVED}\n"
        f"$ palimpsest privacy submit --action erasure --subject plane={OTHER_PLANE}"
        " --external-id T-1 --user ann\n"
        "$ palimpsest privacy approve T-1 --user bea"
    )
    url = f"palimpsest:///{root.resolve()}"
    with gateway.connect(url, user="ann") as ann, gateway.connect(url, user="bea") as bea:
        # Sums of weeks, and arrivals of airports: no plane can be found in them.
        settings = {"four_eyes": "erasure", "waived": WAIVED}
        decisions.change_policy(connection.session, no_progress, settings)
        new = [NewRequest((("plane", OTHER_PLANE),), "T-1")]
        submit(ann.session, no_progress, SubmissionTerms(PrivacyAction.ERASURE), new)
        try:
            decisions.approve(ann.session, no_progress, ["T-1"], None)
            refused = ""
        except PalimpsestError as error:
            refused = error.message
        teller.say(f"  ann: {refused}")
        (approved,) = decisions.approve(bea.session, no_progress, ["T-1"], None)
    teller.say(f"  bea approves: {approved.state}")
    with teller.progress("erasing"):
        running.run(connection.session, no_progress)
        run_job(connection, REPLICATE)
        running.run(connection.session, no_progress)
    (asked,) = list_requests(connection.session, no_progress)
    request = asked.state
    left = _rows(connection, OWN, [OTHER_PLANE])[0][0] + _mirrored(mirror, OWN, [OTHER_PLANE])[0][0]
    teller.say(f"  The request is {request}; rows of {OTHER_PLANE} here and in the replica: {left}")
    return {
        "state": request,
        "refused": bool(refused),
        "rows_left": left,
        "equal": bool(refused) and request == "COMPLETED" and left == 0,
    }


def _show_status(connection: Connection, teller: Teller) -> dict[str, int]:
    """The table at the end: entities, and the instances of the process by state."""
    teller.sql("$ palimpsest entity status\n$ palimpsest instance summary")
    session = connection.session
    summary = summarize_instances(session, no_progress, InstanceFilter())
    rows = []
    for one in entity_status(session, no_progress):
        states = summary.get(one.name, {}) if one.kind == "process" else {}
        shown = ", ".join(f"{number} {state.lower()}" for state, number in states.items())
        rows.append((one.kind.value, one.name, one.version, one.state, shown))
    names = ("kind", "name", "version", "state", "instances")
    teller.table([ShownColumn(name, "VARCHAR") for name in names], rows)
    return dict(summary.get("weekly-delays", {}))


def _rows(connection: Connection, query: str, values: list[str] | None = None) -> list[Any]:
    found = [tuple(row) for row in connection.execute(query, values or []).fetchall()]
    connection.rollback()
    return found


def _mirrored(mirror: Path, query: str, values: list[str] | None = None) -> list[Any]:
    with gateway.connect(f"palimpsest:///{mirror.resolve()}") as replica:
        return _rows(replica, query, values)


def _verdict(same: bool) -> str:
    return "equal" if same else "DIFFERENT"
