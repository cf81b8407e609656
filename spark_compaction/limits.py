"""The limits of maintenance: one table for all stores and programs."""

from __future__ import annotations

PLANS_MAX = 5
"""How often a job plans, if what it planned on changes each time; then it ends with JOB_BUSY."""
SWAP_TRIES = 60
"""How often a swap waits for those who read the views of a table from outside."""
SWAP_PAUSE_S = 0.25
"""How long it waits before it tries again."""
SMALL_ROWS = 100_000
"""A segment of fewer rows is small, where the store does not say how many bytes it takes."""
HISTORY_PIECES_MAX = 16
"""A major compaction merges the history of a table that lies in more segments."""
SMALL_FILES_MIN = 4
"""So many small files of a base that lie next to each other are merged without a change."""
READ_US = 3600 * 1_000_000
"""How long a transaction may go on reading versions that ended after it began, in microseconds."""
ENDED_ROWS_MAX = 100_000
"""So many rows may be written inside a commit section; with more, the job plans anew."""
