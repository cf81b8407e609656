"""Sessions with HiveServer2 and Spark's Thrift Server opened: the settings, the login, the limits.

The only module that imports pyhive. What a session is asked is decided above it; it never sends a
statement but the USE of its database.
"""

from __future__ import annotations

import logging
from typing import Any

from pyhive import exc as errors
from pyhive import hive
from TCLIService import TCLIService
from thrift.Thrift import TException
from thrift.transport import TTransport

from journal.files.tcp_keepalive import set_keepalive
from journal.model.errors import Code, PalimpsestError
from journal.stores.hive.client.errors import (
    server_gone,
    silent,
    silent_login,
    translate,
    unreachable,
)
from journal.stores.hive.client.login import KERBEROS, Server, socket_to, transport
from journal.stores.hive.client.protocol import Protocol

# Thrift logs what it raises; who has set up no logging would see it on stderr, beside our error.
logging.getLogger("thrift").addHandler(logging.NullHandler())

LOST = (TTransport.TTransportException, TException, OSError, EOFError, AssertionError)
"""What the driver raises when a connection is gone."""
DRIVER_ERROR = errors.Error
"""What it raises for everything else."""

_SPARK_SETTINGS = {
    # What overflows, or is no number, is an error and not another value.
    "spark.sql.ansi.enabled": "true",
    # Folders are listed by so many tasks; by itself Spark starts one task for each folder.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "64",
}
_HIVE_SETTINGS = {
    # Hive puts nulls where Spark does, as what is said of their order relies on it.
    "hive.default.nulls.last": "false",
    # Its timestamps have no zone; instants are written in this one.
    "hive.local.time.zone": "UTC",
    # Columns of a result are called what the query calls them, without their table.
    "hive.resultset.use.unique.column.names": "false",
    # Dates before 1582 are those that everybody else reads in the files.
    "hive.parquet.date.proleptic.gregorian": "true",
    # What it makes of comparisons and of outer joins misses rows (docs/adr/0044).
    "hive.optimize.point.lookup": "false",
    "hive.auto.convert.anti.join": "false",
}
"""Without the prefix of ``_SET``, as Spark ignores such, and takes no names it does not know."""
_SET = "set:hiveconf:"
"""What a setting's name begins with that both engines are to take."""


def session_settings(server: Server) -> dict[str, str]:
    """What a session is opened with."""
    return _HIVE_SETTINGS | {f"{_SET}{k}": v for k, v in spark_settings(server).items()}


def spark_settings(server: Server) -> dict[str, str]:
    """What a session of Spark is opened with, whoever opens it."""
    return {**_SPARK_SETTINGS, **server.configuration}


def opened(server: Server) -> tuple[Any, Any]:
    """A session of the driver's, and its socket; raises for what keeps from connecting."""
    try:
        socket = socket_to(server)
        found = hive.connect(
            username=server.user,
            database=server.database,
            configuration=session_settings(server),
            thrift_transport=transport(server, socket, hive.get_installed_sasl),
        )
        found._client = TCLIService.Client(Protocol(found._transport))
        set_patience(socket, server.answer_timeout_s)
        set_keepalive(socket.handle, server.silence_timeout_s)
        return found, socket
    except errors.OperationalError as error:
        status = getattr(error.args[0], "status", None) if error.args else None
        found = translate(getattr(status, "errorMessage", None) or str(error))
        if found.code is Code.UNKNOWN_SCHEMA:
            raise PalimpsestError(
                Code.STORE_LOGIN,
                f"the server has no database {server.database}",
                advice="create it, or name another in the URL",
            ) from error
        raise found from error
    except LOST as error:
        if is_silence(error):
            raise silent_login(server.connect_timeout_s) from error
        said = str(error) or type(error).__name__
        raise unreachable(said, is_kerberos=server.auth == KERBEROS) from error
    except ImportError as error:
        raise PalimpsestError(
            Code.DRIVER_MISSING,
            f"auth={server.auth} needs a package that is not installed: {error.name}",
            advice="pip install kerberos, or use another auth",
        ) from error


def set_patience(socket: Any, seconds: float) -> None:
    """How long a call waits for its answer from now on; 0: for ever."""
    socket.setTimeout(seconds * 1000 if seconds else None)


def is_silence(error: BaseException) -> bool:
    """True if a server that took a call has not answered it in time."""
    return bool(getattr(error, "type", None) == TTransport.TTransportException.TIMED_OUT)


def connection_lost(error: BaseException, waited_s: float) -> PalimpsestError:
    """The error for one of ``LOST`` while a call waited for so long at most."""
    return (
        silent(waited_s) if is_silence(error) else server_gone(str(error) or type(error).__name__)
    )
