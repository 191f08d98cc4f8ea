"""Text encoders on a CPU: any Hugging Face encoder exported to ONNX, from a folder with model and tokenizer."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.parallel import n_cores
from evenrank.retrieval.encode.models import BGE, MODEL, MODELS, TOKENIZER, file_sha256, model_folder
from evenrank.retrieval.encode.torch_network import TorchNetwork

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


def network_files(name: str) -> EncoderFiles:
    """The files of a network that is known by name, after they were checked."""
    folder = model_folder(name)
    return EncoderFiles(folder / MODEL, folder / TOKENIZER)


def _read_json(path: Path) -> dict[str, Any]:
    """The object in a file; empty if there is none."""
    try:
        found = orjson.loads(path.read_bytes()) if path.is_file() else {}
    except orjson.JSONDecodeError as error:
        raise EvenrankError(f"{path}: no JSON: {error}") from error
    return found if isinstance(found, dict) else {}


TOKEN_STATES = ("last_hidden_state", "token_embeddings")
"""Names that exporters give to the vectors of tokens."""


@dataclass(frozen=True)
class Network:
    """One text at a time, on one thread: with dynamic int8, a batch changes the result."""

    files: EncoderFiles
    n_tokens: int
    """Tokens that are read; what is longer is cut."""

    def run(self, *texts: str) -> NDArray[np.float32]:
        """What the network makes of a text, or of a pair of texts, without the axis of the batch."""
        encoded = self._tokenizer.encode(*texts)
        tensors = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        given = {name: np.array([tensors[name]], kind) for name, kind in self._inputs.items()}
        (found,) = self._session.run([self._output], given)
        return np.asarray(found[0], np.float32)

    @cached_property
    def _session(self) -> Any:
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError("a text encoder", "dense") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(str(self.files.model), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the errors of onnxruntime have no common type of their own
            raise EvenrankError(f"{self.files.model}: not a model that can be run: {error}") from error

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtraError("a text encoder", "dense") from error
        try:
            tokenizer = Tokenizer.from_file(str(self.files.tokenizer))
        except Exception as error:  # tokenizers raises nothing narrower
            raise EvenrankError(f"{self.files.tokenizer}: not a tokenizer that can be used: {error}") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.n_tokens)
        return tokenizer

    @cached_property
    def _inputs(self) -> dict[str, type[np.signedinteger[Any]]]:
        """Type of each tensor that the model wants; RoBERTa and others want no token types."""
        wanted = {tensor.name: tensor.type for tensor in self._session.get_inputs()}
        if unknown := sorted(set(wanted) - {"input_ids", "attention_mask", "token_type_ids"}):
            fix = "export it for the task feature-extraction"
            raise EvenrankError(f"{self.files.model}: wants {', '.join(unknown)}, which no text encoder needs ({fix})")
        return {name: np.int32 if kind == "tensor(int32)" else np.int64 for name, kind in wanted.items()}

    @cached_property
    def _output(self) -> str:
        """The output with a vector for each token, whatever its place; where there is none, the first."""
        outputs: dict[str, int] = {tensor.name: len(tensor.shape) for tensor in self._session.get_outputs()}
        named = [name for name in TOKEN_STATES if name in outputs]
        return next(iter([*named, *(name for name, n_axes in outputs.items() if n_axes == 3), *outputs]))


Vectors = NDArray[np.float32]
Pooling = Literal["first", "mean"]
Device = Literal["cpu", "cuda", "cpu-float"]

N_AHEAD = 32
"""Pages read ahead for each core: a corpus does not fit into memory."""


@dataclass(frozen=True)
class EncoderSettings:
    """Which encoder, and how its output becomes a vector."""

    path: str | None = None
    """Name of a known encoder (`evenrank models list`), or a folder with `model.onnx` (or `onnx/model.onnx`) and
    `tokenizer.json`; None is bge-small-en."""
    pooling: Pooling | None = None
    """`first`: vector of the first token; `mean`: of all. None: as a known encoder was trained; mean for others."""
    query_prefix: str | None = None
    """Put before queries. None: what a known encoder was trained to see, nothing for others."""
    n_tokens: int = 48
    """Tokens of a text that are read, enough for a title and a sentence; fewer if the model takes fewer."""
    device: Device = "cpu"
    """`cpu`: onnxruntime, in the arithmetic of the model file (the known ones are int8); `cuda`: PyTorch on a GPU, in
    float; `cpu-float`: the same on a CPU, to search with vectors that a GPU made."""
    page_prefix: str | None = None
    """Put before the texts of pages. None: what a known encoder was trained to see, nothing for others."""


class Encoder:
    """Texts → vectors of length 1. One text at a time: with dynamic int8, a batch changes the result."""

    def __init__(self, settings: EncoderSettings | None = None) -> None:
        self.settings = settings or EncoderSettings()
        path = self.settings.path or BGE
        known = MODELS.get(path)
        self.files: EncoderFiles = encoder_files(Path(path)) if known is None else network_files(path)
        self.pooling: Pooling = self.settings.pooling or (known.pooling if known else "mean")
        query_prefix, page_prefix = self.settings.query_prefix, self.settings.page_prefix
        self.query_prefix = query_prefix if query_prefix is not None else known.query_prefix if known else ""
        self.page_prefix = page_prefix if page_prefix is not None else known.page_prefix if known else ""
        self.n_tokens = min(self.settings.n_tokens, self.files.most_tokens or self.settings.n_tokens)

    @property
    def folder(self) -> Path:
        return self.files.folder

    @property
    def name(self) -> str:
        """The name of a known encoder, or that of its folder."""
        path = self.settings.path or BGE
        return path if path in MODELS else Path(path).name

    @property
    def arithmetic(self) -> str:
        """`file`: as the model file has it (the known ones are int8); `float`: PyTorch, on a GPU or a CPU."""
        return "file" if self.settings.device == "cpu" else "float"

    @cached_property
    def fingerprint(self) -> str:
        """Identifies model and settings; vectors of different fingerprints do not mix."""
        arithmetic = () if self.arithmetic == "file" else ("float",)
        prefix = (self.page_prefix,) if self.page_prefix else ()
        return self.files.fingerprint(self.pooling, str(self.n_tokens), READ_OF_A_PAGE, *prefix, *arithmetic)

    @cached_property
    def _network(self) -> Network:
        return Network(self.files, self.n_tokens)

    @cached_property
    def n_dimensions(self) -> int:
        return int(self.encode_query("x").shape[0])

    def encode_query(self, text: str) -> Vectors:
        """The vector of a query."""
        return self._vector(self.query_prefix + text)

    @cached_property
    def _torch(self) -> TorchNetwork | None:
        """The network in PyTorch; None when onnxruntime runs it."""
        return torch_network(self.files, self.n_tokens, self.settings.device)

    def encode_pages(self, pages: Iterable[tuple[str, ...]]) -> Iterator[Vectors]:
        """The vector of each page, the mean of those of its texts, in order; on all cores, or on the GPU."""
        prefixed = (tuple(self.page_prefix + text for text in texts) for texts in pages)
        return self._on_cores(prefixed) if self._torch is None else self._on_device(prefixed, self._torch)

    def _on_device(self, pages: Iterable[tuple[str, ...]], network: TorchNetwork) -> Iterator[Vectors]:
        sizes: deque[int] = deque()

        def texts() -> Iterator[str]:
            for page in pages:
                sizes.append(len(page))
                yield from page

        vectors: list[Vectors] = []
        for vector in network.encode(texts(), self.pooling):
            vectors.append(_unit(vector))
            if len(vectors) == sizes[0]:
                sizes.popleft()
                yield _unit(np.mean(vectors, axis=0))
                vectors = []

    def _on_cores(self, pages: Iterable[tuple[str, ...]]) -> Iterator[Vectors]:
        n_threads = n_cores()
        waiting: deque[Future[Vectors]] = deque()
        with ThreadPoolExecutor(n_threads) as pool:
            for texts in pages:
                waiting.append(pool.submit(self._page_vector, texts))
                if len(waiting) >= N_AHEAD * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _page_vector(self, texts: tuple[str, ...]) -> Vectors:
        return _unit(np.mean([self._vector(text) for text in texts], axis=0))

    def _vector(self, text: str) -> Vectors:
        if self._torch is not None:
            return _unit(next(self._torch.encode([text], self.pooling)))
        return _unit(pooled(self._network.run(text), self.pooling))


def torch_network(files: EncoderFiles, n_tokens: int, device: Device) -> TorchNetwork | None:
    """A network in PyTorch on a device; None when onnxruntime runs it."""
    if device == "cpu":
        return None
    place = "cpu" if device == "cpu-float" else device
    return TorchNetwork(files.model, files.tokenizer, n_tokens, place, files.n_heads)


def _unit(vector: Vectors) -> Vectors:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)


def pooled(states: Vectors, pooling: Pooling) -> Vectors:
    """One vector from those of a text's tokens (there is no padding to leave out), or the one that the model made."""
    if states.ndim == 1:
        return states
    return np.asarray(states[0] if pooling == "first" else states.mean(axis=0))


READ_OF_A_PAGE = "title, first sentence; categories"
"""Changes when other texts of a page are encoded: vectors of different texts do not mix."""
