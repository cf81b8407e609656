"""Actions of ALTER TABLE that say how PostgreSQL stores or replicates a table, by their tokens.

    CLUSTER ON i | SET WITHOUT CLUSTER | SET LOGGED | SET ACCESS METHOD heap
    REPLICA IDENTITY DEFAULT | FULL | NOTHING | USING INDEX i
    ENABLE | DISABLE TRIGGER ALL | USER
    ALTER [COLUMN] c SET STATISTICS n | SET STORAGE kind | SET COMPRESSION kind

None of them changes an answer here, so they are checked and do nothing. Each is read as an
``exp.AlterSet`` of no expressions, which names what must be there. Pure.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.syntax.token_reader import Parse, TokenReader

STORAGE, COLUMN, INDEX, NO_REFERENCES = "storage", "column", "index", "no_references"
"""Arguments of such an action: that it is one; the column and the index that it names; that the
table must have no part in a foreign key, which it would switch off."""


def storage_action(part: list[Token], parse: Parse) -> exp.AlterSet | None:
    """The action if it is one of these, else None."""
    reader = TokenReader(part, parse, 0)
    found = exp.AlterSet(expressions=[])
    found.set(STORAGE, True)
    if not (_of_table(reader, found) or _of_column(reader, found)):
        return None
    reader.ends("nothing else was expected in this action")
    return found


def _of_table(reader: TokenReader, found: exp.AlterSet) -> bool:
    if reader.takes("CLUSTER", "ON"):
        found.set(INDEX, _identifier(reader))
    elif reader.takes("REPLICA", "IDENTITY"):
        if reader.takes("USING", "INDEX"):
            found.set(INDEX, _identifier(reader))
        elif not any(reader.takes(word) for word in ("DEFAULT", "FULL", "NOTHING")):
            raise reader.error("DEFAULT, FULL, NOTHING or USING INDEX was expected")
    elif reader.takes("DISABLE", "TRIGGER", "ALL"):
        found.set(NO_REFERENCES, True)
    else:
        return any(
            reader.takes(*words)
            for words in (
                *(("SET", "WITHOUT", "CLUSTER"), ("SET", "LOGGED")),
                *(("SET", "ACCESS", "METHOD", "HEAP"), ("DISABLE", "TRIGGER", "USER")),
                *(("ENABLE", "TRIGGER", "ALL"), ("ENABLE", "TRIGGER", "USER")),
            )
        )
    return True


def _of_column(reader: TokenReader, found: exp.AlterSet) -> bool:
    words = [t.text.upper() for t in reader.tokens]
    place = 2 if words[1:2] == ["COLUMN"] else 1
    if words[0] != "ALTER" or words[place + 1 : place + 2] != ["SET"]:
        return False
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
