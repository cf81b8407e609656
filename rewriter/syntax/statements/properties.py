"""Properties and policies of a table, as actions of ALTER TABLE, recognised by their tokens.

    SET POLICY (RETENTION = 90 DAYS ON COLUMN ds ACTION = DELETE, HISTORY = 7 YEARS)
    SET POLICY (REPLICATION = (TO 'profile', EVERY 2 HOURS, DELAY 1 HOUR))
    UNSET POLICY [(RETENTION, ..)]
    SET (name = value, ..)      SET TBLPROPERTIES (..)      SET PROPERTIES (..)
    RESET (name, ..)            UNSET TBLPROPERTIES [IF EXISTS] (name, ..)

A policy is a set of properties ``policy_...``. All become one ``exp.AlterSet`` of ``exp.Property``,
in which a property without a value is taken away. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from journal.model.policy import NAMES, NONE, PREFIX, SCHEDULE, rule_of
from journal.model.replication import read_replications, write_replications
from rewriter.name_resolution import token_position
from rewriter.syntax.tokens import tokenize

Assignment = tuple[str, str | None]
_PROPERTIES = frozenset({"TBLPROPERTIES", "PROPERTIES"})
EVERYTHING = f"{PREFIX}*"
"""Stands for every property of a policy where one is taken away."""


def properties_action(part: Sequence[Token]) -> exp.AlterSet | None:
    """The action if it sets or takes away properties, else None."""
    words = [t.text.upper() for t in part]
    match words:
        case ["SET", "POLICY", *_]:
            return _action(_policy(_split_items(part, 2)), part[0])
        case ["UNSET", "POLICY"]:
            return _action([(EVERYTHING, None)], part[0])
        case ["UNSET", "POLICY", *_]:
            named = _policy_names(_split_items(part, 2))
            return _action([(name, None) for name in named], part[0])
        case ["SET", "(", *_]:
            return _action(_assignments(_split_items(part, 1)), part[0])
        case ["SET", word, "(", *_] if word in _PROPERTIES:
            return _action(_assignments(_split_items(part, 2)), part[0])
        case ["RESET", "(", *_]:
            return _action(_read_names(_split_items(part, 1)), part[0])
        case ["UNSET", word, "IF", "EXISTS", *_] if word in _PROPERTIES:
            return _action(_read_names(_split_items(part, 4)), part[0])
        case ["UNSET", word, *_] if word in _PROPERTIES:
            return _action(_read_names(_split_items(part, 2)), part[0])
        case _:
            return None


def policy_action(rules: Mapping[str, str]) -> exp.AlterSet:
    """The action that states rules of a policy, by name with the text that SET POLICY takes.

    The clauses of REPLICATION may stand without their parentheses, as policies show them. Raises
    POLICY or SYNTAX for a text that is not the value of this one rule.
    """
    found: list[exp.Expr] = []
    for name, text in rules.items():
        if name.upper() == "REPLICATION" and text.strip().upper().startswith("TO "):
            text = f"({text})"
        is_line = name.upper().startswith(SCHEDULE.upper()) and text.upper() != NONE.upper()
        value = exp.Literal.string(text).sql() if is_line else text
        tokens = tokenize(f"SET POLICY ({name} = {value})", "duckdb")
        action = properties_action(tokens)
        made = [] if action is None else action.expressions
        if not made or {rule_of(one.name) for one in made} != {name.upper()}:
            raise _syntax_error(tokens[-1], f"{text} is no value of {name}")
        found += made
    return exp.AlterSet(expressions=found)


def _split_items(part: Sequence[Token], start: int) -> list[list[Token]]:
    """The items between the parentheses that begin at ``start``."""
    if len(part) < start + 3 or part[start].text != "(" or part[-1].text != ")":
        raise _syntax_error(part[-1], "a list in parentheses was expected")
    items: list[list[Token]] = [[]]
    depth = 0
    for token in part[start + 1 : -1]:
        depth += (token.text in "([{") - (token.text in ")]}")
        if depth == 0 and token.token_type is TokenType.COMMA:
            items.append([])
        else:
            items[-1].append(token)
    for item in items:
        if not item:
            raise _syntax_error(part[-1], "something is missing beside a comma")
    return items


def _action(assignments: Sequence[Assignment], at: Token) -> exp.AlterSet:
    found = []
    names = [name.casefold() for name, _ in assignments]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise _syntax_error(at, f"{twice.removeprefix(PREFIX)} is set twice")
    for name, value in assignments:
        given = None if value is None else exp.Literal.string(value)
        found.append(exp.Property(this=exp.Literal.string(name), value=given))
    return exp.AlterSet(expressions=found)


def _assignments(items: list[list[Token]]) -> list[Assignment]:
    found: list[Assignment] = []
    for item in items:
        name, rest = _name(item)
        if len(rest) != 1:
            raise _syntax_error(item[-1], "one value was expected")
        found.append((name, rest[0].text))
    return found


def _name(item: list[Token]) -> tuple[str, list[Token]]:
    """The name before the equals sign, and the tokens after the sign."""
    place = next((i for i, t in enumerate(item) if t.token_type is TokenType.EQ), None)
    if not place or place + 1 == len(item):
        raise _syntax_error(item[0], "name = value was expected")
    return "".join(t.text for t in item[:place]), item[place + 1 :]


def _read_names(items: list[list[Token]]) -> list[Assignment]:
    return [("".join(t.text for t in item), None) for item in items]


def _policy(items: list[list[Token]]) -> list[Assignment]:
    return [assignment for item in items for assignment in _policy_item(item)]


def _policy_item(item: list[Token]) -> Iterator[Assignment]:
    name, rest = _name(item)
    name = name.upper()
    if name == "REPLICATION":
        yield f"{PREFIX}replication", _replication(rest)
        return
    if name != "RETENTION":
        yield _property_name(name, item[0]), _value(rest)
        return
    words = [t.text.upper() for t in rest]
    acts = words.index("ACTION") if "ACTION" in words else len(words)
    on = words.index("ON") if "ON" in words else acts
    limit = _value(rest[:on])
    if limit == NONE:
        if on < len(words):
            raise _syntax_error(rest[on], "RETENTION = NONE takes nothing else")
        yield from ((name, NONE if name == f"{PREFIX}retention" else None) for name in _RETENTION)
        return
    yield f"{PREFIX}retention", limit
    if on < acts:
        column = rest[on + 1 : acts]
        if len(column) == 2 and column[0].text.upper() == "COLUMN":
            column = column[1:]
        if len(column) != 1:
            raise _syntax_error(rest[on], "ON COLUMN takes one column")
        yield f"{PREFIX}retention_column", column[0].text
    action = rest[acts + 1 :]
    if acts < len(words) and (len(action) != 2 or action[0].token_type is not TokenType.EQ):
        raise _syntax_error(rest[acts], "ACTION = DELETE or ACTION = ARCHIVE was expected")
    yield f"{PREFIX}retention_action", action[1].text.upper() if action else "DELETE"


_RETENTION = tuple(f"{PREFIX}{name}" for name in NAMES if name.startswith("retention"))


def _replication(tokens: Sequence[Token]) -> str:
    """The clauses in parentheses, or without them, in one canonical text."""
    if len(tokens) > 1 and tokens[0].text == "(" and tokens[-1].text == ")":
        tokens = tokens[1:-1]
    if len(tokens) == 1 and tokens[0].text.upper() in {"NONE", "NULL"}:
        return NONE
    words = []
    for token in tokens:
        is_text = token.token_type is TokenType.STRING
        words.append("'" + token.text.replace("'", "''") + "'" if is_text else token.text)
    text = " ".join(words).replace(" , ", ", ")
    return write_replications(read_replications(text))


def _policy_names(items: list[list[Token]]) -> Iterator[str]:
    for item in items:
        name = "".join(t.text for t in item).upper()
        if name == "RETENTION":
            yield from _RETENTION
        else:
            yield _property_name(name, item[0])


def _value(tokens: Sequence[Token]) -> str:
    """The text of a value; NONE for NONE and NULL, with which no wider scope counts."""
    if not tokens:
        raise PalimpsestError(Code.SYNTAX, "a policy needs a value", advice=_ADVICE)
    if len(tokens) == 1 and tokens[0].text.upper() in {"NONE", "NULL"}:
        return NONE
    return " ".join(t.text for t in tokens)


def _property_name(name: str, at: Token) -> str:
    key = name.lower()
    if key.startswith(SCHEDULE) or (key in NAMES and not key.startswith("retention_")):
        return f"{PREFIX}{key}"
    raise PalimpsestError(
        Code.POLICY,
        f'there is no policy "{name}"',
        advice=_ADVICE,
        position=token_position(at),
    )


_ADVICE = (
    "there are RETENTION = 90 DAYS ON COLUMN ds ACTION = DELETE | ARCHIVE, "
    + ", ".join(n.upper() for n in NAMES if not n.startswith("retention"))
    + " and SCHEDULE_<kind of job>"
)


def _syntax_error(token: Token, message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        f'{message} near "{token.text}"',
        advice="see docs/jobs.md for the form",
        position=token_position(token),
    )
