"""A network over the tokens of a text, or of two texts side by side, run by onnxruntime on a CPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.retrieval.encode.encoder_files import EncoderFiles

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
