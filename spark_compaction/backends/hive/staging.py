"""Partitions that a job makes: dropped where it fails, before anything lists them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from journal.model.errors import Code, PalimpsestError
from journal.stores.hive.journal import HiveJournal


@contextmanager
def staging(journal: HiveJournal) -> Iterator[list[str]]:
    """A list for the paths of segments that are made in the block; if it fails they are dropped.

    They stay where nobody knows whether they were committed; clean-up finds out later.
    """
    made: list[str] = []
    try:
        yield made
    except PalimpsestError as error:
        if error.code is not Code.OUTCOME_UNKNOWN:
            journal.drop_segments(made)
        raise
    finally:
        journal.staged.difference_update(made)
