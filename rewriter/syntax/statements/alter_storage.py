"""Actions that say how PostgreSQL stores or replicates a table or an index, by their tokens.

    CLUSTER ON i | SET WITHOUT CLUSTER | SET LOGGED | SET UNLOGGED | SET ACCESS METHOD heap
    SET TABLESPACE s | SET WITHOUT OIDS
    REPLICA IDENTITY DEFAULT | FULL | NOTHING | USING INDEX i
    ALTER [COLUMN] c SET STATISTICS n | SET STORAGE kind | SET COMPRESSION kind
    ALTER [COLUMN] c SET (option = value, ..) | RESET (option, ..)
    ALTER INDEX i SET (..) | RESET (..) | SET TABLESPACE s | ALTER [COLUMN] n SET STATISTICS m

None of them changes an answer here, so they are checked and do nothing. Each is read as an
``exp.AlterSet`` of no expressions, which names what must be there. Pure.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.statement import SqlStatement
from rewriter.syntax.token_reader import Parse, TokenReader

STORAGE, COLUMN, INDEX = "storage", "column", "index"
"""Arguments of such an action: that it is one; the column and the index that it names."""


def storage_action(part: list[Token], parse: Parse) -> exp.AlterSet | None:
    """The action if it is one of these, else None."""
    reader = TokenReader(part, parse, 0)
    found = exp.AlterSet(expressions=[])
    found.set(STORAGE, True)
    if not (_of_table(reader, found) or _of_column(reader, found)):
        return None
    reader.ends("nothing else was expected in this action")
    return found


def storage_of_index(tokens: list[Token], parse: Parse) -> SqlStatement | None:
    """An ALTER INDEX of such an action; None for another statement."""
    reader = TokenReader(tokens, parse, 1)
    if not reader.takes("INDEX"):
        return None
    exists, name = reader.takes("IF", "EXISTS"), reader.name()
    if reader.takes("ALTER"):
        reader.takes("COLUMN")
        reader.number()
        if not reader.takes("SET", "STATISTICS"):
            raise reader.error("SET STATISTICS was expected")
        reader.number()
    elif not _of_place(reader):
        return None
    reader.ends("nothing else was expected in this action")
    action = exp.AlterSet(expressions=[])
    action.set(STORAGE, True)
    return SqlStatement(exp.Alter(this=name, kind="INDEX", exists=exists, actions=[action]))


def _of_place(reader: TokenReader) -> bool:
    """Parameters and the tablespace, which an index has as a table has them."""
    if reader.takes("SET", "TABLESPACE"):
        reader.word()
        return True
    begun = reader.place
    if (reader.takes("SET") or reader.takes("RESET")) and reader.takes("("):
        reader.part({")"})
        if not reader.takes(")"):
            raise reader.error("a bracket is not closed")
        return True
    reader.place = begun
    return False


def _of_table(reader: TokenReader, found: exp.AlterSet) -> bool:
    if reader.takes("CLUSTER", "ON"):
        found.set(INDEX, _identifier(reader))
    elif reader.takes("REPLICA", "IDENTITY"):
        if reader.takes("USING", "INDEX"):
            found.set(INDEX, _identifier(reader))
        elif not any(reader.takes(word) for word in ("DEFAULT", "FULL", "NOTHING")):
            raise reader.error("DEFAULT, FULL, NOTHING or USING INDEX was expected")
    elif reader.takes("SET", "TABLESPACE"):
        reader.word()
    else:
        return any(
            reader.takes(*words)
            for words in (
                *(("SET", "WITHOUT", "CLUSTER"), ("SET", "LOGGED"), ("SET", "UNLOGGED")),
                ("SET", "WITHOUT", "OIDS"),
                ("SET", "ACCESS", "METHOD", "HEAP"),
            )
        )
    return True


def _of_column(reader: TokenReader, found: exp.AlterSet) -> bool:
    words = [t.text.upper() for t in reader.tokens]
    place = 2 if words[1:2] == ["COLUMN"] else 1
    if words[0] != "ALTER" or words[place + 1 : place + 2] not in (["SET"], ["RESET"]):
        return False
    if words[place + 2 : place + 3] == ["("]:
        reader.place = place
        found.set(COLUMN, _identifier(reader))
        return _of_place(reader)
    what = words[place + 2] if len(words) > place + 2 else ""
    if what not in {"STATISTICS", "STORAGE", "COMPRESSION"}:
        return False
    reader.place = place
    found.set(COLUMN, _identifier(reader))
    reader.takes("SET", what)
    if what == "STATISTICS":
        reader.number()
    else:
        reader.word()
    return True


def _identifier(reader: TokenReader) -> exp.Identifier:
    name = reader.word()
    token = reader.tokens[reader.place - 1]
    found = exp.to_identifier(name, quoted=token.token_type is TokenType.IDENTIFIER)
    found.update_positions(token)
    return found
