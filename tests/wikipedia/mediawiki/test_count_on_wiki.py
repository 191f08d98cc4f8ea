"""What a real MediaWiki says of its articles: work in their present text, page views, importance.

Debian packages neither PageViewInfo nor PageAssessments, so modules of the API with their parameters, their form of
answers and their continuation stand in for them; without them, the wiki answers as every wiki without them does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from evenrank.wikipedia.annotate.work_counts import NOT_COUNTED, count_work
from evenrank.wikipedia.mediawiki.article_work import WikiFacts, count_on_wiki
from evenrank.wikipedia.mediawiki.client import WikiClient, record_number, records
from tests.mediawiki import MediaWiki
from tests.wikipedia.mediawiki.conftest import CHESS, ODD_TITLES

pytestmark = pytest.mark.xdist_group("mediawiki")
EXTENSIONS = """
class Views extends ApiQueryBase {
    public function __construct( $query, $name ) { parent::__construct( $query, $name, 'pvip' ); }
    public function getAllowedParams() {
        return [ 'continue' => null, 'days' => [ ApiBase::PARAM_TYPE => 'integer' ] ];
    }
    public function execute() {
        $params = $this->extractRequestParams();
        if ( FAILS ) { $this->dieWithError( 'apierror-unknownerror', 'pvi-cached-error' ); }
        $n = 0;
        foreach ( $this->getPageSet()->getGoodTitles() as $id => $title ) {
            if ( $id < (int)$params['continue'] ) { continue; }
            if ( ++$n > 5 ) { $this->setContinueEnumParameter( 'continue', (string)$id ); break; }
            $known = $title->getText() === 'Chess' ? [ 10, null, $params['days'] ] : [ null, null, null ];
            $this->addPageSubItems( $id, array_combine( [ '2026-01-01', '2026-01-02', '2026-01-03' ], $known ) );
        }
    }
}
class Assessments extends ApiQueryBase {
    public function __construct( $query, $name ) { parent::__construct( $query, $name, 'pa' ); }
    public function getAllowedParams() { return [ 'continue' => null, 'limit' => [ ApiBase::PARAM_DFLT => 10,
        ApiBase::PARAM_TYPE => 'limit', ApiBase::PARAM_MIN => 1, ApiBase::PARAM_MAX => 500,
        ApiBase::PARAM_MAX2 => 5000 ] ]; }
    public function execute() {
        $given = [ 'Chess' => [ 'Games' => 'Low', 'Board games' => 'High' ], 'Go' => [ 'Games' => 'NA' ] ];
        foreach ( $this->getPageSet()->getGoodTitles() as $id => $title ) {
            foreach ( $given[$title->getText()] ?? [] as $project => $importance ) {
                $this->getResult()->addValue( [ 'query', 'pages', $id, 'pageassessments' ], $project,
                    [ 'class' => 'B', 'importance' => $importance ] );
            }
        }
    }
}
"""
MODULES = {"pageviews": "Views", "pageassessments": "Assessments"}
TEXT = "A '''work''' page.{{Citation needed}} {{fact}} {{Unreferenced}}\n== Part ==\n[[Chess]]<ref>A</ref>"


def page_id_of(reader: WikiClient, title: str) -> int:
    [part] = list(reader.query(titles=title, prop="info"))
    return record_number(records(part, "pages")[0], "pageid")


def test_the_present_text_is_counted(wiki: MediaWiki, reader: WikiClient) -> None:
    wiki.put("Work counted", TEXT)
    page = page_id_of(reader, "Work counted")
    found = count_on_wiki(reader, {page: "Work counted"})
    assert found == {page: WikiFacts(count_work(TEXT))}
    assert found[page].work.citations == 2
    assert found[page].work.maintenance == 1
    wiki.put("Work counted", TEXT.replace("{{fact}}", ""))
    assert count_on_wiki(reader, {page: "Work counted"})[page].work.citations == 1


def test_other_pages_are_left_out(wiki: MediaWiki, reader: WikiClient) -> None:
    """A page that is gone, one with another title, a redirect, a page that is no article."""
    wiki.put("Work moved", "#REDIRECT [[Chess]]")
    redirect, category = page_id_of(reader, "Work moved"), page_id_of(reader, "Category:Chess")
    chess = page_id_of(reader, "Chess")
    asked = {99_999_999: "Gone", chess: "Not chess", redirect: "Work moved", category: "Category:Chess"}
    assert count_on_wiki(reader, asked) == {}


def test_more_articles_than_one_call_takes(wiki: MediaWiki, reader: WikiClient) -> None:
    [*parts] = reader.query(list="allpages", aplimit="max", apfilterredir="nonredirects")
    titles = {record_number(record, "pageid"): str(record["title"]) for part in parts for record in part["allpages"]}
    assert len(titles) > 50
    before = reader.n_requests
    assert set(count_on_wiki(reader, titles)) == set(titles)
    assert reader.n_requests - before <= 3 * -(-len(titles) // 50) + 3


@contextmanager
def extended(wiki: MediaWiki, *names: str, fails: bool = False) -> Iterator[None]:
    """The wiki with some of the modules that extensions would add."""
    modules = "".join(f"$wgAPIPropModules['{name}'] = '{MODULES[name]}';\n" for name in names)
    wiki.configure(EXTENSIONS.replace("FAILS", str(fails).lower()) + modules)
    try:
        yield
    finally:
        wiki.configure("")


def facts_of(reader: WikiClient, *titles: str) -> dict[str, WikiFacts]:
    asked = {page_id_of(reader, title): title for title in titles}
    return {asked[page]: facts for page, facts in count_on_wiki(reader, asked).items()}


def test_importance_is_that_of_the_banners_on_the_talk_page(wiki: MediaWiki, reader: WikiClient) -> None:
    """The greatest of all projects; a banner that gives none leaves it unknown, and so does a page without banner."""
    found = facts_of(reader, *CHESS, "Go", "Royal game")
    importance = {title: facts.importance for title, facts in found.items()}
    assert importance == {
        "Chess": "Top",
        "Chess opening": "High",
        "Chess endgame": "",
        "Chess problem": "",
        "Grandmaster": "",
        "Go": "Top",
    }
    assert {facts.views for facts in found.values()} == {NOT_COUNTED}


def test_assessments_of_the_extension_lead(wiki: MediaWiki, reader: WikiClient) -> None:
    with extended(wiki, "pageassessments"):
        found = facts_of(reader, *CHESS, "Go")
    assert {title: facts.importance for title, facts in found.items() if facts.importance} == {"Chess": "High"}


def test_page_views_are_added_up_over_days_and_parts_of_the_answer(wiki: MediaWiki, reader: WikiClient) -> None:
    """Days without a count are not taken for zero, and an article without any is unknown."""
    with extended(wiki, "pageviews", "pageassessments"):
        found = facts_of(reader, *CHESS, *ODD_TITLES, "Go")
    assert len(found) == 15
    assert {title: facts.views for title, facts in found.items() if facts.views != NOT_COUNTED} == {"Chess": 40}
    assert found["Chess"].importance == "High"


def test_views_that_fail_leave_the_counts(wiki: MediaWiki, reader: WikiClient) -> None:
    with extended(wiki, "pageviews", fails=True):
        found = facts_of(reader, "Chess", "Go")
    assert {title: facts.views for title, facts in found.items()} == {"Chess": NOT_COUNTED, "Go": NOT_COUNTED}
    assert found["Chess"].work.text > 0
