"""Errors of the gateway as statuses of gRPC, with SQLSTATE and our code in their details."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from google.protobuf.message import DecodeError
from pyarrow import flight

from gateway.errors import TOO_DEEP
from gateway.servers.flight.wire import flight_pb2 as wire
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures

_LOG = logging.getLogger("palimpsest.flight")
_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_STRANGERS = frozenset({Code.LOGIN, Code.PASSWORD, Code.IDLE})


@contextmanager
def answering() -> Iterator[None]:
    """Whatever leaves the block, leaves it as an error of Flight."""
    try:
        with failures():
            yield
    except (flight.FlightError, pa.ArrowCancelled):
        raise
    except PalimpsestError as error:
        raise flight_error(error) from error
    except DecodeError as error:
        raise flight_error(
            PalimpsestError(
                Code.PROTOCOL,
                f"the client sent a message that cannot be read: {error}",
                advice="use a driver of Arrow Flight SQL",
            )
        ) from error
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise flight_error(
            PalimpsestError(
                Code.PROTOCOL,
                f"the client sent rows that cannot be read: {error}",
                advice="send them in Arrow's IPC format, all batches with one schema",
            )
        ) from error
    except RecursionError as error:
        raise flight_error(TOO_DEEP) from error
    except Exception as error:
        _LOG.exception("a call failed")
        raise flight_error(
            PalimpsestError(Code.INVARIANT, f"{type(error).__name__}: {error}", advice="report it")
        ) from error


def flight_error(error: PalimpsestError) -> Exception:
    """The error that pyarrow sends as a status.

    Its details are a ``google.rpc.Status`` with an ``ErrorInfo``: our code as the reason, SQLSTATE,
    hint and place as metadata.
    """
    code, kind = _status(error)
    text = f"{error} (SQLSTATE {error.sqlstate})"
    about = {"sqlstate": error.sqlstate, "hint": error.advice, "message": error.message}
    if error.position is not None:
        about["position"] = str(error.position)
    info = wire.ErrorInfo(reason=error.code.value.code, domain="palimpsest", metadata=about)
    detail = wire.ErrorDetail(type_url=_ERROR_INFO, value=info.SerializeToString())
    status = wire.ErrorStatus(code=code, message=text, details=[detail])
    found: Exception = kind(text, status.SerializeToString())
    return found


def _status(error: PalimpsestError) -> tuple[int, type[Any]]:
    """The number that gRPC has for an error, and the exception that stands for it.

    Exceptions that are not Flight's own would send a traceback along.
    """
    if error.code in _STRANGERS:
        return 16, flight.FlightUnauthenticatedError
    if error.code is Code.STATEMENT_TIME:
        return 4, flight.FlightTimedOutError
    if error.code is Code.CANCELLED:
        return 1, flight.FlightCancelledError
    if error.sqlstate == "42501":
        return 7, flight.FlightUnauthorizedError
    if error.sqlstate.startswith("XX"):
        return 13, flight.FlightInternalError
    if error.sqlstate.startswith(("53", "57", "58")) or error.code is Code.STORE_LOST:
        return 14, flight.FlightUnavailableError
    return 2, flight.FlightServerError
