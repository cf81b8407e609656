"""What Spark says of a statement, in words of this project: what is wrong, what to write instead.

Spark speaks of its own types, settings and functions (``STRING``, ``spark.sql.ansi.enabled``,
``try_to_timestamp``), and of names that no client has written. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from journal.model.errors import Code, PalimpsestError
from journal.model.spelling import spelling_hint
from journal.stores.hive.dialect.types import kind_of

_CAST = "cast one side to the type of the other"
_TRY = "check the value, or convert it with TRY_CAST, which gives NULL instead"
_WIDER = "check the value, or use a wider type"
_KINDS = re.compile(r'"([^"]+)"')
_OPERAND = "the left and right operands of the binary operator have incompatible types"
_NUMBERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6}


def reworded(code: Code, text: str) -> PalimpsestError | None:
    """The error for what Spark says, which is of one line; None where it says it well, or is new.

    >>> said = 'The value \\'x\\' of the type "STRING" cannot be cast to "INT" because it is'
    >>> reworded(Code.CONVERSION, f"{said} malformed. Use `try_cast`").message
    "the value 'x' of type VARCHAR cannot be cast to INTEGER"
    """
    for pattern, write in _WORDS:
        found = pattern.search(text)
        if found is not None:
            return write(code, found)
    return None


def _error(code: Code, message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(code, message, advice=advice)


def _type(name: str) -> str:
    """A type of Spark's under the name that clients know; those that are none stay as they are."""
    return "VARCHAR" if name == "STRING" else kind_of(name.lower()).name if _is_type(name) else name


def _is_type(name: str) -> bool:
    return kind_of(name.lower()).name != "VARCHAR"


def _types(text: str) -> str:
    return " and ".join(map(_type, _KINDS.findall(text)))


def _cast(code: Code, found: re.Match[str]) -> PalimpsestError:
    # Spark writes 1000.0D and 7L.
    value = re.sub(r"^(-?[\d.E]+)[DLSY]$", r"\1", found["value"])
    told = f"the value {value} of type {_type(found['type'])} "
    if "overflow" in found["why"]:
        return _error(code, f"{told}is out of range for {_type(found['to'])}", _WIDER)
    return _error(code, f"{told}cannot be cast to {_type(found['to'])}", _TRY)


def _decimal(code: Code, found: re.Match[str]) -> PalimpsestError:
    kind = found["kind"].upper().replace(" ", "")
    return _error(code, f"the value {found['value']} is out of range for {kind}", _WIDER)


def _ambiguous(code: Code, found: re.Match[str]) -> PalimpsestError:
    known = [part.replace("`", "") for part in found["known"].split(", ")]
    said = f'column "{found["name"]}" is ambiguous: it may be {" or ".join(known)}'
    return _error(code, said, f"write which one is meant, as in {known[0]}")


def _ungrouped(code: Code, found: re.Match[str]) -> PalimpsestError:
    name = found["name"]
    shown = f'column "{name}"' if name and name.isidentifier() else name
    said = f"{shown or 'a column'} stands beside an aggregate, and not in GROUP BY"
    return _error(Code.GROUPING, said, "add the column to GROUP BY, or aggregate it")


def _in_where(code: Code, found: re.Match[str]) -> PalimpsestError:
    said = f"WHERE cannot hold the aggregate {found['calls']}"
    return _error(Code.GROUPING, said, "write the condition behind HAVING")


def _nested(code: Code, found: re.Match[str]) -> PalimpsestError:
    said = "an aggregate cannot stand inside another aggregate"
    return _error(Code.GROUPING, said, "aggregate in a subquery, and its rows in the query around")


def _operands(code: Code, found: re.Match[str]) -> PalimpsestError:
    return _error(code, f"{found['what']} cannot combine {_types(found['types'])}", _CAST)


def _mixed(code: Code, found: re.Match[str]) -> PalimpsestError:
    said = f"{found['what']} mixes values of type {_types(found['types'])}"
    return _error(code, said, _CAST)


def _argument(code: Code, found: re.Match[str]) -> PalimpsestError:
    wanted = " or ".join(map(_type, _KINDS.findall(found["wanted"])))
    given = f"{found['given']} is {_type(found['type'])}"
    place = _NUMBERS.get(found["place"], found["place"])
    said = f"{found['what']} takes {wanted} as argument {place}, and {given}"
    return _error(code, said, f"cast it: CAST({found['given']} AS ..)")


def _condition(code: Code, found: re.Match[str]) -> PalimpsestError:
    said = f'a condition is true or false, and "{found["what"]}" is {_type(found["type"])}'
    return _error(code, said, "compare it with a value")


def _field(code: Code, found: re.Match[str]) -> PalimpsestError:
    known = re.findall(r"`([^`]+)`", found["known"])
    near = spelling_hint(found["name"], known)
    said = f'the struct has no field "{found["name"]}"'
    return _error(code, said, f"{near}its fields are {', '.join(known)}")


def _no_parts(code: Code, found: re.Match[str]) -> PalimpsestError:
    said = f"a value of type {_type(found['type'])} has no elements and no fields"
    return _error(code, said, "read elements of lists, keys of maps and fields of structs")


def _set_types(code: Code, found: re.Match[str]) -> PalimpsestError:
    first, second = _type(found["other"]), _type(found["type"])
    said = f"{found['what']} of {first} and {second} in its {found['place']} column"
    return _error(Code.TYPE_MISMATCH, said, _CAST)


def _set_columns(code: Code, found: re.Match[str]) -> PalimpsestError:
    said = f"{found['what']} of queries with {found['first']} and {found['second']} columns"
    return _error(code, said, "select as many columns in each")


def _no_over(code: Code, found: re.Match[str]) -> PalimpsestError:
    said = f"{found['what']} needs an OVER clause"
    return _error(code, said, f"write {found['what']} OVER (ORDER BY ..)")


def _pattern(code: Code, found: re.Match[str]) -> PalimpsestError:
    said = f"{found['value']} is no regular expression"
    return _error(code, said, "close its brackets; a \\ lets the sign behind it stand for itself")


def _moment(code: Code, found: re.Match[str]) -> PalimpsestError:
    said = f"the text {found['value']} does not fit the format"
    return _error(code, said, "check the value, or use try_strptime, which gives NULL instead")


def _joined(code: Code, found: re.Match[str]) -> PalimpsestError:
    known = re.findall(r"`([^`]+)`", found["known"])
    near = spelling_hint(found["name"], known)
    said = f'column "{found["name"]}" does not exist on the {found["side"]} side of the join'
    return _error(Code.UNKNOWN_COLUMN, said, f"{near}its columns are {', '.join(known)}")


def _unread(code: Code, found: re.Match[str]) -> PalimpsestError:
    said = f"a Hive store cannot run this: Spark does not read what it becomes near {found['near']}"
    return _error(Code.NOT_SUPPORTED, said, "write it in another way: docs/hive.md")


_Write = Callable[[Code, re.Match[str]], PalimpsestError]
_RESOLVE = r'^Cannot resolve "(?P<what>.*)" due to data type mismatch: '
_WORDS: tuple[tuple[re.Pattern[str], _Write], ...] = tuple(
    (re.compile(pattern, re.DOTALL), write)
    for pattern, write in (
        (
            (
                r'^The value (?P<value>.*) of the type "(?P<type>[^"]+)" cannot be cast to'
                r' "(?P<to>[^"]+)" (?P<why>because it is malformed|due to an overflow)'
            ),
            _cast,
        ),
        (r"^(?P<value>\S+) cannot be represented as (?P<kind>Decimal\([^)]*\))", _decimal),
        (
            r"^Reference `(?P<name>[^`]+)` is ambiguous, could be: \[(?P<known>[^\]]+)\]",
            _ambiguous,
        ),
        (r"^The query does not include a GROUP BY clause(?P<name>)", _ungrouped),
        (r'^The non-aggregating expression "(?P<name>[^"]+)" is based on columns', _ungrouped),
        (
            r"^The WHERE condition .* contains invalid expressions: (?P<calls>[^.]+\S*)",
            _in_where,
        ),
        (r"^It is not allowed to use an aggregate function in the argument", _nested),
        (rf"{_RESOLVE}{_OPERAND} \((?P<types>.*)\)", _operands),
        (
            _RESOLVE + r"The (?P<place>\w+) parameter requires the (?P<wanted>.+) type,"
            r' however "(?P<given>.+)" has the type "(?P<type>[^"]+)"',
            _argument,
        ),
        (
            (
                r'^Cannot resolve ".*" due to data type mismatch: Filter expression "(?P<what>.*)"'
                r' of type "(?P<type>[^"]+)" is not a boolean'
            ),
            _condition,
        ),
        (
            _RESOLVE + r"Input to `[^`]+` should all be the same type, but it's (?P<types>.*)",
            _mixed,
        ),
        (r"^No such struct field `(?P<name>[^`]+)` in (?P<known>`.*`)", _field),
        (r'^Can\'t extract a value from .* but got "(?P<type>[^"]+)"', _no_parts),
        (
            (
                r"^(?P<what>\w+) can only be performed on tables with compatible column types\. The"
                r' (?P<place>\S+) column of the \S+ table is "(?P<type>[^"]+)" type which is not'
                r' compatible with "(?P<other>[^"]+)"'
            ),
            _set_types,
        ),
        (
            (
                r"^(?P<what>\w+) can only be performed on inputs with the same number of columns,"
                r" but the first input has (?P<first>\d+) columns? and"
                r" the \S+ input has (?P<second>\d+)"
            ),
            _set_columns,
        ),
        (r'^Window function "(?P<what>.+)" requires an OVER clause', _no_over),
        (r"^The value of parameter\(s\) `regexp` in `\w+` is invalid: (?P<value>.*)$", _pattern),
        (r"^Text (?P<value>'.*') could not be parsed at index \d+", _moment),
        (
            (
                r"^USING column `(?P<name>[^`]+)` cannot be resolved on the (?P<side>left|right)"
                r" side of the join\. The \w+-side columns: \[(?P<known>.*)\]"
            ),
            _joined,
        ),
        (r"^Syntax error at or near (?P<near>.*?)\.?\s*(?:\(line|$)", _unread),
    )
)
