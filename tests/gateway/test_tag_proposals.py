"""Proposals of tags: what columns of known content are found to hold, and what they are not."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import gateway
from gateway.cli import main
from gateway.procedures.personal_values import NATIONAL_NUMBERS, recognisers
from gateway.procedures.tag_proposals import propose_tags
from journal.model.errors import Code, PalimpsestError

DICE = random.Random(4711)


def _luhn(digits: str) -> str:
    total = sum(
        sum(divmod(int(d) * (2 if place % 2 == 0 else 1), 10))
        for place, d in enumerate(reversed(digits))
    )
    return digits + str(-total % 10)


def _numbers(count: int, width: int) -> list[str]:
    return [str(DICE.randrange(10 ** (width - 1), 10**width)) for _ in range(count)]


SAMPLES: dict[str, tuple[list[object], tuple[str, ...]]] = {
    "a": ([f"p{i}@mail.example.org" for i in range(40)], ("PII", "EMAIL")),
    "b": ([f"+49 30 {n}" for n in _numbers(40, 8)], ("PII", "PHONE")),
    "c": ([_luhn(f"4{n}") for n in _numbers(40, 14)], ("PII", "CARD")),
    "d": (["GB82 WEST 1234 5698 7654 32", "DE89370400440532013000"] * 9, ()),
    "e": (["RSSMRA85T10A562S", "VRDGPP13R10B293P", "BNCGNN80A41F205G"], ()),
    "first_name": (["Ada", "Bob"], ("PII", "NAME")),
    "homePhone": ([None, None], ("PII", "PHONE")),
    "order_id": (list(range(1, 200)), ()),
    "amount": (_numbers(60, 5), ()),
    "isbn": (_numbers(60, 13), ()),
    "day": ([f"2024-05-{i:02}" for i in range(1, 29)], ()),
    "mail": ([f"room {i}" for i in range(30)], ()),
    "version": ([f"10.{i}.3.{i + 4}" for i in range(30)], ()),
    "street": (["Elm Street 5"], ("PII", "ADDRESS")),
}


@pytest.mark.parametrize("column", SAMPLES)
def test_columns_are_known_by_values_and_names(column: str) -> None:
    values, wanted = SAMPLES[column]
    found = list(propose_tags({column: values}, recognisers(None, ()), {}))
    assert [p.tags for p in found] == ([wanted] if wanted else [])


def test_national_numbers_of_every_country_are_known() -> None:
    for package in NATIONAL_NUMBERS:
        assert recognisers(None, [package.rstrip("_")])["NATIONAL_ID"]("no number") is False
    numbers = recognisers("nl", ["NL"])
    assert numbers["NATIONAL_ID"]("1112.22.333")
    assert numbers["PHONE"]("020 624 1111")
    for region, country in (("XX", "de"), ("DE", "xx")):
        with pytest.raises(PalimpsestError) as caught:
            recognisers(region, [country])
        assert caught.value.code is Code.SETTING_VALUE


def test_tags_that_are_set_are_not_proposed_again() -> None:
    mails = [f"p{i}@example.org" for i in range(9)]
    (found,) = propose_tags({"m": mails}, recognisers(None, ()), {"m": frozenset({"email"})})
    assert found.tags == ("PII",)
    assert not list(
        propose_tags({"m": mails}, recognisers(None, ()), {"m": frozenset({"email", "pii"})})
    )


def _call(*args: str, answers: str | None = None) -> Result:
    return CliRunner().invoke(main, ["tags", *args], input=answers, prog_name="palimpsest")


@pytest.mark.long
def test_a_person_confirms_what_is_proposed(tmp_path: Path) -> None:
    root = str(tmp_path / "w")
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        con.execute('CREATE TABLE people (id INTEGER PRIMARY KEY, "E-Mail" VARCHAR, tel VARCHAR)')
        con.execute(
            "INSERT INTO people SELECT i, 'p' || i || '@example.org', '030 1234 5' || (100 + i)"
            " FROM range(50) r(i)"
        )
    shown = _call("propose", "people", "--region", "DE", "-w", root)
    assert shown.exit_code == 0, shown.output
    assert "50 of 50 values look like it" in shown.output
    assert "example.org" not in shown.output
    found = json.loads(_call("propose", "people", "--region", "DE", "--json", "-w", root).output)
    assert [(p["column"], p["tags"]) for p in found] == [
        ("E-Mail", ["PII", "EMAIL"]),
        ("tel", ["PII", "PHONE"]),
    ]
    answered = _call("confirm", "people", "--region", "DE", "-w", root, answers="y\nn\n")
    assert answered.exit_code == 0, answered.output
    listed = json.loads(_call("list", "--json", "-w", root).output)
    assert [(t["column"], t["tag"]) for t in listed] == [("E-Mail", "EMAIL"), ("E-Mail", "PII")]
    wrong = _call("confirm", "people", "id", "-w", root)
    assert wrong.exit_code == 1
    assert "PAL-222" in wrong.output
    assert _call("confirm", "people", "tel", "--region", "DE", "-w", root).exit_code == 0
    again = _call("propose", "people", "--region", "DE", "-w", root)
    assert again.output == "Nothing in people looks like personal data.\n"
    assert _call("propose", "nowhere", "-w", root).exit_code == 1
