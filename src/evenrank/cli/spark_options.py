"""The options that let a Spark cluster do the work: --spark-master, --spark-remote and --spark-set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS = (
    click.option("--spark-master", help="Spark: master URL of a cluster, e.g. spark://host:7077 or local[4]."),
    click.option("--spark-remote", help="Spark: Spark Connect server, e.g. sc://host:15002."),
    click.option(
        "--spark-set",
        "spark_pairs",
        metavar="NAME=VALUE",
        multiple=True,
        help="Spark: a spark.* property; may be repeated.",
    ),
)


def spark_options(command: F) -> F:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def spark_session(master: str | None, remote: str | None, pairs: Iterable[str]) -> SparkSession:
    """The session that the options ask for."""
    from evenrank.spark import start_spark

    wrong = [pair for pair in pairs if "=" not in pair or not pair.startswith("spark.")]
    if wrong:
        raise click.BadParameter(f"not spark.NAME=VALUE: {', '.join(wrong)}", param_hint="--spark-set")
    named = (pair.partition("=") for pair in pairs)
    return start_spark(master, remote, {name: value for name, _, value in named})


def asked_session(master: str | None, remote: str | None, pairs: tuple[str, ...]) -> SparkSession | None:
    """The session, where any of the options was given; None where none was."""
    return spark_session(master, remote, pairs) if master or remote or pairs else None
