"""The real Wikipedia dump inside the package gensim, and the benchmark that knows how to judge a cleaner on it."""

from __future__ import annotations

from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


def load_benchmark(name: str) -> ModuleType:
    """A script of the folder benchmarks as a module."""
    path = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
    spec = spec_from_file_location(f"benchmark_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dump_path() -> Path:
    """206 pages of English Wikipedia of 2016 as XML in one bzip2 stream; skips the test when gensim is missing."""
    spec = find_spec("gensim")
    if spec is None or spec.origin is None:
        pytest.skip("the package gensim, which carries a real Wikipedia dump, is not installed")
    return Path(spec.origin).parent / str(load_benchmark("wikitext").DUMP)
