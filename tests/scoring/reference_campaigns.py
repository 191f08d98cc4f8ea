"""The campaigns' measures written a second time, as plain loops over dicts, to compare with."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

Rankings = Mapping[str, Sequence[str]]


def sequence_scores(
    rankings: Rankings,
    queries: Mapping[str, str],
    relevance: Mapping[tuple[str, str], float],
    groups: Mapping[str, list[str]],
) -> tuple[float, float]:
    """Utility and unfairness of one sequence of TREC 2019: request → ranking, request → query."""
    exposure: dict[str, float] = defaultdict(float)
    deserved: dict[str, float] = defaultdict(float)
    utility = 0.0
    for request, query in queries.items():
        reached, reached_listed = 1.0, 1.0
        for rank, document in enumerate(rankings.get(request, [])):
            stop = 0.7 * relevance.get((query, document), 0.0)
            utility += 0.5**rank * reached * stop
            reached *= 1.0 - stop
            if document in groups:
                for group in groups[document]:
                    exposure[group] += 0.5**rank * reached_listed * stop
                    deserved[group] += stop
                reached_listed *= 1.0 - stop
    given, wanted = sum(exposure.values()), sum(deserved.values())
    squares = [(exposure[one] / given - deserved[one] / wanted) ** 2 for one in deserved] if given else [math.nan]
    return utility / len(queries), math.sqrt(sum(squares))


def group_fairness(
    levels: Sequence[int], shares: Sequence[Sequence[float]], target: Sequence[float], depth: int, distance: str
) -> float:
    """GF of a ranking of FairWeb-1 with gains 1 and 3; `shares` are those of its pages."""
    n_groups, total, reached = len(target), 0.0, 1.0
    for rank in range(min(depth, len(levels))):
        mean = [sum(row[g] for row in shares[: rank + 1]) / (rank + 1) for g in range(n_groups)]
        stop = (0, 1, 3)[levels[rank]] / 4
        total += reached * stop * (1.0 - divergence(mean, target, distance))
        reached *= 1.0 - stop
    return total


def divergence(shares: Sequence[float], target: Sequence[float], name: str) -> float:
    n_groups = len(target)
    if name == "JSD":
        bits = 0.0
        for share, wanted in zip(shares, target, strict=True):
            middle = (share + wanted) / 2
            bits += sum(one * math.log2(one / middle) for one in (share, wanted) if one > 0)
        return bits / 2
    if name == "NMD":
        gaps = [abs(sum(shares[: g + 1]) - sum(target[: g + 1])) for g in range(n_groups)]
        return sum(gaps) / (n_groups - 1)
    weighted = [
        sum(abs(g - h) * (shares[h] - target[h]) ** 2 for h in range(n_groups))
        for g in range(n_groups)
        if target[g] > 0
    ]
    return math.sqrt(sum(weighted) / len(weighted) / (n_groups - 1))


def target_exposure(grades: Mapping[str, int], patience: float, satisfaction: float) -> dict[str, float]:
    """Ideal exposure of TREC 2020: the mean over the ranks that documents of one grade share, taken one by one."""
    target, above = {}, 0
    for grade in sorted(set(grades.values()), reverse=True):
        members = [document for document, own in grades.items() if own == grade]
        attention = []
        for place in range(len(members)):
            n_passed = above + (place if grade > 0 else 0)
            attention.append(patience ** (above + place) * (1.0 - satisfaction) ** n_passed)
        target.update(dict.fromkeys(members, sum(attention) / len(members)))
        above += len(members)
    return target


def exposure_measures(
    samples: Sequence[Sequence[str]], grades: Mapping[str, int], patience: float, satisfaction: float
) -> dict[str, float]:
    """Disparity, relevance and difference of TREC 2020 over documents, not normalised."""
    given: dict[str, float] = defaultdict(float)
    for ranking in samples:
        n_relevant = 0
        for rank, document in enumerate(ranking):
            given[document] += patience**rank * (1.0 - satisfaction) ** n_relevant / len(samples)
            n_relevant += grades.get(document, 0) > 0
    wanted = target_exposure(grades, patience, satisfaction)
    return {
        "disparity": sum(value**2 for value in given.values()),
        "relevance": sum(value * wanted.get(document, 0.0) for document, value in given.items()),
        "difference": sum((given.get(d, 0.0) - wanted.get(d, 0.0)) ** 2 for d in {*given, *wanted}),
    }
