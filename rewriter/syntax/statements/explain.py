"""EXPLAIN, recognised by its tokens: sqlglot knows it in few dialects.

EXPLAIN [PLAN FOR] [ANALYZE] [VERBOSE] statement
EXPLAIN (option [value], ..) statement

Options other than ANALYZE are those of PostgreSQL, and of its dialect.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.store_plan import ExplainOptions, PlanFormat
from rewriter.name_resolution import token_position

_QUERY = frozenset({"SELECT", "WITH", "FROM", "VALUES", "("})
"""How a query in parentheses begins, which is no option."""
_TRUTH = {"": True, "TRUE": True, "ON": True, "1": True, "FALSE": False, "OFF": False, "0": False}
_FLAGS = (
    "analyze", "verbose", "costs", "settings", "generic_plan", "buffers", "serialize", "wal",
    "timing", "summary", "memory",
)  # fmt: skip
_NEWER = frozenset({"generic_plan", "serialize", "memory"})
"""Options of PostgreSQL 16 and 17, which may be off alone."""
_OF_ALL_DIALECTS = frozenset({"analyze", "verbose"})
_MEASURED = frozenset({"timing", "wal"})
"""Options that tell nothing of a query that does not run."""


def explained(tokens: list[Token], dialect: str) -> tuple[list[Token], ExplainOptions]:
    """The tokens of the statement that is to be explained, and how it is.

    Raises SYNTAX for an unknown option and for no statement, SETTING_VALUE for a wrong value, and
    NOT_SUPPORTED for options of another dialect.
    """
    words = [t.text.upper() for t in tokens]
    if words[1:2] == ["("] and words[2:3] and words[2] not in _QUERY:
        end = words.index(")") if ")" in words else len(words)
        rest = tokens[end + 1 :]
        given = _listed(tokens[2:end])
    else:
        given, rest = _leading(tokens[1:])
    if [t.text.upper() for t in rest[:2]] == ["PLAN", "FOR"]:
        rest = rest[2:]
    if not rest:
        raise PalimpsestError(
            Code.SYNTAX,
            "EXPLAIN needs a statement",
            advice="write a query, or a statement that writes, behind it",
            position=token_position(tokens[0]),
        )
    return rest, _options(given, dialect)


def _leading(tokens: list[Token]) -> tuple[dict[str, tuple[str, Token]], list[Token]]:
    """ANALYZE and VERBOSE in front of the statement, and the tokens behind them."""
    given: dict[str, tuple[str, Token]] = {}
    for place, name in enumerate(("ANALYZE", "VERBOSE")):
        word = tokens[0].text.upper() if tokens else ""
        if word == name or (word, place) == ("ANALYSE", 0):
            given[name.lower()] = ("", tokens[0])
            tokens = tokens[1:]
    return given, tokens


def _listed(tokens: Sequence[Token]) -> dict[str, tuple[str, Token]]:
    """The options between parentheses: their values as words, and where they stand."""
    given: dict[str, tuple[str, Token]] = {}
    option: list[Token] = []
    for token in (*tokens, None):
        if token is not None and token.text != ",":
            option.append(token)
            continue
        if option:
            name = option[0].text.lower().replace("analyse", "analyze")
            given[name] = (" ".join(t.text for t in option[1:]), option[0])
        option = []
    return given


def _options(given: dict[str, tuple[str, Token]], dialect: str) -> ExplainOptions:
    """The options as a value."""
    is_postgres = dialect == "postgres"
    chosen: dict[str, bool] = {}
    written = PlanFormat.TEXT if is_postgres else PlanFormat.OWN
    for name, (value, token) in given.items():
        if name == "format":
            if (found := _format(value, token)) is not PlanFormat.TEXT:
                _check_dialect(is_postgres, f"FORMAT {value.upper()}", token)
                written = found
            continue
        chosen[name] = on = _flag(name, value, token)
        if name not in _OF_ALL_DIALECTS and on:
            _check_dialect(is_postgres, name.upper(), token)
        if on and name in _NEWER:
            raise _refused(name.upper(), token, "leave it out: it tells of PostgreSQL 16 and later")
    for name in _MEASURED:
        if chosen.get(name) and not chosen.get("analyze"):
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"EXPLAIN option {name.upper()} requires ANALYZE",
                advice=f"write EXPLAIN (ANALYZE, {name.upper()}) ..",
                position=token_position(given[name][1]),
            )
    return ExplainOptions(
        **{name: on for name, on in chosen.items() if name not in _NEWER}, format=written
    )


def _flag(name: str, value: str, token: Token) -> bool:
    if name not in _FLAGS:
        near = get_close_matches(name, (*_FLAGS, "format"), 1)
        raise PalimpsestError(
            Code.SYNTAX,
            f'unrecognized EXPLAIN option "{name}"',
            advice=f"did you mean {near[0].upper()}?"
            if near
            else f"the options are {', '.join((*_FLAGS, 'format')).upper()}",
            position=token_position(token),
        )
    if value.upper() not in _TRUTH:
        raise PalimpsestError(
            Code.SYNTAX,
            f"{name} requires a Boolean value, not {value}",
            advice="give TRUE or FALSE, ON or OFF, 1 or 0, or nothing for TRUE",
            position=token_position(token),
        )
    return _TRUTH[value.upper()]


def _format(value: str, token: Token) -> PlanFormat:
    named = (f for f in PlanFormat if f is not PlanFormat.OWN and f.value == value.lower())
    found = next(named, None)
    if found is None:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f'unrecognized value for EXPLAIN option "format": "{value}"',
            advice="it is TEXT, JSON, XML or YAML",
            position=token_position(token),
        )
    return found


def _check_dialect(is_postgres: bool, option: str, token: Token) -> None:
    if not is_postgres:
        raise _refused(option, token, "the postgres dialect has it; other dialects take ANALYZE")


def _refused(option: str, token: Token, advice: str) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"EXPLAIN ({option}) is not supported",
        advice=advice,
        position=token_position(token),
    )
