"""ALTER COLUMN of numbers that a table generates, which sqlglot does not parse. Pure.

ALTER [COLUMN] c ADD GENERATED ALWAYS | BY DEFAULT AS IDENTITY [([SEQUENCE NAME s] options)]
ALTER [COLUMN] c RESTART [[WITH] n] | SET START [WITH] n | SET INCREMENT [BY] n | SET CACHE n
  | SET NO MINVALUE | NO MAXVALUE | NO CYCLE | SET GENERATED ALWAYS | BY DEFAULT, one or several
ALTER [COLUMN] c DROP IDENTITY [IF EXISTS]
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from rewriter.syntax.statements.sequence_options import sequence_options
from rewriter.syntax.token_reader import Parse, TokenReader

IDENTITY, DROPS, IF_THERE, KEEPS = "identity", "drops_identity", "if_there", "keeps"
RESTARTS, STARTS, STEPS, STAYS = "restarts", "starts", "steps", "stays"
"""Arguments of an altered column: how its numbers are generated; that they are no more; that
nothing is wrong if there are none; that they go on as they were; with which number, true for the
usual one, they begin anew; with which one they begin where nothing else is said; how far each is
from the one before; that an option is named which changes nothing."""
_BOUNDS = ("MINVALUE", "MAXVALUE", "CYCLE")


def identity_action(part: list[Token], parse: Parse) -> exp.AlterColumn | None:
    """An action about generated numbers; None for any other."""
    reader = TokenReader(part, parse, 0)
    found = reader.altered_column()
    if found is None:
        return None
    if reader.takes("DROP", "IDENTITY"):
        found.set(IF_THERE, reader.takes("IF", "EXISTS"))
        reader.ends("nothing else stands behind DROP IDENTITY")
        found.set(DROPS, True)
        return found
    if _reads_changes(found, reader):
        return found
    if not reader.takes("ADD", "GENERATED"):
        return None
    made = _generation(reader)
    found.set(IDENTITY, made)
    if not reader.takes("AS", "IDENTITY"):
        raise reader.error("AS IDENTITY was expected")
    if reader.takes("("):
        _read_options(made, reader)
    reader.ends("nothing else stands behind the options of IDENTITY")
    return found


def _generation(reader: TokenReader) -> exp.GeneratedAsIdentityColumnConstraint:
    always = reader.takes("ALWAYS")
    if not always and not reader.takes("BY", "DEFAULT"):
        raise reader.error("ALWAYS or BY DEFAULT was expected")
    return exp.GeneratedAsIdentityColumnConstraint(this=always)


def _reads_changes(found: exp.AlterColumn, reader: TokenReader) -> bool:
    """Read where the numbers begin; False where nothing of that stands here."""
    begun = reader.place
    while reader.place < len(reader.tokens):
        if reader.takes("RESTART"):
            given = reader.number(optional=not reader.takes("WITH"))
            found.set(RESTARTS, exp.true() if given is None else exp.Literal.number(given))
        elif reader.takes("SET", "START"):
            reader.takes("WITH")
            found.set(STARTS, exp.Literal.number(reader.number()))
        elif reader.takes("SET", "INCREMENT"):
            reader.takes("BY")
            found.set(STEPS, exp.Literal.number(reader.number()))
        elif reader.takes("SET", "GENERATED"):
            found.set(IDENTITY, _generation(reader))
            found.set(KEEPS, True)
        elif reader.takes("SET", "CACHE"):
            reader.number()
            found.set(STAYS, True)
        elif any(reader.takes("SET", "NO", word) for word in _BOUNDS):
            found.set(STAYS, True)
        elif any(reader.takes("SET", word) for word in _BOUNDS):
            raise _unsupported(frozenset({reader.tokens[reader.place - 1].text.lower()}), reader)
        elif reader.place == begun:
            return False
        else:
            raise reader.error("RESTART, SET START, SET INCREMENT or SET CACHE was expected")
    return reader.place > begun


def _read_options(made: exp.GeneratedAsIdentityColumnConstraint, reader: TokenReader) -> None:
    """Options of a sequence; its name is settled by table and column."""
    if reader.takes("SEQUENCE", "NAME"):
        reader.name()
    end = len(reader.tokens) - 1
    if reader.tokens[end].text != ")":
        raise reader.error("a bracket is not closed")
    options = sequence_options(reader.tokens[reader.place : end], reader.parse)
    reader.place = len(reader.tokens)
    if options.cycles or options.said & {"owner", "restart"}:
        raise _unsupported(options.said & {"cycles", "owner", "restart"}, reader)
    for name, value in (
        *(("start", options.start), ("increment", options.increment)),
        *(("minvalue", options.minimum), ("maxvalue", options.maximum)),
    ):
        if value is not None:
            made.set(name, exp.Literal.number(value))


def _unsupported(said: frozenset[str], reader: TokenReader) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"an identity column with {', '.join(sorted(said))} is not supported",
        advice="START WITH and INCREMENT BY are what there is; a CHECK sets bounds",
        position=reader.error("").position,
    )
