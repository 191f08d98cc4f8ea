"""First sentences on a GPU: how many a second, and whether their vectors are those of the CPU.

    python benchmarks/gpu_encode.py --prepare FOLDER        # here: model, tokenizer and texts of the real sample
    python benchmarks/gpu_encode.py FOLDER [--least 500000] [--vectors OUT]   # on a machine with a GPU and PyTorch

The second needs no more of this package than `evenrank.retrieval.encode.torch_network` (numpy, torch, onnx,
tokenizers), and onnxruntime for the comparison with the packaged int8 network. Prints the rate from text to vector,
tokenising included, and the smallest and mean cosine against the same weights in float on the CPU and against the int8
network.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import shutil
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
from evenrank.retrieval.encode.torch_network import TorchNetwork, import_torch

N_TOKENS = 48
N_COMPARED = 300
WIKIPEDIA = 6_400_000


def prepare(folder: Path) -> None:
    """Everything that the GPU machine needs, in one folder."""
    from evenrank.retrieval.encode.dense import encoded_texts
    from evenrank.retrieval.encode.encoder import network_files
    from evenrank.retrieval.encode.models import BGE
    from evenrank.retrieval.engine.protocol import StoredPage
    from real_sample import load_articles

    folder.mkdir(parents=True, exist_ok=True)
    files = network_files(BGE)
    shutil.copy(files.model, folder / "model.onnx")
    shutil.copy(files.tokenizer, folder / "tokenizer.json")
    with gzip.open(folder / "texts.txt.gz", "wt", encoding="utf-8") as out:
        for page in load_articles():
            (text,) = encoded_texts(StoredPage(page.page_id, page.title, page.text[:2000]))
            out.write(" ".join(text.split()) + "\n")


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def int8_vectors(folder: Path, texts: list[str]) -> NDArray[np.float32]:
    """The packaged network as it runs on a CPU: one text at a time."""
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(N_TOKENS)
    wanted = {tensor.name for tensor in session.get_inputs()}
    found = []
    for text in texts:
        tokens = tokenizer.encode(text)
        given = {"input_ids": tokens.ids, "attention_mask": tokens.attention_mask, "token_type_ids": tokens.type_ids}
        tensors = {name: np.array([given[name]], np.int64) for name in wanted}
        found.append(session.run(None, tensors)[0][0, 0])
    return unit(np.array(found, np.float32))


def measure(folder: Path, least: int, vectors: Path | None) -> None:
    torch = import_torch()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "no GPU: PyTorch on the CPU"
    with gzip.open(folder / "texts.txt.gz", "rt", encoding="utf-8") as lines:
        texts = [line.rstrip("\n") for line in lines]
    network = TorchNetwork(folder / "model.onnx", folder / "tokenizer.json", N_TOKENS, device)
    all_vectors = unit(np.array(list(network.encode(texts if device == "cuda" else texts[:N_COMPARED], "first"))))
    sample = list(range(0, len(all_vectors), max(1, len(all_vectors) // N_COMPARED)))[:N_COMPARED]
    compared = [texts[at] for at in sample]
    plain = TorchNetwork(folder / "model.onnx", folder / "tokenizer.json", N_TOKENS, "cpu")
    in_float = unit(np.array(list(plain.encode(compared, "first"))))
    print(f"{name}; {len(texts):,} texts")
    for label, other in (("the same weights in float on the CPU", in_float), ("int8", int8_vectors(folder, compared))):
        cosine = (all_vectors[sample] * other).sum(axis=1)
        print(f"cosine with {label}: least {cosine.min():.5f}, mean {cosine.mean():.5f}")
    if vectors is not None:
        write_vectors(vectors, all_vectors)
    if device == "cuda":
        rate(network, texts, least)


def rate(network: TorchNetwork, texts: list[str], least: int) -> None:
    """Texts a second over at least so many, after a warm-up."""
    n = max(least, len(texts))
    started = time.perf_counter()
    n_done = sum(1 for _ in network.encode(itertools.islice(itertools.cycle(texts), n), "first"))
    seconds = time.perf_counter() - started
    minutes = WIKIPEDIA / (n_done / seconds) / 60
    print(f"{n_done:,} texts in {seconds:.1f} s: {n_done / seconds:,.0f} a second")
    print(f"6.4 million first sentences, extrapolated: {minutes:.1f} minutes")


def write_vectors(folder: Path, vectors: NDArray[np.float32]) -> None:
    """int8 with a scale each, in parts that are small enough to send."""
    folder.mkdir(parents=True, exist_ok=True)
    scale = np.abs(vectors).max(axis=1, keepdims=True) / 127.0
    for number, part in enumerate(np.array_split(np.arange(len(vectors)), 2)):
        np.savez(folder / f"vectors-{number}.npz", v=np.round(vectors / scale)[part].astype(np.int8), s=scale[part])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prepare", action="store_true", help="write the files that the GPU machine needs")
    parser.add_argument("--least", type=int, default=500_000, help="texts to time")
    parser.add_argument("--vectors", type=Path, help="folder for the vectors of all texts")
    options = parser.parse_args()
    if options.prepare:
        prepare(options.folder)
    else:
        measure(options.folder, options.least, options.vectors)


if __name__ == "__main__":
    main()
