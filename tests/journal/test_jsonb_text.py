"""The text of a value of jsonb is the one that PostgreSQL gives it."""

from __future__ import annotations

import pytest

from journal.sql.jsonb_text import jsonb_text


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ('{"bb":1,"a":[1.50,1e2],"a":null}', '{"a": null, "bb": 1}'),
        ('{"é":1,"zz":2,"z":3,"":4}', '{"": 4, "z": 3, "zz": 2, "é": 1}'),
        ('{"a":{"x":1},"a":{"y":2}}', '{"a": {"y": 2}}'),
        (" [ ] ", "[]"),
        ("-0.0", "0.0"),
        ("-0", "0"),
        ("1E-7", "0.0000001"),
        ("123456789012345678901234567890.10", "123456789012345678901234567890.10"),
        (r'"\u0041\/\u00e9\u0001\n"', r'"A/é\u0001\n"'),
        ("1e99999", "1e99999"),
        ("{", None),
        ("NaN", None),
        (r'"\ud800"', None),
    ],
)
def test_texts_of_jsonb(text: str, spelled: str | None) -> None:
    assert jsonb_text(text) == spelled
