"""Thrift's binary protocol for the driver's classes, by Thrift's extension in C if it is there.

The classes were generated for an older Thrift and say in tuples of what they are made where the
extension wants lists, so they are told to it anew. Decides nothing about what is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from TCLIService import ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TType

Spec = Any
"""What a class is made of, as the code says that Thrift generates."""


class Protocol(TBinaryProtocol):  # type: ignore[misc]
    """See the module's head; without the extension it is what it is made from."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)
        found = _extension()
        if found is not None:
            encode, decode = found
            self._fast_encode = lambda value, kind: encode(value, _class_of(kind[0]))
            self._fast_decode = lambda value, this, kind: decode(value, this, _class_of(kind[0]))


@lru_cache(maxsize=1)
def _extension() -> tuple[Callable[..., bytes], Callable[..., None]] | None:
    """What encodes and decodes; None where there is nothing, or it wants to be told otherwise."""
    try:
        from thrift.protocol import fastbinary
    except ImportError:
        return None
    asked = ttypes.TCloseOperationReq(ttypes.TOperationHandle(hasResultSet=True))
    kind: Any = type(asked)
    try:
        fastbinary.encode_binary(asked, _class_of(kind))
    except TypeError:
        return None
    return fastbinary.encode_binary, fastbinary.decode_binary


@lru_cache(maxsize=256)
def _class_of(kind: Any) -> list[Any]:
    """A class, and what it is made of."""
    return [kind, tuple(_field(field) for field in kind.thrift_spec)]


def _field(field: Spec) -> Spec:
    if field is None:
        return None
    number, kind, name, inner, default = field
    return number, kind, name, _inner(kind, inner), default


def _inner(kind: int, inner: Spec) -> Spec:
    match kind:
        case TType.STRUCT:
            return _class_of(inner[0])
        case TType.LIST | TType.SET:
            member, of, fixed = inner
            return member, _inner(member, of), fixed
        case TType.MAP:
            key, of_key, value, of_value, fixed = inner
            return key, _inner(key, of_key), value, _inner(value, of_value), fixed
        case _:
            return inner
