"""Upkeep in SQL: jobs and legal holds, each read as the procedure of ``system`` it stands for.

    OPTIMIZE [TABLE] t [FULL]                          system.compact
    VACUUM [[TABLE] t] [RETAIN 7 DAYS] [DRY RUN]       system.vacuum
    ANALYZE [VERBOSE] [TABLE] [t [(columns)]]          what the store's optimizer knows is renewed
    VACUUM ANALYZE [t]                                 the same
    VACUUM FULL|FREEZE|VERBOSE|(..) [t]                nothing, as CHECKPOINT [database]
    CLUSTER [VERBOSE] [t]                              nothing
    REINDEX [(..)] TABLE [CONCURRENTLY] t              nothing
    PLACE HOLD ON t [WHERE ..] REASON '..'             system.hold
    PLACE HOLD [ON t] FOR SUBJECT email = '..' REASON '..'
    RELEASE HOLD 'id'                                  system.release

Recognised by tokens. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position
from rewriter.statement import Call, StoreUpkeep

Parse = Callable[..., exp.Expr]


def optimize(tokens: list[Token], parse: Parse) -> Call:
    """Compaction of one table; FULL asks for a major one."""
    rest = _after_table_word(tokens)
    arguments: dict[str, exp.Expr] = {}
    if len(rest) > 1 and rest[-1].text.upper() == "FULL":
        arguments["mode"] = exp.Literal.string("major")
        rest = rest[:-1]
    return _call("system.compact", {"table": _table(rest, tokens[0], parse), **arguments})


def checkpoint(tokens: list[Token], parse: Parse) -> StoreUpkeep | None:
    """[FORCE] CHECKPOINT [database]; None for anything else that begins with FORCE."""
    rest = tokens[1:]
    if tokens[0].text.upper() == "FORCE":
        if not rest or rest[0].text.upper() != "CHECKPOINT":
            return None
        rest = rest[1:]
    if len(rest) > 1:
        raise _syntax_error(rest[1], "CHECKPOINT takes one database")
    return StoreUpkeep("CHECKPOINT", database=rest[0].text if rest else None)


def analyze(tokens: list[Token], parse: Parse) -> StoreUpkeep:
    """ANALYZE, with or without a table; of some columns it is that of all."""
    rest = _after_options(tokens[1:])
    words = {t.text.upper() for t in tokens[: len(tokens) - len(rest)]}
    if rest[:1] and rest[0].text.upper() == "TABLE" and len(rest) > 1:
        rest = rest[1:]
    behind = [t.text.upper() for t in rest]
    # What statistics, in Hive's and Spark's words.
    ends = (behind.index(word) for word in ("(", "COMPUTE", "PARTITION") if word in behind)
    rest = rest[: min(ends, default=len(rest))]
    table = _named_table(rest, parse) if rest else None
    return StoreUpkeep(tokens[0].text.upper(), table, analyzes=bool(words & _ANALYZE))


def cluster(tokens: list[Token], parse: Parse) -> StoreUpkeep:
    """CLUSTER [t [USING i]]."""
    rest = _after_options(tokens[1:])
    using = next((i for i, t in enumerate(rest) if t.text.upper() == "USING"), len(rest))
    index = _named_table(rest[using + 1 :], parse) if using + 1 < len(rest) else None
    table = _named_table(rest[:using], parse) if using else None
    return StoreUpkeep("CLUSTER", table, index=index)


def reindex(tokens: list[Token], parse: Parse) -> StoreUpkeep | None:
    """REINDEX TABLE | INDEX | SCHEMA | DATABASE | SYSTEM [CONCURRENTLY] name; None for no kind."""
    rest = _after_options(tokens[1:])
    kind = rest[0].text.upper() if rest else ""
    named = rest[2 if _is_concurrent(rest) else 1 :]
    if kind in {"DATABASE", "SYSTEM"} and len(named) < 2:
        return StoreUpkeep("REINDEX", database=named[0].text if named else None)
    if not named:
        return None
    match kind:
        case "TABLE":
            return StoreUpkeep("REINDEX", _named_table(named, parse))
        case "INDEX":
            return StoreUpkeep("REINDEX", index=_named_table(named, parse))
        case "SCHEMA":
            schema = exp.Table(db=_named_table(named, parse).this)
            return StoreUpkeep("REINDEX", schema=schema)
        case _:
            return None


def _is_concurrent(rest: list[Token]) -> bool:
    return len(rest) > 1 and rest[1].text.upper() == "CONCURRENTLY"


def _named_table(tokens: list[Token], parse: Parse) -> exp.Table:
    found = parse(tokens, exp.Table)
    if not isinstance(found, exp.Table) or set(found.args) - {"this", "db", "catalog"}:
        raise _syntax_error(tokens[-1], "one table was expected")
    return found


_ANALYZE = frozenset({"ANALYZE", "ANALYSE"})
_OPTIONS = _ANALYZE | {"FULL", "FREEZE", "VERBOSE"}


def _after_options(tokens: list[Token]) -> list[Token]:
    """What stands behind the options of VACUUM and ANALYZE, which PostgreSQL puts in brackets."""
    if tokens and tokens[0].text == "(":
        end = next((i for i, t in enumerate(tokens) if t.text == ")"), len(tokens) - 1)
        return tokens[end + 1 :]
    while tokens and tokens[0].text.upper() in _OPTIONS:
        tokens = tokens[1:]
    return tokens


def vacuum(tokens: list[Token], parse: Parse) -> Call | StoreUpkeep:
    """Removal of retired segments that are older than the time to retain them."""
    rest = list(tokens[1:])
    if _after_options(rest) != rest:
        return analyze(tokens, parse)
    arguments: dict[str, exp.Expr] = {}
    words = [t.text.upper() for t in rest]
    if words[-2:] == ["DRY", "RUN"]:
        arguments["dry_run"] = exp.true()
        rest, words = rest[:-2], words[:-2]
    if "RETAIN" in words:
        place = words.index("RETAIN")
        limit = rest[place + 1 :]
        if len(limit) not in {1, 2}:
            raise _syntax_error(rest[place], "RETAIN takes a number and a unit: RETAIN 7 DAYS")
        arguments["retain"] = exp.Literal.string(" ".join(t.text for t in limit))
        rest = rest[:place]
    if rest:
        arguments["table"] = _table(_after_table_word([tokens[0], *rest]), tokens[0], parse)
    return _call("system.vacuum", arguments)


def place_hold(tokens: list[Token], parse: Parse) -> Call | None:
    """PLACE HOLD; None for anything else that begins with this word."""
    words = [t.text.upper() for t in tokens]
    if words[1:2] != ["HOLD"]:
        return None
    if words[-2:-1] != ["REASON"] or tokens[-1].token_type is not TokenType.STRING:
        raise _syntax_error(tokens[-1], "PLACE HOLD needs REASON and a text in quotes at its end")
    arguments: dict[str, exp.Expr] = {"reason": exp.Literal.string(tokens[-1].text)}
    rest, words = tokens[2:-2], words[2:-2]
    if "WHERE" in words:
        start = words.index("WHERE")
        if not rest[start + 1 :]:
            raise _syntax_error(rest[start], "WHERE needs a condition")
        query = parse([_token_like(tokens[0], "SELECT"), *rest[start:]])
        if any(value for name, value in query.args.items() if name != "where"):
            raise _syntax_error(rest[start], "one condition was expected")
        # As it was read: a text would be read once more, in the client's dialect.
        arguments["where"] = query.args["where"]
        rest, words = rest[:start], words[:start]
    subject = next((i for i, w in enumerate(words) if words[i : i + 2] == ["FOR", "SUBJECT"]), None)
    if subject is not None:
        given = rest[subject + 2 :]
        if len(given) != 3 or given[1].text != "=":
            raise _syntax_error(rest[subject], "FOR SUBJECT needs a column, = and a value")
        arguments["subject"] = exp.Literal.string(f"{given[0].text}={given[2].text}")
        rest, words = rest[:subject], words[:subject]
    if words[:1] == ["ON"]:
        arguments["table"] = _table(_after_table_word(rest), tokens[0], parse)
    elif rest:
        raise _syntax_error(rest[0], "PLACE HOLD needs ON a table, or FOR SUBJECT")
    return _call("system.hold", arguments)


def release_hold(tokens: list[Token]) -> Call | None:
    """RELEASE HOLD 'id'; None for RELEASE of a savepoint."""
    if len(tokens) != 3 or tokens[1].text.upper() != "HOLD":
        return None
    return _call("system.release", {"hold": exp.Literal.string(tokens[2].text)})


def _call(procedure: str, arguments: dict[str, exp.Expr]) -> Call:
    return Call(procedure, tuple(arguments.items()))


def _after_table_word(tokens: Sequence[Token]) -> list[Token]:
    rest = list(tokens[1:])
    return rest[1:] if len(rest) > 1 and rest[0].text.upper() == "TABLE" else rest


def _table(tokens: Sequence[Token], at: Token, parse: Parse) -> exp.Literal:
    """A table's name as the text that procedures take."""
    if not tokens:
        raise _syntax_error(at, "a table was expected behind")
    found = parse(list(tokens), exp.Table)
    plain = isinstance(found, exp.Table) and not set(found.args) - {"this", "db", "catalog"}
    shown = found.parts if isinstance(found, exp.Table) else []
    if not plain and len(tokens) not in {1, 3}:
        raise _syntax_error(tokens[-1], "one table was expected")
    return exp.Literal.string(".".join(part.name for part in shown))


def _token_like(token: Token, word: str) -> Token:
    return Token(TokenType.SELECT, word, token.line, token.col, token.start, token.end)


def _syntax_error(token: Token, message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        f'{message} near "{token.text}"',
        advice="see docs/jobs.md for the form",
        position=token_position(token),
    )
