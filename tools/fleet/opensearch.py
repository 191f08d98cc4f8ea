"""Three OpenSearch nodes on loopback, each a process that can be killed alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tools.fleet.java import find_java
from tools.fleet.processes import FOLDER, POLL_SECONDS, PORT_SHIFT, FleetError, Server, wait_for_answer

HERE = Path(__file__).parent
N_NODES = 3
FIRST_HTTP_PORT = 9210 + PORT_SHIFT
FIRST_TRANSPORT_PORT = 9310 + PORT_SHIFT
HEAP = "768m"
VERSION = "3.8.0"
NODES = [Server(f"opensearch-{number}") for number in range(1, N_NODES + 1)]
HOSTS = [f"127.0.0.1:{FIRST_HTTP_PORT + number}" for number in range(N_NODES)]
ADDRESS = "opensearch://" + ",".join(HOSTS)
"""What `evenrank index --engine` takes."""


def start() -> str:
    """Start all nodes that are not running, wait until they form one cluster, and give its address."""
    for number in range(N_NODES):
        start_node(number)
    for host, node in zip(HOSTS, NODES, strict=True):
        wait_for_answer(f"http://{host}/", node)
    wait_for_nodes(N_NODES)
    return ADDRESS


def start_node(number: int) -> None:
    """Start one node, counted from 0."""
    java, jars, classes = find_java(), _jars(), FOLDER / "classes"
    _compile(java, jars, classes)
    home = FOLDER / f"opensearch-data-{number + 1}"
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "path.home": home,
        "node.name": f"node-{number + 1}",
        "cluster.name": "evenrank",
        "network.host": "127.0.0.1",
        "http.port": FIRST_HTTP_PORT + number,
        "transport.port": FIRST_TRANSPORT_PORT + number,
        "discovery.seed_hosts": ",".join(f"127.0.0.1:{FIRST_TRANSPORT_PORT + other}" for other in range(N_NODES)),
        "cluster.initial_cluster_manager_nodes": ",".join(f"node-{other + 1}" for other in range(N_NODES)),
        # A disk that is 85 % full would get no replicas, and these nodes share one with everything else.
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    options = [f"-Xms{HEAP}", f"-Xmx{HEAP}", "-XX:+UseSerialGC", "-cp", f"{classes}:{jars}/*", "SearchNode"]
    NODES[number].start([java, *options, *(f"{key}={value}" for key, value in settings.items())])


def wait_for_nodes(n_nodes: int, status: str | None = None, seconds: float = 120) -> None:
    """Wait until that many nodes are in the cluster, and its health has the status when one is named."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        health = _health()
        if health.get("number_of_nodes") == n_nodes and status in (None, health.get("status")):
            return
        time.sleep(POLL_SECONDS)
    raise FleetError(f"the cluster did not reach {n_nodes} nodes{f' and status {status}' if status else ''}: {health}")


def stop() -> None:
    """Stop all nodes; data stay."""
    for node in NODES:
        node.stop()


def remove() -> None:
    """Remove the data of stopped nodes."""
    for folder in FOLDER.glob("opensearch-data-*"):
        shutil.rmtree(folder)


def _health() -> dict[str, object]:
    for host in HOSTS:
        try:
            with urlopen(f"http://{host}/_cluster/health", timeout=5) as answer:
                found: dict[str, object] = json.load(answer)
                return found
        except (URLError, OSError, ValueError):
            continue
    return {}


def _jars() -> Path:
    """The jars of `pom.xml`, fetched once by Maven."""
    jars = FOLDER / "jars"
    if not any(jars.glob(f"opensearch-{VERSION}.jar")):
        maven = shutil.which("mvn")
        if maven is None:
            raise FleetError("Maven is needed to fetch OpenSearch: install the package maven")
        goal = ["-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        if subprocess.run([maven, *goal], check=False).returncode:
            raise FleetError("Maven could not fetch the jars of OpenSearch; its messages are above")
    return jars


def _compile(java: str, jars: Path, classes: Path) -> None:
    """Compile the launcher; the compiler is a jar too, so that no JDK is needed."""
    source, compiled = HERE / "SearchNode.java", classes / "SearchNode.class"
    if compiled.exists() and compiled.stat().st_mtime >= source.stat().st_mtime:
        return
    (compiler,) = jars.glob("ecj-*.jar")
    path = ":".join(str(jar) for jar in sorted(jars.glob("*.jar")))
    command = [java, "-jar", str(compiler), "-21", "-nowarn", "-cp", path, "-d", str(classes), str(source)]
    if subprocess.run(command, check=False).returncode:
        raise FleetError(f"{source} could not be compiled; the compiler's messages are above")
