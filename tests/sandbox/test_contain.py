"""Steps of the jail that can be looked at by themselves."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import require
from tests.sandbox.engines import IGNORING

PROGRAM = """
import signal
from ringfence.sandbox.native.contain import reset_signals
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
RESET
changed = {n: signal.getsignal(n) for n in signal.valid_signals()}
changed = {n: what for n, what in changed.items() if what != signal.SIG_DFL}
fresh = {2: signal.default_int_handler, 13: signal.SIG_IGN, 25: signal.SIG_IGN}
print(changed == fresh, len(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
"""


def test_signals_are_as_in_a_fresh_interpreter_whatever_the_caller_ignores() -> None:
    require("linux")
    said = [
        subprocess.run(
            [*IGNORING, sys.executable, "-c", PROGRAM.replace("RESET", reset)],
            stdout=subprocess.PIPE, text=True, check=True,
        ).stdout
        for reset in ("", "reset_signals()")
    ]  # fmt: skip
    assert said == ["False 2\n", "True 0\n"]
