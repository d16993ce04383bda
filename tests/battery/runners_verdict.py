"""Judges a battery of runners by what arrived, by the database, and by all that was pushed and printed."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from digest.model.messages import DeliveryState
from tests.battery.kill_book import Row
from tests.battery.kill_world import Arrival
from tests.battery.runners_world import INCOMING, READERS, SIGNING, TOKEN, WORD, Origin, list_wanted
from tests.fakes.archive import DemoPaper
from tests.harness.oracle import Verdict

_MOST_COPIES = 2
_DIES_WITHIN = timedelta(days=3)
"""How long after its day a digest may still be on its way."""

_MOST_JOURNAL = 65_536
_ENTRY = re.compile(rb"100644 (journal|snapshot)\0(.{20})", re.DOTALL)
_ENDS = {
    "mailto": ("sent", "held"),
    "slack-webhook": ("sent", "held"),
    "slack": ("sent",),
    "webhook": ("sent",),
}
"""How a delivery may end, by its kind of destination."""


@dataclass
class Evidence:
    """What there is to judge by.

    Attributes:
        papers: all that were announced after the first check.
        key: of the state.
        rows: the deliveries, by their keys.
        held: destination and paper of what is held.
        lost: the keys of mails whose answer was lost.
        tried: the keys of mails that were handed to the server, kept or not.
        one_in_hand: days on which a run died with one mail in its hand that the server never saw:
            while that did not say hello, or between a push and the connection. Of one named alone
            nobody can say more.
        lives: of each process its name, from when until when it lived, and what befell it.
        printed: what each process printed.
    """

    papers: list[DemoPaper]
    key: bytes
    rows: dict[str, Row] = field(default_factory=dict)
    held: set[tuple[str, str]] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    tried: set[str] = field(default_factory=set)
    one_in_hand: list[date] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    lives: list[tuple[str, float, float, set[str]]] = field(default_factory=list)
    printed: Mapping[str, bytes] = field(default_factory=dict)
    verdict: Verdict = field(default_factory=Verdict)


def judge(seen: Evidence, origin: Origin) -> Verdict:
    """Judge everything; return the verdict, which may hold findings already."""
    copies: dict[tuple[str, str], list[Arrival]] = defaultdict(list)
    for one in seen.arrivals:
        copies[one.place, one.key].append(one)
    for (place, key), arrived in copies.items():
        _judge_copies(seen, place, key, sorted(one.at for one in arrived))
    _judge_papers(seen)
    _judge_rows(seen, copies)
    judge_held(seen)
    _judge_secrets(seen, origin)
    return seen.verdict


def _judge_copies(seen: Evidence, place: str, key: str, moments: list[float]) -> None:
    kind = place.partition(":")[0]
    seen.verdict.counts[f"messages: {kind}"] += 1
    for at in moments[:-1]:
        lives = [
            (name, events) for name, began, ended, events in seen.lives if began <= at <= ended
        ]
        reasons = {event for _, events in lives for event in events} - {"started twice at once"}
        is_paused = any("paused" in event for event in reasons)
        reasons |= {"answer lost"} if key in seen.lost else set()
        why = ", ".join(sorted(reasons)) or "no reason"
        seen.verdict.counts[f"doubled: {kind}: {why}"] += 1
        is_explained = is_paused or kind == "webhook"
        if kind == "mailto" and len(moments) <= _MOST_COPIES:
            is_explained = bool(reasons)
        if not is_explained:
            names = [name for name, _ in lives]
            seen.verdict.accuse(
                f"doubled: {kind}", f"{place} got {key} × {len(moments)}, first from {names}: {why}"
            )


def _judge_papers(seen: Evidence) -> None:
    """Each paper is in one digest of each destination that wants it, and in no other."""
    counts = seen.verdict.counts
    accuse = seen.verdict.accuse
    told: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in seen.arrivals:
        for id_ in one.papers:
            told[one.place, id_].add(one.key)
    for wanted in ((place, paper.id) for paper in seen.papers for place in list_wanted(paper)):
        counts["papers × destinations"] += 1
        keys = told.pop(wanted, set())
        counts["held, and not arrived"] += not keys and wanted in seen.held
        if not keys and wanted not in seen.held:
            accuse("lost", " to ".join(wanted[::-1]))
        elif len(keys) > 1:
            accuse("in two digests", f"{wanted}: {sorted(keys)}")
    for place, id_ in told:
        accuse("not asked for", f"{id_} to {place}")


def _judge_rows(seen: Evidence, copies: Mapping[tuple[str, str], object]) -> None:
    """Each delivery has ended, what is sent has arrived, and nothing arrived that nobody remembers."""
    for row in seen.rows.values():
        kind = row.place.partition(":")[0]
        seen.verdict.counts[f"{row.state}: {kind}"] += 1
        if row.state not in _ENDS[kind]:
            seen.verdict.accuse(f"left {row.state}", f"{row.key} to {row.place}: {row.error}")
        has_key = kind != "slack-webhook"
        if row.state == DeliveryState.SENT and has_key and (row.place, row.key) not in copies:
            seen.verdict.accuse("sent, and not arrived", f"{row.key} to {row.place}")
    for place, key in copies:
        if not place.startswith("slack-webhook") and key not in seen.rows:
            seen.verdict.accuse("stranger", f"{place} got {key}, which nobody planned")


def judge_held(seen: Evidence) -> None:
    """No mail is held that nobody tried.

    Of a day's no more than runs that died with one in their hands.
    """
    held = defaultdict(list)
    for row in seen.rows.values():
        if (
            row.state == DeliveryState.HELD
            and row.place.startswith("mailto:")
            and row.key not in seen.tried
        ):
            held[date.fromisoformat(row.slot)].append(row)
    for day, rows in held.items():
        seen.verdict.counts["held, and never seen by the mail server"] += len(rows)
        deaths = sum(day <= one <= day + _DIES_WITHIN for one in seen.one_in_hand)
        for row in rows[deaths:]:
            seen.verdict.accuse("held, and nobody tried", f"{row.key} of {row.slot} to {row.place}")


def _judge_secrets(seen: Evidence, origin: Origin) -> None:
    """Nothing that was pushed or printed has an address, a token, a key or a word of the query."""
    counts = seen.verdict.counts
    kinds = dict[str, str]()
    sizes = dict[str, int]()
    texts = (
        *READERS,
        "quillon",
        WORD,
        TOKEN,
        SIGNING.removeprefix("whsec_"),
        INCOMING.rpartition("/")[2],
    )
    needles = [*(text.encode() for text in texts), b64encode(seen.key), seen.key]

    def search(name: str, content: bytes) -> None:
        for needle in needles:
            if needle in content:
                at = content.index(needle)
                seen.verdict.accuse("leak", f"{name}: {content[max(at - 60, 0) : at + 60]!r}")

    for name, content in seen.printed.items():
        search(name, content)
    for path in origin.list_files():
        counts["bytes pushed"] += path.stat().st_size
        search(path.name, path.read_bytes())
    for id_, kind, content in origin.list_objects():
        sizes[id_] = len(content)
        counts["pushes"] += kind == "commit"
        if kind == "tree":
            kinds |= {found[1].hex(): found[0].decode() for found in _ENTRY.findall(content)}
        search(id_, content)
    for name in ("journal", "snapshot"):
        counts[f"bytes of the largest {name}"] = max(
            sizes[id_] for id_, kind in kinds.items() if kind == name
        )
    if counts["bytes of the largest journal"] > _MOST_JOURNAL:
        seen.verdict.accuse("size", "a journal has more than 64 KB")
