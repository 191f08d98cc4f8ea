"""The paper's appendix as dense pandas and numpy: what the fast version is compared with.

Written from the text of the appendix, in its manner: one row per page, one column per group, frames joined by page id.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from evenrank.core.records import WORK_ORDER
from evenrank.trec.dimensions import GENDER, GEOGRAPHY, encode_gender, encode_geography

WORLD = np.array(GEOGRAPHY.background)
EQUAL = np.array(GENDER.background)


def prepare_and_score(files: Path, runs: list[Path]) -> None:
    """Alignments, targets and scores of all runs, at the published depth."""
    pages = pd.read_json(files / "trec_metadata.json.gz", lines=True).drop_duplicates("page_id").set_index("page_id")
    geography = _multi_hot(pages["geographic_locations"].map(encode_geography), 8)
    gender = _multi_hot(pages["gender"].map(encode_gender), 4)
    cells = geography[:, :, None] * gender[:, None, :]
    aligned = pd.DataFrame(cells.reshape(len(pages), 32), index=pages.index)
    qrels = pd.concat([_qrels(files / name) for name in ("trec_topics.json.gz", "eval-topics-with-qrels.json.gz")])
    task1, task2 = {}, {}
    for topic, judged in qrels.groupby("id"):
        relevant = judged["page_id"][judged["page_id"].isin(pages.index)]
        rows = aligned.loc[relevant]
        task1[topic] = _blended(rows.sum().to_numpy(), keep_unknown=False)
        exposure = _ideal_exposure(pages.loc[relevant, "quality_score_disc"])
        task2[topic] = _blended((rows.to_numpy() * exposure[:, None]).sum(axis=0), keep_unknown=True)
    relevant_of = {topic: set(judged["page_id"]) for topic, judged in qrels.groupby("id")}
    for path in runs:
        _score(path, aligned, relevant_of, task1, task2)


def _multi_hot(masks: pd.Series, n_groups: int) -> np.ndarray:
    return ((masks.to_numpy()[:, None] >> np.arange(n_groups)) & 1).astype(np.float64)


def _qrels(path: Path) -> pd.DataFrame:
    topics = pd.read_json(path, lines=True)
    rows = topics[["id", "rel_docs"]].explode("rel_docs", ignore_index=True).dropna()
    return rows.rename(columns={"rel_docs": "page_id"}).astype(int).drop_duplicates()


def _blended(mass: np.ndarray, *, keep_unknown: bool) -> np.ndarray:
    matrix = mass.reshape(8, 4).copy()
    if not keep_unknown:
        matrix[0, 0] = 0
    matrix /= matrix.sum()
    for section, background in (
        (np.s_[1:, 1:], np.outer(WORLD, EQUAL)),
        (np.s_[1:, :1], WORLD[:, None]),
        (np.s_[:1, 1:], EQUAL[None, :]),
    ):
        matrix[section] = 0.5 * matrix[section] + 0.5 * matrix[section].sum() * background
    return matrix.ravel()


def _discount(n: int) -> np.ndarray:
    return 1 / np.log2(np.maximum(np.arange(1, n + 1), 2))


def _ideal_exposure(classes: pd.Series) -> np.ndarray:
    counts = classes.value_counts().reindex(WORK_ORDER, fill_value=0)
    ends = counts.cumsum()
    weights = _discount(int(ends.iloc[-1]))
    means = {c: weights[ends[c] - counts[c] : ends[c]].mean() for c in WORK_ORDER if counts[c]}
    return classes.map(means).fillna(0.0).to_numpy()


def _score(path: Path, aligned: pd.DataFrame, relevant_of: dict, task1: dict, task2: dict) -> dict:
    run = pd.read_csv(path, sep="\t", header=None)
    if run.shape[1] == 2:
        return {
            topic: _score1(rows[1].head(20), aligned, relevant_of[topic], task1[topic])
            for topic, rows in run.groupby(0)
        }
    return {topic: _score2(rows, aligned, task2[topic]) for topic, rows in run.groupby(0)}


def _score1(pages: pd.Series, aligned: pd.DataFrame, relevant: set, target: np.ndarray) -> float:
    weights = _discount(len(pages))
    ideal = _discount(min(1000, len(relevant))).sum()
    ndcg = (weights * pages.isin(relevant).to_numpy()).sum() / ideal
    exposure = (aligned.reindex(pages).fillna(0).to_numpy() * weights[:, None]).sum(axis=0)[1:]
    p, q = exposure / exposure.sum(), target[1:]
    m = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        jsd = 0.5 * np.nansum(p * np.log(p / m)) + 0.5 * np.nansum(q * np.log(q / m))
    return ndcg * (1 - jsd)


def _score2(rows: pd.DataFrame, aligned: pd.DataFrame, target: np.ndarray) -> float:
    exposures = []
    for _, ranking in rows[rows[1] <= 25].groupby(1):
        pages = ranking[2].head(6)
        exposures.append((aligned.reindex(pages).fillna(0).to_numpy() * _discount(len(pages))[:, None]).sum(axis=0))
    wanted = target * _discount(50).sum()
    return float(((np.mean(exposures, axis=0) - wanted) ** 2).sum())
