"""The forms of a macro, read from tokens: ``(a, b T := 1) AS [TABLE] body``."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from rewriter.syntax.token_reader import TokenReader


@dataclass(frozen=True, slots=True)
class MacroForm:
    """Parameters of a macro with their defaults, and its body: an expression, or a query.

    ``types`` are those of the parameters, None where one takes any value.
    """

    parameters: tuple[tuple[str, exp.Expr | None], ...]
    body: exp.Expr
    is_table: bool
    types: tuple[exp.DataType | None, ...] = ()


def is_macro(tokens: list[Token], place: int) -> bool:
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


def read_form(reader: TokenReader) -> MacroForm:
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
