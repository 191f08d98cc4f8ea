"""How much memory a call takes at its peak, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT_MIB = 512
"""Most memory for any input file of up to 10 MB."""


REPORT = """
import atexit, pathlib
def report(path=pathlib.Path({path!r}), status=pathlib.Path("/proc/self/status")):
    path.write_text(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")))
atexit.register(report)
"""
"""Code that writes the peak of its process at the end. What the system says of a child includes its parent's memory."""


def peak_mib(code: str, *arguments: object, timeout: float = 120) -> tuple[int, int, str]:
    """Peak memory in MiB, exit code and standard error of Python code; `sys.argv[1:]` are the arguments."""
    with tempfile.TemporaryDirectory() as folder:
        peak = Path(folder) / "peak"
        done = subprocess.run(
            [sys.executable, "-c", REPORT.format(path=str(peak)) + code, *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            timeout=timeout,
            check=False,
        )
        assert peak.exists(), f"ended without a report, exit code {done.returncode}: {done.stderr.decode()}"
        return int(peak.read_text()) // 1024, done.returncode, done.stderr.decode()


def reset_own_peak() -> int:
    """This process's memory in MiB, from which its peak is counted from now on."""
    Path("/proc/self/clear_refs").write_text("5")
    return own_peak()


def own_peak() -> int:
    """The peak of this process in MiB since `reset_own_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) // 1024
