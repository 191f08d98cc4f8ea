"""A generated collection, from settings to an opened collection."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from evenrank.collection.collection import Collection
from evenrank.collection.generate.files import generate_files
from evenrank.collection.generate.settings import GenerateSettings
from evenrank.collection.import_files import ImportFiles, import_collection

SOURCE = "source"
"""Folder of the official-format files, inside the collection."""


def generate_collection(folder: str | os.PathLike[str], settings: GenerateSettings) -> Collection:
    """The collection that `settings` describe, made in `folder`; equal settings give equal bytes."""
    files = generate_files(Path(folder) / SOURCE, settings)
    chosen = ImportFiles(files.metadata, files.topics, (files.eval_qrels, files.eval_topics), files.corpus)
    return import_collection(folder, chosen, settings={"generated": asdict(settings)})
