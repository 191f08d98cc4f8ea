"""Options that commands share: types that refuse what click's own let through, the relevance model, Spark.

Options that belong together reach a command as one argument (`joint_options`).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from evenrank.errors import MissingExtraError, UnknownNameError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evenrank.plugins import Registry
    from evenrank.retrieval.encode.encoder import Device, EncoderSettings, Pooling
    from evenrank.retrieval.model_choice import ModelChoice
    from evenrank.trec.collection import Collection


class FiniteRange(click.FloatRange):
    """A number in a range; neither `nan`, which no comparison finds outside of it, nor `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class NamedPath(click.Path):
    """A path with a name: the empty one would stand for the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty (write . for the current folder).", param, ctx)
        return super().convert(value, param, ctx)


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Duration(click.types.FloatParamType):
    """A number with a unit, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", str(value))
        if found is None or not float(found[1]):
            self.fail(f"{value!r} is not a duration such as 30m, 1h or 1d.", param, ctx)
        return float(found[1]) * UNITS[found[2]]


@contextmanager
def needs_wiki() -> Iterator[None]:
    """A block that imports what reads a wiki, which an extra brings."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("urllib3", "prometheus_client"):
            raise
        raise MissingExtraError("reading a wiki", "wiki") from error


class InputFile(NamedPath):
    """A file to read; `-` is standard input, kept in a file until the command ends, because it may be read twice."""

    def __init__(self, *, exists: bool = False) -> None:
        super().__init__(exists=exists, dir_okay=False, allow_dash=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) != "-" or ctx is None:
            return super().convert(value, param, ctx)
        if ctx.meta.get(__name__):
            self.fail("standard input (-) is named twice, and can be read once.", param, ctx)
        from shutil import copyfileobj
        from tempfile import TemporaryDirectory

        ctx.meta[__name__] = True
        folder = ctx.with_resource(TemporaryDirectory(prefix="evenrank-"))
        path = Path(folder) / "stdin"
        with path.open("wb") as file:
            copyfileobj(sys.stdin.buffer, file)
        return path


class StoreLocation(NamedPath):
    """A file, or the address of a PostgreSQL database, which stays text."""

    def __init__(self, *, exists: bool = False, dir_okay: bool = False) -> None:
        super().__init__(exists=exists, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from evenrank.database.database import is_database_address

        return value if is_database_address(value) else super().convert(value, param, ctx)


class Seed(click.types.IntParamType):
    """A whole number that every file can keep: JSON and SQLite have none of more than 64 bits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(super().convert(value, param, ctx))
        if not -(2**63) <= number < 2**63:
            self.fail(f"{value!r} is too large for a seed.", param, ctx)
        return number


class NameIn(click.types.StringParamType):
    """The name of something in a registry; plug-ins are looked for only when no built-in one has the name."""

    def __init__(self, kind: str, registry: Registry[Any]) -> None:
        self.kind, self.registry = kind, registry

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(self.registry.builtin)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.registry:
            raise UnknownNameError(self.kind, value, self.registry)
        return str(value)


SEED = Seed()
STORE = StoreLocation(exists=True)
NEW_STORE = StoreLocation()

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]


def measures_option(what: str, default: str = "", *, or_all: bool = False) -> Decorator[Any]:
    """Add `--measures`, whose argument is a tuple of names, some of them perhaps joined by commas."""
    words = f"{what}, joined by commas: nDCG@10,AWRF{'; `all` for every one' if or_all else ''}."
    help_text = f"{words}  [default: {default}]" if default else words
    names = ("-m", "--measures", "--measure", "measures")
    return click.option(*names, multiple=True, metavar="NAMES", help=help_text)


def joint_options(name: str, make: Callable[..., Any], *options: Decorator[Any]) -> Decorator[Any]:
    """A decorator that adds options to a command, which gets what `make` gives of their values as one argument."""

    def declared() -> None:
        """Takes the options, whose names it then tells."""

    for option in options:
        option(declared)
    names = [parameter.name for parameter in getattr(declared, "__click_params__", [])]

    def add(command: Command) -> Command:
        @wraps(command)
        def with_one_argument(**values: Any) -> Any:
            given = {each: values.pop(each) for each in names}
            return command(**values, **{name: make(**given)})

        for option in reversed(options):
            option(with_one_argument)
        return cast(Command, with_one_argument)

    return add


def settings_option(what: str) -> Decorator[Any]:
    """Add `--set`, whose argument `settings` has the texts of settings by name."""

    def read(pairs: tuple[str, ...]) -> dict[str, str]:
        from evenrank.core.settings import read_pairs

        return read_pairs(pairs)

    option = click.option("--set", "pairs", metavar="NAME=VALUE", multiple=True, help=what)
    return joint_options("settings", read, option)


@dataclass(frozen=True)
class ModelOptions:
    """The relevance model as said on the command line."""

    model: str
    encoder: str | None
    pooling: str | None
    device: str | None
    n_read: int | None

    def choose(self, collection: Collection) -> ModelChoice:
        """The model for a collection."""
        from evenrank.retrieval.model_choice import choose_model

        encoder = encoder_settings(self.encoder, self.pooling, self.device)
        return choose_model(collection, self.model, encoder, self.n_read)


def encoder_settings(encoder: str | None, pooling: str | None, device: str | None) -> EncoderSettings | None:
    """The encoder that the options describe; None when they say nothing."""
    if encoder is None and pooling is None and device is None:
        return None
    from evenrank.retrieval.encode.encoder import EncoderSettings

    return EncoderSettings(encoder, cast("Pooling | None", pooling), device=cast("Device", device or "cpu"))


@dataclass(frozen=True)
class SparkOptions:
    """The Spark cluster as said on the command line."""

    spark_master: str | None
    spark_remote: str | None
    spark_pairs: tuple[str, ...]

    def start(self) -> SparkSession:
        """The session that the options ask for."""
        from evenrank.spark import start_spark

        wrong = [pair for pair in self.spark_pairs if "=" not in pair or not pair.startswith("spark.")]
        if wrong:
            raise click.BadParameter(f"not spark.NAME=VALUE: {', '.join(wrong)}", param_hint="--spark-set")
        named = (pair.partition("=") for pair in self.spark_pairs)
        return start_spark(self.spark_master, self.spark_remote, {name: value for name, _, value in named})

    def start_if_given(self) -> SparkSession | None:
        """The session, where any of the options was given; None where none was."""
        return self.start() if self.spark_master or self.spark_remote or self.spark_pairs else None


_ENCODER = (
    click.option(
        "--encoder",
        metavar="NAME|PATH",
        help="A text encoder by name (`evenrank models list`), or a folder with model.onnx and tokenizer.json.  "
        "[default: those of the index, else those on this machine]",
    ),
    click.option(
        "--pooling",
        type=click.Choice(["first", "mean"]),
        help="How tokens become a vector.  [default: as a known encoder was trained, else mean]",
    ),
    click.option(
        "--device",
        type=click.Choice(["cpu", "cuda", "cpu-float"]),
        help="Where networks run: cpu, cuda (a GPU, extra gpu), or cpu-float for vectors that a GPU made.  "
        "[default: as the index and the model were made, else cpu]",
    ),
)
encoder_options = joint_options("encoder", encoder_settings, *_ENCODER)
"""--encoder, --pooling and --device, as the settings `encoder`."""
model_options = joint_options(
    "model",
    ModelOptions,
    click.option(
        "--model",
        default="untrained",
        metavar="MODEL",
        help="Relevance: untrained (words), dph or bm25 (words by one formula), hybrid (and text vectors), learned (by "
        "`evenrank learn`), or a model file.",
    ),
    *_ENCODER,
    click.option(
        "--read",
        "n_read",
        type=click.IntRange(min=0, max=1000),
        help="Pages of each topic that a cross-encoder reads, with the model hybrid.  [default: 30 where the "
        "cross-encoder is on this machine; 0 in serve]",
    ),
)
"""The options of an encoder, --model and --read, as `model`."""
spark_options = joint_options(
    "spark",
    SparkOptions,
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
"""--spark-master, --spark-remote and --spark-set, as `spark`."""
