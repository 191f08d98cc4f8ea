"""A query keeps to its subject: pages that only mention it do not fill groups, for any policy and on any engine."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.core.records import Topic
from evenrank.ranking.job import RankingJob, rank_topics
from evenrank.ranking.make_job import RankOptions, make_job
from tests.own_data import SHARES, import_news

N_CHESS, N_OTHER = 70, 60
CHESS = set(range(1, N_CHESS + 1))
MEANINGS = N_CHESS + N_OTHER + 1
"""The page that tells meanings of the word apart."""
LONG = " ".join(["The team had a match and a goal, and then another team had another match."] * 60)


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> evenrank.Collection:
    """Stories about chess, none of them from a community outlet, and stories of such outlets that mention it once."""
    folder = tmp_path_factory.mktemp("subject")
    metadata, corpus = [], []
    for number in range(1, MEANINGS + 1):
        is_about = number in CHESS
        outlet = ("public", "commercial")[number % 2] if is_about else "community"
        text = (
            f"Story {number} is about chess.\n\nPlayers love chess." if is_about else f"{LONG}\n\n{LONG} A chess set."
        )
        title = f"Story {number}"
        if number == MEANINGS:
            title, text = "Chess (disambiguation)", "Chess may refer to chess, or to Chess."
        metadata.append({"page_id": number, "publisher": outlet, "qual_cat": "Start"})
        corpus.append({"id": number, "title": title, "url": "", "text": text})
    topics = [{"id": 7, "title": "chess", "keywords": ["chess"], "rel_docs": [1, 2]}]
    for name, records in (("metadata", metadata), ("corpus", corpus), ("topics", topics)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    (folder / "shares.toml").write_text(SHARES, "utf-8")
    return import_news(folder)


@pytest.mark.parametrize("policy", ["optimal", "plackett-luce", "proportional", "deficit"])
def test_pages_off_the_subject_fill_no_group(policy: str, news: evenrank.Collection) -> None:
    kept = evenrank.rank(news, 2, policy, query="chess")
    assert set(kept.topics[0].page_ids.ravel().tolist()) <= CHESS
    assert kept.topics[0].n_on_subject == kept.record["topics"][0]["n_on_subject"] == N_CHESS
    assert kept.record["candidates"]["keep_to_subject"] is True
    everything = evenrank.rank(news, 2, policy, query="chess", settings={"keep_to_subject": False})
    assert not set(everything.topics[0].page_ids.ravel().tolist()) <= CHESS
    assert everything.topics[0].n_on_subject is None
    assert "n_on_subject" not in everything.record["topics"][0]


def test_a_list_of_full_length_has_the_other_pages_below(news: evenrank.Collection) -> None:
    ranked = evenrank.rank(news, 1, query="chess")
    pages = ranked.topics[0].page_ids[0].tolist()
    assert set(pages[:N_CHESS]) == CHESS
    by_relevance = evenrank.rank(news, 1, "relevance", query="chess", settings={"keep_to_subject": False})
    order = by_relevance.topics[0].page_ids[0].tolist()
    assert pages[N_CHESS:] == [page for page in order if page not in CHESS]
    assert sorted(pages) == sorted(order)
    assert f'{N_CHESS} of the {len(pages)} pages are on the subject "chess"' in " ".join(ranked.notes)
    ended = evenrank.rank(news, 1, query="chess", length="relevant")
    assert set(ended.topics[0].page_ids.ravel().tolist()) <= CHESS


def test_draws_are_filled_up_where_too_few_pages_are_on_the_subject(news: evenrank.Collection) -> None:
    settings = {"within": "outlet=public"}
    ranked = evenrank.rank(news, 2, query="chess", settings=settings)
    public = {page for page in CHESS if page % 2 == 0}
    assert set(ranked.topics[0].page_ids.ravel().tolist()) == public  # nothing else is of this group
    few = evenrank.rank(news, 2, query="Story 7").topics[0]
    assert few.page_ids.shape == (100, 50)
    assert few.n_on_subject == 1
    assert (few.page_ids[:, 0] == 7).all()
    assert (few.page_ids == few.page_ids[0]).all()


def test_topics_of_a_collection_are_not_touched(news: evenrank.Collection) -> None:
    ranked = evenrank.rank(news, 2, topics=[7])
    assert not set(ranked.topics[0].page_ids.ravel().tolist()) <= CHESS
    assert ranked.topics[0].n_on_subject is None


def test_where_no_page_is_about_the_subject_everything_found_is_ranked(news: evenrank.Collection) -> None:
    ranked = evenrank.rank(news, 1, query="set")
    assert set(ranked.topics[0].page_ids.ravel().tolist()) >= set(range(N_CHESS + 1, MEANINGS))
    ranked = evenrank.rank(news, 1, "relevance", query="refer")
    assert ranked.topics[0].page_ids[0, 0] == MEANINGS  # the only page with the word, and no article
    assert ranked.topics[0].n_on_subject == 0
    assert 'no article has "refer" in its lead' in ranked.notes[-1]


@pytest.mark.parametrize(
    ("query", "title", "n_kept"),
    [("chess players", "", N_CHESS), ("chess, team", "", MEANINGS - 1), ("chess team", "Games", MEANINGS - 1)],
)
def test_words_are_one_subject_unless_there_is_a_title_or_a_comma(
    query: str, title: str, n_kept: int, news: evenrank.Collection
) -> None:
    ranked = evenrank.rank(news, 1, query=query, title=title)
    assert ranked.topics[0].n_on_subject == n_kept


def test_a_query_of_nothing_but_commas_is_refused(news: evenrank.Collection) -> None:
    with pytest.raises(evenrank.EvenrankError, match="no words in the query"):
        evenrank.rank(news, 1, query=" , ")


def test_worker_processes_rank_the_same(news: evenrank.Collection) -> None:
    topics = tuple(Topic(number, "chess", ("chess",)) for number in range(11, 19))
    job = replace(make_job(news, RankOptions(task=2)), extra_topics=topics)
    again: RankingJob = pickle.loads(pickle.dumps(job))
    ids = [topic.id for topic in topics]
    here = list(rank_topics(job, ids, 1))
    for others in (list(rank_topics(again, ids, 1)), list(rank_topics(job, ids, 2))):
        assert [one.n_on_subject for one in others] == [N_CHESS] * len(ids)
        assert all(np.array_equal(one.page_ids, other.page_ids) for one, other in zip(here, others, strict=True))


def test_the_command_says_how_many_articles_are_on_the_subject(news: evenrank.Collection, tmp_path: Path) -> None:
    def said(*more: str) -> str:
        words = ["rank", str(news.path), "--task", "2", "--query", "chess", "--force", "-o", str(tmp_path / "x.tsv")]
        done = CliRunner().invoke(cli, [*words, *more])
        assert done.exit_code == 0, done.output
        return done.output

    assert f'optimal on "chess", which is topic 8 of the run: {N_CHESS} articles on the subject' in said()
    assert "on the subject" not in said("--set", "keep_to_subject=false")
