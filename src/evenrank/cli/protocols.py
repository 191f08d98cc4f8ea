"""`evenrank protocols`: the scoring protocols, made from the registry."""

from __future__ import annotations

import click

from evenrank.cli.listing import FORMAT, print_listing
from evenrank.core.protocol import PROTOCOLS
from evenrank.scoring.campaigns.registry import CAMPAIGNS


@click.command("protocols")
@FORMAT
def command(form: str) -> None:
    """List the scoring protocols, setting by setting; `evaluate --set NAME=VALUE` changes any of them.

    Protocols of other campaigns follow, which `score --protocol` takes.
    """
    if form == "json":
        print_listing([protocol.settings() for protocol in PROTOCOLS.values()], form)
        return
    settings = [protocol.settings() for protocol in PROTOCOLS.values()]
    rows = [
        {"setting": name, **{s["name"]: _shown(s[name]) for s in settings}}
        for name in settings[0]
        if name not in ("name", "summary")
    ]
    print_listing(rows, form)
    for protocol in PROTOCOLS.values():
        click.echo(f"\n{protocol.name}: {protocol.summary}", nl=False)
    click.echo("\n\nother campaigns, of `evenrank score`:")
    for campaign in CAMPAIGNS.values():
        names = ", ".join(setting.name for setting in campaign.described_settings())
        click.echo(f"{campaign.name}: {campaign.summary} (settings: {names})")


def _shown(value: object) -> str:
    if value is None:
        return "as scored"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return ", ".join(name if isinstance(name, str) else name[0] for name in value) or "none"
    return str(value)
