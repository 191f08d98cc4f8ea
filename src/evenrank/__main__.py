"""The command line: the program `evenrank`, and `python -m evenrank` where that is not on the path."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from evenrank.garbage import collect_rarely


def start() -> None:
    """Run the command line; Ctrl-C while it is still being loaded ends it like Ctrl-C later on."""
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    collect_rarely()  # nearly all that is made while modules are loaded stays
    try:
        if is_usual:
            signal.signal(signal.SIGINT, _leave)
        from evenrank.cli.main import main as run

        if is_usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    run()


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End at once: an exception in the middle of an import may be turned into another one, or be swallowed."""
    os.write(2, b"interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    start()
