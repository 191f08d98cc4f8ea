"""The command line: the program `evenrank`, and `python -m evenrank` where that is not on the path."""

import sys


def start() -> None:
    """Run the command line; Ctrl-C while it is still being loaded ends it like Ctrl-C later on."""
    try:
        from evenrank.cli.main import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    start()
