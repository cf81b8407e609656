"""A process that purges a store and kills itself before or after the swap; words: URL, step."""

from __future__ import annotations

import sys

import gateway
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive.erasure import HiveErasure
from spark_compaction.erasure import purge_sql
from spark_compaction.erasure.purging import purge
from tests.support.killed_job import die, dying_after


def main(url: str, step: str) -> None:
    """Run it."""
    with gateway.connect(url, autocommit=True) as con:
        journal = con.session.journal
        assert isinstance(journal, HiveJournal)
        if step == "swap":
            purge_sql.follow_backups = lambda *_: die()
        else:
            journal.keep = dying_after(journal.keep)  # type: ignore[method-assign]
        purge(HiveErasure(journal), "killed")


if __name__ == "__main__":
    main(*sys.argv[1:])
