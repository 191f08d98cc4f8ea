"""Is a text really one of boosted trees? LightGBM takes it on trust: a child out of range ends the process.

Checked are the head, and of every tree that its lists have the lengths that it announces, that each node is the child
of exactly one earlier node, and that all numbers are finite. What LightGBM writes behind the trees is not read.
"""

from __future__ import annotations

import math
import re
from itertools import accumulate, pairwise

MAX_NODES = 1 << 20
"""Most leaves of one tree; ours have a few dozen."""
END = "end of trees"
OBJECTIVES = ("binary", "lambdarank", "regression")
HEAD = (
    "version",
    "num_class",
    "num_tree_per_iteration",
    "label_index",
    "max_feature_idx",
    "objective",
    "feature_names",
    "feature_infos",
    "tree_sizes",
)
NODE_LISTS = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
NODE_FACTS = ("internal_value", "internal_weight", "internal_count")
LEAF_LISTS = ("leaf_value", "leaf_weight", "leaf_count")
WHOLE = frozenset({"split_feature", "decision_type", "left_child", "right_child", "leaf_count", "internal_count"})
DECISIONS = frozenset({0, 2, 4, 6, 8, 10})
"""Splits by a number: bit 1 is where a missing value goes, bits 2 and 3 what counts as one."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII)


def n_features_of(text: str) -> int:
    """How many features the trees of a text want; ValueError says what is wrong with it."""
    head, trees = _parts(text)
    n_features = _check_head(head)
    for number, tree in enumerate(trees):
        try:
            _check_tree(tree, number, n_features)
        except ValueError as error:
            raise ValueError(f"tree {number}: {error}") from None
    return n_features


def without_rest(text: str) -> str:
    """The head and the trees of a checked text, without the settings of the training behind them."""
    return text[: text.index(f"\n{END}\n") + len(END) + 2]


def _parts(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The entries of the head and of each tree, cut where the head says."""
    sizes = re.search(r"^tree_sizes=(\d{1,9}(?: \d{1,9})*)$", text, re.MULTILINE | re.ASCII)
    start = text.find("\nTree=0\n") + 1
    if not text.startswith("tree\n") or sizes is None or not sizes.end() < start:
        raise ValueError("the text of the trees is cut off, or something else")
    bounds = [start, *(start + end for end in accumulate(int(size) for size in sizes[1].split()))]
    if not all(text.startswith("Tree=", at) for at in bounds[:-1]) or not text.startswith(f"{END}\n", bounds[-1]):
        raise ValueError("the text of the trees is cut off, or something else")
    return _entries(text[len("tree\n") : start]), [_entries(text[at:end]) for at, end in pairwise(bounds)]


def _entries(lines: str) -> dict[str, str]:
    entries: dict[str, str] = {}
    for line in filter(None, lines.split("\n")):
        name, equals, value = line.partition("=")
        if not equals or name in entries:
            raise ValueError(f"an odd line {line[:40]!r}")
        entries[name] = value
    return entries


def _check_head(head: dict[str, str]) -> int:
    """The number of features; ValueError when the head is not that of one ranking score."""
    unknown = set(head) - {*HEAD, "monotone_constraints"}
    if unknown or not set(HEAD) <= set(head):
        raise ValueError("the head of the trees has other entries")
    fixed = {"version": "v4", "num_class": "1", "num_tree_per_iteration": "1", "label_index": "0"}
    for name, value in fixed.items():
        if head[name] != value:
            raise ValueError(f"{name} is {head[name][:20]!r}, not {value}")
    if head["objective"].split(" ")[0] not in OBJECTIVES or not re.fullmatch(r"[a-z0-9_:. ]*", head["objective"]):
        raise ValueError(f"objective is {head['objective'][:20]!r}")
    n_features = int(_number(head["max_feature_idx"], "max_feature_idx", is_whole=True)) + 1
    lists = {name: head[name].split(" ") for name in ("feature_names", "feature_infos")}
    if "monotone_constraints" in head:
        lists["monotone_constraints"] = head["monotone_constraints"].split(" ")
    for name, values in lists.items():
        if len(values) != n_features:
            raise ValueError(f"{len(values)} {name}, not {n_features}")
    if not set(lists.get("monotone_constraints", ())) <= {"-1", "0", "1"}:
        raise ValueError("monotone_constraints are others than -1, 0 and 1")
    return n_features


def _check_tree(tree: dict[str, str], number: int, n_features: int) -> None:
    if {"Tree": str(number), "num_cat": "0", "is_linear": "0"}.items() - tree.items():
        raise ValueError("not a numbered tree of plain splits")
    n_leaves = int(_number(tree.get("num_leaves", ""), "num_leaves", is_whole=True))
    if not 1 <= n_leaves <= MAX_NODES:
        raise ValueError(f"num_leaves is {n_leaves}")
    _number(tree.get("shrinkage", ""), "shrinkage")
    nodes = {name: _numbers(tree, name, n_leaves - 1) for name in (*NODE_LISTS, *NODE_FACTS)}
    leaves = {name: _numbers(tree, name, n_leaves) for name in LEAF_LISTS if n_leaves > 1 or name == "leaf_value"}
    if not all(0 <= feature < n_features for feature in nodes["split_feature"]):
        raise ValueError(f"a split by a feature that is none of {n_features}")
    if not set(nodes["decision_type"]) <= DECISIONS:
        raise ValueError("a split of an unknown decision_type")
    if min([*leaves.get("leaf_count", [1]), *nodes["internal_count"], 1]) < 1:
        raise ValueError("a node without pages")
    _check_children(nodes["left_child"], nodes["right_child"], n_leaves)


def _check_children(left: list[float], right: list[float], n_leaves: int) -> None:
    """ValueError unless every node but the first, and every leaf, is the child of exactly one earlier node."""
    children = [*left, *right]
    if sorted(children) != [*range(-n_leaves, 0), *range(1, n_leaves - 1)] and n_leaves > 1:
        raise ValueError("a child that is out of range, or of two nodes")
    if any(0 <= child <= parent for side in (left, right) for parent, child in enumerate(side)):
        raise ValueError("a child that is an earlier node")


def _numbers(tree: dict[str, str], name: str, n_wanted: int) -> list[float]:
    if name not in tree:
        raise ValueError(f"no {name}")
    numbers = [_number(value, name, is_whole=name in WHOLE) for value in tree[name].split(" ") if value]
    if len(numbers) != n_wanted:
        raise ValueError(f"{len(numbers)} values of {name}, not {n_wanted}")
    return numbers


def _number(text: str, name: str, *, is_whole: bool = False) -> float:
    found = _NUMBER.fullmatch(text)
    value = float(text) if found and len(text) <= 40 else math.nan
    if not math.isfinite(value) or (is_whole and ("." in text or "e" in text)):
        raise ValueError(f"{name} has the value {text[:20]!r}")
    return value
