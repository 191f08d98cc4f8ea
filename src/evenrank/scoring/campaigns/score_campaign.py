"""Scores of a campaign's files in the form that `evenrank.score` gives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenrank.core.problem import QueryBatch
from evenrank.core.protocol import PAPER_2021, Protocol
from evenrank.core.settings import Settings
from evenrank.core.types import FilePath, Floats
from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.io.runs import run_name
from evenrank.measures.measure import Measure
from evenrank.scoring.campaigns.campaign import CampaignProtocol, CampaignRequest, SystemColumns, named_files
from evenrank.scoring.campaigns.registry import CAMPAIGNS
from evenrank.scoring.results import ItemScores, QueryScores, RunResult
from evenrank.scoring.scorer import mean_of_defined

LOWER_IS_BETTER = ("unfairness", "disparity", "difference")
"""Measures of campaigns that are better the lower they are; the others are better the higher."""


def score_campaign(
    protocol: str | CampaignProtocol,
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
    campaign = CAMPAIGNS.get(protocol) if isinstance(protocol, str) else protocol
    if campaign is None:
        raise UnknownNameError("protocol", protocol, CAMPAIGNS)
    if not isinstance(campaign, CampaignProtocol):
        known = f"{', '.join(CAMPAIGNS)}, or a protocol of campaign files; those of the track serve evaluate"
        raise WrongTypeError(protocol, "protocol", known)
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
    found = campaign.run(request, settings)
    chosen = replace(PAPER_2021, name=campaign.name, summary=campaign.summary, dimensions=())
    measures_of = tuple(_measure(name) for name in found.systems[0].columns)
    return ItemScores(
        protocol=chosen,
        groups=",".join(request.groups),
        runs=tuple(_system_scores(one, measures_of[0].key, chosen) for one in found.systems),
        measures={1: measures_of},
        notes=found.notes,
        shares=tuple(share for one in found.systems for share in one.groups),
        campaign={"name": campaign.name, **found.settings},
    )


def _measure(name: str) -> Measure:
    """A column of a campaign; its values come from the campaign's own files and are not computed from a batch."""

    def compute(batch: QueryBatch) -> Floats:
        raise EvenrankError(f"measure {name} is computed from the files of its campaign (use score with its protocol)")

    return Measure(name, compute, higher_is_better=name.partition(":")[0] not in LOWER_IS_BETTER)


def _system_scores(found: SystemColumns, main: str, protocol: Protocol) -> RunResult:
    """Scores by query, and their means over the queries for which a measure is defined."""
    means = {name: mean_of_defined(column) for name, column in found.columns.items()}
    queries = QueryScores(found.queries, np.arange(len(found.queries)), found.columns)
    return RunResult.of_queries(found.system, means, queries, main, protocol)
