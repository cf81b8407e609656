"""The form in which identifiers are compared is one, however it is computed."""

from __future__ import annotations

import re

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from journal.files.filters.hashing import hash_rows
from journal.files.filters.sidecar import identifier_hashes
from journal.identity.descriptor import DescriptorEntry, parse_descriptor
from journal.identity.identifiers import form_of, normal, normal_in_duckdb, texts_of
from journal.identity.normalisers import LOWER
from journal.identity.telephone_plans import countries, telephone_plan
from tests.support.normaliser_reference import FORMS, PIECES
from tests.support.normaliser_reference import TEXTS as SPELLINGS

_LETTERS = st.sampled_from(" \t\n!aZ@.\x1f\x7fÉéİßǅ\u2003中")
TEXTS = st.lists(st.text(_LETTERS, max_size=6) | st.text(max_size=6), min_size=1, max_size=20)
PIECED = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@settings(max_examples=20, deadline=None)
@given(TEXTS)
def test_duckdb_compares_in_the_same_form_by_either_way(texts: list[str]) -> None:
    known = [t for t in texts if "\0" not in t]
    plain, quick = (
        form(exp.column("v"), LOWER).sql(dialect="duckdb") for form in (normal, normal_in_duckdb)
    )
    with duckdb.connect() as con:
        for text in known:
            if any("\ud800" <= letter <= "\udfff" for letter in text):
                continue
            query = f"SELECT {plain}, {quick} FROM (SELECT $1 AS v)"
            ((one, other),) = con.execute(query, [text]).fetchall()
            assert one == other == texts_of([text], LOWER)[0]


def _entry(word: str) -> DescriptorEntry:
    (entry,) = parse_descriptor(f"v {word}".strip())
    return entry


@pytest.mark.parametrize("word", FORMS)
@settings(max_examples=12, deadline=None)
@given(texts=st.lists(PIECED, min_size=1, max_size=30))
def test_a_form_is_that_of_the_reference_in_python_sql_and_filters(
    word: str, texts: list[str]
) -> None:
    entry, texts = _entry(word), [*texts, *SPELLINGS]
    expected = [FORMS[word](text) for text in texts]
    assert [texts_of([text], entry.normaliser)[0] for text in texts] == expected
    form = normal(exp.column("v"), entry.normaliser).sql(dialect="duckdb")
    with duckdb.connect() as con:
        con.register("texts", pa.table({"n": range(len(texts)), "v": texts}))
        found = con.execute(f"SELECT {form} FROM texts ORDER BY n").fetchall()
        assert con.execute(f"SELECT {form} FROM (SELECT NULL::VARCHAR v)").fetchall() == [(None,)]
    assert [value for (value,) in found] == expected
    hashes = identifier_hashes(pa.array(texts, pa.string()), entry)
    assert hashes is not None
    assert hashes.tolist() == hash_rows(pa.array(expected, pa.string())).tolist()


@pytest.mark.parametrize("word", [*FORMS, *(f"PHONE {country}" for country in countries())])
def test_a_form_is_its_own_form_and_never_empty(word: str) -> None:
    form = form_of(_entry(word).normaliser)
    for text in SPELLINGS:
        assert form(form(text)) == form(text)
        assert form(text) or not text.strip()


def test_a_plan_is_read_as_it_is_written_out() -> None:
    for country in countries():
        plan = telephone_plan(country)
        assert telephone_plan(str(plan)) == plan
    for wrong in ("BR", "XX", "41", "41:00:0:9-14", "0:00:0:9-9"):
        with pytest.raises(ValueError, match="PHONE"):
            telephone_plan(wrong)


def test_plans_are_those_of_the_library_that_they_come_from() -> None:
    phonenumbers = pytest.importorskip("phonenumbers")
    for country in countries():
        known = phonenumbers.PhoneMetadata.metadata_for_region(country)
        plan, abroad = telephone_plan(country), known.international_prefix
        preferred = (known.preferred_international_prefix or "").replace("~", "")
        assert str(known.country_code) == plan.code
        assert plan.international in {abroad, preferred} or re.fullmatch(abroad, plan.international)
        assert plan.trunk == (known.national_prefix or ""), country
        sharing = phonenumbers.COUNTRY_CODE_TO_REGION_CODE[known.country_code]
        all_of_code = map(phonenumbers.PhoneMetadata.metadata_for_region, sharing)
        lengths = {n for held in all_of_code for n in held.general_desc.possible_length}
        assert {plan.shortest, plan.longest} <= lengths, country
