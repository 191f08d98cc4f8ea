"""The visible list of campaigns. A new one is one file and one line here."""

from __future__ import annotations

from evenrank.scoring.campaigns.campaign import CampaignProtocol
from evenrank.scoring.campaigns.fairweb import FAIRWEB_1
from evenrank.scoring.campaigns.trec_2019 import TREC_2019
from evenrank.scoring.campaigns.trec_2020 import TREC_2020

CAMPAIGNS: dict[str, CampaignProtocol] = {campaign.name: campaign for campaign in (TREC_2019, TREC_2020, FAIRWEB_1)}
