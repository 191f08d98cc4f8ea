"""Results never take the place of a collection's own files."""

from __future__ import annotations

from pathlib import Path

import click

from evenrank.collection.collection import Collection

OWN = ("manifest.json", "relevance-model.json", "desk.sqlite", "index", "source")
"""What a collection's folder holds, beside its data."""


def check_output(collection: Collection, *outputs: Path) -> None:
    """A usage error when a result would overwrite, or come to lie among, the files of its collection."""
    folder = collection.path.resolve()
    own = [folder / name for name in (*OWN, collection.manifest.data_folder)]
    wrong = [str(path) for path in outputs if any(path.resolve().is_relative_to(place) for place in own)]
    if wrong:
        raise click.BadParameter(f"{', '.join(wrong)}: a place of the collection's own files", param_hint="-o")
