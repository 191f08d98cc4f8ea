"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from evenrank.errors import input_error


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write; it takes the name `path` only when the block ends well.

    Whatever goes wrong (an error, Ctrl-C, a full disk), an older file of that name stays as it was. A link is
    followed; a device or a pipe (`/dev/stdout`) is written to, never replaced, and `-` is standard output.
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
    handle, temporary = _temporary(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
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
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder to fill; it takes the name `path`, replacing an older one, only when the block ends well."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    except OSError as error:
        raise _not_written(path, error) from error
    try:
        yield fresh
        os.chmod(fresh, 0o777 & ~_umask())
        _swap(fresh, path)
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


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
    """Put `fresh` in the place of `path`, and remove what was there."""
    if not path.exists():
        os.replace(fresh, path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old.tmp", dir=path.parent))
    os.replace(path, old / path.name)
    os.replace(fresh, path)
    shutil.rmtree(old, ignore_errors=True)


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


def _temporary(path: Path) -> tuple[int, str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> Exception:
    return input_error(path, 0, f"could not be written: {error.strerror or error}", "nothing was changed")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
