"""Near vectors by a graph and by comparing all: recall of the 2000 nearest, processor time, and what a graph costs.

    python -m benchmarks.near_vectors INDEX_FOLDER [--copies 1,4,10]

INDEX_FOLDER is that of an index of the real sample with text vectors (`evenrank index --dense`), or a copy of its
`vectors-*.bin`. Questions are the 57 training topics. Larger files have copies of the vectors, each with noise of half
its length in a random direction, under other ids.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.real_sample import load_topics

from evenrank.retrieval.encode import vector_cache
from evenrank.retrieval.encode.dense import DenseScorer, usual_encoders
from evenrank.retrieval.encode.encoder import Encoder
from evenrank.retrieval.encode.vector_cache import VectorCache, unpack_vectors

N_NEAR = 2000
BLOCK = 20_000


def copies_of(known: VectorCache, path: Path, n_copies: int) -> VectorCache:
    """A file with more vectors."""
    records, rng = known._records.values, np.random.default_rng(0)
    made = np.empty(len(records) * n_copies, records.dtype)
    for start in range(0, len(made), BLOCK):
        part = np.arange(start, min(start + BLOCK, len(made)))
        vectors = unpack_vectors(records[part % len(records)])
        noise = rng.normal(size=vectors.shape).astype(np.float32)
        noise *= 0.5 / np.linalg.norm(noise, axis=1, keepdims=True) * (part >= len(records))[:, None]
        vectors = (vectors + noise) / np.linalg.norm(vectors + noise, axis=1, keepdims=True)
        made["scale"][part] = np.abs(vectors).max(axis=1) / 127.0
        made["values"][part] = np.round(vectors / made["scale"][part][:, None])
        made["page_id"][part] = records["page_id"][part % len(records)] + (part // len(records)) * 100_000_000
    path.write_bytes(made.tobytes())
    return VectorCache(path, records.dtype["values"].shape[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--copies", default="1,4,10")
    chosen = parser.parse_args()
    encoders = [Encoder(settings) for settings in usual_encoders(None)]
    encoder = next(one for one in encoders if (chosen.folder / f"vectors-{one.fingerprint}.bin").is_file())
    scorer = DenseScorer.open(None, encoder, chosen.folder)  # type: ignore[arg-type]
    questions = [scorer.topic_vectors(topic.topic).topic for topic in load_topics(set())]
    vector_cache.EXACT_UP_TO = 0
    print("vectors  graph: s, bytes a vector  exact ms  graph ms  recall of 2000")
    for n_copies in map(int, chosen.copies.split(",")):
        with tempfile.TemporaryDirectory() as place:
            cache = copies_of(scorer.cache, Path(place) / "vectors-x.bin", n_copies)
            times = [time.process_time()]
            exact = [cache.nearest(question, N_NEAR)[0] for question in questions]
            times.append(time.process_time())
            cache.index()
            times.append(time.process_time())
            assert cache._graph is not None  # opened before the clock goes on
            times.append(time.process_time())
            found = [cache.nearest(question, N_NEAR)[0] for question in questions]
            times.append(time.process_time())
            recall = np.mean([np.isin(one, two).mean() for one, two in zip(exact, found, strict=True)])
            n_bytes = cache.graph_path.stat().st_size / len(cache)
            all_ms, graph_ms = (1000 * (times[at + 1] - times[at]) / len(questions) for at in (0, 3))
            print(
                f"{len(cache):,}  {times[2] - times[1]:.1f}, {n_bytes:.0f}  {all_ms:.1f}  {graph_ms:.1f}  {recall:.4f}"
            )
    print(f"processes waiting for {os.cpu_count()} cores, mean of the last minute: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
