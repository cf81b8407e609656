"""Reads a path of SQL/JSON as PostgreSQL 15 does. Pure.

>>> parse_path('strict $.a[*] ? (@ > 1)').is_lax
False
"""

from __future__ import annotations

import json
from decimal import Decimal
from functools import lru_cache

from rewriter.reading.postgres.json.path.nodes import (
    PREDICATES,
    Accessed,
    Binary,
    Compared,
    Constant,
    Current,
    Elements,
    Exists,
    Expression,
    Filter,
    IsUnknown,
    JsonPath,
    Junction,
    Last,
    Levels,
    LikeRegex,
    Member,
    Members,
    Method,
    Node,
    Not,
    Predicate,
    Root,
    StartsWith,
    Step,
    Subscripts,
    Unary,
    Variable,
)
from rewriter.reading.postgres.json.path.tokens import PathError, Token, error_near, tokens_of

_COMPARING = {"==": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
METHODS = frozenset("abs size type floor double ceiling keyvalue datetime".split())
_CONSTANTS = frozenset({"null", "true", "false"})
"""Words that are so in small letters alone."""
_LEVEL_MAX = 2**31 - 1
_FLAGS = frozenset("ismxq")


@lru_cache(maxsize=256)
def parse_path(text: str) -> JsonPath:
    """The path that a text is; raises PathError."""
    try:
        return _Parser(text).path()
    except RecursionError:
        raise PathError("the path is nested too deeply") from None


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(tokens_of(text))
        self.at = 0
        self.filters = self.subscripts = 0

    def path(self) -> JsonPath:
        is_strict = self._take_word("strict")
        if not is_strict:
            self._take_word("lax")
        body = self._any()
        if self._next.kind != "end":
            raise self._error()
        return JsonPath(not is_strict, body)

    @property
    def _next(self) -> Token:
        return self.tokens[self.at]

    def _error(self) -> PathError:
        return PathError(error_near(self.text, self._next.at))

    def _is_sign(self, *signs: str) -> bool:
        return self._next.kind == "sign" and self._next.text in signs

    def _is_word(self, word: str) -> bool:
        shown = self._next.text if word in _CONSTANTS else self._next.text.lower()
        return self._next.kind == "name" and shown == word

    def _take_sign(self, *signs: str) -> str | None:
        if not self._is_sign(*signs):
            return None
        self.at += 1
        return self.tokens[self.at - 1].text

    def _take_word(self, word: str) -> bool:
        found = self._is_word(word)
        self.at += found
        return found

    def _must(self, *signs: str) -> None:
        if self._take_sign(*signs) is None:
            raise self._error()

    def _take(self, kind: str) -> str:
        if self._next.kind != kind:
            raise self._error()
        self.at += 1
        return self.tokens[self.at - 1].text

    def _expression(self, found: Node) -> Expression:
        if isinstance(found, PREDICATES):
            raise self._error()
        return found

    def _predicate(self, found: Node) -> Predicate:
        if not isinstance(found, PREDICATES):
            raise self._error()
        return found

    def _any(self) -> Node:
        left = self._both()
        while self._take_sign("||"):
            left = Junction("OR", self._predicate(left), self._predicate(self._both()))
        return left

    def _both(self) -> Node:
        left = self._one()
        while self._take_sign("&&"):
            left = Junction("AND", self._predicate(left), self._predicate(self._one()))
        return left

    def _one(self) -> Node:
        if self._take_sign("!"):
            if not self._is_sign("(") and not self._is_word("exists"):
                raise self._error()
            return Not(self._predicate(self._delimited()))
        left = self._sum()
        sign = self._take_sign(*_COMPARING)
        if sign is not None:
            return Compared(_COMPARING[sign], self._expression(left), self._expression(self._sum()))
        if isinstance(left, PREDICATES):
            return left
        if self._take_word("starts"):
            if not self._take_word("with"):
                raise self._error()
            if self._next.kind == "variable":
                return StartsWith(left, Variable(self._take("variable")))
            return StartsWith(left, Constant(_json_text(self._take("text"))))
        if self._take_word("like_regex"):
            pattern = self._take("text")
            return LikeRegex(left, pattern, self._flags())
        return left

    def _flags(self) -> str:
        if not self._take_word("flag"):
            return ""
        flags = self._take("text")
        if set(flags) - _FLAGS:
            raise PathError(f'unrecognized flag character in "{flags}" of a LIKE_REGEX predicate')
        return flags

    def _delimited(self) -> Node:
        """``(p)`` or ``exists (x)``, without what may stand behind it."""
        if self._take_word("exists"):
            self._must("(")
            found: Node = Exists(self._expression(self._any()))
        else:
            self._must("(")
            found = self._any()
        self._must(")")
        return found

    def _sum(self) -> Node:
        left = self._product()
        while sign := self._take_sign("+", "-"):
            left = Binary(sign, self._expression(left), self._expression(self._product()))
        return left

    def _product(self) -> Node:
        left = self._signed()
        while sign := self._take_sign("*", "/", "%"):
            left = Binary(sign, self._expression(left), self._expression(self._signed()))
        return left

    def _signed(self) -> Node:
        sign = self._take_sign("+", "-")
        if sign is not None:
            return Unary(sign, self._expression(self._signed()))
        return self._accessed()

    def _accessed(self) -> Node:
        is_bracketed = self._is_sign("(")
        if is_bracketed or self._is_word("exists"):
            head = self._delimited()
            if is_bracketed and isinstance(head, PREDICATES) and self._take_word("is"):
                if not self._take_word("unknown"):
                    raise self._error()
                return IsUnknown(head)
            if not is_bracketed:
                return head
        else:
            head = self._primary()
        steps: list[Step] = []
        while self._is_sign(".", "[", "?"):
            steps.append(self._step())
        return Accessed(head, tuple(steps)) if steps else head

    def _primary(self) -> Expression:
        token = self._next
        if self._take_sign("$"):
            return Root()
        if self._take_sign("@"):
            if not self.filters:
                raise PathError("@ is not allowed in root expressions")
            return Current()
        if token.kind == "variable":
            return Variable(self._take("variable"))
        if token.kind == "text":
            return Constant(_json_text(self._take("text")))
        if token.kind == "number":
            return Constant(_number(self._take("number")))
        if self._take_word("last"):
            if not self.subscripts:
                raise PathError("LAST is allowed only in array subscripts")
            return Last()
        for word in _CONSTANTS:
            if self._take_word(word):
                return Constant(word)
        raise self._error()

    def _step(self) -> Step:
        if self._take_sign("?"):
            self._must("(")
            self.filters += 1
            condition = self._predicate(self._any())
            self.filters -= 1
            self._must(")")
            return Filter(condition)
        if self._take_sign("["):
            return self._subscripts()
        self._must(".")
        if self._take_sign("*"):
            return Members()
        if self._take_sign("**"):
            return self._levels()
        token = self._next
        if token.kind not in {"name", "text"}:
            raise self._error()
        self.at += 1
        if token.kind == "name" and token.text.lower() in METHODS and self._take_sign("("):
            if token.text.lower() == "datetime" and self._next.kind == "text":
                self.at += 1
            self._must(")")
            return Method(token.text.lower())
        return Member(token.text)

    def _subscripts(self) -> Step:
        if self._take_sign("*"):
            self._must("]")
            return Elements()
        self.subscripts += 1
        ranges: list[tuple[Expression, Expression | None]] = []
        while True:
            first = self._expression(self._sum())
            last = self._expression(self._sum()) if self._take_word("to") else None
            ranges.append((first, last))
            if not self._take_sign(","):
                break
        self.subscripts -= 1
        self._must("]")
        return Subscripts(tuple(ranges))

    def _levels(self) -> Step:
        if not self._take_sign("{"):
            return Levels(0, None)
        first = last = self._level()
        if self._take_word("to"):
            last = self._level()
        self._must("}")
        return Levels(first, last)

    def _level(self) -> int | None:
        if self._take_word("last"):
            return None
        digits = self._take("number")
        if not digits.isdigit() or int(digits) > _LEVEL_MAX:
            raise self._error()
        return int(digits)


def _json_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(text: str) -> str:
    """A number with all its digits, without an exponent."""
    value = Decimal(text)
    if abs(value.adjusted()) > 1000:
        raise PathError(f"the number {text[:40]} has too many digits")
    return format(value, "f")
