"""Rows of MediaWiki's SQL dumps: values as mysqldump writes them, columns by name, every fault with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.errors import InputError
from evenrank.io.faults import FaultLog
from evenrank.io.sql_dump import read_sql_rows

HEAD = """-- MySQL dump 10.19
DROP TABLE IF EXISTS `t`;
CREATE TABLE `t` (
  `id` int(10) unsigned NOT NULL,
  `name` varbinary(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `name` (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;

LOCK TABLES `t` WRITE;
"""
USUAL = ("id", "name")


def rows(path: Path, columns: tuple[str, ...] = USUAL) -> list[tuple[int, tuple[bytes | None, ...]]]:
    faults = FaultLog()
    found = list(read_sql_rows(path, "t", columns, USUAL, faults))
    faults.raise_if_any()
    return found


def quoted(value: bytes) -> bytes:
    """A string as mysqldump escapes it."""
    for plain, escaped in (
        (b"\\", b"\\\\"),
        (b"'", b"\\'"),
        (b'"', b'\\"'),
        (b"\n", b"\\n"),
        (b"\r", b"\\r"),
        (b"\0", b"\\0"),
    ):
        value = value.replace(plain, escaped)
    return b"'" + value + b"'"


def test_rows_of_several_inserts(tmp_path: Path) -> None:
    path = tmp_path / "t.sql"
    path.write_text(HEAD + "INSERT INTO `t` VALUES (1,'A'),(2,NULL),(3,'B (x),(y)');\nINSERT INTO `t` VALUES (4,'');\n")
    assert rows(path) == [(11, (b"1", b"A")), (11, (b"2", None)), (11, (b"3", b"B (x),(y)")), (12, (b"4", b""))]
    packed = tmp_path / "t.sql.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert rows(packed) == rows(path)


def test_rows_in_lines_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "t.sql"
    path.write_text(
        HEAD + "INSERT INTO `t` VALUES\n(1,'A'),\n(2,NULL),(3,'x');\nINSERT INTO `t` VALUES (4,''),\n(5,'B');\n"
    )
    assert [(line, row[0]) for line, row in rows(path)] == [(12, b"1"), (13, b"2"), (13, b"3"), (14, b"4"), (15, b"5")]


@given(st.lists(st.binary(max_size=12), min_size=1, max_size=6))
def test_any_bytes_come_back(tmp_path_factory: pytest.TempPathFactory, values: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("sql") / "t.sql"
    tuples = b",".join(b"(%d,%s)" % (number, quoted(value)) for number, value in enumerate(values))
    path.write_bytes(b"INSERT INTO `t` VALUES " + tuples + b";\n")
    assert [row[1] for _, row in rows(path)] == values


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    swapped = tmp_path / "swapped.sql"
    create = "CREATE TABLE `t` (\n  `name` varbinary(20),\n  `more` int,\n  `id` int\n);\n"
    swapped.write_text(create + "INSERT INTO `t` VALUES (_binary 'A',7,1);\n")
    assert rows(swapped) == [(6, (b"1", b"A"))]
    named = tmp_path / "named.sql"
    named.write_text("INSERT INTO t (`name`, `id`) VALUES ('A',1);\n")
    assert rows(named) == [(1, (b"1", b"A"))]


def test_other_tables_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "two.sql"
    path.write_text("INSERT INTO `other` VALUES (1,2,3);\nINSERT INTO `t` VALUES (1,'A');\n")
    assert rows(path) == [(2, (b"1", b"A"))]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "no rows of the table t"),
        ("INSERT INTO `other` VALUES (1,2);\n", "no rows of the table t"),
        (HEAD + "INSERT INTO `t` VALUES (1,'A'),(2,'B", "t.sql:11: a row that is not 2 values"),
        (HEAD + "INSERT INTO `t` VALUES (1,'A')", "t.sql:11: an INSERT without its semicolon"),
        (HEAD + "INSERT INTO `t` VALUES (1,'A'),", "t.sql:11: an INSERT that is cut off"),
        (HEAD + "INSERT INTO `t` VALUES\n(1,'A'),\nUNLOCK TABLES;\n", "t.sql:12: an INSERT that is cut off"),
        (HEAD + "INSERT INTO `t` VALUES\n(1,'A'),\n(2);\n", "t.sql:13: a row that is not 2 values"),
        (HEAD + "INSERT INTO `t` VALUES\n", "t.sql:11: an INSERT that is cut off"),
        (HEAD + "INSERT INTO `t` VALUES (1,'A',5);\n", "t.sql:11: a row that is not 2 values"),
        ("CREATE TABLE `t` (\n  `id` int\n);\nINSERT INTO `t` VALUES (1);\n", "t.sql:4: t without the column name"),
    ],
)
def test_faults_have_their_line(tmp_path: Path, content: str, found: str) -> None:
    path = tmp_path / "t.sql"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        rows(path)
    assert found in str(error.value)


def test_all_faults_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.sql"
    path.write_text("INSERT INTO `t` VALUES (1);\nINSERT INTO `t` VALUES (1,'A');\nINSERT INTO `t` VALUES (x,'A');\n")
    with pytest.raises(InputError) as error:
        rows(path)
    assert [fault.line for fault in error.value.faults] == [1, 3]
