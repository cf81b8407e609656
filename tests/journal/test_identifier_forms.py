"""The form in which identifiers are compared is one, however it is computed."""

from __future__ import annotations

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from journal.identity.identifiers import normal, normal_in_duckdb, texts_of

_LETTERS = st.sampled_from(" \t\n!aZ@.\x1f\x7fÉéİßǅ\u2003中")
TEXTS = st.lists(st.text(_LETTERS, max_size=6) | st.text(max_size=6), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_duckdb_compares_in_the_same_form_by_either_way(texts: list[str]) -> None:
    known = [t for t in texts if "\0" not in t]
    plain, quick = (
        form(exp.column("v"), lower=True).sql(dialect="duckdb")
        for form in (normal, normal_in_duckdb)
    )
    with duckdb.connect() as con:
        for text in known:
            if any("\ud800" <= letter <= "\udfff" for letter in text):
                continue
            query = f"SELECT {plain}, {quick} FROM (SELECT $1 AS v)"
            ((one, other),) = con.execute(query, [text]).fetchall()
            assert one == other == texts_of([text], lower=True)[0]
