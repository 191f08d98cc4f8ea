"""The command line: one file per command, loaded only when it is called."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import cast

import click

from evenrank.cli.talk import with_talk_options
from evenrank.errors import EvenrankError, UnknownNameError, reason_of

COMMANDS: dict[str, str] = {
    "demo": "The whole chain on a generated collection, with a report; no network.",
    "collection": "Make, import, download and describe collections.",
    "annotate": "Page metadata from Wikipedia and Wikidata dumps.",
    "index": "Build the text index of a collection.",
    "learn": "Train a relevance model on the training topics of a collection.",
    "search": "Find articles by words, for all groups or for one.",
    "rank": "Fair rankings for coordinators (Task 1) and editors (Task 2).",
    "pareto": "The trade-off between relevance and fairness of a topic or topic set.",
    "information": "What it costs policies not to know an attribute that the scorer knows.",
    "run": "Check, convert and make run files.",
    "evaluate": "Score runs: nDCG, AWRF, Score; EE-L, EE-D, EE-R.",
    "compare": "Paired tests of runs against a baseline.",
    "report": "Tables, figures and one offline page.",
    "score": "Score rankings of anything: files in, no collection needed.",
    "rerank": "Fair rankings of anything, with a proof; no collection needed.",
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
    "doctor": "Versions and optional parts found; whether files are as they were written.",
}
"""Name and short help of every command; `evenrank.cli.NAME` holds it as `command`."""
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Variables that tell the linear algebra behind numpy how many threads to use; set before numpy is loaded."""


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="evenrank")
def cli() -> None:
    """Rankings that are relevant and fair: make them, score them, and prove it."""


def main() -> None:
    """Run the command line: exit 0 on success, 1 when a check fails, 2 on usage errors and bad input, 130 on Ctrl-C."""
    add_on_one_thread()
    try:
        code = cli(prog_name="evenrank", standalone_mode=False)  # what a command gave to `Exit`, else its own result
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        click.echo(f"error: {_one_line(error)}", err=True)
        sys.exit(2)
    except EvenrankError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        _leave_quietly(0)
    except OSError as error:
        named = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        click.echo(f"error: {named}{reason_of(error)}", err=True)
        _leave_quietly(2)
    except MemoryError:
        click.echo("error: not enough memory (use fewer --workers, smaller files, or a larger machine)", err=True)
        _leave_quietly(2)
    except RuntimeError as error:
        if "Symlink loop" not in str(error):  # how pathlib says it before Python 3.13
            raise
        click.echo(f"error: {error}", err=True)
        sys.exit(2)


def _one_line(error: click.ClickException) -> str:
    """A usage error in the style of the others, with the command whose help explains it."""
    text = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{text} (see {context.command_path} --help)" if context is not None else text


def add_on_one_thread() -> None:
    """Sums that several threads share have other last bits with another number of cores, and so would the files."""
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")


def _leave_quietly(code: int) -> None:
    """End without writing what standard output could not take."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)


if __name__ == "__main__":
    main()
