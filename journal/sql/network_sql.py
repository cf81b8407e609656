"""Addresses of networks in SQL, for stores that keep them as texts. Pure.

    CAST(t AS INET)      the one text of the value that a text means; fails for a text that is none
    address_key(x)       and the other calls of ``network_calls``, of such texts

In the steps ``s`` is the text of an address, ``m`` the length of its mask, ``d`` its digits.
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql import network_calls as calls
from journal.sql.builders import fill, variable
from journal.sql.network_parameters import BoundAddresses
from journal.sql.network_steps import (
    AddressSteps,
    host,
    is_six,
    masklen,
    number,
    plain_texts,
    version,
    width,
)
from journal.sql.network_text import CIDR, INET, address_of, network_key, network_text

_MASKED = "a_ || '/' || CAST(m_ AS VARCHAR)"
_SHORT = f"CASE WHEN m_ = length(d_) THEN a_ ELSE {_MASKED} END"
"""An ``inet``, whose mask is not shown if it is all of its bits."""
_NO_SIX = "error('addresses of the version 6 are not computed with here')"


def _steps(*, digits: bool = True) -> AddressSteps:
    """Steps over ``x``, with its mask and, where they are wanted, its digits."""
    steps = AddressSteps(s="x")
    steps.step(m=masklen("s_"))
    if digits:
        steps.digits("s", "d")
    return steps


def _address_text(steps: AddressSteps, shown: str, **changed: str) -> str:
    """The text of the address that is left when digits and mask have changed."""
    steps.step(**changed)
    steps.spell("d", "a")
    return steps.result_sql(shown)


def _plain(digits: str) -> str:
    steps = _steps(digits=False)
    return _address_text(steps, "a_", d=digits.format(width("s_")))


def _cut(steps: AddressSteps) -> str:
    return _address_text(steps, _MASKED, d=f"rpad(substr(d_, 1, m_), {width('s_')}, '0')")


def _given_mask() -> AddressSteps:
    """Steps over ``x`` with the mask ``n``; -1 stands for all bits."""
    steps = AddressSteps(s="x", n="CAST(n AS INTEGER)")
    wrong = "CAST(error('invalid mask length: ' || CAST(n_ AS VARCHAR)) AS INTEGER)"
    is_wrong = f"n_ < -1 OR n_ > {width('s_')}"
    steps.step(m=f"CASE WHEN n_ = -1 THEN {width('s_')} WHEN {is_wrong} THEN {wrong} ELSE n_ END")
    return steps


def _with_masklen() -> str:
    steps = _given_mask()
    shown = f"CASE WHEN m_ = {width('s_')} THEN {host('s_')}"
    return steps.result_sql(f"{shown} ELSE {host('s_')} || '/' || CAST(m_ AS VARCHAR) END")


def _network_of() -> str:
    steps = _given_mask()
    steps.digits("s", "d")
    return _cut(steps)


def _pair(wrong: str) -> AddressSteps:
    """Steps over ``x`` and ``y``, whose digits ``l`` and ``r`` are; of versions that differ
    ``wrong`` is said.
    """
    steps = AddressSteps(s="CASE WHEN y IS NOT NULL THEN x END", o="y")
    error = f"CAST(error('{wrong}') AS VARCHAR)"
    steps.step(s=f"CASE WHEN ({is_six('s_')}) <> ({is_six('o_')}) THEN {error} ELSE s_ END")
    steps.digits("s", "l")
    steps.digits("o", "r")
    return steps


def _combined(name: str, operator: str) -> str:
    """``&`` and ``|``: the mask is the longer of the two."""
    steps = _pair(f"cannot {name} inet values of different sizes")
    sides = (f"substr({side}_, CAST(i AS INTEGER), 1) = '1'" for side in "lr")
    each = f"CASE WHEN {operator.join(sides)} THEN '1' ELSE '0' END"
    digits = f"array_to_string(list_transform(range(1, length(l_) + 1), LAMBDA i: {each}), '')"
    return _address_text(steps, _SHORT, d=digits, m=f"greatest({masklen('s_')}, {masklen('o_')})")


def _merged() -> str:
    """The least network that both addresses are in."""
    steps = _pair("cannot merge addresses from different families")
    begins = (f"substr({side}_, 1, CAST(i AS INTEGER))" for side in "lr")
    shorter = f"range(1, least({masklen('s_')}, {masklen('o_')}) + 1)"
    same = f"array_length(list_filter({shorter}, LAMBDA i: {' = '.join(begins)}))"
    steps.step(m=f"CAST({same} AS INTEGER)")
    return _address_text(
        steps, _MASKED, d="rpad(substr(l_, 1, m_), CAST(length(l_) AS INTEGER), '0')"
    )


def _moved_address() -> str:
    steps = AddressSteps(s="CASE WHEN n IS NOT NULL THEN x END", n="n")
    error = f"CAST({_NO_SIX} AS BIGINT)"
    four = f"{number(host('s_'))} + n_"
    steps.step(v=f"CASE WHEN {is_six('s_')} THEN {error} ELSE {four} END", m=masklen("s_"))
    wrong = "CAST(error('result is out of range') AS VARCHAR)"
    digits = f"CASE WHEN v_ < 0 OR v_ > 4294967295 THEN {wrong} ELSE lpad(bin(v_), 32, '0') END"
    return _address_text(steps, _SHORT, d=digits)


def _distance() -> str:
    steps = AddressSteps(s="CASE WHEN y IS NOT NULL THEN x END", o="y")
    numbers = f"{number(host('s_'))} - {number(host('o_'))}"
    error = f"CAST({_NO_SIX} AS BIGINT)"
    return steps.result_sql(
        f"CASE WHEN {is_six('s_')} OR {is_six('o_')} THEN {error} ELSE {numbers} END"
    )


def _written_key() -> str:
    return _steps().result_sql(f"{version('s_')} || substr(d_, 1, m_) || '-' || substr(d_, m_ + 1)")


def _broadcast() -> str:
    return _address_text(_steps(), _SHORT, d=f"rpad(substr(d_, 1, m_), {width('s_')}, '1')")


_FULL = "CASE WHEN strpos(s_, '/') > 0 THEN s_ ELSE s_ || '/' || CAST({} AS VARCHAR) END"
_FULL = _FULL.format(width("s_"))
_WRITTEN_OUT: dict[str, tuple[str, str]] = {
    calls.KEY: ("x", _written_key()),
    calls.DIGITS: ("x", _steps().result_sql(f"{version('s_')} || d_")),
    calls.PREFIX: ("x", _steps().result_sql(f"{version('s_')} || substr(d_, 1, m_)")),
    calls.MASKLEN: ("x", _steps(digits=False).result_sql("m_")),
    calls.FAMILY: (
        "x",
        AddressSteps(s="x").result_sql(f"CASE WHEN {is_six('s_')} THEN 6 ELSE 4 END"),
    ),
    calls.HOST: ("x", host("x")),
    calls.TEXT: ("x", AddressSteps(s="x").result_sql(_FULL)),
    calls.INET_OF: ("x", r"regexp_replace(x, '^([^:]*)/32$|^(.*)/128$', '\1\2', 'g')"),
    calls.NETWORK: ("x", _cut(_steps())),
    calls.NETMASK: ("x", _plain("repeat('1', m_) || repeat('0', {0} - m_)")),
    calls.HOSTMASK: ("x", _plain("repeat('0', m_) || repeat('1', {0} - m_)")),
    calls.BROADCAST: ("x", _broadcast()),
    calls.WITH_MASKLEN: ("xn", _with_masklen()),
    calls.NETWORK_OF: ("xn", _network_of()),
    calls.MERGE: ("xy", _merged()),
    calls.NOT: ("x", _address_text(_steps(), _SHORT, d="translate(d_, '01', '10')")),
    calls.AND: ("xy", _combined("AND", " AND ")),
    calls.OR: ("xy", _combined("OR", " OR ")),
    calls.MOVED: ("xn", _moved_address()),
    calls.DISTANCE: ("xy", _distance()),
}
"""By the name of a call: what its arguments are called in the expression that it stands for."""


def _written_out(node: exp.Anonymous) -> exp.Expr | None:
    """What a call stands for; None for other calls."""
    called = node.name.lower()
    names, sql = _WRITTEN_OUT.get(called, ("", ""))
    if not sql or len(node.expressions) != len(names):
        return None
    first = node.expressions[0]
    folded = _folded(called, first.name) if len(names) == 1 and first.is_string else None
    if folded is not None:
        return folded
    parts: dict[str, exp.Expr] = dict(zip(names, node.expressions, strict=True))
    return exp.paren(fill(sql, **parts), copy=False)


def _folded(name: str, text: str) -> exp.Expr | None:
    """What a call of a constant gives."""
    if name == calls.KEY:
        return exp.Literal.string(network_key(text))
    found = address_of(text, INET)
    if name == calls.MASKLEN:
        return exp.Literal.number(found.bits)
    if name in {calls.DIGITS, calls.PREFIX}:
        digits = found.digits if name == calls.DIGITS else found.digits[: found.bits]
        return exp.Literal.string(f"{found.version}{digits}")
    return None


def keep_as_texts(tree: exp.Expr, bound: BoundAddresses | None = None) -> exp.Expr:
    """A statement in which types of addresses are those of their texts; the same without any.

    A cast to such a type reads what it is given, unless that is marked as an address already. With
    ``bound``, parameters that are read so are others there, which are made of their values.
    """
    if not any(map(_is_of_addresses, tree.find_all(exp.DataType, exp.Anonymous))):
        return tree
    holder = exp.Paren(this=tree.copy())
    for node in reversed(list(holder.find_all(exp.Cast, exp.Anonymous))):
        made = None if bound is None else bound.replaced(node)
        if made is None and isinstance(node, exp.Anonymous):
            made = _written_out(node)
        elif made is None and isinstance(node, exp.Cast):
            made = _read_by_cast(node)
        if made is not None:
            node.replace(made)
    for kind in list(holder.find_all(exp.DataType)):
        if kind.this is exp.DType.INET:
            kind.replace(exp.DataType(this=exp.DType.TEXT))
    found = holder.this
    assert isinstance(found, exp.Expr)
    if bound is not None:
        bound.named = frozenset(node.name for node in found.find_all(exp.Placeholder))
    return found.pop()


def names_addresses(kind: exp.DataType) -> bool:
    """True for types of addresses, and of lists of them."""
    return any(part.this is exp.DType.INET for part in kind.find_all(exp.DataType))


CONCERNED = frozenset({exp.DataType, exp.Anonymous})
"""A statement without any of these nodes has nothing of addresses."""


def _is_of_addresses(node: exp.Expr) -> bool:
    if isinstance(node, exp.DataType):
        return node.this is exp.DType.INET
    return node.name.lower() in _WRITTEN_OUT


def _read_by_cast(cast: exp.Cast) -> exp.Expr | None:
    kind, fails = cast.to.sql(dialect="duckdb").upper(), not isinstance(cast, exp.TryCast)
    element = kind.removesuffix("[]")
    if element not in {INET, CIDR} or calls.IS_ADDRESS in cast.meta:
        return None
    value = cast.this
    if isinstance(value, exp.Null):
        return None
    if element != kind:
        listed = exp.cast(value.copy(), "VARCHAR[]", dialect="duckdb")
        each = canonical(variable("each"), element, fails=fails)
        return fill("list_transform(l, LAMBDA each: c)", l=listed, c=each)
    if value.is_string and fails:
        return exp.Literal.string(network_text(value.name, kind))
    return canonical(value, kind, fails=fails)


def canonical(text: exp.Expr, kind: str, *, fails: bool = True) -> exp.Expr:
    """The text of the value that a text means; without ``fails`` NULL for what is none."""
    return fill(_CANONICAL[kind, fails], y=text)


def _canonical(kind: str, *, fails: bool) -> str:
    name = "cidr" if kind == CIDR else "inet"
    message = f"'invalid input syntax for type {name}: \"' || s_ || '\"'"
    wrong = f"CAST(error({message}) AS VARCHAR)" if fails else "NULL"
    steps = AddressSteps(s="CAST(y AS VARCHAR)")
    steps.read(kind)
    steps.spell("d", "z")
    text = (_SHORT if kind == INET else _MASKED).replace("a_", "z_")
    read = steps.result_sql(f"CASE WHEN v_ < 0 THEN {wrong} ELSE {text} END")
    # Most texts are those of their values; they take none of the steps.
    plain = plain_texts("CAST(y AS VARCHAR)") if kind == INET else ""
    return f"CASE {plain} ELSE {read} END" if plain else read


_CANONICAL = {
    (kind, fails): _canonical(kind, fails=fails) for kind in (INET, CIDR) for fails in (True, False)
}
