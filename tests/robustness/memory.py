"""How much memory a call takes at its peak, measured in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LIMIT_MIB = 512
"""Most memory for any input file of up to 10 MB."""


def peak_mib(code: str, *arguments: object, timeout: float = 120) -> tuple[int, int, str]:
    """Peak memory in MiB, exit code and standard error of Python code; `sys.argv[1:]` are the arguments."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stderr is not None
    timer = __import__("threading").Timer(timeout, process.kill)
    timer.start()
    errors = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss // 1024, process.returncode, errors
