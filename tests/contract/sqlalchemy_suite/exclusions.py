"""Tests of the suite that do not run here, each with its reason; requirements.py has the features.

A key is a test class, or a class and a test; the test's name may go without its parameters.
"""

from __future__ import annotations

import os

from tests.support.greenplum import ASKED as GREENPLUM

_LENGTH = "text has no length here, as in DuckDB: VARCHAR(52) is VARCHAR"
_DIVISION = "decimals are divided as doubles, with their precision"
_IDENTITY = "identity columns take START and INCREMENT, not MINVALUE and the other options"
_ORDER = "asserts an order of rows that its query does not ask for"

EXCLUDED: dict[str, str] = {
    "ComponentReflectionTestExtra.test_string_length_reflection": _LENGTH,
    "IdentityReflectionTest": _IDENTITY,
    "IdentityColumnTest": _IDENTITY,
    "IsolationLevelTest.test_dialect_user_setting_is_restored": (
        "needs a third isolation level; there are SNAPSHOT and AUTOCOMMIT"
    ),
    "TrueDivTest.test_truediv_divisor[numeric_38_digit_divisor-typed]": _DIVISION,
    "TrueDivTest.test_truediv_divisor[numeric_38_digit_divisor-untyped_function]": _DIVISION,
    "TrueDivTest.test_truediv_divisor[numeric_many_decimals-typed]": _DIVISION,
    "TrueDivTest.test_truediv_divisor[numeric_many_decimals-untyped_function]": _DIVISION,
    "WindowFunctionTest.test_window_range": _ORDER,
    "WindowFunctionTest.test_window_range_numeric": _ORDER,
}
ON_GREENPLUM = {
    "EnumTest.test_round_trip_executemany_returning": _ORDER,
    "ReturningGuardsTest.test_insert_many": _ORDER,
    "ReturningTest.test_insertmanyvalues_returning": _ORDER,
}
"""Rows come from its segments as they are ready, those of RETURNING as well."""


def reason_against(owner: str, test: str) -> str | None:
    """Why a test is left out, or None."""
    bare = test.split("[")[0]
    excluded = EXCLUDED | (ON_GREENPLUM if os.environ.get(GREENPLUM) else {})
    for key in (owner, f"{owner}.{bare}", f"{owner}.{test}"):
        if key in excluded:
            return excluded[key]
    return None
