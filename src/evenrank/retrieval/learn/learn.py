"""`evenrank.learn`: a relevance model from the training topics of a collection, saved and reported on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evenrank.core.records import Topic
from evenrank.core.settings import parse_settings
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.retrieval.encode.encoder import EncoderSettings
from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.learn.model_file import model_fingerprint, model_path, save
from evenrank.retrieval.learn.training import check_settings, train_on_topics
from evenrank.retrieval.learn.training_data import LearningSettings
from evenrank.retrieval.learn.training_report import TrainingReport, training_summary
from evenrank.retrieval.model_choice import index_encoder, open_dense, open_reader, use_encoder
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.collection import Collection, as_collection


@dataclass(frozen=True)
class Learned:
    """A saved relevance model, and how good it is on topics that it did not see."""

    path: Path
    fingerprint: str
    """Identifies the content of the file."""
    report: TrainingReport
    cost: str = ""
    """What encoding the texts cost; empty without text vectors."""


def learn(
    collection: Collection | FilePath,
    output: FilePath | None = None,
    *,
    dense: bool = False,
    cross: bool = False,
    encoder: EncoderSettings | None = None,
    settings: Mapping[str, str] | None = None,
    marked: Sequence[Topic] = (),
    seed: int = 0,
) -> Learned:
    """Train a relevance model on the training topics of a collection, which needs an index.

    It is saved to `output`, by default to the collection's folder, where `model="learned"` finds it. `dense` adds text
    vectors (implied by an `encoder`), `cross` a cross-encoder as well. `settings` are those of
    `LearningSettings`, by name. `marked` are further topics of which people marked some pages (`assessed_docs`); of
    them only these are learned from, and the report is on the collection's own topics.
    """
    opened = as_collection(collection)
    path = model_path(opened) if output is None else Path(output)
    has_vectors = dense or cross or encoder is not None
    chosen = learning_settings(settings or {}, seed)
    extractor = open_extractor(opened, encoder, has_vectors, cross)
    trained = train_on_topics(extractor, opened.topics, chosen, marked)
    found = training_summary(trained)
    save(trained.state, path)
    cost = str(extractor.dense.cost) if extractor.dense is not None else ""
    return Learned(path, model_fingerprint(path), found, cost)


def learning_settings(texts: Mapping[str, str], seed: int) -> LearningSettings:
    """The settings of learning that the texts describe."""
    if "seed" in texts:
        raise EvenrankError("the seed is not among these settings (give it as --seed, or as seed=)")
    chosen = replace(LearningSettings(), **parse_settings(LearningSettings, texts), seed=seed)
    check_settings(chosen)
    return chosen


def open_extractor(
    collection: Collection, encoder: EncoderSettings | None, has_vectors: bool, has_cross: bool
) -> FeatureExtractor:
    """What computes the features of pages, with text vectors and a cross-encoder if they are wanted."""
    engine = open_index(collection)
    if not has_vectors:
        return FeatureExtractor(LexicalModel(engine))
    used = use_encoder(index_encoder(index_folder(collection), encoder))
    dense = open_dense(engine, used.settings, index_folder(collection))
    reader = open_reader(engine, index_folder(collection), used.settings.device) if has_cross else None
    return FeatureExtractor(LexicalModel(engine), dense, reader)
