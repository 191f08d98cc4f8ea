"""The cross-encoder on a GPU: how many pairs of a topic and a page a second, and whether it says what the CPU says.

    python benchmarks/gpu_cross.py --prepare FOLDER           # here: network, tokenizer and pairs of the real sample
    python benchmarks/gpu_cross.py FOLDER [--scores OUT.npz]  # on a machine with a GPU and PyTorch

The pairs are the 57 real topics with 300 pages each that words find in the whole corpus. The second step needs PyTorch
and `tokenizers`, and no more of this package than `evenrank.retrieval.encode.torch_network`. Prints how long the first
30 pages of a topic take, the rate of many pairs, tokenising included in both, and how far the scores are from the same
weights in float on the CPU and, where onnxruntime is installed, from the packaged int8 network.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
from evenrank.retrieval.encode.torch_network import TorchNetwork, import_torch, read_weights

N_TOKENS = 200
N_PAGES = 300
N_FIRST = 30
"""Pages that the second stage of a search reads."""
LEAST_PAIRS = 100_000
N_COMPARED = 200
LONGEST_TEXT = 1400
"""Characters of a page that can be among the first 200 tokens of a pair."""


def prepare(folder: Path) -> None:
    """Everything that the GPU machine needs, in one folder."""
    from evenrank.retrieval.encode.cross_encoder import query_of
    from evenrank.retrieval.encode.encoder import network_files
    from evenrank.retrieval.encode.models import MINILM
    from real_sample import load_articles, load_topics, sample_engine
    from relevance import lexical_model

    folder.mkdir(parents=True, exist_ok=True)
    files = network_files(MINILM)
    shutil.copy(files.tokenizer, folder / "tokenizer.json")
    np.savez_compressed(folder / "weights.npz", **read_weights(files.model))  # type: ignore[arg-type]
    articles = load_articles()
    engine = sample_engine(articles)
    model = lexical_model(engine)
    found = {
        (judged.topic.id, query_of(judged.topic)): model.score(judged.topic, N_PAGES).page_ids.tolist()[:N_PAGES]
        for judged in load_topics({page.page_id for page in articles})
    }
    write_pairs(folder, found, engine)


def write_pairs(folder: Path, pairs: dict[tuple[int, str], list[int]], engine: object) -> None:
    """Texts of all pages once, and for each topic its query and its pages."""
    wanted = sorted({page for pages in pairs.values() for page in pages})
    with gzip.open(folder / "pages.tsv.gz", "wt", encoding="utf-8") as out:
        for page in engine.stored(wanted):  # type: ignore[attr-defined]
            out.write(f"{page.page_id}\t{' '.join(f'{page.title}. {page.opening}'.split())[:LONGEST_TEXT]}\n")
    with gzip.open(folder / "pairs.tsv.gz", "wt", encoding="utf-8") as out:
        for (topic_id, query), pages in pairs.items():
            out.write(f"{topic_id}\t{query}\t{' '.join(map(str, pages))}\n")


def read_pairs(folder: Path) -> tuple[NDArray[np.int64], list[tuple[str, str]]]:
    """Topic and page of each pair, and its two texts."""
    with gzip.open(folder / "pages.tsv.gz", "rt", encoding="utf-8") as lines:
        texts = {int(page): text for page, text in (line.rstrip("\n").split("\t", 1) for line in lines)}
    ids, pairs = [], []
    with gzip.open(folder / "pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            topic_id, query, pages = line.rstrip("\n").split("\t")
            for page in map(int, pages.split()):
                ids.append((int(topic_id), page))
                pairs.append((query, texts[page]))
    return np.array(ids, np.int64), pairs


def int8_scores(pairs: list[tuple[str, str]]) -> NDArray[np.float64]:
    """The packaged network as it runs on a CPU: one pair at a time."""
    from evenrank.retrieval.encode.cross_encoder import CrossEncoder

    reader = CrossEncoder()
    return np.array([reader.scores(query, [text])[0] for query, text in pairs])


def seconds_by_topic(network: TorchNetwork, ids: NDArray[np.int64], pairs: list[tuple[str, str]]) -> list[float]:
    """How long the first pages of each topic take, one topic after the other."""
    taken = []
    for topic in np.unique(ids[:, 0]):
        first = [pairs[at] for at in np.flatnonzero(ids[:, 0] == topic)[:N_FIRST].tolist()]
        started = time.perf_counter()
        list(network.classify(first))
        taken.append(time.perf_counter() - started)
    return taken


def measure(folder: Path, scores: Path | None) -> None:
    torch = import_torch()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ids, pairs = read_pairs(folder)
    weights, tokenizer = folder / "weights.npz", folder / "tokenizer.json"
    network = TorchNetwork(weights, tokenizer, N_TOKENS, device)
    list(network.classify(pairs[:N_COMPARED]))
    seconds_by_topic(network, ids[: 5 * N_PAGES], pairs)
    taken = 1000.0 * np.array(seconds_by_topic(network, ids, pairs))
    print(torch.cuda.get_device_name() if device == "cuda" else "no GPU: PyTorch on the CPU")
    print(
        f"the first {N_FIRST} pages of {len(taken)} topics: median {np.median(taken):.1f} ms, 9 in 10 within "
        f"{np.quantile(taken, 0.9):.1f} ms, most {taken.max():.1f} ms"
    )
    if device == "cpu":
        ids, pairs = ids[:N_COMPARED], pairs[:N_COMPARED]
    n_rounds = -(-LEAST_PAIRS // len(pairs)) if device == "cuda" else 1
    started = time.perf_counter()
    found = np.array([logits[0] for logits in network.classify(pairs * n_rounds)], np.float32)[: len(pairs)]
    seconds = time.perf_counter() - started
    n_pairs = n_rounds * len(pairs)
    print(f"{n_pairs:,} pairs in {seconds:.1f} s: {n_pairs / seconds:,.0f} a second")
    sample = list(range(0, len(pairs), max(1, len(pairs) // N_COMPARED)))[:N_COMPARED]
    compared = [pairs[at] for at in sample]
    plain = TorchNetwork(weights, tokenizer, N_TOKENS, "cpu")
    others = {"the same weights in float on the CPU": np.array([logits[0] for logits in plain.classify(compared)])}
    if all(find_spec(name) is not None for name in ("onnxruntime", "orjson")):
        others["int8"] = int8_scores(compared)
    for label, other in others.items():
        distance = np.abs(found[sample] - other)
        correlation = np.corrcoef(found[sample], other)[0, 1]
        print(f"against {label}: largest distance {distance.max():.4f}, mean {distance.mean():.4f}", end="")
        print(f", correlation {correlation:.5f}")
    if scores is not None:
        np.savez(scores, ids=ids, scores=found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prepare", action="store_true", help="write the files that the GPU machine needs")
    parser.add_argument("--scores", type=Path, help="file for the scores of all pairs")
    options = parser.parse_args()
    if options.prepare:
        prepare(options.folder)
    else:
        measure(options.folder, options.scores)


if __name__ == "__main__":
    main()
