"""The command line: one file per command, loaded only when it is called."""

from __future__ import annotations

import gc
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn, cast

import click

from evenrank.cli.talk import with_talk_options
from evenrank.core.safe_text import TerminalOutput, terminal_text
from evenrank.errors import EvenrankError, UnknownNameError, hide_passwords, reason_of
from evenrank.garbage import rare_collections

COMMANDS: dict[str, str] = {
    "demo": "The whole chain on a generated collection, with a report; no network.",
    "collection": "Make, import, download and describe collections.",
    "sync": "Keep a collection as a wiki is now.",
    "attributes": "How far recorded groups can be trusted: audits and tables of errors.",
    "annotate": "Page metadata from Wikipedia and Wikidata dumps.",
    "topics": "Make topics from the projects of a wiki.",
    "index": "Build the text index of a collection.",
    "models": "Text encoders and cross-encoders: list and fetch them.",
    "learn": "Train a relevance model on the training topics of a collection.",
    "search": "Find articles by words, for all groups or for one.",
    "count": "How many pages of a topic are relevant, from a few judged ones.",
    "rank": "Fair rankings for coordinators (Task 1) and editors (Task 2).",
    "tune": "Settings of a policy that do best on training queries, within a budget.",
    "experiment": "A study from a TOML file: data, policies, tests, tables, figures, one report.",
    "pareto": "The trade-off between relevance and fairness of a topic or topic set.",
    "information": "What it costs policies not to know an attribute that the scorer knows.",
    "run": "Check, convert and make run files.",
    "evaluate": "Score runs: nDCG, AWRF, Score; EE-L, EE-D, EE-R.",
    "compare": "Paired tests of runs against a baseline.",
    "trust": "How far the order of runs can be trusted.",
    "report": "Tables, figures and one offline page.",
    "score": "Score rankings of anything: files in, no collection needed.",
    "rerank": "Fair rankings of anything, with a proof; no collection needed.",
    "stream": "Fairness over a stream of requests, ranked one at a time.",
    "targets": "The wanted exposure of every group, by topic.",
    "serve": "The web app: work lists, saved searches, assessment.",
    "backup": "Save the web app's lists and the judgments in one file.",
    "restore": "Put back what `evenrank backup` saved.",
    "publish": "Put a run or a saved list on a page of a wiki.",
    "pool": "Build pools for relevance assessment, and look at them.",
    "judgments": "Import and export judgments; agreement of assessors.",
    "policies": "List the ranking policies.",
    "metrics": "List the measures.",
    "protocols": "List the scoring protocols and their choices.",
    "doctor": "Versions and optional parts found; whether files are intact.",
}
"""Name and short help of every command; `evenrank.cli.NAME` holds it as `command`."""
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Variables that tell the linear algebra behind numpy how many threads to use; set before numpy is loaded."""

CLOSED_PIPE = 141
"""How shells report a program whose output nobody reads any more: 128 + SIGPIPE."""


class _OutputClosedError(Exception):
    """A closed pipe, past click, which would end with exit code 1."""


@contextmanager
def _past_click() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _OutputClosedError from error


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that starting is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return with_talk_options(cast(click.Command, import_module(f"evenrank.cli.{cmd_name}").command))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise UnknownNameError("command", args[0], COMMANDS, "evenrank --help explains them")
        return super().resolve_command(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _past_click():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; collections are rare because importing one makes many objects, and all of them stay."""
        with _past_click(), rare_collections():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="evenrank")
def cli() -> None:
    """Rankings that are relevant and fair: make them, score them, and prove it."""


def main() -> None:
    """Run the command line: exit 0 on success, 1 when a check fails, 2 on usage errors and bad input, 130 on Ctrl-C.

    When nobody reads the output any more, as in `evenrank … | head`, it ends without a message, with exit code 141.
    """
    add_on_one_thread()
    warnings.showwarning = _show_warning
    _guard_output()
    try:
        code = _run()
        gc.freeze()  # a process that ends need not search its objects for cycles once more
        sys.exit(code)
    except (BrokenPipeError, _OutputClosedError):
        _leave_quietly(CLOSED_PIPE)


def _run() -> int:
    """The exit code of the command that `sys.argv` names; errors are printed."""
    try:
        code = cli(prog_name="evenrank", standalone_mode=False)  # what a command gave to `Exit`, else its own result
        if sys.stdout is not None:
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        return _say(_one_line(error))
    except EvenrankError as error:
        return _say(error)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        raise
    except OSError as error:
        named = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        _say(f"{named}{reason_of(error)}")
        _leave_quietly(2)
    except MemoryError:
        _say("not enough memory (use fewer --workers, smaller files, or a larger machine)")
        _leave_quietly(2)
    except RuntimeError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # while a class was made, before Python 3.12
            click.echo("interrupted", err=True)
            return 130
        if "Symlink loop" not in str(error):  # how pathlib says it before Python 3.13
            raise
        return _say(error)


def _say(message: object) -> int:
    """Print an error; the exit code of errors."""
    click.echo(f"error: {terminal_text(hide_passwords(str(message)))}", err=True)
    return 2


def _guard_output() -> None:
    """Let standard output take any name, and no name command the terminal."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
        if sys.stdout.isatty():
            encoding = sys.stdout.encoding
            sys.stdout = TerminalOutput(sys.stdout.detach(), encoding, "backslashreplace", line_buffering=True)


def _show_warning(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
    """Print a warning as the command line prints its own: where in the code it was raised helps nobody here."""
    click.echo(f"warning: {terminal_text(hide_passwords(str(message)))}", err=True)


def _one_line(error: click.ClickException) -> str:
    """A usage error in the style of the others, with the command whose help explains it."""
    text = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{text} (see {context.command_path} --help)" if context is not None else text


def add_on_one_thread() -> None:
    """Sums that several threads share have other last bits with another number of cores, and so would the files."""
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")


def _leave_quietly(code: int) -> NoReturn:
    """End without writing what standard output, or an error stream that nobody reads, could not take."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    if code == CLOSED_PIPE:
        os.dup2(nowhere, 2)
    sys.exit(code)


if __name__ == "__main__":
    main()
