"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

import orjson

from evenrank.core.types import FilePath
from evenrank.errors import input_error, reason_of

SQLITE_HEADER = b"SQLite format 3\0"


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, is_private: bool = False) -> Iterator[IO[bytes]]:
    """A binary file to write; it takes the name `path` only when the block ends well.

    Nobody but its owner can read a private file, at any moment.

    Whatever goes wrong (an error, Ctrl-C, a full disk), an older file of that name stays as it was. A link is
    followed; a device or a pipe (`/dev/stdout`) is written to, never replaced, and `-` is standard output. An SQLite
    file is never replaced: it is a store or a judgments file, which no result is meant to overwrite.
    """
    path = Path(path)
    if str(path) == "-":
        with _device(os.dup(1)) as file:
            yield file
        return
    if _is_device(path):
        with _device(path) as file:
            yield file
        return
    path = Path(os.path.realpath(path))
    _refuse_database(path)
    handle, temporary = temporary_file(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if not is_private:
            os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _not_written(path, error) from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def packed_file(path: FilePath, level: int = 6) -> Iterator[IO[bytes]]:
    """As `atomic_file`; gzip where the name ends so, without name and time, so that equal content gives equal bytes."""
    with atomic_file(path) as file:
        if str(path).endswith(".gz"):
            import gzip

            with gzip.GzipFile("", "wb", level, file, mtime=0) as packed:
                yield cast("IO[bytes]", packed)
        else:
            yield file


def write_json(path: FilePath, record: object) -> None:
    """Plain data as an indented JSON file, complete or not at all."""
    with atomic_file(path) as file:
        file.write(orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def _refuse_database(path: Path) -> None:
    """InputError when the file of that name is an SQLite database."""
    try:
        with path.open("rb") as file:
            is_database = file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
    except OSError:  # none, or one that cannot be read: writing will say so
        return
    if is_database:
        raise input_error(path, 0, "a database, which the result would replace", "name another file")


def refuse_input(path: Path, inputs: Iterable[Path]) -> None:
    """InputError when a result would be written over one of the files it is made from."""
    if path.is_file() and any(one.exists() and path.samefile(one) for one in inputs):
        raise input_error(path, 0, "one of the files to read, which would be lost", "name another file")


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder to fill; it takes the name `path`, replacing an older one, only when the block ends well."""
    path = Path(path)
    with temporary_folder(path) as fresh:
        try:
            yield fresh
            os.chmod(fresh, 0o777 & ~_umask())
            sync_tree(fresh)
            _swap(fresh, path)
        except OSError as error:
            raise _not_written(path, error) from error


def link_or_copy(source: Path, path: Path) -> None:
    """A second name for a file that is never changed; a copy where the system has no such names."""
    try:
        os.link(source, path)
    except OSError:
        from shutil import copyfile

        copyfile(source, path)


def remove_tree(folder: FilePath) -> None:
    """Remove a folder and all that is in it, as far as that can be done."""
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


def sync_tree(folder: Path) -> None:
    """Bring everything in a folder to the disk, so that a name given to it afterwards never has less behind it."""
    for place, _, names in os.walk(folder):
        for name in names:
            handle = os.open(os.path.join(place, name), os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        sync_folder(Path(place))


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk; file systems that cannot are left alone."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def _swap(fresh: Path, path: Path) -> None:
    """Put `fresh` in the place of `path`; what was there has the name `fresh` afterwards, or is gone."""
    if not path.exists():
        os.replace(fresh, path)
    elif not _exchange(fresh, path):  # two steps: a process killed between them leaves the old folder under `old`
        old = _name_temporary(path)
        os.replace(path, old)
        os.replace(fresh, path)
        remove_tree(old)
    sync_folder(path.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Give each of two folders the name of the other, in one step; False where the system cannot."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    at_cwd, exchange = -100, 2
    return int(rename(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), exchange)) == 0


_LIVE: set[str] = set()
"""Temporary names that this process uses."""


def _name_temporary(path: Path) -> Path:
    """A name beside `path` that says which process uses it."""
    name = f".{path.name[:180]}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    _LIVE.add(name)
    return path.with_name(name)


def remove_stale(path: Path) -> None:
    """Remove what processes that were killed left beside `path`; the name of each says whose it is."""
    known = re.compile(re.escape(f".{path.name[:180]}.") + r"(\d{1,10})-[0-9a-f]{8}\.tmp(-wal|-shm|-journal)?")
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            found = known.fullmatch(entry.name)
            if found is None or entry.name in _LIVE or _is_running(int(found[1])):
                continue
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                os.unlink(entry.path)


def _is_running(process: int) -> bool:
    """Whether there is such a process, other than this one, whose names are known."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _is_device(path: Path) -> bool:
    """Whether `path` is there and neither a file nor a folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def _device(place: Path | int) -> Iterator[IO[bytes]]:
    """A device by its path, or an open one by its number."""
    try:
        with open(place, "wb") as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _not_written(Path("standard output") if isinstance(place, int) else place, error) from error


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """A private folder beside `path` while the block lasts; the next one removes what a killed process left of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(path)
        folder = _name_temporary(path)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise _not_written(path, error) from error
    try:
        yield folder
    finally:
        remove_tree(folder)


def temporary_file(path: Path) -> tuple[int, str]:
    """A private file beside `path`, open, and its name; what killed processes left of such files is removed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(path)
        temporary = _name_temporary(path)
        return os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), str(temporary)
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> Exception:
    return input_error(path, 0, f"could not be written: {reason_of(error)}", "nothing was changed")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
