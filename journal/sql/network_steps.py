"""Addresses of networks computed in steps of DuckDB's SQL, from their texts and to them. Pure.

digits     all bits of an address, 32 or 128 of them, as a text of 0 and 1
spelled    the text of an address of these digits, without a mask
read       the digits and the mask that a text of a client's means, and whether it means any
"""

from __future__ import annotations

from journal.sql.network_text import CIDR, CLASSES, INET, MULTICAST
from journal.sql.value_steps import Steps

_NUMBER = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_PADDED = f"0*{_NUMBER}"
_FOUR = rf"{_PADDED}(?:[.]{_PADDED}){{0,3}}"
_PLAIN_FOUR = rf"(?:{_NUMBER}[.]){{3}}{_NUMBER}(?:/(?:[12]?[0-9]|3[01]))?"
"""Addresses whose text is that of their value, as nearly all are."""
_WORDS = "[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*"
_TAIL = rf"{_NUMBER}(?:[.]{_NUMBER}){{1,3}}"
_SIX = (
    rf"(?:{_WORDS}|(?:{_WORDS})?::(?:{_WORDS})?"
    rf"|{_WORDS}:{_TAIL}|(?:{_WORDS})?::(?:{_WORDS}:)?{_TAIL})"
)
_WORD = "[1-9a-f][0-9a-f]{0,3}"
_PLAIN_SIX = (
    rf"(?:(?:{_WORD}:){{7}}{_WORD}|{_WORD}(?::{_WORD})*::(?:{_WORD}(?::{_WORD})*)?)"
    r"(?:/(?:[1-9]?[0-9]|1[01][0-9]|12[0-7]))?"
)
"""The same of the version 6, if of two or more words only one run is left out."""
_BITS_FOUR, _BITS_SIX = "0*(?:[12]?[0-9]|3[0-2])", "(?:[1-9]?[0-9]|1[01][0-9]|12[0-8])"
_FOUR_AT_END = "[0-9]+[.][0-9.]+$"
_HEXADECIMAL = "0123456789abcdef"
_LETTERS = "GHIJKLMNOPQRSTUV"
"""They stand for the digits meanwhile, so that what replaces one is not replaced itself."""


def is_six(name: str) -> str:
    """True for the text of an address of the version 6."""
    return f"strpos({name}, ':') > 0"


def width(name: str) -> str:
    """How many bits an address has, of its text."""
    return f"(CASE WHEN {is_six(name)} THEN 128 ELSE 32 END)"


def plain_texts(text: str) -> str:
    """Branches of a CASE that give a text as it is, where it is that of its value certainly."""
    few = f"length({text}) - length(replace({text}, ':', '')) <= 6 OR strpos({text}, '::') = 0"
    return (
        f"WHEN regexp_full_match({text}, '{_PLAIN_FOUR}') THEN {text}"
        f" WHEN regexp_full_match({text}, '{_PLAIN_SIX}') AND ({few}) THEN {text}"
    )


def version(name: str) -> str:
    """The digit of the version of an address, of its text."""
    return f"(CASE WHEN {is_six(name)} THEN '6' ELSE '4' END)"


def host(name: str) -> str:
    """The text of an address without its mask."""
    return f"split_part({name}, '/', 1)"


def masklen(name: str) -> str:
    """How many bits are the network's, of the text of an address."""
    mask = f"split_part({name}, '/', 2)"
    return f"(CASE WHEN {mask} = '' THEN {width(name)} ELSE CAST({mask} AS INTEGER) END)"


def number(text: str) -> str:
    """The number of an address of the version 4, of its text without a mask."""
    parts = (
        f"CAST(split_part({text}, '.', {n}) AS BIGINT) * {256 ** (4 - n)}" for n in range(1, 5)
    )
    return f"({' + '.join(parts)})"


class AddressSteps(Steps):
    """Steps over texts of addresses; parts whose names begin with ``of`` belong to one of them."""

    def digits(self, of: str, into: str, wanted: str = "TRUE") -> None:
        """The digits of an address by its text, with a mask or without; NULL unless ``wanted``."""
        h, e, w, f, last = (f"{into}{part}" for part in "hewfl")
        self.step(**{h: f"CASE WHEN {wanted} THEN {host(f'{of}_')} END"})
        six = is_six(f"{h}_")
        tail = f"regexp_extract({h}_, '{_FOUR_AT_END}')"
        self.step(
            **{
                e: f"CASE WHEN {six} AND strpos({h}_, '.') > 0 THEN {_bits_of_four(tail)}"
                " ELSE '' END",
                w: f"CASE WHEN {six} THEN regexp_replace({h}_, '{_FOUR_AT_END}', '') ELSE '' END",
            }
        )
        is_short = f"strpos({w}_, '::') > 0"
        begin, end = (_bits_of_words(f"split_part({w}_, '::', {n})") for n in (1, 2))
        self.step(
            **{
                f: f"CASE WHEN {w}_ = '' THEN '' WHEN {is_short} THEN {begin}"
                f" ELSE {begin} || {e}_ END",
                last: f"CASE WHEN {is_short} THEN {end} || {e}_ ELSE '' END",
            }
        )
        zeros = f"repeat('0', greatest(128 - CAST(length({f}_) + length({last}_) AS INTEGER), 0))"
        four = _bits_of_four(f"{h}_")
        self.step(**{into: f"CASE WHEN {six} THEN {f}_ || {zeros} || {last}_ ELSE {four} END"})

    def spell(self, of: str, into: str) -> None:
        """The text of an address by its digits."""
        x, p, c = (f"{into}{part}" for part in "xpc")
        self.step(**{x: _hexadecimal_of_bits(f"{of}_")})
        words = f"substr(regexp_replace({x}_, '(....)', ':\\1', 'g'), 2)"
        plain = f"regexp_replace({words}, '\\b0{{1,3}}([0-9a-f])', '\\1', 'g')"
        self.step(**{p: f"CASE WHEN length({x}_) = 32 THEN {plain} END"})
        runs = ""
        for size in range(8, 1, -1):
            pattern = rf"^(.*?)(?:^|:)0(?::0){{{size - 1}}}(?:$|:)(.*)$"
            shortened = rf"regexp_replace({p}_, '{pattern}', '\1::\2', 'g')"
            runs += f" WHEN regexp_matches({p}_, '{pattern}') THEN {shortened}"
        self.step(**{c: f"CASE WHEN {p}_ IS NULL THEN NULL{runs} ELSE {p}_ END"})
        begin = f"(CASE WHEN {c}_ LIKE '::ffff:%:%' THEN '::ffff:' ELSE '::' END)"
        is_four = f"regexp_full_match({c}_, '::(?:ffff:)?[0-9a-f]+:[0-9a-f]+')"
        four = _spelled_four(f"right({x}_, 8)")
        self.step(
            **{
                into: f"CASE WHEN length({x}_) = 8 THEN {four}"
                f" WHEN {is_four} THEN {begin} || {four} ELSE {c}_ END"
            }
        )

    def read(self, kind: str) -> None:
        """What ``s`` means: the digits ``d`` and the mask ``m``; ``v`` is -1 for a text that means
        nothing.
        """
        point = "[.]?" if kind == INET else ""
        four, six = f"{_FOUR}{point}(?:/{_BITS_FOUR})?", f"{_SIX}(?:/{_BITS_SIX})?"
        self.step(
            v=f"CASE WHEN regexp_full_match(s_, '{four}') THEN 4"
            f" WHEN {is_six('s_')} AND regexp_full_match(lower(s_), '{six}') THEN 6 ELSE -1 END",
            k="split_part(s_, '/', 2)",
        )
        short = rf"rtrim(regexp_replace({host('s_')}, '\b0+([0-9])', '\1', 'g'), '.')"
        low = f"lower({host('s_')})"
        self.step(
            h=f"CASE WHEN v_ = 4 THEN {short} WHEN v_ = 6 AND strpos({low}, '.') > 0"
            f" THEN {_filled_tail(low)} WHEN v_ = 6 THEN {low} END"
        )
        parts = "CAST(length(h_) - length(replace(h_, '.', '')) + 1 AS INTEGER)"
        # An address of the version 4 stands for two words.
        words = "replace(regexp_replace(h_, '[0-9a-f.]+', 'w', 'g'), ':', '')"
        words = f"CAST(length({words}) AS INTEGER)"
        words += " + (CASE WHEN strpos(h_, '.') > 0 THEN 1 ELSE 0 END)"
        self.step(
            n=f"CASE WHEN v_ = 4 THEN {parts} WHEN v_ = 6 THEN {words} END",
            a="CASE WHEN v_ = 4 THEN regexp_extract(h_ || '.0.0.0',"
            " '^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+') ELSE h_ END",
        )
        self.step(m=_mask_read(kind))
        told = "(v_ = 4 AND m_ // 8 > n_)" if kind == INET else "FALSE"
        short = "(v_ = 6 AND (CASE WHEN strpos(h_, '::') > 0 THEN n_ >= 8 ELSE n_ <> 8 END))"
        self.step(v=f"CASE WHEN v_ > 0 AND ({told} OR {short}) THEN -1 ELSE v_ END")
        self.digits("a", "d", "v_ > 0")
        if kind == CIDR:
            self.step(
                v="CASE WHEN v_ > 0 AND strpos(substr(d_, m_ + 1), '1') > 0 THEN -1 ELSE v_ END"
            )


def _mask_read(kind: str) -> str:
    """The mask that a text says, or that its numbers mean."""
    given = "CASE WHEN v_ > 0 AND k_ <> '' THEN CAST(k_ AS INTEGER) WHEN v_ = 6 THEN 128"
    if kind == INET:
        # Without a mask all four numbers have to be there.
        return f"{given} WHEN v_ = 4 AND n_ = 4 THEN 32 WHEN v_ = 4 THEN 99 END"
    first = "CAST(split_part(h_, '.', 1) AS INTEGER)"
    classes = " ".join(f"WHEN {first} >= {least} THEN {bits}" for least, bits in CLASSES)
    most = f"greatest(CASE {classes} END, 8 * n_)"
    return (
        f"{given} WHEN v_ = 4 THEN"
        f" (CASE WHEN {first} = {MULTICAST} AND n_ = 1 THEN 4 ELSE {most} END) END"
    )


def _bits_of_four(text: str) -> str:
    return f"lpad(bin({number(text)}), 32, '0')"


def _bits_of_words(words: str) -> str:
    """The digits of ``2001:db8``; none of an empty text."""
    for size in (1, 2, 3):
        zeros = "0" * (4 - size)
        words = rf"regexp_replace({words}, '\b([0-9a-f]{{{size}}})\b', '{zeros}\1', 'g')"
    found = f"translate(replace({words}, ':', ''), '{_HEXADECIMAL}', '{_LETTERS}')"
    for value, letter in enumerate(_LETTERS):
        found = f"replace({found}, '{letter}', '{value:04b}')"
    return found


def _hexadecimal_of_bits(bits: str) -> str:
    found = f"regexp_replace({bits}, '(....)', '\\1,', 'g')"
    for value, digit in enumerate(_HEXADECIMAL):
        found = f"replace({found}, '{value:04b},', '{digit}')"
    return found


def _spelled_four(digits: str) -> str:
    """``10.0.0.1`` of eight hexadecimal digits."""
    parts = []
    for place in (1, 3, 5, 7):
        high, low = (
            f"(strpos('{_HEXADECIMAL}', substr({digits}, {p}, 1)) - 1)" for p in (place, place + 1)
        )
        parts.append(f"CAST({high} * 16 + {low} AS VARCHAR)")
    return " || '.' || ".join(parts)


def _filled_tail(text: str) -> str:
    """With the numbers that are left out at the end of an address of the version 4."""
    tail = f"regexp_extract({text}, '{_FOUR_AT_END}')"
    filled = f"regexp_extract({tail} || '.0.0', '^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+')"
    return f"regexp_replace({text}, '{_FOUR_AT_END}', '') || {filled}"
