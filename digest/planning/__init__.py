"""The decisions that make digests: when one is due, what is in it, and where its parts go. All pure."""

from digest.planning.coverage import PollSummary, assess_coverage, join_coverages, was_asked
from digest.planning.digests import (
    DeliveryPlan,
    DueSubscription,
    is_weekly,
    plan_deliveries,
    plan_digest,
)
from digest.planning.earlier import EarlierDigest, find_last_papers, find_told_until, is_told
from digest.planning.entries import Seen, Told, make_entry
from digest.planning.firstlook import choose_first_look
from digest.planning.localtime import resolve_local
from digest.planning.quiet import leave_quiet
from digest.planning.slots import Slot, latest_slot, nearest_slot, next_slot
from digest.planning.turns import (
    Outcome,
    Rhythm,
    Turn,
    TurnFacts,
    covered_since,
    decide_turn,
    first_due,
    next_due,
    realign_due,
)

__all__ = [
    "DeliveryPlan",
    "DueSubscription",
    "EarlierDigest",
    "Outcome",
    "PollSummary",
    "Rhythm",
    "Seen",
    "Slot",
    "Told",
    "Turn",
    "TurnFacts",
    "assess_coverage",
    "choose_first_look",
    "covered_since",
    "decide_turn",
    "find_last_papers",
    "find_told_until",
    "first_due",
    "is_told",
    "is_weekly",
    "join_coverages",
    "latest_slot",
    "leave_quiet",
    "make_entry",
    "nearest_slot",
    "next_due",
    "next_slot",
    "plan_deliveries",
    "plan_digest",
    "realign_due",
    "resolve_local",
    "was_asked",
]
