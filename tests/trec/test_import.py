"""Import: packed, checked, all or nothing."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from evenrank.core.protocol import OFFICIAL_2022
from evenrank.core.records import WORK_ORDER
from evenrank.errors import DamagedCollectionError, EvenrankError, InputError
from evenrank.io import name_lists
from evenrank.io.corpus import text_of_html
from evenrank.scoring.ranked_pages import align_pages
from evenrank.trec.arrays import names_at
from evenrank.trec.collection import Collection
from evenrank.trec.describe import describe_collection, table_text
from evenrank.trec.import_files import ImportFiles, import_collection
from evenrank.trec.sources import is_official, official_files

PAGES = [
    {
        "page_id": 30,
        "quality_score": 0.9,
        "quality_score_disc": "FA",
        "geographic_locations": ["Asia"],
        "gender": ["female"],
    },
    {"page_id": 10, "quality_score": 0.1, "quality_score_disc": "Stub", "geographic_locations": [], "gender": None},
    {
        "page_id": 20,
        "quality_score": None,
        "quality_score_disc": None,
        "geographic_locations": ["Africa", "Europe"],
        "gender": [],
    },
    {"page_id": 10, "quality_score": 0.7, "quality_score_disc": "GA", "geographic_locations": ["Asia"], "gender": []},
]
ARTICLES = [
    {"id": 20, "title": "Zwanzig é", "url": "u", "text": "twenty"},
    {"id": 99, "title": "Unlisted", "url": "u", "text": "x"},
    {"id": 10, "title": "Ten", "url": "u", "text": "tén"},
]


def lines(path: Path, records: list[dict]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return path


@pytest.fixture
def files(tmp_path: Path) -> ImportFiles:
    return ImportFiles(
        metadata=lines(tmp_path / "m.json", PAGES),
        topics=lines(tmp_path / "t.json", [{"id": 1, "title": "One", "keywords": ["a"], "rel_docs": [10, 77, 10]}]),
        eval_topics=(
            lines(
                tmp_path / "q.json",
                [{"id": 101, "title": "", "rel_docs": [30], "assessed_docs": [10, 30], "max_tier": 2}],
            ),
            lines(
                tmp_path / "e.json", [{"id": 101, "title": "Eval", "keywords": ["b", "c"]}, {"id": 102, "title": "New"}]
            ),
        ),
        corpus=lines(tmp_path / "c.json", ARTICLES),
    )


def test_what_was_put_in_comes_out(tmp_path: Path, files: ImportFiles) -> None:
    told: list[str] = []
    collection = import_collection(tmp_path / "c", files, warn=told.append)
    assert collection.page_ids.tolist() == [10, 20, 30]
    assert collection.quality_class.tolist() == [0, 6, 5]
    assert np.isnan(collection.quality_score[1])
    assert collection.masks["geography"].tolist() == [1, 0b10010, 0b1000]
    assert collection.masks["gender"].tolist() == [1, 1, 2]
    assert [collection.titles[row] for row in range(3)] == ["Ten", "Zwanzig é", ""]
    assert collection.size_bytes.tolist() == [4, 6, 0]
    assert collection.manifest.counts["corpus_pages_without_metadata"] == 1
    assert collection.rows_of(np.array([30, 77, 10])).tolist() == [2, -1, 0]
    assert "1 line repeats" in told[0]


def test_topics_join_judgments_and_keywords(tmp_path: Path, files: ImportFiles) -> None:
    topics = import_collection(tmp_path / "c", files).topic_by_id
    assert topics[1].rel_docs.tolist() == [10, 77]
    assert (topics[101].title, topics[101].keywords, topics[101].max_tier) == ("Eval", ("b", "c"), 2)
    assert topics[101].assessed_docs.tolist() == [10, 30]
    assert len(topics[102].rel_docs) == 0
    assert {topic.split for topic in topics.values()} == {"train", "eval"}


def test_pages_of_a_judged_window_are_listed(tmp_path: Path, files: ImportFiles) -> None:
    window = lines(tmp_path / "w.json", [{"id": 1, "title": "One", "rel_docs": [10, 77], "judged_up_to_page_id": 20}])
    topic = import_collection(tmp_path / "c", ImportFiles(files.metadata, window)).topic_by_id[1]
    assert topic.assessed_docs.tolist() == [10, 20, 77]
    assert topic.was_judged(np.array([10, 20, 30], np.int32)).tolist() == [True, True, False]


def test_the_two_evaluation_files_may_come_in_any_order(tmp_path: Path, files: ImportFiles) -> None:
    swapped = ImportFiles(files.metadata, None, files.eval_topics[::-1])
    topic = import_collection(tmp_path / "c", swapped).topic_by_id[101]
    assert (topic.title, topic.keywords, topic.max_tier, topic.rel_docs.tolist()) == ("Eval", ("b", "c"), 2, [30])


def test_import_again_replaces_and_leaves_nothing_behind(tmp_path: Path, files: ImportFiles) -> None:
    folder = tmp_path / "c"
    import_collection(folder, files)
    (folder / "index").mkdir()
    import_collection(folder, files)
    assert sorted(p.name for p in folder.iterdir()) == ["data-2", "index", "manifest.json"]


def test_a_failed_import_leaves_the_old_collection(tmp_path: Path, files: ImportFiles) -> None:
    folder = tmp_path / "c"
    import_collection(folder, files)
    before = {p.name: p.stat().st_mtime_ns for p in folder.rglob("*")}
    (tmp_path / "bad.json").write_bytes(b"nonsense\n")
    with pytest.raises(InputError, match=r"bad.json:1"):
        import_collection(folder, ImportFiles(tmp_path / "bad.json"))
    assert {p.name: p.stat().st_mtime_ns for p in folder.rglob("*")} == before
    with pytest.raises(InputError):
        import_collection(tmp_path / "never", ImportFiles(tmp_path / "bad.json"))
    assert not (tmp_path / "never").exists()


def test_a_cut_off_corpus_is_refused_and_leaves_nothing(tmp_path: Path, files: ImportFiles) -> None:
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(files.corpus.read_bytes() * 99)[:-30])
    (tmp_path / "none.json").write_text('{"id": "x"}\n')
    for corpus, found in ((cut, "cut off"), (tmp_path / "none.json", "0 articles could be read")):
        with pytest.raises(InputError, match=found):
            import_collection(tmp_path / "never", replace(files, corpus=corpus))
        assert not (tmp_path / "never").exists()


def test_folders_of_other_people_are_left_alone(tmp_path: Path, files: ImportFiles) -> None:
    for name in ("data-1", "data-2021", "data-mine"):
        (tmp_path / "c" / name).mkdir(parents=True)
        (tmp_path / "c" / name / "mine").write_text("mine")
    for _ in range(3):
        import_collection(tmp_path / "c", files)
    names = sorted(path.name for path in (tmp_path / "c").iterdir())
    assert names == ["data-1", "data-2021", "data-4", "data-mine", "manifest.json"]
    assert len(list((tmp_path / "c").glob("*/mine"))) == 3


def test_metadata_without_gender_is_said_and_scored_as_unknown(tmp_path: Path, files: ImportFiles) -> None:
    without = [{key: value for key, value in page.items() if key != "gender"} for page in PAGES]
    notes: list[str] = []
    own = replace(files, metadata=lines(tmp_path / "public.json", without))
    collection = import_collection(tmp_path / "c", own, warn=notes.append)
    assert any("no gender in it" in note and "--groups geography" in note for note in notes)
    assert set(collection.masks["gender"].tolist()) == {1}


def test_a_field_that_only_has_the_name_of_a_dimension_is_left_out(tmp_path: Path, files: ImportFiles) -> None:
    own = [page | {"occupations": ["writer"], "first_letter_category": "a-d"} for page in PAGES]
    own[2] |= {"occupations": {"job": "baker"}}
    notes: list[str] = []
    mixed = replace(files, metadata=lines(tmp_path / "own.json", own))
    collection = import_collection(tmp_path / "c", mixed, warn=notes.append)
    assert tuple(collection.masks) == ("geography", "gender", "first-letter")
    assert collection.masks["geography"].tolist() == [1, 0b10010, 0b1000]
    [note] = [note for note in notes if "left out of the collection" in note]
    assert "own.json:3: occupations {'job': 'baker'} is not one of" in note


def test_classes_of_pages_are_kept_as_numbers_and_names(tmp_path: Path, files: ImportFiles) -> None:
    """The first line of a repeated page counts, blanks are one blank, and lists are numbered by page id."""
    values = [["River", "Holy  site"], None, ["River"], ["Song"]]
    own = [page | {"instance_of": value} for page, value in zip(PAGES, values, strict=True)]
    collection = import_collection(tmp_path / "c", replace(files, metadata=lines(tmp_path / "own.json", own)))
    assert collection.classes is not None
    assert collection.classes.lists == ((), ("River",), ("River", "Holy site"))
    assert collection.classes.numbers.tolist() == [0, 1, 2]
    assert names_at(collection.classes, np.array([2, -1, 0])) == [("River", "Holy site"), (), ()]
    assert {"instance_of.npy", "instance_of.json"} <= set(collection.manifest.files)
    assert describe_collection(collection)["instance_of"] == {"River": 2, "Holy site": 1}
    assert "instance of: River 2   Holy site 1\n" in table_text(collection)
    assert tuple(collection.masks) == ("geography", "gender")


def test_classes_cannot_control_a_terminal(tmp_path: Path, files: ImportFiles) -> None:
    own = [page | {"instance_of": ["\x1b[31mRiver\x07", "Holy\u202esite"]} for page in PAGES]
    collection = import_collection(tmp_path / "c", replace(files, metadata=lines(tmp_path / "own.json", own)))
    assert collection.classes is not None
    assert collection.classes.lists == ((), ("[31mRiver", "Holy site"))


@pytest.mark.parametrize("opening", ["[", '{"a": '])
@pytest.mark.parametrize("field", ["instance_of", "geographic_locations", "own"])
def test_records_nested_deeply_are_faults(tmp_path: Path, field: str, opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    path = tmp_path / "deep.json"
    path.write_text(f'{{"page_id": 1}}\n{{"page_id": 2, "{field}": {opening * 1000}1{closing * 1000}}}\n')
    with pytest.raises(InputError, match=r"deep.json:2: lists or objects nested more than 100 deep \(fix the record"):
        import_collection(tmp_path / "c", ImportFiles(path))
    assert not (tmp_path / "c").exists()


def test_a_collection_without_classes_has_none(tmp_path: Path, files: ImportFiles) -> None:
    collection = import_collection(tmp_path / "c", files)
    assert collection.classes is None
    assert names_at(None, np.array([0, -1])) == [(), ()]
    assert "instance_of" not in describe_collection(collection)
    assert not list(collection.data.glob("instance_of*"))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"id": "Q5"}, "instance_of has {'id': 'Q5'}, not a name; give a list of names"),
        (["Song", 7], "instance_of has 7, not a name"),
        ([" "], "instance_of has ' ', not a name"),
        (["\x00\x1b"], "instance_of has '\\x00\\x1b', not a name"),
        (["x" * 256], "instance_of has a name of 256 characters; give up to 255"),
        ([f"n{n}" for n in range(21)], "instance_of has 21 names; give up to 20"),
    ],
)
def test_classes_that_are_no_names_are_left_out(tmp_path: Path, files: ImportFiles, value: object, found: str) -> None:
    own = [page | {"instance_of": ["Song"], "occupations": ["writer"]} for page in PAGES]
    own[2] |= {"instance_of": value}
    notes: list[str] = []
    mixed = replace(files, metadata=lines(tmp_path / "own.json", own))
    collection = import_collection(tmp_path / "c", mixed, warn=notes.append)
    assert collection.classes is None
    assert tuple(collection.masks) == ("geography", "gender", "occupation")
    [note] = [note for note in notes if "so instance_of is left out of the collection" in note]
    assert f"own.json:3: {found}" in note


def test_a_table_of_classes_that_would_fill_the_memory_is_left_out(
    tmp_path: Path, files: ImportFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_lists, "MAX_BYTES", 200)
    own = [page | {"instance_of": [f"Class {at}"]} for at, page in enumerate(PAGES)]
    notes: list[str] = []
    mixed = replace(files, metadata=lines(tmp_path / "own.json", own))
    assert import_collection(tmp_path / "c", mixed, warn=notes.append).classes is None
    assert any("instance_of has more different names than fit" in note for note in notes)


def test_damaged_classes_are_noticed_when_they_are_read(tmp_path: Path, files: ImportFiles) -> None:
    own = [page | {"instance_of": ["Song"]} for page in PAGES]
    collection = import_collection(tmp_path / "c", replace(files, metadata=lines(tmp_path / "own.json", own)))
    (collection.data / "instance_of.json").write_bytes(b'[[],["Sing"]]')
    with pytest.raises(DamagedCollectionError, match=r"instance_of.json has the checksum"):
        _ = Collection.open(tmp_path / "c").classes


def test_a_field_of_another_kind_may_come_up_late(tmp_path: Path, files: ImportFiles) -> None:
    """Far behind the first block, in the layout that is read fast; all other values stay as they are."""
    head = {"quality_score_disc": "GA", "geographic_locations": ["Asia"], "gender": ["male"]}
    pages = [{"page_id": number, "quality_score": 0.5} | head for number in range(30_000)]
    pages += [{"page_id": 40_000 + n, "quality_score": 0.5} | head | {"occupations": "baker"} for n in range(9)]
    pages[-1]["instance_of"] = "Song"
    notes: list[str] = []
    late = ImportFiles(lines(tmp_path / "late.json", pages))
    collection = import_collection(tmp_path / "c", late, warn=notes.append)
    assert tuple(collection.masks) == ("geography", "gender")
    assert len(collection) == 30_009
    assert any("late.json:30001: occupations 'baker'" in note for note in notes)
    assert names_at(collection.classes, np.array([30_007, 30_008])) == [(), ("Song",)]


def test_values_of_geography_and_gender_must_be_known(tmp_path: Path, files: ImportFiles) -> None:
    own = [page | {"occupations": "baker"} for page in PAGES]
    own[1] |= {"geographic_locations": ["Atlantis"]}
    own[2] |= {"gender": [7]}
    with pytest.raises(InputError) as caught:
        import_collection(tmp_path / "c", replace(files, metadata=lines(tmp_path / "own.json", own)))
    assert [fault.line for fault in caught.value.faults] == [2, 3]
    assert not (tmp_path / "c").exists()


def test_byte_order_marks_are_no_fault_and_pipes_are(tmp_path: Path, files: ImportFiles) -> None:
    for path in (files.metadata, files.topics):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(import_collection(tmp_path / "c", files)) == 3
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="save it as a file first"):
        import_collection(tmp_path / "c", replace(files, topics=tmp_path / "pipe"))


def test_topic_ids_of_both_splits_must_differ(tmp_path: Path, files: ImportFiles) -> None:
    with pytest.raises(InputError, match="training topics too"):
        import_collection(tmp_path / "c", ImportFiles(files.metadata, files.topics, (files.topics,)))


def test_a_killed_import_leaves_the_old_collection_usable(tmp_path: Path, files: ImportFiles) -> None:
    folder = tmp_path / "c"
    import_collection(folder, files)
    big = tmp_path / "big.json"
    record = orjson.dumps({**PAGES[0], "page_id": 5})
    big.write_bytes(b"".join(record.replace(b"5", str(n).encode(), 1) + b"\n" for n in range(400_000)))
    code = (
        "import sys; from pathlib import Path; from evenrank.trec.import_files import *\n"
        "import evenrank.trec.import_files as m; save = m.save_topics\n"
        "def slow(*a):\n    print('writing', flush=True); import time; time.sleep(30)\n"
        "m.save_topics = slow\n"
        "import_collection(sys.argv[1], ImportFiles(Path(sys.argv[2])))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(folder), str(big)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert list(folder.glob(".data-*.tmp"))
    assert len(Collection.open(folder)) == 3
    import_collection(folder, files)
    assert not list(folder.glob(".data-*.tmp"))


def test_opening_what_is_not_a_collection(tmp_path: Path, files: ImportFiles) -> None:
    with pytest.raises(EvenrankError, match="no such folder"):
        Collection.open(tmp_path / "nothing")
    with pytest.raises(EvenrankError, match="without a manifest"):
        Collection.open(tmp_path)
    folder = import_collection(tmp_path / "c", files).path
    (folder / "data-1" / "page_ids.npy").write_bytes(b"junk")
    with pytest.raises(EvenrankError, match="damaged"):
        Collection.open(folder)
    (folder / "data-1" / "page_ids.npy").write_bytes(b"")
    with pytest.raises(EvenrankError, match="damaged"):
        Collection.open(folder)
    (folder / "manifest.json").write_bytes(b"{}")
    with pytest.raises(EvenrankError, match="not a manifest"):
        Collection.open(folder)
    (folder / "manifest.json").write_bytes(b'{"format_version": 99}')
    with pytest.raises(EvenrankError, match="format 99"):
        Collection.open(folder)


@pytest.mark.parametrize("name", ["page_ids", "quality_class", "quality_score", "mask-gender", "size_bytes"])
def test_arrays_of_another_length_are_damage(tmp_path: Path, files: ImportFiles, name: str) -> None:
    folder = import_collection(tmp_path / "c", files).path
    path = folder / "data-1" / f"{name}.npy"
    np.save(path, np.load(path)[:-1])
    with pytest.raises(EvenrankError, match=r"damaged.*import it again"):
        Collection.open(folder)


@pytest.mark.parametrize("name", ["page_ids.npy", "topics.json"])
def test_a_missing_file_is_named(tmp_path: Path, files: ImportFiles, name: str) -> None:
    folder = import_collection(tmp_path / "c", files).path
    (folder / "data-1" / name).unlink()
    with pytest.raises(DamagedCollectionError, match=rf"damaged collection: {name}: No such file"):
        _ = Collection.open(folder).topics


@pytest.mark.parametrize(
    ("name", "content"),
    [("topics.json", b"[{"), ("topics.json", b'[{"a": 1}]'), ("topics.json", b"[]"), ("rel_docs.npy", b"")],
)
def test_topics_that_are_not_whole_are_damage(tmp_path: Path, files: ImportFiles, name: str, content: bytes) -> None:
    folder = import_collection(tmp_path / "c", files).path
    (folder / "data-1" / name).write_bytes(content)
    with pytest.raises(EvenrankError, match=r"damaged.*import it again"):
        _ = Collection.open(folder).topics


def test_order_of_the_metadata_does_not_matter(tmp_path: Path, files: ImportFiles) -> None:
    distinct = PAGES[:3]
    one = import_collection(tmp_path / "a", ImportFiles(lines(tmp_path / "1.json", distinct)))
    two = import_collection(tmp_path / "b", ImportFiles(lines(tmp_path / "2.json", distinct[::-1])))
    for name in ("page_ids.npy", "quality_class.npy", "mask-geography.npy", "mask-gender.npy"):
        assert (one.data / name).read_bytes() == (two.data / name).read_bytes()


def test_description_counts_and_warns(tmp_path: Path, files: ImportFiles) -> None:
    collection = import_collection(tmp_path / "c", files)
    facts = describe_collection(collection)
    assert facts["geography_by_gender"]["Asia"]["female"] == 1
    assert facts["geography_by_gender"]["Africa"]["unknown"] == facts["geography_by_gender"]["Europe"]["unknown"] == 1
    assert facts["quality"]["none"] == 1
    assert facts["counts"]["eval_judgments"] == 1
    text = table_text(collection)
    assert "ethical concerns" in text
    assert "3 pages, 3 articles (1 of them without metadata)" in text
    assert repr(collection).startswith("<Collection")


def test_official_files_are_known_by_size_and_md5(tmp_path: Path, files: ImportFiles) -> None:
    facts = official_files()["trec_metadata.json.gz"]
    assert is_official("trec_metadata.json.gz", facts.size_bytes, facts.md5) is True
    assert is_official("trec_metadata.json.gz", 5, "x") is False
    assert is_official("mine.json", 5, "x") is None
    renamed = files.metadata.rename(tmp_path / "trec_metadata.json.gz")
    told: list[str] = []
    import_collection(tmp_path / "c", ImportFiles(renamed), warn=told.append)
    assert any("not the track's own file" in text for text in told)


def test_spaces(tmp_path: Path, files: ImportFiles) -> None:
    collection = import_collection(tmp_path / "c", files)
    assert collection.space("geography").n_groups == 8
    assert collection.space("gender,geography").shape == (4, 8)
    with pytest.raises(EvenrankError, match="intersection, geography, gender"):
        collection.space("religion")
    with pytest.raises(EvenrankError, match="appears twice"):
        collection.space("gender,gender")
    with pytest.raises(EvenrankError, match="give intersection alone"):
        collection.space("intersection,gender")


def test_opens_by_memory_map(tmp_path: Path, files: ImportFiles) -> None:
    collection = import_collection(tmp_path / "c", files)
    assert isinstance(collection.page_ids.base, np.memmap)
    assert all(isinstance(mask.base, np.memmap) for mask in collection.masks.values())


def test_files_of_2022_are_taken_as_they_are(tmp_path: Path) -> None:
    """Quality under its names of 2022, counts of sources, the address of a topic, a corpus of plain text or HTML."""
    pages = [
        {"page_id": 9, "pred_qual": 0.25, "qual_cat": "GA", "page_subcont_regions": ["Melanesia", "Micronesia"]},
        {"page_id": 4, "pred_qual": 0.75, "qual_cat": "Stub", "source_subcont_regions": {"Western Asia": 3, "UNK": 1}},
    ]
    topics = [{"id": 1, "title": "t", "url": "https://example.org/t", "rel_docs": [4, 9, 4]}]
    corpus = [
        {"id": 4, "title": "Four", "url": "u", "plain": "plain text"},
        {"id": 9, "title": "Nine", "url": "u", "html": "<p>Some <b>text</b> &amp; more<script>no()</script></p>"},
    ]
    for name, records in (("m", pages), ("t", topics), ("corpus.jsonl", corpus)):
        (tmp_path / name).write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    files = ImportFiles(tmp_path / "m", topics=tmp_path / "t", corpus=tmp_path / "corpus.jsonl")
    collection = import_collection(tmp_path / "c", files)
    assert collection.page_ids.tolist() == [4, 9]
    assert [WORK_ORDER[code] for code in collection.quality_class] == ["Stub", "GA"]
    assert collection.quality_score.tolist() == [0.75, 0.25]
    assert collection.topics[0].homepage == "https://example.org/t"
    assert collection.manifest.counted == ("sub-region", "source-region")
    shares = align_pages(collection, np.array([0, 1]), collection.space("source-region"), OFFICIAL_2022)
    assert shares.total(np.array([1.0, 0.0]))[[0, 19]].tolist() == [0.25, 0.75]
    assert shares.total(np.array([0.0, 1.0]))[0] == 1.0
    assert collection.size_bytes is not None
    assert collection.size_bytes.tolist() == [len("plain text"), len(text_of_html(corpus[1]["html"]))]
    assert text_of_html(corpus[1]["html"]).split() == ["Some", "text", "&", "more"]


def test_judgments_in_four_columns(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"".join(orjson.dumps({"page_id": n}) + b"\n" for n in range(1, 6)))
    (tmp_path / "t").write_bytes(orjson.dumps({"id": 1, "title": "one", "rel_docs": [5]}) + b"\n")
    (tmp_path / "q").write_text("1 0 2 1\n1 0 3 0\n7 0 4 2\n")
    warned: list[str] = []
    files = ImportFiles(tmp_path / "m", topics=tmp_path / "t", qrels=(tmp_path / "q",))
    collection = import_collection(tmp_path / "c", files, warn=warned.append)
    one, seven = collection.topics
    assert (one.title, one.split, one.rel_docs.tolist()) == ("one", "train", [2])
    assert one.assessed_docs is not None
    assert one.assessed_docs.tolist() == [2, 3]
    assert (seven.split, seven.rel_docs.tolist(), seven.assessed_docs) == ("eval", [4], None)
    assert any("no group of any dimension" in text for text in warned)
    assert any("no page has a quality class" in text for text in warned)
    assert collection.manifest.absent == ("geography", "gender")


def test_relevant_pages_without_metadata_are_counted(tmp_path: Path) -> None:
    """Judgments of another collection are imported with a question, not in silence."""
    (tmp_path / "metadata").write_bytes(b"".join(b'{"page_id": %d, "gender": ["male"]}\n' % page for page in range(9)))
    (tmp_path / "train").write_bytes(b'{"id": 1, "title": "t", "rel_docs": [1, 2, 77]}\n')
    (tmp_path / "eval").write_bytes(b'{"id": 2, "title": "t", "rel_docs": [3, 78, 79]}\n')
    notes: list[str] = []
    files = ImportFiles(tmp_path / "metadata", tmp_path / "train", (tmp_path / "eval",))
    import_collection(tmp_path / "collection", files, warn=notes.append)
    end = "they count in nDCG, never in a target"
    assert f"relevant pages of training topics that are not in the metadata: 1 of 3; {end}" in notes
    asked = f"{end} (are these judgments of another collection?)"
    assert f"relevant pages of evaluation topics that are not in the metadata: 2 of 3; {asked}" in notes


def test_topics_whose_judgments_have_another_name_are_noted(tmp_path: Path) -> None:
    (tmp_path / "meta.jsonl").write_text('{"page_id": 1, "geographic_locations": ["Asia"]}\n')
    (tmp_path / "topics.jsonl").write_text('{"id": 1, "title": "Soups", "keywords": [], "relevant": [1]}\n')
    notes: list[str] = []
    files = ImportFiles(tmp_path / "meta.jsonl", eval_topics=(tmp_path / "topics.jsonl",))
    import_collection(tmp_path / "c", files, warn=notes.append)
    wanted = "no evaluation topic has relevant pages (rel_docs, or --qrels), so no run can be scored on them"
    assert wanted in notes


def test_a_page_id_of_another_name_is_told_with_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "meta.jsonl").write_text('{"pageid": 1, "geographic_locations": ["Asia"]}\n')
    with pytest.raises(InputError, match="no page_id; the record has geographic_locations, pageid"):
        import_collection(tmp_path / "c", ImportFiles(tmp_path / "meta.jsonl"))


def test_articles_that_come_twice_or_have_other_ids_are_noted(tmp_path: Path) -> None:
    (tmp_path / "meta.jsonl").write_text('{"page_id": 1, "geographic_locations": ["Asia"]}\n')
    files = ImportFiles(tmp_path / "meta.jsonl", corpus=tmp_path / "corpus.jsonl")
    article = '{"id": 1, "title": "%s", "url": "", "text": "broth"}\n'
    files.corpus.write_text(article % "Leek soup" + article % "Onion soup")
    notes: list[str] = []
    collection = import_collection(tmp_path / "c", files, warn=notes.append)
    assert f"{files.corpus}: 1 record has the id of one before; the last of each counts" in notes
    assert collection.manifest.counts["corpus_pages"] == 1
    assert collection.titles is not None
    assert collection.titles[0] == "Onion soup"
    files.corpus.write_text(article.replace("1", "2", 1) % "Leek soup")
    import_collection(tmp_path / "c", files, warn=notes.append)
    assert f"{files.corpus}: no article has metadata (are the ids the same in both?)" in notes
