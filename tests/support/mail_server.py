"""A mail server of this process that keeps what it is sent; it speaks just enough SMTP."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class MailServer:
    """Where it listens, and what came: recipients and the text of each mail."""

    port: int
    mails: list[tuple[list[str], str]] = field(default_factory=list)


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """Take mail inside the block."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 ready")
            recipients: list[str] = []
            for line in self.rfile:
                word = line.decode().strip()
                if word.upper().startswith("RCPT TO:"):
                    recipients.append(word[8:].strip("<> "))
                if word.upper() == "DATA":
                    self._say("354 go on")
                    found.mails.append((recipients, self._text()))
                    recipients = []
                if word.upper() == "QUIT":
                    self._say("221 bye")
                    return
                self._say("250 ok")

        def _text(self) -> str:
            lines = []
            for line in self.rfile:
                if line.strip() == b".":
                    break
                lines.append(line.decode())
            return "".join(lines)

        def _say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        found = MailServer(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
