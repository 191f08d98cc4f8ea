"""The bill of materials of a release names every package with its licence."""

from __future__ import annotations

import importlib.util
from pathlib import Path

TOOL = Path(__file__).parents[1] / "tools" / "sbom.py"


def test_every_component_has_a_version_and_a_licence() -> None:
    spec = importlib.util.spec_from_file_location("sbom", TOOL)
    assert spec is not None
    assert spec.loader is not None
    sbom = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sbom)
    bill = sbom.bill()
    assert bill["metadata"]["component"]["name"] == "evenrank"
    assert {"numpy", "scipy", "click", "tantivy"} <= {one["name"] for one in bill["components"]}
    assert [one["name"] for one in bill["components"] if not one["version"] or not one.get("licenses")] == []
