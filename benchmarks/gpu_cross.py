"""The cross-encoder on a GPU: how many pairs of a topic and a page a second, and whether it says what the CPU says.

    python benchmarks/gpu_cross.py --prepare FOLDER           # here: network, tokenizer and pairs of the real sample
    python benchmarks/gpu_cross.py FOLDER [--scores OUT.npz]  # on a machine with a GPU and PyTorch

The pairs are the 57 real topics with 1000 pages each that words find in the whole corpus. The second step needs no
more of this package than `evenrank.retrieval.encode.torch_network`. Prints the rate, tokenising included, and how far
the scores are from the same weights in float on the CPU and from the packaged int8 network.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
from evenrank.retrieval.encode.torch_network import TorchNetwork, import_torch

N_TOKENS = 200
N_PAGES = 1000
N_COMPARED = 200
LONGEST_TEXT = 1400
"""Characters of a page that can be among the first 200 tokens of a pair."""


def prepare(folder: Path) -> None:
    """Everything that the GPU machine needs, in one folder."""
    from evenrank.retrieval.encode.cross_encoder import query_of
    from evenrank.retrieval.encode.encoder import CROSS_ENCODER, packaged_files
    from real_sample import load_articles, load_topics, sample_engine
    from relevance import lexical_model

    folder.mkdir(parents=True, exist_ok=True)
    files = packaged_files(CROSS_ENCODER)
    shutil.copy(files.model, folder / "model.onnx")
    shutil.copy(files.tokenizer, folder / "tokenizer.json")
    articles = load_articles()
    engine = sample_engine(articles)
    model = lexical_model(engine)
    found = {
        judged.topic: model.score(judged.topic, N_PAGES).page_ids.tolist()
        for judged in load_topics({page.page_id for page in articles})
    }
    write_pairs(folder, {(topic.id, query_of(topic)): pages for topic, pages in found.items()}, engine)


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


def int8_scores(folder: Path, pairs: list[tuple[str, str]]) -> NDArray[np.float32]:
    """The packaged network as it runs on a CPU: one pair at a time."""
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(N_TOKENS)
    found = []
    for query, text in pairs:
        tokens = tokenizer.encode(query, text)
        given = {"input_ids": tokens.ids, "attention_mask": tokens.attention_mask, "token_type_ids": tokens.type_ids}
        found.append(session.run(None, {name: np.array([ids], np.int64) for name, ids in given.items()})[0][0, 0])
    return np.array(found, np.float32)


def measure(folder: Path, scores: Path | None) -> None:
    torch = import_torch()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ids, pairs = read_pairs(folder)
    if device == "cpu":
        ids, pairs = ids[:N_COMPARED], pairs[:N_COMPARED]
    network = TorchNetwork(folder / "model.onnx", folder / "tokenizer.json", N_TOKENS, device)
    list(network.classify(pairs[:N_COMPARED]))
    started = time.perf_counter()
    found = np.array([logits[0] for logits in network.classify(pairs)], np.float32)
    seconds = time.perf_counter() - started
    name = torch.cuda.get_device_name() if device == "cuda" else "no GPU: PyTorch on the CPU"
    print(f"{name}; {len(pairs):,} pairs in {seconds:.1f} s: {len(pairs) / seconds:,.0f} a second")
    sample = list(range(0, len(pairs), max(1, len(pairs) // N_COMPARED)))[:N_COMPARED]
    compared = [pairs[at] for at in sample]
    plain = TorchNetwork(folder / "model.onnx", folder / "tokenizer.json", N_TOKENS, "cpu")
    others = {
        "the same weights in float on the CPU": np.array([logits[0] for logits in plain.classify(compared)]),
        "int8": int8_scores(folder, compared),
    }
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
