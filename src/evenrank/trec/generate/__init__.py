"""Invented collections in the official formats: deterministic from a seed, any size, no network."""

from __future__ import annotations

from evenrank.trec.generate.files import GeneratedFiles
from evenrank.trec.generate.generate import generate_files
from evenrank.trec.generate.settings import GenerateSettings, official_shape, split_topics

__all__ = ["GenerateSettings", "GeneratedFiles", "generate_files", "official_shape", "split_topics"]
