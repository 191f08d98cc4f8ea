"""Analysis of many languages and scripts, and searches in them: the same words in pages and in queries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evenrank.core.records import Topic
from evenrank.errors import UnknownNameError
from evenrank.retrieval.engine.analysis import SNOWBALL, analyser_for, without_stop_words
from evenrank.retrieval.engine.protocol import IndexLayout
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.query.topic_query import build_terms, free_words, topic_words
from tests.retrieval.conftest import page

LTGWIKI = Path(__file__).parents[4] / "shared" / "data" / "ltgwiki" / "ltgwiki-201709-pages-articles.xml.bz2"

# language, then (title, text) of pages; a question; the pages (from 1) that are about it. Written for this test.
CASES = {
    "de": ([("Pferd", "Pferde sind Säugetiere."), ("Brücke", "Die Brücken der Stadt"), ("Hund", "Ein Hund bellt")],
           "Pferden und Säugetieren", {1}),
    "fr": ([("Cheval", "Les chevaux mangent de l'herbe"), ("École", "Les écoles françaises"), ("Pont", "Un pont")],
           "école française", {2}),
    "es": ([("Río", "Los ríos de España"), ("Canción", "Las canciones populares"), ("Toro", "El toro")],
           "canción popular", {2}),
    "it": ([("Nave", "Le navi nel porto"), ("Città", "Le città italiane"), ("Vino", "Un vino rosso")], "navi", {1}),
    "pt": ([("Rio", "Os rios brasileiros"), ("Nação", "As nações unidas"), ("Gato", "O gato")], "nação unida", {2}),
    "nl": ([("Fiets", "De fietsen in de stad"), ("Molen", "Oude molens"), ("Kaas", "De kaas")], "fietsen", {1}),
    "sv": ([("Häst", "Hästarna springer"), ("Skog", "Skogarna i norr"), ("Bok", "En bok")], "hästar", {1}),
    "ru": ([("Река", "Реки России"), ("Лошадь", "Лошади на лугу"), ("Книга", "Старая книга")], "лошадей", {2}),
    "el": ([("Άλογο", "Τα άλογα τρέχουν"), ("Ποταμός", "Οι ποταμοί"), ("Βιβλίο", "Ένα βιβλίο")], "άλογα", {1}),
    "ar": ([("كتاب", "قرأت الكتاب في المكتبة"), ("نهر", "النهر طويل"), ("حصان", "الحصان سريع")], "كتاب", {1}),
    "ta": ([("ஆறு", "ஆறுகள் ஓடுகின்றன"), ("மரம்", "மரங்கள் உயரமானவை"), ("நூல்", "ஒரு நூல்")], "மரங்கள்", {2}),
    "he": ([("סוס", "סוס רץ בשדה"), ("נהר", "נהר ארוך"), ("ספר", "ספר ישן")], "נהר", {2}),
    "hi": ([("नदी", "गंगा एक नदी है"), ("घोड़ा", "घोड़ा तेज़ है"), ("किताब", "पुरानी किताब")], "घोड़ा", {2}),
    "zh": ([("北京大学", "北京大学是一所大学"), ("长江", "长江是一条河流"), ("马", "马是动物")], "河流", {2}),
    "ja": ([("東京", "東京は日本の首都です"), ("富士山", "富士山は高い山です"), ("馬", "馬は動物です")], "高い山", {2}),
    "ko": ([("서울", "서울은 한국의 수도이다"), ("한강", "한강은 강이다"), ("말", "말은 동물")],
           "한국의 수도", {1}),
    "th": ([("แม่น้ำ", "แม่น้ำเจ้าพระยา"), ("ภูเขา", "ภูเขาสูงในประเทศไทย"), ("ม้า", "ม้าวิ่งเร็ว")], "ภูเขาสูง", {2}),
}  # fmt: skip


@pytest.mark.parametrize("language", CASES)
def test_a_question_finds_the_pages_about_it(language: str, tmp_path: Path) -> None:
    texts, question, wanted = CASES[language]
    engine = TantivyEngine.create(tmp_path / "index", IndexLayout(language=language), 1)
    engine.add(page(number, title, text) for number, (title, text) in enumerate(texts, 1))
    engine.commit()
    hits = engine.search(build_terms(free_words(question, language), engine), 10)
    assert hits.page_ids[0] in wanted
    asked = build_terms(topic_words(Topic(1, question), language=language), engine)
    assert engine.search(asked, 10).page_ids[0] in wanted
    assert [found.title for found in engine.stored([1, 2, 3]) if found] == [title for title, _ in texts]


@pytest.mark.parametrize("language", sorted(SNOWBALL))
def test_every_stemmer_is_there_and_stems_give_themselves_or_shorter(language: str) -> None:
    analyser = analyser_for(language)
    for text, *_ in CASES[language][0] if language in CASES else [("Horses", "")]:
        assert all(
            len(stem) <= len(word) + 1 for stem, word in zip(analyser.stems(text), analyser.words(text), strict=True)
        )


def test_stop_words_go_where_a_list_is_known() -> None:
    assert without_stop_words(["der", "und", "pferd"], "de") == ["pferd"]
    assert without_stop_words(["the", "horse"], "ltg") == ["the", "horse"]


def test_pairs_of_characters_and_words_of_other_scripts() -> None:
    assert analyser_for("zh").words("在2008年GPS系统") == ["在", "2008", "年", "gps", "系统"]
    assert analyser_for("ja").words("東京都") == ["東京", "京都"]
    assert analyser_for("th").words("") == []


def test_what_is_no_code_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        analyser_for("../en")


def run(*arguments: object) -> str:
    command = [sys.executable, "-m", "evenrank.cli.main", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not LTGWIKI.exists(), reason="the dump of the Latgalian Wikipedia is not beside the project")
def test_a_whole_wiki_without_a_stemmer_from_its_dump_to_a_search(tmp_path: Path) -> None:
    metadata, wiki = tmp_path / "metadata.json.gz", tmp_path / "wiki"
    run("annotate", metadata, "--dump", LTGWIKI, "--wiki", "ltgwiki", "--workers", 1)
    run("collection", "import", wiki, "--metadata", metadata, "--corpus", LTGWIKI)
    assert "903" in run("index", wiki)
    from evenrank.retrieval.engine.engines import open_index
    from evenrank.trec.collection import Collection

    collection = Collection.open(wiki)
    assert collection.manifest.language == "ltg"
    engine = open_index(collection)
    assert engine.layout.language == "ltg"
    found = run("search", wiki, "Rēzne", "-k", "5", "--format", "tsv").splitlines()
    assert any("Rēzne" in line for line in found)
    with_categories = [known for known in engine.stored(engine.page_ids().tolist()) if known and known.categories]
    assert len(with_categories) > 400
    (n_districts,) = engine.document_frequencies("kind", ["nuvods"])  # {{Infoskreine Latvejis nūvods}}
    assert n_districts > 150
