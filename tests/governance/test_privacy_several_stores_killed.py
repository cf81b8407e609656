"""kill -9 at each step of a request over several stores: it goes on, and no store has two parts.

The byte search looks through all stores for whoever was erased, as with one store.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from gateway.privacy_desk import questions, running
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, submit
from gateway.session.operations import no_progress
from journal.model.errors import PalimpsestError
from tests.governance.test_privacy_killed import places_of
from tests.governance.test_privacy_several_stores import ADA, STORES, declare, fill
from tests.support.killed_step import run_killed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
DESK = "gateway.privacy_desk"
STEPS = {
    "after it is submitted": (f"{DESK}.submission", "add_sealed", 1),
    "after the batch is joined": (f"{DESK}.running.rows_of", "join_batch", 1),
    "before the first part": (f"{DESK}.store_parts", "add_sealed", 0),
    "after the first part": (f"{DESK}.several_stores.take_parts", "__call__", 1),
    "before a part is looked for": (f"{DESK}.erasing_steps", "find", 0),
    "after a part is planned": (f"{DESK}.erasing_steps", "find", 1),
    "after a part is purged": (f"{DESK}.erasing_steps.erasures", "purge", 1),
    "after a part is completed": (f"{DESK}.erasing_steps", "verify", 1),
    "before the sum": (f"{DESK}.several_stores", "_move_on", 0),
    "after the sum": (f"{DESK}.several_stores", "_move_on", 1),
    "before it is verified": (f"{DESK}.several_stores", "_verify", 0),
    "after it is completed": (f"{DESK}.several_stores", "_verify", 1),
}
EXPORTS = {
    "after a part's file": (f"{DESK}.exporting_steps", "write_export", 1),
    "before the one file": (f"{DESK}.merged_exports", "write_file", 0),
    "after the one file": (f"{DESK}.merged_exports", "write_file", 1),
    "before a store follows": (f"{DESK}.merged_exports", "follow", 0),
    "after a store has noted both places": (f"{DESK}.store_parts", "put_export", 1),
    "after all follow": (f"{DESK}.merged_exports", "follow", 1),
}
PROGRAM = f"""
import sys
import gateway
from gateway.privacy_desk import running, submission
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.session.operations import no_progress
from tests.support.killed_step import die_at

url, action, place, name, after = sys.argv[1:]
die_at(place, name, after)
with gateway.connect(url, autocommit=True) as con:
    terms = submission.SubmissionTerms(
        PrivacyAction(action), idempotency_key="k", stores={STORES!r}
    )
    new = [submission.NewRequest((("email", "{ADA}"),), "T-1")]
    submission.submit(con.session, no_progress, terms, new)
    running.run(con.session, no_progress)
"""


def prepare(folder: Path, west: str | None = None) -> tuple[str, str]:
    """A control store of an east and a west: its URL, and that of the west."""
    places = {
        "east": f"palimpsest:///{folder}/east",
        "west": west or f"palimpsest:///{folder}/west",
    }
    for place in places.values():
        with gateway.connect(place, autocommit=True) as con:
            fill(con)
    url = f"palimpsest:///{folder}/control"
    with gateway.connect(url, autocommit=True) as con:
        declare(con, *places.items())
    return url, places["west"]


def kill_and_go_on(url: str, action: PrivacyAction, step: tuple[str, str, int]) -> str:
    """Kill a process at a step of a request, and let another one end it; the request's id."""
    place, name, after = step
    run_killed(PROGRAM, url, action.value, place, name, str(after))
    with gateway.connect(url, autocommit=True) as con:
        terms = SubmissionTerms(action, idempotency_key="k", stores=STORES)
        new = [NewRequest((("email", ADA),), "T-1")]
        (request,) = submit(con.session, no_progress, terms, new)
        running.run(con.session, no_progress)
        view = questions.show_request(con.session, no_progress, request.id)
        assert view.request.state == "COMPLETED", view.to_json()
        assert con.execute("SELECT count(*) FROM system.privacy_requests").fetchall() == [(1,)]
    return request.id


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_request_goes_on_in_each_store(tmp_path: Path, step: str) -> None:
    url, west = prepare(tmp_path)
    kill_and_go_on(url, PrivacyAction.ERASURE, STEPS[step])
    assert places_of(ADA, tmp_path) == []
    check_parts(f"palimpsest:///{tmp_path}/east")
    check_parts(west)


def check_parts(url: str) -> None:
    """Fail unless a store has one part, whose person is gone."""
    with gateway.connect(url, autocommit=True) as con:
        assert con.execute("SELECT id FROM people").fetchall() == [(2,)]
        assert con.execute("SELECT count(*) FROM system.erasures").fetchall() == [(1,)]
        assert con.execute("SELECT count(*) FROM system.privacy_requests").fetchall() == [(1,)]


@pytest.mark.parametrize("step", EXPORTS)
def test_a_killed_export_leaves_one_file(tmp_path: Path, step: str) -> None:
    url, west = prepare(tmp_path)
    request = kill_and_go_on(url, PrivacyAction.ACCESS, EXPORTS[step])
    files = [path for path in tmp_path.rglob("*") if path.suffix == ".zip"]
    assert [path.name for path in files] == [f"privacy-{request}.zip"]
    # It goes with an erasure in the west, which has no other part in it.
    with gateway.connect(west, autocommit=True) as con:
        new = [NewRequest((("email", ADA),))]
        submit(con.session, no_progress, SubmissionTerms(PrivacyAction.ERASURE), new)
        running.run(con.session, no_progress)
    assert not files[0].exists()
    with gateway.connect(url, autocommit=True) as con, pytest.raises(PalimpsestError):
        questions.export_of(con.session, no_progress, request, None)
