"""A command of tests that lets a warm server run it, see ``warm_commands``; standard library only.

The first argument of ``python`` is a script, else Python itself is run; ``palimpsest serve`` too,
as what serves others is watched and killed by its own number. ``warm-python`` takes all.
"""

import json
import os
import signal
import socket
import sys

program = os.path.basename(sys.argv[0])
words = sys.argv[1:]
is_taken = words[0][:1] != "-" if program == "python" and words else "serve" not in words
if not is_taken and program != "warm-python":
    real = os.path.join(os.path.dirname(sys.executable), program)
    os.execv(real, [real, *words])

with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.path.join(os.path.dirname(sys.argv[0]), "socket"))
    request = {
        "program": program,
        "words": sys.argv,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    text = json.dumps(request).encode() + b"\n"
    sent = socket.send_fds(server, [text], [0, 1, 2])
    server.sendall(text[sent:])
    answers = server.makefile()
    pid = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda sent, _: os.kill(pid, sent))
    ended = int(answers.readline())
if ended < 0:
    if -ended != signal.SIGKILL:
        signal.signal(-ended, signal.SIG_DFL)
    os.kill(os.getpid(), -ended)
sys.exit(ended)
