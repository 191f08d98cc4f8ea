"""The weights of a BERT encoder from its ONNX file, quantised or not, as float arrays with the field's usual names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, MissingExtraError

Array = NDArray[np.float32]
_MATMUL = re.compile(r"^/(?:bert/)?(.+)/(?:MatMul|Gemm)$")
_PREFIX = re.compile(r"^bert\.")
_QUANTISED = "_quantized"


def read_weights(model: Path) -> dict[str, Array]:
    """Arrays by name, such as `encoder.layer.0.attention.self.query.weight`; matrices are input by output."""
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError as error:
        raise MissingExtraError("a text encoder on a GPU", "gpu") from error
    graph = onnx.load(str(model)).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found: dict[str, Array] = {}
    for name in stored:
        if name.endswith(_QUANTISED):
            found[name.removesuffix(_QUANTISED)] = _dequantise(stored, name)
        elif not name.endswith(("_scale", "_zero_point")) and stored[name].dtype.kind == "f":
            found[name] = np.asarray(stored[name], np.float32)
    named = {_PREFIX.sub("", name): values for name, values in found.items() if not name.startswith("onnx::")}
    return named | _matrices(graph, found)


def _dequantise(stored: dict[str, Any], name: str) -> Array:
    base = name.removesuffix(_QUANTISED)
    scale, zero_point = stored[f"{base}_scale"], stored[f"{base}_zero_point"]
    return np.asarray((stored[name].astype(np.float32) - np.float32(zero_point)) * np.float32(scale), np.float32)


def _matrices(graph: Any, found: dict[str, Array]) -> dict[str, Array]:
    """Matrices that exporters keep under numbers, named by the node that uses them."""
    matrices = {}
    for node in graph.node:
        if node.op_type not in ("MatMul", "MatMulInteger") or len(node.input) < 2:
            continue
        place = _MATMUL.match(node.name.removesuffix("_quant")) or _MATMUL.match(node.output[0].split("_output_0")[0])
        values = found.get(node.input[1].removesuffix(_QUANTISED))
        if place is not None and values is not None:
            matrices[place[1].replace("/", ".") + ".weight"] = values
    return matrices


def check_bert(weights: dict[str, Array], model: Path) -> int:
    """The number of layers; an error when parts of a BERT encoder are missing."""
    n_layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})
    parts = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    wanted = [f"encoder.layer.{at}.{part}.weight" for at in range(n_layers) for part in parts]
    lacking = [name for name in ("embeddings.word_embeddings.weight", *wanted) if name not in weights]
    if lacking or not n_layers:
        raise EvenrankError(
            f"{model}: not a BERT encoder that can run on a GPU: no {', '.join(lacking[:3]) or 'layers'}"
        )
    return n_layers
