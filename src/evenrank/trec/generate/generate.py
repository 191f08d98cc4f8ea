"""A generated collection, from settings to an opened collection."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from evenrank.trec.collection import Collection
from evenrank.trec.generate.files import generate_files
from evenrank.trec.generate.settings import GenerateSettings, split_topics
from evenrank.trec.import_files import ImportFiles, import_locked
from evenrank.trec.manifest import locked_folder

SOURCE = "source"
"""Folder of the official-format files, inside the collection."""


def generate_collection(
    folder: str | os.PathLike[str],
    settings: GenerateSettings | None = None,
    *,
    n_pages: int = 20_000,
    n_topics: int = 48,
    seed: int = 0,
) -> Collection:
    """A synthetic collection made in `folder`; equal settings give equal bytes.

    Its size and seed are the keywords, half of the topics being for training; or `settings` says everything.
    """
    if settings is None:
        n_train, n_eval = split_topics(n_topics)
        settings = GenerateSettings(n_pages=n_pages, n_train_topics=n_train, n_eval_topics=n_eval, seed=seed)
    folder = Path(folder)
    with locked_folder(folder):
        files = generate_files(folder / SOURCE, settings)
        chosen = ImportFiles(files.metadata, files.topics, (files.eval_qrels, files.eval_topics), files.corpus)
        return import_locked(folder, chosen, settings={"generated": asdict(settings)})
