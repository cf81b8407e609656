"""PostgreSQL's CREATE FUNCTION in the languages SQL and PL/pgSQL, read from tokens. Pure.

CREATE [OR REPLACE] FUNCTION f ([IN] [name] type [DEFAULT | = value], ..)
  RETURNS type | SETOF type | TABLE (name type, ..) | trigger | void
  LANGUAGE sql | plpgsql | IMMUTABLE | STRICT | PARALLEL SAFE | COST n | AS .. | RETURN value | ..
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from rewriter.syntax.token_reader import TokenReader

_TEXTS = frozenset({TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.RAW_STRING})
_SECOND_OF_TYPE = frozenset({"PRECISION", "VARYING", "WITH", "WITHOUT", "(", "[", "."})
"""What stands behind the first word of a type; behind a name stands a type."""
_WITHOUT_EFFECT = (
    *(("IMMUTABLE",), ("STABLE",), ("VOLATILE",), ("LEAKPROOF",), ("NOT", "LEAKPROOF")),
    *(("CALLED", "ON", "NULL", "INPUT"), ("WINDOW",)),
    *(("PARALLEL", how) for how in ("SAFE", "UNSAFE", "RESTRICTED")),
    *(("SECURITY", "INVOKER"), ("EXTERNAL", "SECURITY", "INVOKER")),
)
"""A call becomes what the function means, of which the store knows more than they say."""
_STRICT = (("STRICT",), ("RETURNS", "NULL", "ON", "NULL", "INPUT"))
_REFUSED = {
    "SECURITY": "it runs with the privileges of whoever calls it: leave SECURITY DEFINER out",
    "EXTERNAL": "it runs with the privileges of whoever calls it: leave SECURITY DEFINER out",
    "SET": "it runs with the settings of the session that calls it: leave SET out",
    "TRANSFORM": "leave TRANSFORM out",
    "SUPPORT": "leave SUPPORT out",
}
_SQL_SECURITY = "SQL SECURITY"
REGCLASS = "regclass"
_IN_PLPGSQL = "it returns trigger or void; write others as one query, LANGUAGE sql"
_NO_RESULT = "it returns nothing: run its statements in the application, in one transaction"


@dataclass(frozen=True, slots=True)
class FunctionResult:
    """What a function returns: a value of ``types[0]``, or rows of columns with ``names``.

    Without names the one column of the rows is called like the function. One ``in_plpgsql`` has no
    types, and returns trigger or void.
    """

    is_rows: bool
    types: tuple[exp.DataType, ...]
    names: tuple[str, ...] = ()
    in_plpgsql: str = ""


@dataclass(frozen=True, slots=True)
class FunctionForm:
    """A function: the names of its parameters, their types and defaults, its result, its text."""

    parameters: tuple[tuple[str, exp.Expr | None], ...]
    types: tuple[exp.DataType, ...]
    result: FunctionResult
    body: str
    is_strict: bool


def is_in_sql(tokens: Sequence[Token]) -> bool:
    """True for the definition of a function in the language SQL, which may go without saying."""
    words = [t.text.upper() for t in tokens]
    if "LANGUAGE" in words[:-1]:
        # The scanner takes SQL SECURITY for one word.
        return words[words.index("LANGUAGE") + 1] in {"SQL", _SQL_SECURITY}
    return "RETURNS" in words and ("RETURN" in words or _atomic_place(words) is not None)


def is_in_plpgsql(tokens: Sequence[Token]) -> bool:
    """True for the definition of a function in PL/pgSQL."""
    words = [t.text.upper() for t in tokens]
    if "LANGUAGE" not in words[:-1]:
        return False
    return words[words.index("LANGUAGE") + 1] == "PLPGSQL"


def in_atomic_body(tokens: Sequence[Token]) -> bool:
    """True for a definition's beginning whose ``BEGIN ATOMIC`` has no END yet."""
    if len(tokens) < 4 or tokens[0].text.upper() != "CREATE":
        return False
    words = [t.text.upper() for t in tokens]
    begin = _atomic_place(words)
    return begin is not None and "FUNCTION" in words[:begin] and words[-1] != "END"


def with_body_as_text(tokens: list[Token], text: str) -> list[Token]:
    """The tokens with ``RETURN value`` and ``BEGIN ATOMIC query; END`` as ``AS 'query'``."""
    words = [t.text.upper() for t in tokens]
    if words[0] != "CREATE" or "FUNCTION" not in words[:4] or not is_in_sql(tokens):
        return tokens
    begin = _atomic_place(words)
    if begin is not None:
        inner = tokens[begin + 2 : -1]
        head = ""
    elif "RETURN" in words:
        begin = words.index("RETURN")
        inner = tokens[begin + 1 :]
        head = "SELECT "
    else:
        return tokens
    if not inner:
        return tokens
    first, last = inner[0], inner[-1]
    body = head + text[first.start : last.end + 1]
    at = (first.line, first.col, first.start, last.end)
    return [*tokens[:begin], Token(TokenType.ALIAS, "AS", *at), Token(TokenType.STRING, body, *at)]


def _atomic_place(words: Sequence[str]) -> int | None:
    places = range(len(words) - 1)
    return next((p for p in places if words[p] == "BEGIN" and words[p + 1] == "ATOMIC"), None)


def read_function(reader: TokenReader) -> FunctionForm:
    """A function behind the parenthesis of its parameters; raises SYNTAX and NOT_SUPPORTED."""
    parameters: list[tuple[str, exp.Expr | None]] = []
    types: list[exp.DataType] = []
    while not reader.takes(")"):
        name, kind, default = _parameter(reader, len(parameters) + 1)
        parameters.append((name, default))
        types.append(kind)
        if not reader.takes(","):
            if reader.takes(")"):
                break
            raise reader.error("a comma or a parenthesis was expected")
    result: FunctionResult | None = None
    body: str | None = None
    is_strict = False
    while reader.place < len(reader.tokens):
        if any(reader.takes(*words) for words in _STRICT):
            is_strict = True
        elif any(reader.takes(*words) for words in _WITHOUT_EFFECT):
            continue
        elif reader.takes("RETURNS"):
            result = _result(reader)
        elif reader.takes("LANGUAGE") or reader.takes("COST") or reader.takes("ROWS"):
            if reader.word().upper() == _SQL_SECURITY and not reader.takes("INVOKER"):
                raise reader.refused("SECURITY DEFINER", _REFUSED["SECURITY"])
        elif reader.takes("AS"):
            body = _text(reader)
        else:
            raise _unknown_clause(reader)
    if result is None:
        raise reader.error("RETURNS and what the function returns were expected")
    if body is None:
        raise reader.error("AS and the function's query were expected")
    return FunctionForm(tuple(parameters), tuple(types), result, body, is_strict)


def _parameter(reader: TokenReader, number: int) -> tuple[str, exp.DataType, exp.Expr | None]:
    """One parameter; without a name it is called by its number."""
    ends = {",", "DEFAULT", "="}
    for mode in ("OUT", "INOUT", "VARIADIC"):
        if _stands(reader, mode) and not _stands(reader, ",", 1) and not _stands(reader, ")", 1):
            raise reader.refused(f"a parameter {mode}", "write RETURNS TABLE (..), or an array")
    reader.takes("IN")
    name = f"${number}"
    following = reader.tokens[reader.place + 1 : reader.place + 2]
    if following and following[0].text.upper() not in {*_SECOND_OF_TYPE, *ends, ")"}:
        name = reader.word()
    if is_in_plpgsql(reader.tokens) and reader.takes("REGCLASS"):
        # The name of a table, which the parser takes for no type.
        kind = exp.DataType.build(REGCLASS, udt=True)
    else:
        kind = without_sizes(reader.data_type(ends))
    default = None
    if reader.takes("DEFAULT") or reader.takes("="):
        default = reader.value({","})
    return name, kind, default


def _result(reader: TokenReader) -> FunctionResult:
    """What stands behind RETURNS."""
    if is_in_plpgsql(reader.tokens):
        if _stands(reader, "TRIGGER") or _stands(reader, "VOID"):
            return FunctionResult(False, (), in_plpgsql=reader.word().lower())
        raise reader.refused("this result of a function in PL/pgSQL", _IN_PLPGSQL)
    for word in ("VOID", "TRIGGER", "EVENT_TRIGGER"):
        if _stands(reader, word):
            raise reader.refused(f"a function that returns {word.lower()}", _NO_RESULT)
    if reader.takes("TABLE"):
        if not reader.takes("("):
            raise reader.error("the columns of the table were expected")
        names: list[str] = []
        types: list[exp.DataType] = []
        while not reader.takes(")"):
            names.append(reader.word())
            types.append(without_sizes(reader.data_type({","})))
            reader.takes(",")
        if not names:
            raise reader.error("the columns of the table were expected")
        return FunctionResult(True, tuple(types), tuple(names))
    is_rows = reader.takes("SETOF")
    if _stands(reader, "RECORD"):
        raise reader.refused("a function that returns record", "write RETURNS TABLE (..)")
    start = reader.place
    while reader.place < len(reader.tokens) and not _begins_clause(reader):
        reader.place += 1
    part = reader.tokens[start : reader.place]
    if not part:
        raise reader.error("a type was expected")
    kind = TokenReader(list(part), reader.parse, 0, reader.advice).data_type()
    return FunctionResult(is_rows, (without_sizes(kind),))


_CLAUSES = frozenset(
    {"AS", "LANGUAGE", "COST", "ROWS", "RETURNS", "STRICT", *_REFUSED, "CALLED", "NOT", "WINDOW"}
    | {words[0] for words in _WITHOUT_EFFECT}
)


def _begins_clause(reader: TokenReader) -> bool:
    return reader.tokens[reader.place].text.upper() in _CLAUSES


def _text(reader: TokenReader) -> str:
    token = reader.tokens[reader.place] if reader.place < len(reader.tokens) else None
    if token is None or token.token_type not in _TEXTS:
        raise reader.error("the text of the function's query was expected")
    reader.place += 1
    return str(token.text)


def without_sizes(kind: exp.DataType) -> exp.DataType:
    """A type of a parameter or result, of which PostgreSQL drops lengths and digits."""
    made = kind.copy()
    for part in made.find_all(exp.DataType):
        sizes = [e for e in part.expressions if isinstance(e, exp.DataTypeParam)]
        if sizes:
            part.set("expressions", [e for e in part.expressions if e not in sizes])
    return made


def _stands(reader: TokenReader, word: str, ahead: int = 0) -> bool:
    here = reader.tokens[reader.place + ahead : reader.place + ahead + 1]
    return bool(here) and here[0].text.upper() == word


def _unknown_clause(reader: TokenReader) -> PalimpsestError:
    advice = _REFUSED.get(reader.tokens[reader.place].text.upper())
    if advice is None:
        return reader.error("a clause of CREATE FUNCTION was expected")
    word = reader.tokens[reader.place].text.upper()
    return reader.refused(f"{word} of a function", advice)
