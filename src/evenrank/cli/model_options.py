"""The options that choose a relevance model: --model, --encoder, --pooling and --device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from evenrank.retrieval.encode.encoder import Device, EncoderSettings, Pooling
    from evenrank.retrieval.model_choice import ModelChoice
    from evenrank.trec.collection import Collection

Command = TypeVar("Command", bound=Callable[..., Any])

ENCODER = click.option(
    "--encoder",
    metavar="PATH",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with model.onnx and tokenizer.json.  [default: the packaged encoder]",
)
POOLING = click.option(
    "--pooling",
    type=click.Choice(["first", "mean"]),
    help="How tokens become a vector.  [default: first for the packaged encoder, else mean]",
)
DEVICE = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda", "cpu-float"]),
    help="Where networks run: cpu, cuda (a GPU, extra gpu), or cpu-float for vectors that a GPU made.  "
    "[default: as the index and the model were made, else cpu]",
)
MODEL = click.option(
    "--model",
    default="untrained",
    show_default=True,
    metavar="MODEL",
    help="Relevance: untrained (words), dph (words as Terrier weighs them), hybrid (and text vectors), learned (by "
    "`evenrank learn`), or a model file.",
)


def model_options(command: Command) -> Command:
    """Add --model, --encoder, --pooling and --device to a command."""
    for option in (DEVICE, POOLING, ENCODER, MODEL):
        command = option(command)
    return command


def encoder_settings(path: Path | None, pooling: str | None, device: str | None = None) -> EncoderSettings | None:
    """The encoder that the options describe; None when they say nothing."""
    from evenrank.retrieval.encode.encoder import EncoderSettings

    if path is None and pooling is None and device is None:
        return None
    place = None if path is None else str(path)
    return EncoderSettings(place, cast("Pooling | None", pooling), device=cast("Device", device or "cpu"))


def chosen_model(
    collection: Collection, model: str, encoder: Path | None, pooling: str | None, device: str | None = None
) -> ModelChoice:
    """The relevance model that the options describe."""
    from evenrank.retrieval.model_choice import choose_model

    return choose_model(collection, model, encoder_settings(encoder, pooling, device))
