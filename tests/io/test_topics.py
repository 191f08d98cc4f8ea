"""Topics and judgments in JSON lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.records import Topic
from evenrank.errors import InputError
from evenrank.io.topics import parse_topic, read_topics, topic_record, write_topics


def test_reads_what_it_writes(tmp_path: Path) -> None:
    topics = [
        Topic(
            1,
            "Agriculture",
            ("crops",),
            "scope",
            "home",
            "eval",
            np.array([5, 3], np.int32),
            np.array([3, 5, 9], np.int32),
            2,
        ),
        Topic(2, "Ünïcode", split="eval"),
    ]
    write_topics(tmp_path / "t.json.gz", topics)
    read = read_topics(tmp_path / "t.json.gz", "eval")
    assert [topic_record(topic) for topic in read] == [topic_record(topic) for topic in topics]
    assert read[0].rel_docs.tolist() == [5, 3]


def test_the_end_of_a_judged_window_is_kept(tmp_path: Path) -> None:
    topic = parse_topic({"id": 1, "title": "Chess", "rel_docs": [3], "judged_up_to_page_id": 9}, "train")
    assert topic.judged_up_to == 9
    write_topics(tmp_path / "t.json", [topic])
    assert read_topics(tmp_path / "t.json", "train") == [topic]
    with pytest.raises(ValueError, match="judged_up_to_page_id is 'x', not a whole number"):
        parse_topic({"id": 1, "judged_up_to_page_id": "x"}, "train")


def test_repeated_pages_are_dropped_in_order() -> None:
    assert parse_topic({"id": 1, "rel_docs": [9, 2, 9, 4, 2]}, "train").rel_docs.tolist() == [9, 2, 4]


def test_faults_name_the_line(tmp_path: Path) -> None:
    lines = [
        b'{"id": 1}',
        b'{"id": "1"}',
        b'{"id": 2, "rel_docs": ["a"]}',
        b'{"id": 3, "keywords": "x"}',
        b'{"id": 4, "rel_docs": [99999999999]}',
        b"{",
    ]
    (tmp_path / "t.json").write_bytes(b"\n".join(lines))
    with pytest.raises(InputError) as caught:
        read_topics(tmp_path / "t.json", "train")
    assert [fault.line for fault in caught.value.faults] == [2, 3, 4, 5, 6]


def test_a_topic_twice_and_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b'{"id": 1}\n{"id": 1}\n')
    with pytest.raises(InputError, match="topic 1 appears twice"):
        read_topics(tmp_path / "t.json", "train")
    (tmp_path / "e.json").write_bytes(b"\n")
    with pytest.raises(InputError, match="no topic"):
        read_topics(tmp_path / "e.json", "train")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
)


@given(
    st.dictionaries(
        st.sampled_from(["id", "title", "keywords", "scope", "rel_docs", "assessed_docs", "max_tier"]), JSON
    )
)
def test_any_record_is_a_topic_or_a_value_error(record: dict) -> None:
    try:
        topic = parse_topic(record, "train")
    except ValueError as error:
        assert str(error)
    else:
        assert orjson.dumps(topic_record(topic))


def test_topics_are_equal_by_content_arrays_included() -> None:
    """Python 3.13 compares the fields of a dataclass one by one, which an array does not take."""
    one, same = (Topic(1, "One", rel_docs=np.array([1, 2], np.int32)) for _ in range(2))
    assert one == same
    assert one != Topic(1, "One", rel_docs=np.array([1, 3], np.int32))
    assert one != Topic(1, "One", rel_docs=np.array([1, 2], np.int32), assessed_docs=np.array([1], np.int32))
    assert one != "One"
