"""Hostile and broken messages, before and after the greeting: refused, and nobody else notices."""

from __future__ import annotations

import random
import socket
import struct
from contextlib import suppress

import psycopg
import pytest

from tests.servers.conftest import Server

GREETING = struct.pack("!i", 196_608) + b"user\0me\0database\0palimpsest\0\0"


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=20)


def framed(body: bytes) -> bytes:
    return struct.pack("!i", len(body) + 4) + body


def read_until_ready(peer: socket.socket) -> bytes:
    data = b""
    while not data.endswith((b"Z\0\0\0\x05I", b"Z\0\0\0\x05E", b"Z\0\0\0\x05T")):
        piece = peer.recv(65_536)
        if not piece:
            break
        data += piece
    return data


def answer(peer: socket.socket) -> bytes:
    data = b""
    with suppress(OSError):
        while piece := peer.recv(65_536):
            data += piece
    return data


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\0",
        b"\x7f\xff\xff\xff",
        struct.pack("!i", -5),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        framed(struct.pack("!i", 2 << 16)),
        framed(struct.pack("!i", 196_608) + b"user"),
        framed(struct.pack("!ii", 80_877_102, 1)),
        framed(struct.pack("!i", 80_877_103)) + b"x",
    ],
)
def test_a_broken_greeting_is_refused(server: Server, data: bytes) -> None:
    with connect(server) as peer:
        peer.sendall(data)
        peer.shutdown(socket.SHUT_WR)
        answer(peer)
    with psycopg.connect(server.dsn) as other:
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_a_newer_minor_version_is_negotiated(server: Server) -> None:
    with connect(server) as peer:
        greeting = struct.pack("!i", (3 << 16) | 9) + b"user\0me\0_pq_.x\x001\0\0"
        peer.sendall(framed(greeting))
        data = read_until_ready(peer)
        assert data.startswith(b"v")
        assert b"_pq_.x" in data


def test_a_message_that_is_too_long_or_unknown_ends_the_connection(server: Server) -> None:
    for data in (b"Q\x7f\xff\xff\xff", b"Q\0\0\0\x01", b"%\0\0\0\x04", b"B\0\0\0\x05x"):
        with connect(server) as peer:
            peer.sendall(framed(GREETING))
            read_until_ready(peer)
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
            assert b"08P01" in answer(peer)


def test_random_messages_neither_end_the_server_nor_hang_it(server: Server) -> None:
    chance = random.Random(18)
    kinds = b"QPBDECSHXdcfFp"
    for _ in range(60):
        with connect(server) as peer:
            peer.sendall(framed(GREETING))
            read_until_ready(peer)
            with suppress(OSError):
                for _ in range(chance.randrange(1, 12)):
                    body = chance.randbytes(chance.randrange(0, 60))
                    peer.sendall(bytes([chance.choice(kinds)]) + framed(body))
                peer.shutdown(socket.SHUT_WR)
            answer(peer)
    with psycopg.connect(server.dsn) as other:
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_what_follows_an_error_is_passed_over_up_to_sync(server: Server) -> None:
    with connect(server) as peer:
        peer.sendall(framed(GREETING))
        read_until_ready(peer)
        broken = b"P" + framed(b"\0SELECT * FROM nothing\0\0\0") + b"D" + framed(b"S\0")
        peer.sendall(broken + b"E" + framed(b"\0\0\0\0\0") + b"S" + framed(b""))
        data = read_until_ready(peer)
        assert data.count(b"42P01") == 1
        assert data.endswith(b"Z\0\0\0\x05I")


def test_a_conflict_at_sync_is_told_and_the_connection_goes_on(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as other:
        other.execute("CREATE TABLE contended (a INTEGER PRIMARY KEY, n INTEGER)")
        other.execute("INSERT INTO contended VALUES (1, 0)")
        with connect(server) as peer:
            peer.sendall(framed(GREETING))
            read_until_ready(peer)
            update = b"UPDATE contended SET n = n + 1 WHERE a = 1"
            parts = b"P" + framed(b"\0" + update + b"\0\0\0") + b"B" + framed(b"\0\0" + bytes(6))
            peer.sendall(parts + b"E" + framed(b"\0" + bytes(4)) + b"H" + framed(b""))
            data = b""
            while b"UPDATE 1" not in data:
                data += peer.recv(65_536)
            other.execute(update.decode())
            peer.sendall(b"S" + framed(b""))
            data = read_until_ready(peer)
            assert b"40001" in data
            assert data.endswith(b"Z\0\0\0\x05I")
        assert other.execute("SELECT n FROM contended").fetchone() == (1,)
