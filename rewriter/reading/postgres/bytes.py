r"""PostgreSQL's functions of bytea by their hexadecimal digits, for stores that lack them. Pure.

b::text                     \x6162
encode(b, 'escape')         ab, with \ooo for what is no sign of ASCII
substring(b, 2, 3)          the bytes from there
position(a in b)            where the bytes begin, from 1
get_byte(b, 0)              a number from 0 to 255
set_byte(b, 0, 65)          the bytes with another one
string_agg(b, ',')          the bytes of all rows
overlay(b placing c from 2) other bytes in the place of some
trim(c from b)              without those of c at its ends
get_bit(b, 9)               the bits of a byte are counted from its lowest
decode('a\000', 'escape')  the bytes of a constant
t::bytea                    the bytes of a text, or those that its digits write
convert_from(b, 'UTF8')     the text of the bytes
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.sql import bytea
from journal.sql.builders import call, fill
from rewriter.functions import function_name
from rewriter.reading.postgres.bits import are_bits, overlaid_bits, place_of_bits
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.value_types import KIND, ValueTypes

TEXT = "'\\x' || lower(hex(b))"
"""The text of bytes ``b``."""
_DIGITS = "'123456789ABCDEF'"
_NUMBER = f"(strpos({_DIGITS}, substr(h, 1, 1)) * 16 + strpos({_DIGITS}, substr(h, 2, 1)))"
_OCTAL = (
    f"CASE WHEN h = '5C' THEN '\\\\' WHEN h = '00' OR h >= '80' THEN '\\' ||"
    f" CAST({_NUMBER} // 64 AS VARCHAR) || CAST({_NUMBER} // 8 % 8 AS VARCHAR)"
    f" || CAST({_NUMBER} % 8 AS VARCHAR) ELSE chr(CAST({_NUMBER} AS INTEGER)) END"
)
_READ = (
    "CASE WHEN t LIKE '\\x%' THEN unhex(regexp_replace(substr(t, 3), '\\s', '', 'g'))"
    " WHEN contains(t, '\\') THEN error('a text with a backslash is no bytea value: write'"
    " || ' \\x and two hexadecimal digits for each byte') ELSE encode(t) END"
)
_PAIRS = "regexp_extract_all(hex(b), '..')"
_ESCAPED = f"array_to_string(list_transform({_PAIRS}, LAMBDA h: {_OCTAL}), '')"
_SPACED = "regexp_replace(hex({}), '(..)', '\\1,', 'g')"
_PLACE = f"(strpos({_SPACED.format('b')}, {_SPACED.format('a')}) + 2) // 3"
_INSIDE = (
    "CASE WHEN n < 0 OR n >= octet_length(b) THEN"
    " error('index ' || CAST(n AS VARCHAR) || ' out of valid range') ELSE made END"
)
_BYTE = _NUMBER.replace("h", "hex(b)").replace("substr(hex(b), 1,", "substr(hex(b), 2 * n + 1,")
_BYTE = _BYTE.replace("substr(hex(b), 2, 1)", "substr(hex(b), 2 * n + 2, 1)")
_CHANGED = (
    "unhex(left(hex(b), 2 * n) || upper(printf('%02x', v & 255)) || substr(hex(b), 2 * n + 3))"
)


_OVERLAID = "unhex(substr(hex(b), 1, 2 * (n - 1)) || hex(p) || substr(hex(b), 2 * (n + m) - 1))"
_AMONG = (
    "'(?:' || array_to_string(list_transform(regexp_extract_all(hex(c), '..'),"
    " LAMBDA h: h || ','), '|') || ')*'"
)
_TRIMMED = {"LEADING": "'^' || among", "TRAILING": "among || '$'"}
_BIT = "(byte // (1 << n % 8)) % 2"
_WITH_BIT = f"byte + (v - {_BIT}) * (1 << n % 8)"


def is_bytes(value: exp.Expr, types: ValueTypes) -> bool:
    """True for what is known to be bytea."""
    return types.of(value).kind == "BLOB"


def bytes_of(value: exp.Expr) -> exp.Expr:
    """A value where bytes are wanted: those of a constant."""
    if not value.is_string:
        return value.copy()
    return exp.cast(bytea.converted(value.copy()), "BLOB", dialect="duckdb")


def read_bytes(value: exp.Expr) -> exp.Expr:
    """``t::bytea`` of a computed text."""
    return fill(_READ, t=exp.paren(value.copy()))


def spell_conversion(node: exp.Expr, _: ValueTypes) -> exp.Expr:
    """``convert_from(b, 'UTF8')`` and ``convert_to(t, 'UTF8')``; others raise NOT_SUPPORTED."""
    value, charset = node.expressions
    name = charset.name.lower().replace("-", "") if charset.is_string else ""
    if name not in {"utf8", "unicode"}:
        raise not_here(node, "another character set than UTF8", "convert it in the client")
    if function_name(node) == "convert_from":
        made, kind = call("decode", bytes_of(value)), "VARCHAR"
    else:
        made, kind = call("encode", value), "BLOB"
    made.meta[KIND] = kind
    return made


def spell_encode(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``encode(b, 'escape')``; None for other encodings."""
    how = node.args.get("charset")
    is_escape = isinstance(how, exp.Literal) and how.name.lower() == "escape"
    return fill(_ESCAPED, b=bytes_of(node.this)) if is_escape else None


def native_encode(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """The same where PostgreSQL has it; its adapter takes other calls for those of texts."""
    how = node.args.get("charset")
    is_escape = isinstance(how, exp.Literal) and how.name.lower() == "escape"
    if not is_escape:
        return None
    if isinstance(node, exp.Decode):
        return call("decode", node.this, "escape")
    return call("encode", bytes_of(node.this), "escape")


def spell_place_of_bytes(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``position(a in b)`` of bytes and of bits; None for texts."""
    part = node.args["substr"]
    if are_bits(node.this, types):
        return place_of_bits(node.this, part)
    if not is_bytes(node.this, types):
        return None
    part = exp.cast(part.copy(), "BLOB", dialect="duckdb") if part.is_string else part
    made = fill(f"CASE WHEN octet_length(a) = 0 THEN 1 ELSE {_PLACE} END", a=part, b=node.this)
    return exp.cast(made, "INTEGER", dialect="duckdb")


def spell_part_of_bytes(node: exp.Expr) -> exp.Expr:
    """``substring(b, n, m)`` of bytes, which may begin before the first one."""
    start = node.args.get("start") or exp.Literal.number(1)
    length = node.args.get("length")
    first = "greatest(n, 1)"
    parts = {"b": node.this, "n": exp.paren(start.copy())}
    if length is None:
        return fill(f"unhex(substr(hex(b), 2 * {first} - 1))", **parts)
    size = f"greatest(n + CAST(m AS BIGINT) - {first}, 0)"
    sql = f"unhex(substr(hex(b), 2 * {first} - 1, 2 * {size}))"
    return fill(sql, **parts, m=exp.paren(length.copy()))


def spell_byte(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``get_byte(b, n)`` and ``set_byte(b, n, v)``, which fail for a place behind the last."""
    if len(arguments) not in {2, 3}:
        return None
    parts = dict(zip("bnv", (exp.paren(a.copy()) for a in arguments), strict=False))
    made = fill(_CHANGED if len(arguments) == 3 else f"CAST({_BYTE} AS INTEGER)", **parts)
    return fill(_INSIDE, b=parts["b"], n=parts["n"], made=made)


def spell_bit(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``get_bit(b, n)`` and ``set_bit(b, n, v)`` of bytes; None for bits."""
    given = (
        list(node.expressions) if isinstance(node, exp.Anonymous) else [node.this, node.expression]
    )
    if not is_bytes(given[0], types):
        return None
    parts = dict(zip("bnv", (exp.paren(a.copy()) for a in given), strict=False))
    place = fill("n // 8", n=parts["n"])
    byte = fill(_BYTE, b=parts["b"], n=exp.paren(place.copy()))
    if len(given) == 2:
        made = fill(f"CAST({_BIT} AS INTEGER)", byte=byte, n=parts["n"])
    else:
        changed = fill(_WITH_BIT, byte=byte, n=parts["n"], v=parts["v"])
        made = fill(_CHANGED, b=parts["b"], n=exp.paren(place.copy()), v=exp.paren(changed))
    return fill(_INSIDE, b=parts["b"], n=exp.paren(place), made=made)


def spell_overlay(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``overlay(b placing p from n for m)`` of bytes and of bits; None for texts."""
    new, start, size = node.expression, node.args["from_"], node.args.get("for_")
    if are_bits(node.this, types):
        return overlaid_bits(node.this, new, start, size)
    if not is_bytes(node.this, types):
        return None
    length = fill("octet_length(p)", p=new) if size is None else exp.paren(size.copy())
    return fill(_OVERLAID, b=node.this, p=new, n=exp.paren(start.copy()), m=length)


def spell_trim(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``trim(c from b)`` of bytes; None for texts."""
    if not is_bytes(node.this, types) or node.expression is None:
        return None
    among = fill(_AMONG, c=node.expression)
    made = fill(_SPACED.format("b"), b=node.this)
    side = str(node.args.get("position") or "BOTH").upper()
    for name, pattern in _TRIMMED.items():
        if side in {name, "BOTH"}:
            pattern_of_side = fill(pattern, among=exp.paren(among.copy()))
            made = fill("regexp_replace(t, p, '')", t=made, p=pattern_of_side)
    return fill("unhex(replace(t, ',', ''))", t=made)


def spell_decode(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``decode('..', 'escape')`` of a constant; raises NOT_SUPPORTED for what is computed."""
    how = node.args.get("charset")
    if not isinstance(how, exp.Literal) or how.name.lower() != "escape":
        return None
    if not node.this.is_string or node.this.name.startswith("\\x"):
        raise not_here(node, "decode() of a text that is no constant", "take 'hex' or 'base64'")
    return bytes_of(node.this)


def spell_digest(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``sha256(b)``, whose bytes are digits in the store; None for other digests."""
    length = node.args.get("length")
    if length is None or length.name != "256":
        return None
    return call("unhex", call("sha256", bytes_of(node.this)))


def spell_joined_bytes(node: exp.Expr) -> exp.Expr:
    """``string_agg(b, s)`` of bytes, in whatever order."""
    made = node.copy()
    value = joined_value(made)
    digits = call("hex", value)
    # Different values may only be sorted by what is joined.
    sorts = [part.this for part in made.find_all(exp.Ordered) if part.this == value]
    for place in (value, *sorts):
        place.replace(digits.copy())
    separator = exp.cast(made.args["separator"], "BLOB", dialect="duckdb")
    made.set("separator", call("hex", separator))
    return call("unhex", made)


def joined_value(node: exp.Expr) -> exp.Expr:
    """What ``string_agg`` joins, without its order."""
    value: exp.Expr = node.this
    while isinstance(value, (exp.Order, exp.Distinct)):
        value = value.this if isinstance(value, exp.Order) else value.expressions[0]
    return value


def count_bits(value: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``bit_count(b)`` of bytes; None for other values."""
    return fill("bit_count(CAST(b AS BIT))", b=value) if is_bytes(value, types) else None
