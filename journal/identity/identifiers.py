"""The forms of an identifier: as a request names it, as a row holds it, and as both are compared.

What counts is what the normaliser of the descriptor says; without one every character does (an
accent is its own character, or part of one, as it was written). In columns of whole numbers it is
the number that counts, so 007 names the 7 there, and in columns of text 007 alone.

A form is a function of the text alone, the same in Python and in the SQL of every store, and the
form of a form is that form. Text that a normaliser does not understand is its own form, which no
text that it understands has: such text is equal to nothing but itself. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Protocol

from sqlglot import exp

from journal.identity.normalisers import ALPHANUMERIC, DIGITS, EXACT, LOWER, Normaliser
from journal.identity.telephone_plans import E164_MAX, TelephonePlan

_BLANKS = " \t\n\r\x0b\x0c"
SEPARATORS = f"{_BLANKS}.-/"
"""What may stand between the characters of an identifier where only these count."""
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"
_FOLD = str.maketrans(_CAPITALS, _CAPITALS.lower())
_BARE = str.maketrans("", "", SEPARATORS)
_SMALL = _BARE | _FOLD
_WITHOUT_BRACKETS = str.maketrans("", "", "()")
_WHOLE = re.compile(r"(-?)0*([0-9]+)")
_TRUNK = "(0)"
"""How a trunk prefix is written behind the code of a country."""


class IdentifierForm(Protocol):
    """Gives an identifier in a row as text in the form in which it is compared."""

    def __call__(self, value: exp.Expr, normaliser: Normaliser) -> exp.Expr: ...


def normal(value: exp.Expr, normaliser: Normaliser) -> exp.Expr:
    """An identifier in a row as text in the form in which it is compared."""
    text = exp.cast(value, "VARCHAR", dialect="duckdb")
    match normaliser:
        case Normaliser(plan=TelephonePlan() as plan):
            return _telephone(text, plan)
        case _ if normaliser == LOWER:
            bare = _call("trim", text, _text(_BLANKS))
            return _call("translate", bare, _text(_CAPITALS), _text(_CAPITALS.lower()))
        case _ if normaliser == DIGITS:
            return _of_these_alone(text, _without(text, SEPARATORS), _DIGITS)
        case _ if normaliser == ALPHANUMERIC:
            small = _CAPITALS.lower()
            bare = _call("translate", text, _text(_CAPITALS + SEPARATORS), _text(small))
            return _of_these_alone(text, bare, small + _DIGITS)
        case _:
            return text


def normal_in_duckdb(value: exp.Expr, normaliser: Normaliser) -> exp.Expr:
    """The same for DuckDB, which takes fourteen times as long to translate letters as to lower
    them: most identifiers are ASCII without blanks around, whose letters both leave alike.
    """
    form = normal(value, normaliser)
    if normaliser != LOWER:
        return form
    text = exp.cast(value.copy(), "VARCHAR", dialect="duckdb")
    first = _text("!")
    is_other = exp.or_(
        exp.NEQ(this=_call("strlen", text), expression=_call("length", text.copy())),
        exp.LT(this=text.copy(), expression=first),
        exp.LT(this=_call("right", text.copy(), exp.Literal.number(1)), expression=first.copy()),
    )
    return exp.Case().when(is_other, form).else_(_call("lower", text.copy()))


def _of_these_alone(text: exp.Expr, bare: exp.Expr, known: str) -> exp.Expr:
    """Text without its separators, if these characters are all that is left, and any is."""
    is_known = exp.and_(_differs(bare, ""), _is(_without(bare, known), ""))
    return exp.Case().when(is_known, bare.copy()).else_(text.copy())


def _telephone(text: exp.Expr, plan: TelephonePlan) -> exp.Expr:
    """A telephone number with + and the code of its country; see ``_telephone_form``."""
    bare = _without(text, SEPARATORS)
    if plan.trunk == "0":
        whole = bare.copy()
        shown = exp.Case()
        for start in (f"+{plan.code}", f"{plan.international}{plan.code}"):
            rest = _call("concat", _text(start), _after(whole, start + _TRUNK))
            shown = shown.when(_starts(whole, start + _TRUNK), rest)
        bare = shown.else_(whole.copy())
    tail = _after(bare, "x")
    is_odd = exp.NEQ(this=_call("replace", tail, _text(_TRUNK), _text("")), expression=tail.copy())
    number = _without(bare, "()")
    found = exp.Case().when(is_odd, text.copy())
    whole = exp.and_(
        _is(_without(_after(number, "+"), _DIGITS), ""),
        _is_between(number, 2, E164_MAX + 1),
        _differs(_letter(number, 2), "0"),
    )
    sign = exp.Case().when(whole, number.copy()).else_(text.copy())
    found = found.when(_starts(number, "+"), sign)
    is_other = exp.or_(_is(number, ""), _differs(_without(number, _DIGITS), ""))
    found = found.when(is_other, text.copy())
    found = found.when(
        _follows(number, plan.international, 1, E164_MAX),
        _call("concat", _text("+"), _after(number, plan.international)),
    )
    if plan.trunk:
        found = found.when(
            _follows(number, plan.trunk, plan.shortest, plan.longest),
            _call("concat", _text(f"+{plan.code}"), _after(number, plan.trunk)),
        )
    if plan.may_lack_trunk:
        is_national = _is_between(number, plan.shortest, plan.longest)
        if plan.trunk:
            is_national = exp.and_(is_national, exp.not_(_starts(number, plan.trunk)))
        found = found.when(is_national, _call("concat", _text(f"+{plan.code}"), number.copy()))
    return found.else_(number.copy())


def _follows(number: exp.Expr, prefix: str, shortest: int, longest: int) -> exp.Expr:
    """Whether so many digits, and no 0 first, stand behind a prefix."""
    length = len(prefix)
    return exp.and_(
        _starts(number, prefix),
        _is_between(number, length + shortest, length + longest),
        _differs(_letter(number, length + 1), "0"),
    )


def _starts(text: exp.Expr, prefix: str) -> exp.Expr:
    head = _call("substr", text.copy(), *map(exp.Literal.number, (1, len(prefix))))
    return _is(head, prefix)


def _after(text: exp.Expr, prefix: str) -> exp.Expr:
    return _call("substr", text.copy(), exp.Literal.number(len(prefix) + 1))


def _letter(text: exp.Expr, place: int) -> exp.Expr:
    return _call("substr", text.copy(), *map(exp.Literal.number, (place, 1)))


def _is_between(text: exp.Expr, shortest: int, longest: int) -> exp.Expr:
    length = _call("length", text.copy())
    low, high = map(exp.Literal.number, (shortest, longest))
    return exp.Between(this=length, low=low, high=high)


def _without(text: exp.Expr, letters: str) -> exp.Expr:
    return _call("translate", text.copy(), _text(letters), _text(""))


def _is(text: exp.Expr, wanted: str) -> exp.Expr:
    return exp.EQ(this=text, expression=_text(wanted))


def _differs(text: exp.Expr, other: str) -> exp.Expr:
    return exp.NEQ(this=text.copy(), expression=_text(other))


def texts_of(values: Iterable[str], normaliser: Normaliser) -> list[str]:
    """Identifiers that a request names, each once, in the form in which text is compared."""
    if normaliser == EXACT:
        return list(dict.fromkeys(values))
    if normaliser == LOWER:
        bare = [value.strip(_BLANKS) for value in values]
        if "".join(bare).isascii():
            return list(dict.fromkeys(map(str.lower, bare)))
        return list(dict.fromkeys(value.translate(_FOLD) for value in bare))
    return list(dict.fromkeys(map(form_of(normaliser), values)))


def form_of(normaliser: Normaliser) -> Callable[[str], str]:
    """The function that gives the form of one text."""
    match normaliser:
        case Normaliser(plan=TelephonePlan() as plan):
            return lambda text: _telephone_form(text, plan)
        case _ if normaliser == DIGITS:
            return lambda text: _known_form(text, text.translate(_BARE), str.isdecimal)
        case _ if normaliser == ALPHANUMERIC:
            return lambda text: _known_form(text, text.translate(_SMALL), str.isalnum)
        case _:
            return lambda text: texts_of([text], normaliser)[0]


def _known_form(text: str, bare: str, is_known: Callable[[str], bool]) -> str:
    return bare if bare.isascii() and is_known(bare) else text


def _telephone_form(text: str, plan: TelephonePlan) -> str:
    """A telephone number with + and the code of its country, if that is what it says.

    Digits that say of no country which they are stay digits; other text stays as it stands.
    """
    bare = text.translate(_BARE)
    if plan.trunk == "0":
        for start in (f"+{plan.code}", f"{plan.international}{plan.code}"):
            if bare.startswith(start + _TRUNK):
                bare = start + bare[len(start + _TRUNK) :]
                break
    if _TRUNK in bare[1:]:
        return text
    number = bare.translate(_WITHOUT_BRACKETS)
    if number.startswith("+"):
        return number if _is_number(number[1:], 1, E164_MAX) else text
    if not (number.isascii() and number.isdecimal()):
        return text
    if number.startswith(plan.international):
        abroad = number[len(plan.international) :]
        if _is_number(abroad, 1, E164_MAX):
            return f"+{abroad}"
    has_trunk = bool(plan.trunk) and number.startswith(plan.trunk)
    if has_trunk and _is_number(number[len(plan.trunk) :], plan.shortest, plan.longest):
        return f"+{plan.code}{number[len(plan.trunk) :]}"
    if plan.may_lack_trunk and not has_trunk and plan.shortest <= len(number) <= plan.longest:
        return f"+{plan.code}{number}"
    return number


def _is_number(digits: str, shortest: int, longest: int) -> bool:
    is_decimal = digits.isascii() and digits.isdecimal()
    return is_decimal and shortest <= len(digits) <= longest and digits[0] != "0"


def spelling_pattern(value: str, normaliser: Normaliser) -> str | None:
    """A regular expression that every spelling of an identifier has in it, in small letters.

    None where each spelling is found as it stands.
    """
    form = form_of(normaliser)(value)
    known = form.removeprefix("+")
    if normaliser.is_plain or not (known.isascii() and known.isalnum()):
        return None
    is_abroad = normaliser.plan is not None and form.startswith("+")
    if normaliser.plan is not None and is_abroad:
        known = known.removeprefix(normaliser.plan.code)
    apart = f"[{re.escape(SEPARATORS)}()]*".join(known)
    # Before a number of a telephone stand the prefixes, and a number is not found in a longer one.
    return ("" if is_abroad else r"(?<![0-9])") + apart + r"(?![0-9])"


def is_ambiguous(value: str, normalisers: Iterable[Normaliser]) -> bool:
    """True for a number that is one person's in one country and another's in the next."""
    plans = (n for n in normalisers if n.plan is not None)
    return len({form_of(normaliser)(value) for normaliser in plans}) > 1


def numbers_of(values: Iterable[str]) -> list[str]:
    """Those that are whole numbers, each once, as a store writes them."""
    found = dict.fromkeys(
        "0" if match[2] == "0" else match[1] + match[2]
        for match in (_WHOLE.fullmatch(value.strip(_BLANKS)) for value in values)
        if match is not None
    )
    return list(found)


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
