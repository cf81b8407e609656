"""A process that is killed between two parts of a batch: the next run ends it with the same parts.

One table is larger than a part may be: each of its files is searched, and written anew, by itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from gateway.privacy_desk import running
from gateway.session.operations import no_progress
from journal.erasure import audit_check
from tests.governance.test_privacy_killed import places_of
from tests.support.killed_step import run_killed

pytestmark = pytest.mark.slow
ADA = "ada.lovelace.4711@x.example"
STEPS = {
    "after the parts are planned": ("gateway.privacy_desk.erasing_steps", "move", 1),
    "after the first part": ("spark_compaction.erasure.acceptance", "accept", 1),
    "after the second part": ("spark_compaction.erasure.acceptance", "accept", 2),
    "after the last part": ("spark_compaction.erasure.acceptance", "accept", 4),
    "after the first unit": (
        "spark_compaction.backends.embedded_erasure.erasing", "remove_unit", 1
    ),
    "after the second unit": (
        "spark_compaction.backends.embedded_erasure.erasing", "remove_unit", 2
    ),
    "before the receipts of a unit": (
        "spark_compaction.backends.embedded_erasure.erasing", "_run_purge", 2
    ),
}  # fmt: skip
PROGRAM = f"""
import os, pkgutil, signal, sys
import gateway
from gateway.privacy_desk import running, submission
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.session.operations import no_progress

url, place, name, times = sys.argv[1:]
owner = pkgutil.resolve_name(place)
step, left = getattr(owner, name), [int(times)]

def killed(*given, **named):
    found = step(*given, **named)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

with gateway.connect(url, autocommit=True) as con:
    con.execute("CREATE TABLE visits (id INTEGER PRIMARY KEY, email VARCHAR, place VARCHAR)"
                " WITH (erasure = 'email LOWER')")
    for n in range(4):
        con.execute("INSERT INTO visits VALUES (?, ?, 'a'), (?, ?, 'b')",
                    [n, "{ADA}", n + 10, f"p{{n}}@x.example"])
        con.execute("CALL system.flush()")
    con.execute("CALL system.privacy_policy(setting => 'batch_bytes', value => '1')")
    new = [submission.NewRequest((("email", "{ADA}"),), "T-1")]
    submission.submit(
        con.session, no_progress, submission.SubmissionTerms(PrivacyAction.ERASURE), new
    )
    setattr(owner, name, killed)
    running.run(con.session, no_progress)
"""


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_batch_goes_on_with_its_parts(tmp_path: Path, step: str) -> None:
    root = tmp_path / "warehouse"
    url = f"palimpsest:///{root}"
    place, name, times = STEPS[step]
    run_killed(PROGRAM, url, place, name, str(times))
    with gateway.connect(url, autocommit=True) as con:
        # Files that are written anew meanwhile are other pieces, which the last part searches.
        con.execute("CALL system.compact('visits')")
        (batch,) = running.run(con.session, no_progress)
        assert batch.step == "COMPLETED", batch.detail
        assert con.execute("SELECT id FROM visits ORDER BY id").fetchall() == [
            (n,) for n in range(10, 14)
        ]
        assert con.execute("SELECT count(*) FROM system.erasures").fetchall() == [(4,)]
        assert audit_check.verify(con.session.journal).problems == ()
    assert places_of(ADA, root) == []
