"""ALTER TABLE by its tokens: each action is parsed alone, so that they can be mixed freely.

sqlglot takes some lists of actions and not others, and reads ``RENAME a TO b`` as a table's name.
Here the list is cut at its commas and put together again as one ``exp.Alter``. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position
from rewriter.statement import SqlStatement, Statement
from rewriter.syntax.statements.alter_generated import generated_action
from rewriter.syntax.statements.alter_identity import identity_action
from rewriter.syntax.statements.alter_storage import storage_action
from rewriter.syntax.statements.properties import properties_action

ParseTokens = Callable[[list[Token]], exp.Expr]

WITHIN = "within"
"""The argument of an added column that is a field: the column and the fields that it lies in."""

NOT_VALID, VALIDATES, DEFERRAL, RENAMES = "not_valid", "validates", "deferral", "renames"
OF_INDEX, PRIMARY = "of_index", "primary"
"""Arguments of an added constraint: rows there are not checked; a constraint there is checks them
now; is deferrable as the text says; or has another name from now on. It is the key that an index
is; and the primary one."""
_DEFERRALS = frozenset(
    {
        *("NOT DEFERRABLE", "DEFERRABLE", "DEFERRABLE INITIALLY IMMEDIATE"),
        *("DEFERRABLE INITIALLY DEFERRED", "INITIALLY DEFERRED"),
    }
)
_ALONE = (
    *(exp.AlterRename, exp.AddConstraint, exp.AlterSet, exp.DropPrimaryKey),
    exp.AlterColumn,
)
"""Actions that are read without the head of the statement."""
_CONSTRAINTS = frozenset({"CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "FOREIGN"})
_DROPPED = frozenset(
    {"COLUMN", "CONSTRAINT", "PRIMARY", "FOREIGN", "CHECK", "PARTITION", "COLUMNS", "INDEX"}
)
_ACTIONS = frozenset(
    {
        *("ADD", "DROP", "ALTER", "RENAME", "SET", "MODIFY", "CHANGE", "UNSET", "RESET"),
        *("VALIDATE", "CLUSTER", "REPLICA", "ENABLE", "DISABLE"),
    }
)


def recognise_alter(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    """ALTER TABLE as one AST; None for other kinds of ALTER."""
    if len(tokens) > 2 and tokens[1].text.upper() == "VIEW":
        return _moved_view(tokens, parse)
    if len(tokens) < 2 or tokens[1].text.upper() != "TABLE":
        return None
    start = _after_name(tokens)
    if start >= len(tokens):
        raise _syntax_error(tokens[-1], Code.SYNTAX, "ALTER TABLE needs an action")
    header = tokens[:start]
    found: exp.Alter | None = None
    for part in _parts(tokens[start:]):
        if not part:
            raise _syntax_error(tokens[start], Code.SYNTAX, "ALTER TABLE begins with a comma")
        ast: exp.Expr | None = properties_action(part)
        if ast is None:
            ast = (
                identity_action(part, parse)
                or generated_action(part, parse)
                or _key_of_index(part)
                or storage_action(part, parse)
                or _schema_move(part)
                or _no_key(part)
                or _known_constraint(part)
            )
            ast = ast or _constraint(part, parse)
        if ast is None:
            path, part = _field_path(part)
            ast = parse([*header, *_with_column(part)])
            if path and isinstance(ast, exp.Alter):
                ast.args["actions"][0].set(WITHIN, path)
        if isinstance(ast, _ALONE):
            table, exists = _table_of(header, parse), header[2].text.upper() == "IF"
            ast = exp.Alter(this=table, kind="TABLE", exists=exists, actions=[ast])
        if not isinstance(ast, exp.Alter) or ast.args.get("options"):
            raise _syntax_error(
                part[0], Code.NOT_SUPPORTED, f"ALTER TABLE .. {_source_text(part)} is not supported"
            )
        if found is None:
            found = ast
        else:
            found.set("actions", [*found.args["actions"], *ast.args["actions"]])
    assert found is not None
    return SqlStatement(found)


def _moved_view(tokens: list[Token], parse: ParseTokens) -> Statement | None:
    """ALTER VIEW .. SET SCHEMA; None for its other forms."""
    move = _schema_move(tokens[-3:])
    if move is None:
        return None
    table = [*tokens[:1], _like(tokens[1], TokenType.TABLE, "TABLE"), *tokens[2:-3]]
    exists = [t.text.upper() for t in tokens[2:4]] == ["IF", "EXISTS"]
    name = _table_of(table, parse)
    return SqlStatement(exp.Alter(this=name, kind="VIEW", exists=exists, actions=[move]))


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)


def _after_name(tokens: list[Token]) -> int:
    """Index of the first token behind ALTER TABLE [IF EXISTS] [ONLY] a.b."""
    index = 2
    if [t.text.upper() for t in tokens[index : index + 2]] == ["IF", "EXISTS"]:
        index += 2
    if index + 1 < len(tokens) and tokens[index].text.upper() == "ONLY":
        index += 1
    index += 1
    while index + 1 < len(tokens) and tokens[index].token_type is TokenType.DOT:
        index += 2
    return index


def _parts(tokens: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text in {"(", "["}) - (token.text in {")", "]"})
        after = tokens[index + 1].text.upper() if index + 1 < len(tokens) else ""
        if depth == 0 and token.token_type is TokenType.COMMA and after in _ACTIONS:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _with_column(part: list[Token]) -> list[Token]:
    """``RENAME a TO b`` and ``DROP a`` with the word COLUMN, which sqlglot wants."""
    words = [t.text.upper() if t.token_type is not TokenType.IDENTIFIER else "" for t in part]
    dots = all(t.token_type is TokenType.DOT for t in part[2:-2:2])
    renames = len(part) >= 4 and words[0] == "RENAME" and words[-2] == "TO" and dots
    named = words[3:] if words[1:3] == ["IF", "EXISTS"] else words[1:]
    drops = words[0] == "DROP" and bool(named) and named[0] not in _DROPPED
    if renames or drops:
        column = Token(TokenType.COLUMN, "COLUMN", part[0].line, part[0].col)
        return [part[0], column, *part[1:]]
    return part


def _field_path(part: list[Token]) -> tuple[list[exp.Identifier], list[Token]]:
    """``ADD COLUMN s.a.k INT`` as the path ``s.a`` and ``ADD COLUMN k INT``."""
    words = [t.text.upper() for t in part]
    start = 2 if words[1:2] == ["COLUMN"] else 1
    start += 3 if words[start : start + 3] == ["IF", "NOT", "EXISTS"] else 0
    path: list[exp.Identifier] = []
    place = start
    while (
        words[0] == "ADD" and place + 1 < len(part) and part[place + 1].token_type is TokenType.DOT
    ):
        token = part[place]
        name = exp.to_identifier(token.text, quoted=token.token_type is TokenType.IDENTIFIER)
        name.update_positions(token)
        path.append(name)
        place += 2
    return path, [*part[:start], *part[place:]]


def _no_key(part: list[Token]) -> exp.DropPrimaryKey | None:
    """MySQL's ``DROP PRIMARY KEY``, in every dialect."""
    words = [t.text.upper() for t in part]
    return exp.DropPrimaryKey() if " ".join(words) == "DROP PRIMARY KEY" else None


def _schema_move(part: list[Token]) -> exp.AlterRename | None:
    """``SET SCHEMA s`` as a rename to a table of which only the schema is given."""
    words = [t.text.upper() for t in part]
    if words[:2] != ["SET", "SCHEMA"] or len(part) != 3:
        return None
    token = part[2]
    name = exp.to_identifier(token.text, quoted=token.token_type is TokenType.IDENTIFIER)
    name.update_positions(token)
    return exp.AlterRename(this=exp.Table(db=name))


def _constraint(part: list[Token], parse: ParseTokens) -> exp.AddConstraint | None:
    """``ADD CHECK ..`` and its kin, read as the element of a CREATE TABLE that they could be."""
    words = [t.text.upper() for t in part[:2]]
    if len(part) < 3 or words[0] != "ADD" or words[1] not in _CONSTRAINTS:
        return None
    like = part[0]
    not_valid = [t.text.upper() for t in part[-2:]] == ["NOT", "VALID"]
    if not_valid:
        part = part[:-2]

    def token(kind: TokenType, text: str) -> Token:
        return Token(kind, text, like.line, like.col)

    created = parse(
        [
            token(TokenType.CREATE, "CREATE"),
            token(TokenType.TABLE, "TABLE"),
            token(TokenType.VAR, "x"),
            token(TokenType.L_PAREN, "("),
            *part[1:],
            token(TokenType.R_PAREN, ")"),
        ]
    )
    found = created.this if isinstance(created, exp.Create) else None
    if not isinstance(found, exp.Schema):
        return None
    made = exp.AddConstraint(expressions=found.expressions)
    made.set(NOT_VALID, not_valid)
    return made


def _key_of_index(part: list[Token]) -> exp.AddConstraint | None:
    """``ADD [CONSTRAINT c] UNIQUE | PRIMARY KEY USING INDEX i``."""
    words = " ".join(t.text.upper() for t in part).split()
    named = words[:2] == ["ADD", "CONSTRAINT"]
    rest = words[3 if named else 1 :]
    primary = rest[:2] == ["PRIMARY", "KEY"]
    if words[0] != "ADD" or not (primary or rest[:1] == ["UNIQUE"]):
        return None
    if rest[2 if primary else 1 :][:2] != ["USING", "INDEX"] or len(rest) != 4 + primary:
        return None
    index = exp.to_identifier(part[-1].text, quoted=True)
    index.update_positions(part[-1])
    shown = part[2] if named else part[-1]
    constraint = exp.Constraint(this=exp.to_identifier(shown.text, quoted=True), expressions=[])
    found = exp.AddConstraint(expressions=[constraint])
    found.set(OF_INDEX, index)
    found.set(PRIMARY, primary)
    return found


def _known_constraint(part: list[Token]) -> exp.AddConstraint | None:
    """``VALIDATE`` and ``RENAME CONSTRAINT c``, and ``ALTER CONSTRAINT c DEFERRABLE ..``."""
    words = [t.text.upper() for t in part]
    kinds = {"VALIDATE", "ALTER", "RENAME"}
    if words[0] not in kinds or words[1:2] != ["CONSTRAINT"] or len(part) < 3:
        return None
    rest = " ".join(words[3:])
    renames = words[0] == "RENAME" and words[3:4] == ["TO"] and len(part) == 5
    if rest not in _DEFERRALS if words[0] == "ALTER" else rest and not renames:
        raise _syntax_error(part[0], Code.SYNTAX, f"ALTER TABLE .. {_source_text(part)} {rest}")
    name = exp.to_identifier(part[2].text, quoted=part[2].token_type is TokenType.IDENTIFIER)
    name.update_positions(part[2])
    found = exp.AddConstraint(expressions=[exp.Constraint(this=name, expressions=[])])
    found.set(VALIDATES, words[0] == "VALIDATE")
    if renames:
        found.set(RENAMES, part[4].text)
    else:
        found.set(DEFERRAL, rest or None)
    return found


def _table_of(header: list[Token], parse: ParseTokens) -> exp.Expr:
    """The table that the head of the statement names."""
    like = header[-1]
    words = (("DROP", TokenType.DROP), ("COLUMN", TokenType.COLUMN), ("x", TokenType.VAR))
    action = [Token(kind, word, like.line, like.col) for word, kind in words]
    found = parse([*header, *action])
    assert isinstance(found, exp.Alter)
    table: exp.Expr = found.this.pop()
    return table


def _source_text(part: list[Token]) -> str:
    return " ".join(t.text.upper() for t in part[:3])


def _syntax_error(token: Token, code: Code, message: str) -> PalimpsestError:
    return PalimpsestError(
        code,
        message,
        advice="see docs/sql.md for the actions that are taken",
        position=token_position(token),
    )
