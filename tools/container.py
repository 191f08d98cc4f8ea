"""The container image of the web app, built with buildah, and a container of it that serves.

    python tools/container.py build [IMAGE]                       # the image, from Containerfile
    python tools/container.py serve COLLECTION STATE [OPTION …]   # a container of it, until Ctrl-C

The image that `Containerfile` starts from is fetched from its registry. Where that cannot be reached, one is made of
Debian's packages, which needs mmdebstrap and root. Everything is also possible with docker and podman; buildah alone
runs where there is no service and no right to make networks.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGE = "localhost/evenrank"
DEBIAN_BASE = "localhost/evenrank-debian"
DEBIAN = "bookworm"
PACKAGES = "python3,python3-venv,ca-certificates"
CERTIFICATES = "/etc/ssl/certs"


class ContainerError(Exception):
    """An image could not be built; the message says why and what to do."""


def buildah(*words: object, check: bool = True) -> str:
    """What a command of buildah prints."""
    if shutil.which("buildah") is None:
        raise ContainerError("buildah was not found (Debian: apt-get install buildah)")
    ended = subprocess.run(["buildah", *map(str, words)], capture_output=True, text=True, check=False)
    if check and ended.returncode:
        raise ContainerError(f"buildah {words[0]} failed:\n{ended.stderr[-3000:]}")
    return ended.stdout.strip() if not ended.returncode else ""


def base_image() -> str:
    """The image to start from: that of Containerfile, or one of Debian's packages."""
    (line,) = (line for line in (ROOT / "Containerfile").read_text().splitlines() if line.startswith("ARG BASE="))
    usual = line.removeprefix("ARG BASE=")
    if buildah("pull", "--quiet", usual, check=False):
        return usual
    if not buildah("images", "--quiet", DEBIAN_BASE, check=False):
        make_debian_base()
    return DEBIAN_BASE


def make_debian_base() -> None:
    """An image with Python out of Debian's packages."""
    if shutil.which("mmdebstrap") is None:
        raise ContainerError("the registry does not answer, and mmdebstrap was not found (apt-get install mmdebstrap)")
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "root.tar"
        words = ["mmdebstrap", "--variant=minbase", "--dpkgopt=force-unsafe-io", f"--include={PACKAGES}"]
        subprocess.run([*words, DEBIAN, str(archive)], check=True)
        container = buildah("from", "scratch")
        buildah("add", container, archive, "/")
        buildah("commit", "--rm", container, DEBIAN_BASE)


def build(image: str = IMAGE) -> str:
    """The image with the web app; its name."""
    # The machine's certificates, so that its own authorities count while packages are fetched.
    options = ["--format", "docker", "--isolation", "chroot", "--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro"]
    base = ["--build-arg", f"BASE={base_image()}"]
    buildah("build", *options, *base, "--file", ROOT / "Containerfile", "--tag", image, ROOT)
    return image


def serve_command(container: str, collection: Path, state: Path, options: Sequence[str]) -> list[str]:
    """What runs the entry point of a container's image, as the user that the image names, with two volumes."""
    config = json.loads(buildah("inspect", container))["Docker"]["config"]
    volumes = ["--volume", f"{collection.resolve()}:/collection:ro", "--volume", f"{state.resolve()}:/state:rw,U"]
    words = ["buildah", "run", "--isolation", "chroot", "--user", config["User"], *volumes, container, "--"]
    return [*words, *config["Entrypoint"], *options]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    kinds = parser.add_subparsers(dest="kind", required=True)
    kinds.add_parser("build").add_argument("image", nargs="?", default=IMAGE)
    serving = kinds.add_parser("serve")
    serving.add_argument("collection", type=Path)
    serving.add_argument("state", type=Path)
    serving.add_argument("options", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    try:
        if asked.kind == "build":
            print(build(asked.image))
            return
        container = buildah("from", IMAGE)
        try:
            command = serve_command(container, asked.collection, asked.state, asked.options)
            raise SystemExit(subprocess.run(command, check=False).returncode)
        finally:
            buildah("rm", container)
    except ContainerError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
