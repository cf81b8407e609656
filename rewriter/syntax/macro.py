"""CREATE and DROP of MACRO, which DuckDB also calls FUNCTION, recognised by their tokens.

CREATE [OR REPLACE] [TEMP] MACRO [IF NOT EXISTS] name (a, b T := 1) AS [TABLE] body [, (a) AS ..] ..
DROP MACRO [TABLE] [IF EXISTS] name [CASCADE | RESTRICT]
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from rewriter.statement import CreateMacro, DropMacro, MacroForm, OfMacro
from rewriter.syntax.token_reader import Parse, TokenReader

_TEMPORARY = frozenset({"TEMP", "TEMPORARY"})


def recognise_macro(tokens: list[Token], parse: Parse) -> OfMacro | None:
    """The statement if it is about macros, else None."""
    reader = TokenReader(tokens, parse, 1)
    verb = tokens[0].text.upper()
    replaces = verb == "CREATE" and reader.takes("OR", "REPLACE")
    temporary = verb == "CREATE" and any(reader.takes(word) for word in _TEMPORARY)
    if not reader.takes("MACRO") and not reader.takes("FUNCTION"):
        return None
    if verb == "DROP":
        is_table = reader.takes("TABLE")
        exists = reader.takes("IF", "EXISTS")
        name = reader.name()
        _ = reader.takes("CASCADE") or reader.takes("RESTRICT")
        reader.ends("DROP MACRO needs one name")
        return DropMacro(name, is_table, exists)
    if verb != "CREATE":
        return None
    exists = reader.takes("IF", "NOT", "EXISTS")
    name = reader.name()
    if not reader.takes("(") or not _is_macro(tokens, reader.place):
        return None
    forms = [_form(reader)]
    while reader.takes(","):
        if not reader.takes("("):
            raise reader.error("the parameters of another form were expected")
        forms.append(_form(reader))
    reader.ends("nothing else stands behind a macro")
    return CreateMacro(name, tuple(forms), temporary, exists, replaces)


def _is_macro(tokens: list[Token], place: int) -> bool:
    """True if AS stands behind the parameters, and no text of another language behind that."""
    behind = _closing(tokens, place) + 1
    after = tokens[behind + 1 : behind + 2]
    is_as = behind < len(tokens) and tokens[behind].text.upper() == "AS"
    return is_as and bool(after) and not after[0].text.startswith("$")


def _closing(tokens: list[Token], place: int) -> int:
    depth = 1
    while place < len(tokens):
        depth += (tokens[place].text == "(") - (tokens[place].text == ")")
        if depth == 0:
            return place
        place += 1
    return place


def _form(reader: TokenReader) -> MacroForm:
    """One form, behind the parenthesis of its parameters."""
    parameters: list[tuple[str, exp.Expr | None]] = []
    types: list[exp.DataType | None] = []
    while not reader.takes(")"):
        name = reader.word()
        default = None
        after = [token.text for token in reader.tokens[reader.place : reader.place + 1]]
        has_type = bool(after) and after[0] not in {":=", ",", ")"}
        types.append(reader.data_type({",", ":="}) if has_type else None)
        if reader.takes(":="):
            default = reader.value({","})
        parameters.append((name, default))
        if not reader.takes(",") and reader.tokens[reader.place : reader.place + 1]:
            if reader.takes(")"):
                break
            raise reader.error("a comma or := was expected")
    if not reader.takes("AS"):
        raise reader.error("a macro needs AS and what it stands for")
    if reader.takes("TABLE"):
        part = _body(reader)
        if len(part) > 1 and part[0].text == "(" and _closing(part, 1) == len(part) - 1:
            part = part[1:-1]
        query = reader.parse(part)
        if not isinstance(query, exp.Query):
            raise reader.error("a query was expected behind TABLE")
        return MacroForm(tuple(parameters), query, is_table=True, types=tuple(types))
    inner = TokenReader(_body(reader), reader.parse, 0)
    return MacroForm(tuple(parameters), inner.value(), is_table=False, types=tuple(types))


def _body(reader: TokenReader) -> list[Token]:
    """The tokens up to the end, or to the comma before another form."""
    start = reader.place
    part: list[Token] = []
    while reader.place < len(reader.tokens):
        part += reader.part({","})
        place = reader.place
        if place >= len(reader.tokens) or _begins_form(reader.tokens, place):
            break
        part.append(reader.tokens[place])
        reader.place += 1
    if reader.place == start:
        raise reader.error("something is missing")
    return part


def _begins_form(tokens: list[Token], place: int) -> bool:
    """True for a comma behind which other parameters and AS stand."""
    if [t.text for t in tokens[place : place + 2]] != [",", "("]:
        return False
    behind = _closing(tokens, place + 2) + 1
    return behind < len(tokens) and tokens[behind].text.upper() == "AS"
