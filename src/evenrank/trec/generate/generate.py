"""A generated collection, from settings to files in the official formats, all of them or none, and to a collection."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from evenrank.errors import input_error, reason_of
from evenrank.progress import Progress, progress_bar
from evenrank.trec.collection import Collection
from evenrank.trec.generate.files import GeneratedFiles, file_paths, make_blocks, write_pages, write_topic_files
from evenrank.trec.generate.settings import USUAL_WORLD, GenerateSettings, world_settings
from evenrank.trec.import_files import ImportFiles, import_locked
from evenrank.trec.manifest import locked_folder

SOURCE = "source"
"""Folder of the official-format files, inside the collection."""
UNFINISHED = ".generating"
"""Folder inside the output folder where the files grow until all are whole."""


def generate_collection(
    folder: str | os.PathLike[str],
    settings: GenerateSettings | None = None,
    *,
    world: str = USUAL_WORLD,
    n_pages: int = 20_000,
    n_topics: int = 48,
    seed: int = 0,
    workers: int | None = None,
) -> Collection:
    """A synthetic collection made in `folder`; equal settings give equal bytes.

    Its world, size and seed are the keywords, half of the topics being for training; or `settings` says everything.
    `workers` are processes that write the pages, by default this one alone.
    """
    if settings is None:
        settings = world_settings(world, n_pages=n_pages, n_topics=n_topics, seed=seed)
    folder = Path(folder)
    with locked_folder(folder):
        files = generate_files(folder / SOURCE, settings, workers=workers)
        chosen = ImportFiles(files.metadata, files.topics, (files.eval_qrels, files.eval_topics), files.corpus)
        return import_locked(folder, chosen, settings={"generated": settings.record()}, workers=workers)


def generate_files(
    out: Path, settings: GenerateSettings, progress: Progress | None = None, workers: int | None = None
) -> GeneratedFiles:
    """Official-format files in `out`; equal settings give equal bytes, whatever the number of workers.

    The files appear only when all are whole; an interrupted run leaves what was there before.
    """
    unfinished = out / UNFINISHED
    made = [folder for folder in (out, out.parent) if not folder.exists()]
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(parents=True)
    except OSError as error:
        raise input_error(out, 0, f"could not be made: {reason_of(error)}", "name another folder") from error
    bar = progress if progress is not None else progress_bar(settings.n_pages, "Generating", "page")
    try:
        files = file_paths(unfinished, settings)
        write_topic_files(files, settings, write_pages(files, settings, make_blocks(settings, workers), bar))
        for path in sorted(unfinished.iterdir()):
            os.replace(path, out / path.name)
    finally:
        bar.close()
        shutil.rmtree(unfinished, ignore_errors=True)
        with suppress(OSError):  # folders that were made here and stayed empty
            for folder in made:
                folder.rmdir()
    return file_paths(out, settings)
