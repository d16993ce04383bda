"""The seven verbs in order, over one installation's store: see `passes` for a pass read aloud."""

from digest.pipeline.delivering import DeliverReport
from digest.pipeline.feeds import feed_urls, load_feed, publish_feeds
from digest.pipeline.lanes import LANES, Lane, deliver
from digest.pipeline.links import LinkMaker
from digest.pipeline.matching_step import MatchReport, match
from digest.pipeline.opening import open_client, open_site
from digest.pipeline.passes import PassReport, recover, run_pass
from digest.pipeline.planning_step import PlanReport, plan
from digest.pipeline.poll_report import PollReport
from digest.pipeline.polling import poll
from digest.pipeline.roster import RosterReport, sync_roster
from digest.pipeline.site import Progress, Silent, Site

__all__ = [
    "LANES",
    "DeliverReport",
    "Lane",
    "LinkMaker",
    "MatchReport",
    "PassReport",
    "PlanReport",
    "PollReport",
    "Progress",
    "RosterReport",
    "Silent",
    "Site",
    "deliver",
    "feed_urls",
    "load_feed",
    "match",
    "open_client",
    "open_site",
    "plan",
    "poll",
    "publish_feeds",
    "recover",
    "run_pass",
    "sync_roster",
]
