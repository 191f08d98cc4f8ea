"""The relevance model that brought the candidates of a list, as it is kept and shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import orjson

from evenrank.search.model_choice import ModelChoice

WORDS = {"untrained": "words", "hybrid": "words and text vectors", "learned": "a learned model"}
"""What each kind of model goes by, for visitors."""


@dataclass(frozen=True)
class ModelUsed:
    """A model by what identifies it. The paths that `ModelChoice.describe` has are not for visitors."""

    kind: str
    fingerprint: str | None = None
    """Of the model file; None for a model without one."""
    encoder: str | None = None
    """Fingerprint of the text encoder; None without text vectors."""
    cross_encoder: str | None = None
    """Fingerprint of the cross-encoder; None without one."""

    @property
    def label(self) -> str:
        """The model in words, with its fingerprints."""
        marks = {"model": self.fingerprint, "encoder": self.encoder, "cross-encoder": self.cross_encoder}
        facts = [self.kind, *(f"{name} {mark}" for name, mark in marks.items() if mark)]
        return f"{WORDS.get(self.kind, self.kind)} ({', '.join(facts)})"

    def to_json(self) -> str:
        return orjson.dumps(asdict(self)).decode()


def model_used(choice: ModelChoice) -> ModelUsed:
    """What is kept of the model that was chosen."""
    encoder = choice.encoder.fingerprint if choice.encoder else None
    return ModelUsed(choice.kind, choice.fingerprint or None, encoder, choice.cross_encoder)


def model_from_json(text: str | None) -> ModelUsed | None:
    """A stored model; None for a list from before models were recorded."""
    return None if text is None else ModelUsed(**orjson.loads(text))
