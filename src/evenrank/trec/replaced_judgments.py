"""`collection import --qrels` alone: other judgments for the topics of a collection; pages, texts and index stay."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path

from evenrank.core.text_ids import FILE_NAME as IDS_FILE
from evenrank.core.text_ids import save_text_ids
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.io.atomic import link_or_copy
from evenrank.io.judgment_record import CampaignRuns, read_judgment_record
from evenrank.io.topics import judged_by, read_qrels
from evenrank.trec.arrays import TOPIC_FILES, save_topics
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import count_topics, named_from, refuse_unkept, warn_of_judgments
from evenrank.trec.manifest import (
    TOPIC_CHANGES,
    SourceFile,
    locked_folder,
    put_data,
    read_manifest,
    remove_old_data,
    waiting_manifest,
)
from evenrank.trec.sources import md5_of
from evenrank.trec.updated_data import copied_ids, new_version, with_changes


def replace_judgments(
    folder: FilePath,
    qrels: FilePath | Iterable[FilePath],
    *,
    warn: Callable[[str], object] = lambda text: None,
) -> Collection:
    """The collection in a folder with the judgments of files in four columns (topic, 0, page, grade).

    They replace those of the topics that they name; other topics keep theirs, and a topic that the collection does not
    have becomes an evaluation topic. `folder` is as before when this raises. `warn` receives what is odd but not wrong.
    """
    folder = Path(folder)
    paths = [Path(path) for path in ([qrels] if isinstance(qrels, (str, os.PathLike)) else qrels)]
    refuse_unkept(paths)
    read_manifest(folder)
    with locked_folder(folder):
        if waiting_manifest(folder) is not None:
            raise EvenrankError(f"{folder}: has data that wait for their index (run: evenrank index {folder})")
        collection = Collection.open(folder)
        topics, ids, earlier = list(collection.topics), copied_ids(collection.text_ids), collection.manifest
        records = [read_judgment_record(path) for path in paths]
        for path, record in zip(paths, records, strict=True):
            topics = judged_by(topics, read_qrels(path, ids=ids), record)
        warn_of_judgments(topics, collection.page_ids, warn)
        is_grown = ids is not None and len(ids) > len(collection.text_ids or ())

        def write(fresh: Path) -> None:
            for name in earlier.files.keys() - TOPIC_FILES - ({IDS_FILE} if is_grown else set()):
                (fresh / name).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(collection.data / name, fresh / name)
            save_topics(fresh, sorted(topics, key=lambda topic: topic.split != "train"))
            if ids is not None and is_grown:
                save_text_ids(fresh, ids)

        _, manifest = new_version(collection, write)
        sources = dict(earlier.sources)
        for path in paths:
            source = SourceFile(named_from(folder, path), path.stat().st_size, md5_of(path), None)
            sources = with_changes(sources, TOPIC_CHANGES, source)
        parts = [record.campaign for record in records if record is not None]
        found = CampaignRuns.together([*([collection.campaign] if collection.campaign else []), *parts])
        manifest = replace(
            manifest,
            counts={**earlier.counts, **count_topics(topics)},
            sources=sources,
            campaign=asdict(found) if found != CampaignRuns() else {},
        )
        manifest = put_data(folder, manifest)
        remove_old_data(folder)
    return Collection.open(folder, manifest)
