"""Judges a battery of runners by what arrived, the database, and what was pushed or printed."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from digest.model.messages import DeliveryState
from tests.battery.runners_world import INCOMING, READERS, SIGNING, TOKEN, WORD, Origin, list_wanted
from tests.fakes.archive import DemoPaper
from tests.harness.arrivals import Arrival
from tests.harness.oracle import (
    PaperAtPlace,
    Planned,
    Verdict,
    judge_deliveries,
    judge_ends,
    judge_papers,
)

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

_WITHOUT_KEYS = "slack-webhook"


@dataclass(frozen=True)
class Lifetime:
    """A process: from when until when it lived (`time.monotonic()`), and what befell it."""

    name: str
    began: float
    ended: float
    events: set[str]


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
        lives: of each process.
        printed: what each process printed.
    """

    papers: list[DemoPaper]
    key: bytes
    rows: dict[str, Planned] = field(default_factory=dict)
    held: set[tuple[str, str]] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    tried: set[str] = field(default_factory=set)
    one_in_hand: list[date] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    lives: list[Lifetime] = field(default_factory=list)
    printed: Mapping[str, bytes] = field(default_factory=dict)
    verdict: Verdict = field(default_factory=Verdict)


def judge(seen: Evidence, origin: Origin) -> Verdict:
    """Judge everything; return the verdict, which may hold findings already."""
    copies: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in seen.arrivals:
        copies[one.place, one.key].append(one.at)
    for (place, key), moments in copies.items():
        _judge_copies(seen, place, key, sorted(moments))
    _judge_papers(seen)
    _judge_deliveries(seen)
    judge_held(seen)
    _judge_secrets(seen, origin)
    return seen.verdict


def _judge_copies(seen: Evidence, place: str, key: str, moments: list[float]) -> None:
    """A message comes again only where something befell the process that had sent it before."""
    medium = place.partition(":")[0]
    seen.verdict.counts[f"messages: {medium}"] += 1
    for at in moments[:-1]:
        alive = [life for life in seen.lives if life.began <= at <= life.ended]
        reasons: set[str] = set()
        for life in alive:
            reasons |= life.events - {"started twice at once"}
        is_explained = any("paused" in event for event in reasons) or medium == "webhook"
        if key in seen.lost:
            reasons.add("answer lost")
        if medium == "mailto" and len(moments) <= _MOST_COPIES:
            is_explained = bool(reasons)
        why = ", ".join(sorted(reasons)) or "no reason"
        seen.verdict.counts[f"doubled: {medium}: {why}"] += 1
        if not is_explained:
            names = [life.name for life in alive]
            times = f"{place} got {key} × {len(moments)}"
            seen.verdict.accuse(f"doubled: {medium}", f"{times}, first from {names}: {why}")


def _judge_papers(seen: Evidence) -> None:
    """Each paper is in one digest of each destination that wants it, and in no other."""
    wanted: dict[PaperAtPlace, int] = {}
    for paper in seen.papers:
        wanted |= {(place, paper.id): 1 for place in list_wanted(paper)}
    judge_papers(seen.verdict, wanted, seen.arrivals, excused=seen.held)
    came: set[PaperAtPlace] = set()
    for one in seen.arrivals:
        came |= {(one.place, paper) for paper in one.papers}
    missing = wanted.keys() - came
    seen.verdict.counts["held, and not arrived"] += len(missing & seen.held)


def _judge_deliveries(seen: Evidence) -> None:
    """Each delivery has ended, and what arrived is what was sent.

    An incoming webhook takes no key: of its messages nobody can say which delivery they are.
    """
    planned = seen.rows.values()
    for row in planned:
        seen.verdict.counts[f"{row.state}: {row.medium}"] += 1
    judge_ends(seen.verdict, planned, lambda row: row.state in _ENDS[row.medium])
    with_keys = [row for row in planned if row.medium != _WITHOUT_KEYS]
    arrived = [one for one in seen.arrivals if not one.place.startswith(f"{_WITHOUT_KEYS}:")]
    judge_deliveries(seen.verdict, with_keys, arrived)


def judge_held(seen: Evidence) -> None:
    """No mail is held that nobody tried.

    Of a day's no more than runs that died with one in their hands.
    """
    held: dict[date, list[Planned]] = defaultdict(list)
    for row in seen.rows.values():
        is_held_mail = row.state == DeliveryState.HELD and row.medium == "mailto"
        if is_held_mail and row.key not in seen.tried:
            held[date.fromisoformat(row.slot)].append(row)
    for day, rows in held.items():
        seen.verdict.counts["held, and never seen by the mail server"] += len(rows)
        deaths = sum(day <= one <= day + _DIES_WITHIN for one in seen.one_in_hand)
        for row in rows[deaths:]:
            seen.verdict.accuse("held, and nobody tried", f"{row.key} of {row.slot} to {row.place}")


def _list_secrets(key: bytes) -> list[bytes]:
    """Return every address, token, key and word that must stand nowhere."""
    signing = SIGNING.removeprefix("whsec_")
    webhook = INCOMING.rpartition("/")[2]
    texts = (*READERS, "quillon", WORD, TOKEN, signing, webhook)
    return [*(text.encode() for text in texts), b64encode(key), key]


def _read_tree(content: bytes) -> dict[str, str]:
    """Return the names of the files of the state, by the ids of their contents."""
    return {entry[2].hex(): entry[1].decode() for entry in _ENTRY.finditer(content)}


def _judge_secrets(seen: Evidence, origin: Origin) -> None:
    """Nothing that was pushed or printed has an address, a token, a key or a word of the query."""
    counts = seen.verdict.counts
    kinds = dict[str, str]()
    sizes = dict[str, int]()
    secrets = _list_secrets(seen.key)

    def search(name: str, content: bytes) -> None:
        for secret in secrets:
            if secret in content:
                at = content.index(secret)
                around = content[max(at - 60, 0) : at + 60]
                seen.verdict.accuse("leak", f"{name}: {around!r}")

    for name, content in seen.printed.items():
        search(name, content)
    for path in origin.list_files():
        counts["bytes pushed"] += path.stat().st_size
        search(path.name, path.read_bytes())
    for id_, kind, content in origin.list_objects():
        sizes[id_] = len(content)
        counts["pushes"] += kind == "commit"
        if kind == "tree":
            kinds |= _read_tree(content)
        search(id_, content)
    for name in ("journal", "snapshot"):
        largest = max(sizes[id_] for id_, kind in kinds.items() if kind == name)
        counts[f"bytes of the largest {name}"] = largest
    if counts["bytes of the largest journal"] > _MOST_JOURNAL:
        seen.verdict.accuse("size", "a journal has more than 64 KB")
