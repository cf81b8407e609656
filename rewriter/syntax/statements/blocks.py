"""DO blocks of PL/pgSQL, read from tokens: statements, IF, RAISE, EXECUTE, EXCEPTION. Pure.

    DO [LANGUAGE plpgsql] $$ [DECLARE] BEGIN steps [EXCEPTION WHEN name [OR ..] THEN steps] END $$

Variables, loops and everything else of the language is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError, Position
from rewriter.name_resolution import token_position
from rewriter.statement import Boundary, SqlStatement
from rewriter.statements.blocks import (
    Block,
    Branch,
    DeclaredVariable,
    DoBlock,
    Handler,
    Raise,
    RaiseAgain,
    Run,
    RunText,
    Step,
)
from rewriter.syntax.statements.block_conditions import states_of
from rewriter.syntax.tokens import tokenize

ReadSql = Callable[[str], Run]
"""Reads the text of one statement; raises what the parser raises."""
_TEXTS = frozenset({TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.RAW_STRING})
_LEVELS = frozenset({"DEBUG", "LOG", "INFO", "NOTICE", "WARNING", "EXCEPTION"})
_STOPS = frozenset({"END", "EXCEPTION", "ELSE", "ELSIF", "ELSEIF", "WHEN"})
_OF_LANGUAGE = {
    "FOR": "a loop", "FOREACH": "a loop", "WHILE": "a loop", "LOOP": "a loop", "EXIT": "a loop",
    "CONTINUE": "a loop", "GET": "GET DIAGNOSTICS", "CASE": "CASE as a statement",
    "OPEN": "a cursor", "FETCH": "a cursor", "CLOSE": "a cursor", "ASSERT": "ASSERT",
    "COMMIT": "the end of a transaction", "ROLLBACK": "the end of a transaction",
}  # fmt: skip
_DEPTH_MAX = 32
_ADVICE = "a block has statements, IF, RAISE, PERFORM, EXECUTE and EXCEPTION; run the rest outside"


def is_do(tokens: list[Token]) -> bool:
    """True for DO and a text."""
    words = [t.text.upper() for t in tokens[:2]]
    is_text = len(tokens) > 1 and tokens[1].token_type in _TEXTS
    return words[:1] == ["DO"] and (is_text or words[1:] == ["LANGUAGE"])


def read_do(tokens: list[Token], read_sql: ReadSql) -> DoBlock:
    """The block of a DO; raises SYNTAX, NOT_SUPPORTED and what ``read_sql`` raises."""
    texts = [t for t in tokens[1:] if t.token_type in _TEXTS]
    words = [t.text for t in tokens[1:] if t.token_type not in _TEXTS]
    if words and [w.upper() for w in words] != ["LANGUAGE", "PLPGSQL"]:
        raise refused_part(
            tokens[0], f"DO in {' '.join(words[1:]) or words[0]}", "write it in plpgsql"
        )
    if len(texts) != 1:
        raise block_error(tokens[-1], "one text was expected behind DO")
    text = texts[0].text
    return DoBlock(BlockReader.of(text, read_sql).whole_block())


class BlockReader:
    """Reads the steps of a block from its tokens."""

    def __init__(self, text: str, tokens: list[Token], read_sql: ReadSql) -> None:
        self.text, self.tokens, self.read_sql, self.place = text, tokens, read_sql, 0
        self.depth = 0

    @classmethod
    def of(cls, text: str, read_sql: ReadSql) -> Self:
        """A reader at the beginning of a text."""
        tokens = [t for t in tokenize(text, "postgres") if t.token_type is not TokenType.HINT]
        return cls(text, tokens, read_sql)

    def whole_block(self) -> Block:
        """The block that the text is."""
        block = self.block()
        self.takes(";")
        if self.place < len(self.tokens):
            raise block_error(self.tokens[self.place], "nothing else stands behind END")
        return block

    def variables(self) -> tuple[DeclaredVariable, ...]:
        """What is declared before BEGIN; raises NOT_SUPPORTED where nothing can be."""
        if not self.stands("BEGIN"):
            raise refused_part(self.next_token(), "a variable of a block", _ADVICE)
        return ()

    def block(self) -> Block:
        """[DECLARE variables] BEGIN steps [EXCEPTION handlers] END."""
        variables = self.variables() if self.takes("DECLARE") else ()
        if not self.takes("BEGIN"):
            raise block_error(self.next_token(), "BEGIN was expected")
        steps = self.steps()
        handlers: list[Handler] = []
        if self.takes("EXCEPTION"):
            while self.takes("WHEN"):
                names = [self.condition()]
                while self.takes("OR"):
                    names.append(self.condition())
                self.expect("THEN")
                known = [states for states in names if states is not None]
                states = frozenset().union(*known) if len(known) == len(names) else None
                handlers.append(Handler(states, self.steps()))
            if not handlers:
                raise block_error(self.next_token(), "WHEN was expected")
        self.expect("END")
        return Block(steps, tuple(handlers), variables)

    def condition(self) -> frozenset[str] | None:
        """The SQLSTATEs of a condition's name; None for OTHERS."""
        token = self.next_token()
        self.place += 1
        if token.text.upper() == "OTHERS":
            return None
        if token.text.upper() == "SQLSTATE" and self.next_token().token_type in _TEXTS:
            self.place += 1
            return frozenset({self.tokens[self.place - 1].text.upper()})
        found = states_of(token.text)
        if found is None:
            raise block_error(token, "the name of a condition was expected")
        return found

    def steps(self) -> tuple[Step, ...]:
        """The steps up to END, EXCEPTION, ELSE or the next handler."""
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise PalimpsestError(
                Code.NESTING_TOO_DEEP,
                f"the block is nested more than {_DEPTH_MAX} deep",
                advice="take it apart",
                position=_position(self.next_token()),
            )
        found: list[Step] = []
        while self.place < len(self.tokens) and not any(map(self.stands, _STOPS)):
            step = self.step()
            if step is not None:
                found.append(step)
        self.depth -= 1
        return tuple(found)

    def step(self) -> Step | None:
        """One step with the semicolon behind it; None for NULL."""
        if self.stands("BEGIN") or self.stands("DECLARE"):
            inner = self.block()
            self.expect(";")
            return inner
        if self.takes("NULL"):
            self.expect(";")
            return None
        if self.takes("IF"):
            return self.branch()
        if self.takes("RAISE"):
            return self.raised()
        if self.takes("PERFORM"):
            return self.run("SELECT ")
        if self.takes("EXECUTE"):
            return RunText(self.run("SELECT "))
        word = self.next_token().text.upper()
        if word in _OF_LANGUAGE:
            raise refused_part(self.next_token(), f"{_OF_LANGUAGE[word]} in a block", _ADVICE)
        found = self.run("")
        if isinstance(found.statement, SqlStatement) and isinstance(found.statement.ast, exp.Query):
            message = "query has no destination for result data"
            advice = "write PERFORM in the place of SELECT"
            raise PalimpsestError(Code.SYNTAX, message, advice=advice)
        return found

    def branch(self) -> Branch:
        """IF condition THEN steps [ELSIF ..] [ELSE steps] END IF."""
        choices = [(self.value("THEN"), self.steps())]
        while self.takes("ELSIF") or self.takes("ELSEIF"):
            choices.append((self.value("THEN"), self.steps()))
        otherwise = self.steps() if self.takes("ELSE") else ()
        self.expect("END")
        self.expect("IF")
        self.expect(";")
        return Branch(tuple(choices), otherwise)

    def raised(self) -> Raise | RaiseAgain:
        """RAISE [level] ['format' [, value ..]] [USING ERRCODE = 'state']."""
        if self.takes(";"):
            return RaiseAgain()
        level = "EXCEPTION"
        if self.next_token().text.upper() in _LEVELS:
            level = self.next_token().text.upper()
            self.place += 1
        token = self.next_token()
        if token.token_type not in _TEXTS:
            raise refused_part(token, "RAISE without a format", "write RAISE NOTICE 'text'")
        self.place += 1
        values: list[Run] = []
        while self.takes(","):
            values.append(self.value(",", ";", "USING"))
        options = self.options() if self.takes("USING") else {}
        self.expect(";")
        places = token.text.replace("%%", "").count("%")
        if places != len(values):
            raise block_error(token, f"RAISE has {len(values)} values for {places} places")
        named = options.get("ERRCODE", "P0001")
        state = next(iter(states_of(named) or {named.upper()}))
        advice = "; ".join(options[name] for name in ("DETAIL", "HINT") if name in options)
        return Raise(level == "EXCEPTION", token.text, tuple(values), state, advice)

    def options(self) -> dict[str, str]:
        """What stands behind USING: ERRCODE, HINT and DETAIL with the texts that they have."""
        found: dict[str, str] = {}
        while True:
            name = self.next_token()
            if name.text.upper() not in {"ERRCODE", "HINT", "DETAIL"}:
                raise refused_part(name, f"{name.text} of RAISE", "use ERRCODE, HINT and DETAIL")
            self.place += 1
            if not self.takes(":="):
                self.expect("=")
            value = self.next_token()
            self.place += 1
            is_word = name.text.upper() == "ERRCODE" and value.token_type not in _TEXTS
            if value.token_type not in _TEXTS and not is_word:
                raise refused_part(value, f"a computed {name.text}", "write it as a text")
            found[name.text.upper()] = value.text
            if not self.takes(","):
                return found

    def value(self, *ends: str) -> Run:
        """An expression up to one of these words outside of parentheses and CASE."""
        return self.read_sql(f"SELECT {self.slice(*ends, stays=ends != ('THEN',))}")

    def run(self, head: str) -> Run:
        """A statement up to its semicolon."""
        found = self.read_sql(head + self.slice(";"))
        check_step(found.statement)
        return found

    def slice(self, *ends: str, stays: bool = False) -> str:
        """The text up to one of these words, which are read as well unless one ``stays``."""
        start, depth = self.place, 0
        while self.place < len(self.tokens):
            token = self.tokens[self.place]
            word = "" if token.token_type in _TEXTS else token.text.upper()
            if depth == 0 and word in ends:
                break
            depth += (word in {"(", "[", "CASE"}) - (word in {")", "]"})
            depth -= word == "END" and depth > 0
            self.place += 1
        if self.place >= len(self.tokens) or self.place == start:
            raise block_error(
                self.tokens[min(start, len(self.tokens) - 1)], f"{ends[0]} is missing"
            )
        found = self.text[self.tokens[start].start : self.tokens[self.place].start].rstrip()
        self.place += not stays
        return found

    def next_token(self) -> Token:
        """The next token; raises SYNTAX at the end."""
        if self.place >= len(self.tokens):
            raise block_error(self.tokens[-1] if self.tokens else None, "END is missing")
        return self.tokens[self.place]

    def stands(self, word: str) -> bool:
        """True if this word comes next."""
        if self.place >= len(self.tokens):
            return False
        token = self.tokens[self.place]
        return token.token_type not in _TEXTS and token.text.upper() == word

    def takes(self, word: str) -> bool:
        """Go on behind this word if it comes next."""
        found = self.stands(word)
        self.place += found
        return found

    def expect(self, word: str) -> None:
        """Go on behind this word, which has to come next."""
        if not self.takes(word):
            raise block_error(self.next_token(), f"{word} was expected")


def check_step(statement: object) -> None:
    """Raise NOT_SUPPORTED for a statement that no block may hold."""
    if isinstance(statement, Boundary):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{type(statement).__name__.upper()} in a block is not supported",
            advice="a block is one statement, of one transaction; EXCEPTION undoes a part of it",
        )


def _position(token: Token | None) -> Position | None:
    return None if token is None else token_position(token)


def block_error(token: Token | None, message: str) -> PalimpsestError:
    """SYNTAX near a token of a block."""
    near = "" if token is None else f' near "{token.text}"'
    return PalimpsestError(Code.SYNTAX, message + near, advice=_ADVICE, position=_position(token))


def refused_part(token: Token, what: str, advice: str) -> PalimpsestError:
    """NOT_SUPPORTED at a token of a block."""
    return PalimpsestError(
        Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice, position=_position(token)
    )
