"""What is stored of people, why and for how long, in plain words: the one place that tells it."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from digest.model.people import LETTERS_TO_ADDRESS, REQUEST_LIFETIME
from digest.render.contexts import StoredKind
from digest.store.outbox import KEPT_DAYS

_ERASED: Final = "until you have it erased"

_COUNTED: Final = max(limit.span for limit in LETTERS_TO_ADDRESS) + timedelta(days=1)

STORED: Final = (
    StoredKind(
        "Your mail address, and when you confirmed, unsubscribed and came back, and how",
        "Digests go there, and nothing that you did not ask for. The times prove that you asked.",
        _ERASED,
        ("subscribers", "consents", "destination_addresses"),
    ),
    StoredKind(
        "What you subscribed to: saved queries, days, hour and the other choices",
        "It decides which papers you get, and when.",
        _ERASED,
        (
            "saved_queries",
            "query_revisions",
            "subscriptions",
            "subscription_queries",
            "subscription_destinations",
        ),
    ),
    StoredKind(
        "That you unsubscribed, or blocked mails with a link",
        "Nothing is sent to you then, even if the operator of this service lists your address.",
        "until you subscribe again",
        ("suppressions",),
    ),
    StoredKind(
        "A hash of each link in your mails",
        "It recognises the link. The link can't be made from it.",
        f"{_ERASED}; of an old link to your preferences it stays, without your address",
        ("tokens",),
    ),
    StoredKind(
        "What you asked for by a form, and the address that you gave",
        "We send a link to that address."
        " What you asked for happens when you press the button there.",
        f"{REQUEST_LIFETIME // timedelta(hours=1)} hours, or until you press the button",
        ("signups",),
    ),
    StoredKind(
        "How many requests came from a network and for an address, both as hashes",
        "It stops people who ask for many mails to your address.",
        f"{_COUNTED.days} days",
        ("request_counts",),
    ),
    StoredKind(
        "The papers that your saved queries found, your digests,"
        " and where you said “more” or “less”",
        "Each paper is sent once, and you can look back. What you said puts your digests in order.",
        _ERASED,
        ("query_matches", "matches", "digests", "libraries", "library_papers", "near_days"),
    ),
    StoredKind(
        "Each mail to you: when it was sent, and what your mail server answered",
        "What did not arrive is sent again, and nothing comes twice."
        " The operator sees what failed.",
        f"{KEPT_DAYS['deliveries']} days; the text of the mail {KEPT_DAYS['rendered bytes']} days",
        ("deliveries", "bodies", "attempts", "alarms"),
    ),
    StoredKind(
        "What arXiv was asked, without your name",
        "It shows what was checked. If arXiv searches for saved queries, it has their texts.",
        "for ever",
        ("requests", "poll_runs", "cursors", "quarantine"),
    ),
)
