"""`python -m tools.fleet start|stop|remove|status [opensearch] [spark] [postgres]`."""

from __future__ import annotations

import argparse
import sys

from tools.fleet import opensearch, postgres, spark
from tools.fleet.processes import FleetError

SERVICES = {"opensearch": opensearch, "spark": spark, "postgres": postgres}
SERVERS = {
    "opensearch": opensearch.NODES,
    "spark": [spark.MASTER_SERVER, *spark.WORKERS],
    "postgres": [postgres.SERVER],
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fleet", description=sys.modules["tools.fleet"].__doc__)
    parser.add_argument("action", choices=["start", "stop", "remove", "status"])
    parser.add_argument("services", nargs="*", choices=[[], *SERVICES], help="all of them when none is named")
    options = parser.parse_args()
    for name in options.services or SERVICES:
        service = SERVICES[name]
        if options.action == "start":
            print(f"{name}: {service.start()}")
        elif options.action == "stop":
            service.stop()
        elif options.action == "remove":
            service.stop()
            if hasattr(service, "remove"):
                service.remove()
        else:
            for server in SERVERS[name]:
                print(f"{server.name}: {server.pid() or 'not running'}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FleetError as error:
        sys.exit(f"error: {error}")
