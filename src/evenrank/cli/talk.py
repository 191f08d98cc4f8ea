"""What commands say beside their results: on standard error, less of it with --quiet, more with --verbose."""

from __future__ import annotations

import click

from evenrank.core.safe_text import terminal_text

QUIET = "evenrank.quiet"
VERBOSE = "evenrank.verbose"


def say(text: object) -> None:
    """A note on standard error; nothing with --quiet."""
    if not is_quiet():
        click.echo(terminal_text(str(text)), err=True)


def warn(text: object) -> None:
    """A warning on standard error, with --quiet too."""
    click.echo(f"warning: {terminal_text(str(text))}", err=True)


def is_quiet() -> bool:
    """Whether --quiet was given."""
    return _is_set(QUIET)


def is_verbose() -> bool:
    """Whether --verbose was given."""
    return _is_set(VERBOSE)


def _is_set(name: str) -> bool:
    context = click.get_current_context(silent=True)
    return bool(context is not None and context.meta.get(name))


def _quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from evenrank import progress

        ctx.meta[QUIET] = True
        progress.silence()


def _verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[VERBOSE] = True


def with_talk_options(command: click.Command) -> click.Command:
    """The command, and those under it, with --quiet and --verbose."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            with_talk_options(inner)
    elif not any(parameter.name == "quiet" for parameter in command.params):
        flags = {"is_flag": True, "expose_value": False}
        command.params += [
            click.Option(["--quiet"], **flags, callback=_quiet, help="Results, warnings and errors only."),
            click.Option(["-v", "--verbose"], **flags, callback=_verbose, help="Say more, such as protocol settings."),
        ]
    return command
