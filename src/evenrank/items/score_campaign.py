"""Scores of a campaign's files in the form that `evenrank.score` gives."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from evenrank.core.settings import Settings
from evenrank.core.types import FilePath
from evenrank.errors import UnknownNameError, WrongTypeError
from evenrank.io.runs import run_name
from evenrank.items.scores import GroupShare, ItemScores, QueryScores, SystemScores
from evenrank.scoring.campaigns.campaign import CampaignRequest, SystemColumns, named_files
from evenrank.scoring.campaigns.registry import CAMPAIGNS


def score_campaign(
    protocol: str,
    runs: object,
    qrels: object,
    *,
    groups: object,
    target: object,
    sequences: FilePath | None,
    measures: Sequence[str],
    attention: object,
    k: int | None,
    settings: Settings,
) -> ItemScores:
    """Scores of run files under the protocol of a campaign; the settings are kept with them."""
    if protocol not in CAMPAIGNS:
        raise UnknownNameError("protocol", protocol, CAMPAIGNS)
    if not isinstance(qrels, (str, os.PathLike)):
        raise WrongTypeError(qrels, "relevance", "the path of the campaign's judgments")
    request = CampaignRequest(
        runs={name or run_name(path): path for name, path in named_files(runs, "rankings").items()},
        qrels=qrels,
        groups=named_files(groups, "groups"),
        target=named_files(target, "target"),
        sequences=sequences,
        measures=tuple(measures),
        attention=attention,
        k=k,
    )
    found = CAMPAIGNS[protocol].run(request, settings)
    shares = tuple(
        GroupShare(one.system, group.grouping, group.group, group.exposure, group.target)
        for one in found.systems
        for group in one.groups
    )
    systems = tuple(map(_system_scores, found.systems))
    names = tuple(found.systems[0].columns)
    return ItemScores(systems, names, shares, found.notes, {"name": protocol, **found.settings})


def _system_scores(found: SystemColumns) -> SystemScores:
    """Scores by query, and their means over the queries for which a measure is defined."""
    means = {}
    for name, column in found.columns.items():
        defined = column[~np.isnan(column)]
        means[name] = float(defined.mean()) if len(defined) else float("nan")
    queries = QueryScores(found.queries, np.arange(len(found.queries)), found.columns)
    return SystemScores(found.system, means, queries)
