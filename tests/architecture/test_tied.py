"""What tests start ends with them, also where no fixture comes to it."""

import subprocess
import sys

OWNER = """
import os, subprocess
from tests.support.tied import end_with
server = subprocess.Popen(["sleep", "600"], start_new_session=True)
end_with(os.getpid(), server.pid, "KILL", whole_group=True)
os.kill(os.getpid(), 9)
"""


def test_a_server_ends_with_an_owner_that_is_killed() -> None:
    """The server holds the pipe, so reading it to its end waits for the server."""
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as owner:
        assert owner.wait() == -9
        owner.communicate(timeout=60)
