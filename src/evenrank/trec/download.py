"""`collection download`: the official files over HTTP, resumed where they broke off, checked when complete."""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urljoin, urlsplit

from evenrank.errors import EvenrankError, UnknownNameError, input_error, reason_of
from evenrank.progress import progress_bar
from evenrank.trec.sources import OfficialFile, base_url, md5_of, official_files

BLOCK = 1 << 18
TIMEOUT = 60.0
N_TRIES = 5
PARTIAL = ".part"
T = TypeVar("T")


def download_collection(
    folder: str | os.PathLike[str],
    source: str | None = None,
    only: Sequence[str] = (),
    year: int = 2021,
    warn: Callable[[str], object] = lambda text: None,
) -> list[Path]:
    """Paths of the downloaded files of one year's track; a file that is already there and complete is kept.

    `warn` gets a line for each file that could not be checked because its size and checksum are not known.
    """
    known = {name: facts for name, facts in official_files().items() if facts.year == year}
    for name in only:
        if name not in known:
            raise UnknownNameError("official file", name, known)
    base = source_base(source)
    folder = Path(folder)
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise input_error(folder, 0, f"could not be made: {reason_of(error)}", "name another folder") from error
    for name in only or known:
        if known[name].md5 is None:
            warn(f"{name}: its size and checksum are not known, so the download cannot be checked")
    try:
        return [
            fetch_file(folder / name, (None if source else known[name].url) or urljoin(base, quote(name)), known[name])
            for name in only or known
        ]
    finally:
        if is_new:
            with suppress(OSError):
                folder.rmdir()  # only when nothing came


def source_base(source: str | None) -> str:
    """Address that the names of files follow: the given one, or that of the paper."""
    address = source or base_url()
    if not is_web_address(address):
        raise EvenrankError(f"source {address!r} is not an http or https address")
    return address if address.endswith("/") else address + "/"


def is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def fetch_file(path: Path, url: str, facts: OfficialFile) -> Path:
    """The path, at which the whole file is when this returns; a part that an earlier download left is completed."""
    return fetch_checked(path, url, facts.size_bytes, lambda found: download_fault(found, facts))


def fetch_checked(path: Path, url: str, size_bytes: int | None, fault_of: Callable[[Path], str | None]) -> Path:
    """The same for any file: `fault_of` says what is wrong with one; None when nothing is."""
    if path.exists() and fault_of(path) is None:
        return path
    partial = path.with_name(path.name + PARTIAL)
    _try_often(url, lambda: _fetch(url, partial, size_bytes))
    fault = fault_of(partial)
    if fault:
        partial.unlink()
        raise input_error(path, 0, fault, "not kept; download it again, or give another --source")
    os.replace(partial, path)
    return path


def fetch_small(url: str, most: int) -> bytes:
    """What is at an address; an error for more than `most` bytes."""

    def read() -> bytes:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as response:  # http or https, checked # nosec B310
            content: bytes = response.read(most + 1)
            if response.length:
                raise ConnectionError(f"broke off after {len(content):,} bytes")
            return content

    content = _try_often(url, read)
    if len(content) > most:
        raise EvenrankError(f"{url}: more than {most:,} bytes, so not what was expected (give another address)")
    return content


def _try_often(url: str, fetch: Callable[[], T]) -> T:
    """What a fetch gives, which is tried again where the connection fails."""
    for attempt in range(1, N_TRIES + 1):
        try:
            return fetch()
        except urllib.error.HTTPError as error:
            raise EvenrankError(f"{url}: the server answers {error.code} {error.reason}") from error
        except (OSError, http.client.HTTPException) as error:
            if attempt == N_TRIES:
                cause = getattr(error, "reason", error)
                found = reason_of(cause if isinstance(cause, Exception) else error)
                text = f"{url}: {found} (what arrived is kept; run the same command again to resume)"
                raise EvenrankError(text) from error
    raise AssertionError("the last try returns or raises")


def _fetch(url: str, partial: Path, size_bytes: int | None) -> None:
    """Append what is missing of the file; start over when the server cannot resume in the middle."""
    have = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)  # http or https, checked # nosec B310
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            return
        raise
    with response:
        goes_on = response.status == http.HTTPStatus.PARTIAL_CONTENT
        total = _announced(response.headers.get("Content-Length")) + (have if goes_on else 0)
        bar = progress_bar(total or size_bytes or 0, partial.stem, "B", scale=True)
        bar.update(have if goes_on else 0)
        try:
            with partial.open("ab" if goes_on else "wb") as file:
                while block := response.read(BLOCK):
                    file.write(block)
                    bar.update(len(block))
                    if size_bytes is not None and file.tell() > size_bytes:
                        return  # more than the file has: its size tells that it is another one
        finally:
            bar.close()
    if total and partial.stat().st_size < total:
        raise ConnectionError(f"broke off after {partial.stat().st_size:,} of {total:,} bytes")


def _announced(length: str | None) -> int:
    """Bytes that a server says will come; 0 where it says nothing, or nonsense."""
    return int(length) if length and length.isascii() and length.isdecimal() and len(length) < 16 else 0


def download_fault(path: Path, facts: OfficialFile, with_md5: bool = True) -> str | None:
    """What is wrong with the file; None when its size and, if that is asked for, its md5 are right."""
    if facts.size_bytes is None or facts.md5 is None:
        return None
    size = path.stat().st_size
    if size != facts.size_bytes:
        return f"{size:,} bytes, not {facts.size_bytes:,}"
    if with_md5 and (found := md5_of(path)) != facts.md5:
        return f"md5 {found}, not {facts.md5}"
    return None
