"""Statements that sqlglot does not parse, or parses as something else, recognised by their tokens.

Transactions and savepoints, settings, CALL, RESTORE; and spellings that are normalised
before sqlglot sees them. Each recogniser looks at whole tokens, never at text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.dialect_semantics import VARIABLE
from rewriter.name_resolution import token_position
from rewriter.statement import (
    Begin,
    Call,
    Commit,
    Release,
    Restore,
    Rollback,
    Savepoint,
    SetSetting,
    SqlStatement,
    Statement,
)
from rewriter.statements.own_statement import OWN, read_own
from rewriter.syntax.clause_order import aliases_last
from rewriter.syntax.statements import show, upkeep
from rewriter.syntax.statements.absent_objects import recognise_absent
from rewriter.syntax.statements.alter import recognise_alter
from rewriter.syntax.statements.alter_storage import storage_of_index
from rewriter.syntax.statements.blame import recognise_blame
from rewriter.syntax.statements.comment import recognise_comment
from rewriter.syntax.statements.constraints import set_constraints
from rewriter.syntax.statements.copy_options import spell_out_copy
from rewriter.syntax.statements.drop_schema import recognise_drop_schema
from rewriter.syntax.statements.erase import recognise_erase
from rewriter.syntax.statements.extension import recognise_extension
from rewriter.syntax.statements.grants import recognise_default_privileges, recognise_grant
from rewriter.syntax.statements.materialized import recognise_materialized
from rewriter.syntax.statements.prepared import deallocate, execute, parsed_arguments
from rewriter.syntax.statements.roles import recognise_reassign, recognise_role
from rewriter.syntax.statements.scoped_policies import recognise_scoped_policy
from rewriter.syntax.statements.session_calls import discard, lock_tables, notify, unlisten
from rewriter.syntax.statements.table_policies import recognise_table_policy
from rewriter.syntax.statements.tags import recognise_tags


class ParseTokens(Protocol):
    """Parses part of a statement with sqlglot."""

    def __call__(self, part: list[Token], into: type[exp.Expr] | None = None) -> exp.Expr:
        """The AST of the tokens."""


Recogniser = Callable[[list[Token], ParseTokens], Statement | None]


def recognise(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    """The statement if it is one of this module's, or of ``rewriter/own``; else None."""
    own = read_own(tokens, parse)
    recogniser = _RECOGNISERS.get(tokens[0].text.upper())
    return own if own is not None or recogniser is None else recogniser(tokens, parse)


def first_words() -> frozenset[str]:
    """The words with which statements begin that are recognised here."""
    return frozenset(_RECOGNISERS) | {words.split()[0] for words in OWN}


def normalise(tokens: list[Token]) -> list[Token]:
    """Spellings sqlglot does not know, put into ones it does: FOR SYSTEM_VERSION -> FOR VERSION."""
    if tokens[0].text.upper() == "COMMENT" and tokens[-1].token_type is TokenType.NULL:
        tokens = [*tokens[:-1], _token_like(tokens[-1], TokenType.STRING, "")]
    if tokens[0].text.upper() == "COPY":
        tokens = spell_out_copy(tokens)
    if tokens[0].text.upper() == "CREATE" and _words(tokens[-2:]) == ["WITHOUT", "OIDS"]:
        # What every table of PostgreSQL is, since version 12.
        tokens = tokens[:-2]
    travels = False
    for token in tokens:
        if token.text[:7].upper() == "SYSTEM_":
            travels = True
            break
    if not travels:
        return tokens
    tokens = aliases_last(tokens)
    return [
        _token_like(token, TokenType.VAR, "VERSION")
        if token.text.upper() == "SYSTEM_VERSION" and i and tokens[i - 1].text.upper() == "FOR"
        else token
        for i, token in enumerate(tokens)
    ]


def _words(tokens: Sequence[Token]) -> list[str]:
    return [t.text.upper() for t in tokens]


def _name(tokens: Sequence[Token]) -> str:
    if len(tokens) != 1:
        raise _syntax_error(tokens[1] if len(tokens) > 1 else None, "one name was expected")
    return tokens[0].text


def _syntax_error(token: Token | None, message: str) -> PalimpsestError:
    position = None
    if token is not None:
        position = token_position(token)
        message = f'{message} near "{token.text}"'
    return PalimpsestError(
        Code.SYNTAX, message, advice="check the statement at this place", position=position
    )


_LEVELS_THERE = frozenset(
    f"ISOLATION LEVEL {level}"
    for level in ("REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED")
)
_UNITS = frozenset({"TRANSACTION", "WORK"})


def _begin(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    words = _words(tokens)
    rest = [w for w in words[1:] if w not in {"TRANSACTION", "WORK", ","}]
    if words[0] == "START" and words[1:2] != ["TRANSACTION"]:
        return None
    text = " ".join(rest)
    if "ISOLATION LEVEL SERIALIZABLE" in text:
        raise _not_serializable(tokens[-1])
    for level in (
        "REPEATABLE READ",
        "READ COMMITTED",
        "READ UNCOMMITTED",
        "SNAPSHOT",
    ):
        text = text.replace(f"ISOLATION LEVEL {level}", "")
    # Nothing waits for a snapshot, so that none need be deferred.
    text = text.replace("NOT DEFERRABLE", "").replace("DEFERRABLE", "")
    text = " ".join(text.split())
    if text in {"", "DEFERRED", "IMMEDIATE"}:
        return Begin()
    if text in {"READ ONLY", "READ WRITE"}:
        return Begin(read_only=text == "READ ONLY")
    raise _syntax_error(tokens[-1], "BEGIN takes READ ONLY or READ WRITE")


def _commit(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    rest, chains = _chain([t for t in tokens[1:] if t.text.upper() not in _UNITS])
    if not rest:
        return Commit(chains)
    raise _syntax_error(tokens[1], "COMMIT takes nothing else")


def _rollback(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    rest, chains = _chain([t for t in tokens[1:] if t.text.upper() not in _UNITS])
    if not rest:
        return Rollback(chains=chains)
    if rest[0].text.upper() != "TO":
        raise _syntax_error(rest[0], "ROLLBACK takes TO and a savepoint")
    after = rest[1:]
    if len(after) > 1 and after[0].text.upper() == "SAVEPOINT":
        after = after[1:]
    return Rollback(_name(after))


def _chain(tokens: list[Token]) -> tuple[list[Token], bool]:
    """The tokens without AND [NO] CHAIN behind them, and whether a transaction is to follow."""
    words = _words(tokens)
    if words[-3:] == ["AND", "NO", "CHAIN"]:
        return tokens[:-3], False
    return (tokens[:-2], True) if words[-2:] == ["AND", "CHAIN"] else (tokens, False)


def _savepoint(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    return Savepoint(_name(tokens[1:])) if len(tokens) == 2 else None


def _release(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    held = upkeep.release_hold(tokens)
    if held is not None:
        return held
    rest = tokens[1:]
    if len(rest) > 1 and rest[0].text.upper() == "SAVEPOINT":
        rest = rest[1:]
    return Release(_name(rest))


def _set(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    rest = tokens[1:]
    local = _words(rest[:1]) == ["LOCAL"]
    while rest and rest[0].text.upper() in {"SESSION", "LOCAL", "GLOBAL"} and len(rest) > 2:
        rest = rest[1:]
    words = _words(rest)
    if words[:1] == ["CONSTRAINTS"] and len(words) > 2:
        return set_constraints(rest)
    if "TRANSACTION" in words[:3] and words[0] in {"TRANSACTION", "CHARACTERISTICS"}:
        return _set_transaction(tokens, rest)
    if words[:2] == ["TIME", "ZONE"] and len(rest) > 2:
        return SetSetting("timezone", _zone(rest[2:], parse), local)
    if words == ["AUTHORIZATION", "DEFAULT"]:
        return SetSetting("role", None)
    if len(rest) == 2 and words[0] in _WITHOUT_SIGN and words[1] != "=":
        return SetSetting(_WITHOUT_SIGN[words[0]], _setting_value(rest[1:], parse), local)
    split = next((i for i, t in enumerate(rest) if t.text.upper() in {"=", "TO"}), None)
    if not split:
        raise _syntax_error(tokens[-1], "SET needs a name, = and a value")
    is_variable = words[0] == "VARIABLE" and split > 1
    name = VARIABLE + rest[1].text if is_variable else "".join(t.text for t in rest[:split])
    value = rest[split + 1 :]
    if not value:
        raise _syntax_error(tokens[-1], "SET needs a value")
    several = name.upper() in {"SEARCH_PATH", "DATESTYLE"}
    local = local or name.upper() == "TRANSACTION_READ_ONLY"
    return SetSetting(name, _setting_value(value, parse, several=several), local)


def _zone(value: list[Token], parse: ParseTokens) -> exp.Expr | None:
    """The zone of SET TIME ZONE: a name, hours ahead of Greenwich, or an INTERVAL of them."""
    words = _words(value)
    if words[0] == "INTERVAL" and len(value) > 1:
        # Hours alone count by the signs of ISO in every dialect, as an interval does.
        return exp.Literal.string(value[1].text.removesuffix(":00"))
    sign = words[0] if words[0] in {"+", "-"} else ""
    if value[-1].token_type is TokenType.NUMBER and len(value) == 1 + bool(sign):
        return exp.Literal.string(f"{sign or '+'}{value[-1].text}")
    return _setting_value(value, parse)


def _set_transaction(tokens: list[Token], rest: list[Token]) -> Statement:
    """SET TRANSACTION and SET SESSION CHARACTERISTICS AS TRANSACTION, with one mode or two.

    Beside READ ONLY or READ WRITE a level of isolation that transactions have anyway is left out.
    """
    words = _words(rest)
    mode = " ".join(words[words.index("TRANSACTION") + 1 :])
    default = "default_" if words[0] == "CHARACTERISTICS" else ""
    modes = {part.strip() for part in mode.split(",")}
    if len(modes) > 1:
        mode = ", ".join(modes - _LEVELS_THERE - {"NOT DEFERRABLE"})
    if mode.startswith("ISOLATION LEVEL "):
        level = mode.removeprefix("ISOLATION LEVEL ").lower()
        return SetSetting(f"{default}transaction_isolation", exp.Literal.string(level))
    if mode in {"READ ONLY", "READ WRITE"}:
        value = "on" if mode == "READ ONLY" else "off"
        name = f"{default}transaction_read_only"
        return SetSetting(name, exp.Literal.string(value), local=not default)
    raise _syntax_error(
        tokens[-1], "SET TRANSACTION takes ISOLATION LEVEL and a level, READ ONLY or READ WRITE"
    )


def _not_serializable(token: Token) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        "ISOLATION LEVEL SERIALIZABLE is not supported: transactions read a snapshot",
        advice="use REPEATABLE READ, and claim what must stay as you read it: SELECT .. FOR UPDATE",
        position=token_position(token),
    )


_WITHOUT_SIGN = {"SCHEMA": "schema", "NAMES": "client_encoding", "ROLE": "role"}
"""Settings whose value stands behind the name without a sign, and their names."""


def _pragma(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    """PRAGMA name = value is a SET; others list something, or switch it on."""
    words = [t.text.lower() for t in tokens[1:]]
    if words[0] == "table_info" and words[1:2] == ["("]:
        called = Token(TokenType.VAR, "pragma_table_info", tokens[1].line, tokens[1].col)
        return SqlStatement(parse([*_select_all(tokens[0]), called, *tokens[2:]]))
    if words == ["show_tables"]:
        return show.show([tokens[0], _token_like(tokens[0], TokenType.VAR, "TABLES")], parse)
    if len(tokens) == 2:
        return SetSetting(tokens[1].text, exp.true())
    return _set(tokens, parse) if tokens[2:3] and tokens[2].text == "=" else None


def _select_all(like: Token) -> list[Token]:
    words = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))
    return [_token_like(like, kind, text) for kind, text in words]


def _setting_value(
    value: list[Token], parse: ParseTokens, *, several: bool = False
) -> exp.Expr | None:
    """The value of a setting; None for DEFAULT, a tuple where there may be ``several``."""
    if len(value) == 1 and value[0].text.upper() == "DEFAULT":
        return None
    if len(value) == 1 and value[0].text.upper() == "ON":
        return exp.Literal.string(value[0].text)
    select = _token_like(value[0], TokenType.SELECT, "SELECT")
    values: list[exp.Expr] = parse([select, *value]).expressions
    if several and len(values) > 1:
        return exp.Tuple(expressions=values)
    if len(values) != 1:
        raise _syntax_error(value[-1], "SET takes one value")
    return values[0]


def _use(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    rest = tokens[1:]
    if len(rest) > 1 and rest[0].text.upper() in {"SCHEMA", "DATABASE"}:
        rest = rest[1:]
    return SetSetting("schema", _table(rest, parse)) if len(rest) in {1, 3} else None


def _reset(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    if _words(tokens[1:2]) == ["VARIABLE"] and len(tokens) == 3:
        return SetSetting(VARIABLE + tokens[2].text, None, tag="RESET")
    if _words(tokens[1:]) == ["SESSION", "AUTHORIZATION"]:
        return SetSetting("role", None, tag="RESET")
    return SetSetting("".join(t.text for t in tokens[1:]), None, tag="RESET")


def _call(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    opening = next((i for i, t in enumerate(tokens) if t.text == "("), None)
    if opening is None or tokens[-1].text != ")":
        raise _syntax_error(tokens[-1], "CALL needs a procedure and arguments in parentheses")
    name = "".join(t.text for t in tokens[1:opening])
    return Call(name, parsed_arguments(tokens[opening + 1 : -1], parse))


def _alter(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    found: Statement | None = recognise_scoped_policy(tokens, parse)
    found = found or recognise_default_privileges(tokens, parse) or _definition(tokens, parse)
    found = found or recognise_table_policy(tokens, parse)
    found = found or recognise_tags(tokens, parse) or storage_of_index(tokens, parse)
    return found or recognise_alter(tokens, parse)


def _comment(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    return recognise_extension(tokens, parse) or recognise_comment(tokens, parse)


def _definition(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    of_role = recognise_role(tokens, parse)
    if of_role is not None:
        return of_role
    if tokens[0].text.upper() in {"CREATE", "DROP"}:
        found: Statement | None = recognise_extension(tokens, parse)
        found = found or recognise_absent(tokens, parse)
        found = found or recognise_drop_schema(tokens, parse)
        if found is not None:
            return found
    return recognise_materialized(tokens, parse)


def _restore(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    words = _words(tokens)
    if words[1:2] != ["TABLE"] or "TO" not in words:
        raise _syntax_error(tokens[-1], "RESTORE TABLE needs a table, TO and a point in time")
    to = words.index("TO")
    kind = words[to + 1] if to + 1 < len(words) else ""
    if kind not in {"VERSION", "TIMESTAMP"} or words[to + 2 : to + 4] != ["AS", "OF"]:
        raise _syntax_error(tokens[-1], "RESTORE TABLE needs TO VERSION|TIMESTAMP AS OF a point")
    end = words.index("WHERE") if "WHERE" in words else len(words)
    select = _token_like(tokens[0], TokenType.SELECT, "SELECT")
    point = _only_value([select, *tokens[to + 4 : end]], parse)
    where = _only_value([select, *tokens[end + 1 :]], parse) if end < len(words) else None
    return Restore(_table(tokens[2:to], parse), kind, point, where)


def _only_value(select: list[Token], parse: ParseTokens) -> exp.Expr:
    """The value behind a word SELECT that was put in front of it, and nothing else."""
    found = parse(select)
    others = [name for name, value in found.args.items() if value and name != "expressions"]
    if others or len(found.expressions) != 1:
        raise _syntax_error(select[-1], "one value was expected")
    value: exp.Expr = found.expressions[0]
    return value


def _table(tokens: list[Token], parse: ParseTokens) -> exp.Table:
    found = parse(list(tokens), exp.Table)
    assert isinstance(found, exp.Table)
    return found


def _token_like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)


_RECOGNISERS: dict[str, Recogniser] = {
    "BEGIN": _begin,
    "START": _begin,
    "COMMIT": _commit,
    "END": _commit,
    "ROLLBACK": _rollback,
    "ABORT": _rollback,
    "SAVEPOINT": _savepoint,
    "RELEASE": _release,
    "SET": _set,
    "RESET": _reset,
    "SHOW": show.show,
    "DESCRIBE": show.describe,
    "DESC": show.describe,
    "CALL": _call,
    "EXECUTE": execute,
    "DEALLOCATE": deallocate,
    "PRAGMA": _pragma,
    "BLAME": recognise_blame,
    "COMMENT": _comment,
    "REFRESH": recognise_materialized,
    "RESTORE": _restore,
    "USE": _use,
    "ALTER": _alter,
    "CREATE": _definition,
    "DROP": _definition,
    "ERASE": recognise_erase,
    "GRANT": recognise_grant,
    "REVOKE": recognise_grant,
    "REASSIGN": recognise_reassign,
    "OPTIMIZE": upkeep.optimize,
    "VACUUM": upkeep.vacuum,
    "CHECKPOINT": upkeep.checkpoint,
    "FORCE": upkeep.checkpoint,
    "ANALYZE": upkeep.analyze,
    "ANALYSE": upkeep.analyze,
    "CLUSTER": upkeep.cluster,
    "REINDEX": upkeep.reindex,
    "PLACE": upkeep.place_hold,
    "DISCARD": discard,
    "UNLISTEN": unlisten,
    "NOTIFY": notify,
    "LOCK": lock_tables,
}
