"""Estimates how long a job takes in this process and on Spark, from measured costs.

The numbers are of ``python -m bench.engine_choice``, which also says whether the choice is right.
They are seconds of one machine, but what counts is their ratio: a slower one is slower at both.
"""

from __future__ import annotations

import os

LOCAL_S_PER_MB = 0.062
"""Of one core in this process: read, sort, write and check."""
SPARK_CORE_S_PER_MB = 0.17
"""Of one core of Spark, which does the same beside a JVM; it has several."""
SPARK_JOB_S = 0.5
"""What a job costs on a Spark that is there, however small it is."""
SPARK_START_S = 13.5
"""How long a Spark takes to start."""
_CLUSTER_CORES = 16
"""What another machine's master is taken to have."""


def cores_of(master: str) -> int:
    """How many cores a Spark master has: ``local[4]``, ``local[*]``, or a cluster's."""
    if not master.startswith("local"):
        return _CLUSTER_CORES
    given = master.removeprefix("local").strip("[]").split(",")[0]
    if given == "*":
        return len(os.sched_getaffinity(0))
    return int(given) if given.isdecimal() else 1


def is_spark_sooner(size: int, cores: int, *, is_warm: bool) -> bool:
    """Whether Spark with so many cores is done sooner with so many bytes than this process.

    >>> [is_spark_sooner(100_000_000, 4, is_warm=is_warm) for is_warm in (False, True)]
    [False, True]
    """
    megabytes = size / 1e6
    spark_s = SPARK_JOB_S + megabytes * SPARK_CORE_S_PER_MB / cores
    return spark_s + (0.0 if is_warm else SPARK_START_S) < megabytes * LOCAL_S_PER_MB
