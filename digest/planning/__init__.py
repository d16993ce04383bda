"""The decisions that make digests: when one is due, what is in it, and where its parts go. All pure."""

from digest.planning.coverage import PollSummary, assess_coverage, join_coverages
from digest.planning.digests import DeliveryPlan, DueSubscription, Seen, plan_deliveries, plan_digest, zone_of
from digest.planning.firstlook import choose_first_look
from digest.planning.slots import Slot, latest_slot, next_due, resolve_local, slot_of

__all__ = [
    "DeliveryPlan",
    "DueSubscription",
    "PollSummary",
    "Seen",
    "Slot",
    "assess_coverage",
    "choose_first_look",
    "join_coverages",
    "latest_slot",
    "next_due",
    "plan_deliveries",
    "plan_digest",
    "resolve_local",
    "slot_of",
    "zone_of",
]
