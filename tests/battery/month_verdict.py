"""Holds what Digest stored and told against what the oracle saw: everything once, nothing lost, nothing false."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from pathlib import Path

from tests.battery.month_installation import DATABASE, FEED, SUBSCRIBED, Subscribed
from tests.battery.month_life import Tally
from tests.battery.month_oracle import Oracle, Sighting, State, expect_kind, id_order
from tests.battery.stored import Book, StoredChange, Told, read_book
from tests.battery.verdict import Verdict
from tests.fakes.mail import ReceivedMail

_EDIT_MARGIN = timedelta(days=7)
_LONGEST_WAIT = timedelta(days=4)
"""From a Friday's change to Sunday's announcement, and another two days for trouble."""

_CUT_COUNTS = timedelta(hours=1)
"""How long before a digest a list must have been cut to be its reason: the checks after it show the rest."""

_FEED_SPAN, _FEED_ENTRIES = timedelta(days=29), 200
"""What a feed holds: a matching of the day after may be the newest."""

_NEVER = datetime(1991, 8, 14, tzinfo=UTC)
_MOST_TIMES = 2
"""How often the same mail may come: once more where the mail server's last answer was lost."""


@dataclass(frozen=True)
class Expected:
    """A step the oracle saw, and what has to be stored of it; `change` is None where it is not there."""

    paper_id: str
    kind: str
    sighting: Sighting
    before: State | None
    change: StoredChange | None


@dataclass
class MonthVerdict(Verdict):
    """A verdict with what was expected and recorded by kind, and how long things took."""

    expected: Counter[str] = field(default_factory=Counter)
    recorded: Counter[str] = field(default_factory=Counter)
    looks: Counter[str] = field(default_factory=Counter)
    delays: list[timedelta] = field(default_factory=list)
    waits: list[timedelta] = field(default_factory=list)


def judge(
    home: Path, oracle: Oracle, tally: Tally, mails: tuple[ReceivedMail, ...], cut: Sequence[datetime]
) -> MonthVerdict:
    """Return what came out of a month in an installation's folder; see `month_arxiv.list_cut` for `cut`."""
    verdict, book = MonthVerdict(), read_book(home / DATABASE)
    steps = [
        step for paper_id in sorted(oracle.history) for step in _follow(paper_id, oracle, tally, book, verdict)
    ]
    _judge_strangers(oracle, book, verdict)
    for told in book.digests:
        _judge_claim(told, steps, book, cut, verdict)
    for subscribed in SUBSCRIBED:
        _judge_told(subscribed, steps, book, verdict)
        _judge_waits(subscribed, steps, book, oracle.readings[-1], verdict)
        if subscribed.address:
            _judge_mails(subscribed, steps, book, mails, verdict)
    _judge_last_announcement(tally, book, verdict)
    _judge_feed(home / FEED, steps, verdict)
    _count(oracle, tally, book, mails, verdict)
    return verdict


def _follow(paper_id: str, oracle: Oracle, tally: Tally, book: Book, verdict: MonthVerdict) -> Iterator[Expected]:
    """Walk through what the oracle saw of a paper and what was stored, side by side."""
    assert tally.bootstrapped_at is not None
    seen, stored = oracle.history[paper_id], list(book.changes.get(paper_id, ()))
    is_unclear = paper_id in oracle.unclear
    if is_unclear:
        stored = [replace(change, state=replace(change.state, is_withdrawn=False)) for change in stored]
    is_old, is_behind = paper_id in tally.known_before, id_order(paper_id) <= tally.mark
    before: State | None = None
    for number, sighting in enumerate(seen):
        kind = expect_kind(before, sighting, is_behind=is_behind, oldest=tally.bootstrapped_at - _EDIT_MARGIN)
        kind = "known" if is_old and number == 0 else kind
        following = seen[number + 1] if number + 1 < len(seen) else None
        while stored and stored[0].state not in {later.state for later in seen[number:]}:
            _accuse_extra(paper_id, stored.pop(0), verdict)
        change = stored.pop(0) if stored and stored[0].state == sighting.state else None
        if change is None and following is not None and not _had_a_look(sighting, following, book):
            verdict.counts["merged"] += 1
            continue
        verdict.expected[kind] += 1
        if change is None:
            heading = "paper lost" if number == 0 and following is None else "change missing"
            verdict.accuse(
                heading, f"{paper_id}: {kind} seen {sighting.seen_at:%m-%d %H:%M}Z: {_show(sighting.state)}"
            )
        else:
            verdict.recorded[change.kind] += 1
            if change.kind != kind and not (is_unclear and change.kind == "withdrawn"):
                words = f"{paper_id}: {kind} was stored as {change.kind} on {change.found_at:%m-%d %H:%M}Z"
                verdict.accuse("wrong kind", f"{words}: {_show(change.state)}")
            if change.found_at < sighting.after:
                verdict.accuse("stored before it was public", f"{paper_id}: {kind}")
            if kind != "known":
                verdict.delays.append(max(change.found_at - sighting.seen_at, timedelta(0)))
        yield Expected(paper_id, kind, sighting, before, change)
        before = sighting.state
    for extra in stored:
        _accuse_extra(paper_id, extra, verdict)


def _accuse_extra(paper_id: str, change: StoredChange, verdict: MonthVerdict) -> None:
    verdict.recorded[change.kind] += 1
    verdict.accuse(
        "change recorded that was none",
        f"{paper_id}: {change.kind} on {change.found_at:%m-%d %H:%M}Z: {_show(change.state)}",
    )


def _had_a_look(sighting: Sighting, following: Sighting, book: Book) -> bool:
    """Whether a complete look lay wholly in the time in which a state was public."""
    return any(sighting.seen_at <= begun and ended <= following.after for begun, ended in book.looks)


def _judge_strangers(oracle: Oracle, book: Book, verdict: MonthVerdict) -> None:
    for paper_id in sorted(book.changes.keys() - oracle.history.keys()):
        verdict.accuse("paper stored that was never announced", paper_id)
    for paper_id in sorted(oracle.history.keys() & book.changes.keys()):
        firsts = [change for change in book.changes[paper_id] if change.kind == "new"]
        if len(firsts) > 1:
            verdict.accuse("paper new twice", paper_id)


def _judge_claim(
    told: Told, steps: list[Expected], book: Book, cut: Sequence[datetime], verdict: MonthVerdict
) -> None:
    """Hold a digest that calls an announcement complete against what that announcement brought."""
    if not (told.is_complete and told.is_scheduled):
        return
    verdict.counts["said complete"] += 1
    brought = [
        step
        for step in steps
        if step.sighting.comes_by_announcement and step.sighting.announcement.isoformat() <= told.announcement
    ]
    missing = [step for step in brought if step.change is None or step.change.found_at > told.planned_at]
    if missing and any(told.planned_at - _CUT_COUNTS <= moment <= told.planned_at for moment in cut):
        verdict.counts["said complete by a cut list"] += 1
        return
    if missing:
        words = ", ".join(f"{step.paper_id} ({step.kind})" for step in missing[:4])
        verdict.accuse("called complete while papers were missing", f"{told}: {len(missing)} missing: {words}")
    if told.papers:
        return
    verdict.counts["quiet notes"] += 1
    subscribed = next(one for one in SUBSCRIBED if one.name == told.subscription)
    earlier = {
        paper_id
        for other in book.digests
        if other.subscription == told.subscription and other.is_scheduled and other.planned_at <= told.planned_at
        for paper_id, *_ in other.papers
    }
    matching = [step for step in brought if _is_wanted(subscribed, step) and step.paper_id not in earlier]
    if matching:
        words = ", ".join(f"{step.paper_id} ({step.kind})" for step in matching)
        verdict.accuse("day falsely called quiet", f"{told}: {words}")


def _is_wanted(subscribed: Subscribed, step: Expected) -> bool:
    """Whether a subscription has to be told of a step: of its kinds, and for a cross-list, into its category."""
    had, has = (not subscribed.category or subscribed.category in state.categories for state in _states(step))
    if step.kind in ("cross-listed", "edited"):
        return "cross-listed" in subscribed.kinds and has and not had
    if step.kind == "replaced" and has and not had:
        return "replaced" in subscribed.kinds
    return step.kind in subscribed.kinds and (has or (step.kind == "withdrawn" and had))


def _states(step: Expected) -> tuple[State, State]:
    nothing = State(0, frozenset(), is_withdrawn=False, journal_ref="")
    return step.before or nothing, step.sighting.state


def _judge_told(subscribed: Subscribed, steps: list[Expected], book: Book, verdict: MonthVerdict) -> None:
    """Every paper's news is told in exactly one digest of a subscription."""
    digests = [told for told in book.digests if told.subscription == subscribed.name and told.is_scheduled]
    told = Counter((entry.paper, entry.kind) for digest in digests for entry in digest.papers)
    news = Counter(entry.paper for digest in digests for entry in digest.papers)
    wanted = Counter(
        step.paper_id
        for step in steps
        if step.change is not None
        and _is_wanted(subscribed, step)
        and (subscribed.name, step.change.id) not in book.waiting
    )
    verdict.counts[f"told to {subscribed.name}"] = sum(news.values())
    for (paper_id, kind), times in told.items():
        if times > 1 and kind == "new":
            verdict.accuse("told twice", f"{subscribed.name}: {paper_id} as {kind} in {times} digests")
    for paper_id in sorted(wanted.keys() | news.keys()):
        if news[paper_id] > wanted[paper_id]:
            verdict.accuse(
                "told too often", f"{subscribed.name}: {paper_id} {news[paper_id]}×, {wanted[paper_id]} wanted"
            )
        elif wanted[paper_id] and not news[paper_id]:
            verdict.accuse("never told", f"{subscribed.name}: {paper_id}")
    fresh = [step.paper_id for step in steps if step.kind == "new" and _is_wanted(subscribed, step)]
    for paper_id in fresh:
        kinds = [entry.kind for digest in digests for entry in digest.papers if entry.paper == paper_id]
        if kinds and "new" not in kinds and "withdrawn" not in kinds[:1]:
            verdict.accuse("news told as something else", f"{subscribed.name}: {paper_id} as {', '.join(kinds)}")


def _judge_waits(
    subscribed: Subscribed, steps: list[Expected], book: Book, end: datetime, verdict: MonthVerdict
) -> None:
    """What is stored is told within days, whatever goes wrong meanwhile."""
    told_at: dict[str, list[datetime]] = {}
    for told in book.digests:
        if told.subscription == subscribed.name:
            for entry in told.papers:
                told_at.setdefault(entry.paper, []).append(told.planned_at)
    for step in steps:
        if step.change is not None and _is_wanted(subscribed, step):
            found_at = step.change.found_at
            heard = min((at for at in told_at.get(step.paper_id, ()) if at >= found_at), default=end)
            verdict.waits.append(heard - found_at)
            if heard - found_at > _LONGEST_WAIT:
                words = f"{step.paper_id} ({step.kind}) stored {found_at:%m-%d %H:%M}Z"
                verdict.accuse("kept back for days", f"{subscribed.name}: {words}, told {heard - found_at} later")


def _judge_last_announcement(tally: Tally, book: Book, verdict: MonthVerdict) -> None:
    """A day of calm is enough for the digest of the last announcement."""
    for subscribed in SUBSCRIBED:
        slots = {told.slot for told in book.digests if told.subscription == subscribed.name}
        if subscribed.speaks_each_announcement and f"mailing:{tally.announcements[-1]}" not in slots:
            verdict.accuse("last announcement never told", f"{subscribed.name}: {tally.announcements[-1]}")


def _judge_mails(
    subscribed: Subscribed,
    steps: list[Expected],
    book: Book,
    mails: tuple[ReceivedMail, ...],
    verdict: MonthVerdict,
) -> None:
    """No paper comes to a reader in two different mails, unless it changed in between."""
    came: dict[str, list[bytes]] = {}
    for mail in mails:
        if subscribed.address in mail.recipients:
            came.setdefault(str(mail.message["Message-ID"]), []).append(mail.raw)
    for name, alike in came.items():
        verdict.counts["mails sent again"] += len(alike) - 1
        if len(alike) > _MOST_TIMES or len(set(alike)) > 1:
            verdict.accuse("mail sent again wrongly", f"{subscribed.address}: {name} {len(alike)}×")
    shown = Counter(paper_id for alike in came.values() for paper_id in _read_ids(alike[0]))
    allowed = Counter(step.paper_id for step in steps if _is_wanted(subscribed, step))
    looked_back = [told for told in book.digests if told.subscription == subscribed.name and not told.is_scheduled]
    allowed.update(entry.paper for told in looked_back for entry in told.papers)
    for paper_id, times in shown.items():
        if times > allowed[paper_id]:
            verdict.accuse("paper mailed twice", f"{subscribed.address}: {paper_id} in {times} mails")


def _judge_feed(path: Path, steps: list[Expected], verdict: MonthVerdict) -> None:
    """Every paper of a feed's subscription is one entry of it while it is new, however often it changed."""
    written = path.read_text(encoding="utf-8")
    entries = Counter(re.findall(r'rel="alternate" type="text/html" href="[^"]*/abs/([^"]+?)v\d+"', written))
    names = re.findall(r"<id>([^<]+)</id>", written)
    if len({*names}) < len(names):
        verdict.accuse("twice in a feed", f"{path.name}: two entries of one name")
    verdict.counts["feed entries"] = len(entries)
    for paper_id, times in entries.items():
        if times > 1:
            verdict.accuse("twice in a feed", f"{path.name}: {paper_id}")
    subscribed = next(one for one in SUBSCRIBED if one.name == path.stem)
    wanted = [(step, step.change.found_at) for step in steps if step.change and _is_wanted(subscribed, step)]
    oldest = max((found_at for _, found_at in wanted), default=_NEVER) - _FEED_SPAN
    for step, found_at in wanted:
        if step.paper_id not in entries and found_at > oldest and len(entries) < _FEED_ENTRIES:
            verdict.accuse("not in the feed", f"{path.name}: {step.paper_id} ({step.kind})")


def _read_ids(raw: bytes) -> set[str]:
    part = message_from_bytes(raw, policy=policy.default).get_body(("plain",))
    return set(re.findall(r"arxiv\.org/abs/(\d{4}\.\d{4,5})", str(part.get_content()))) if part else set()


def _count(
    oracle: Oracle, tally: Tally, book: Book, mails: tuple[ReceivedMail, ...], verdict: MonthVerdict
) -> None:
    announced = oracle.history.keys() - tally.known_before
    verdict.looks = book.outcomes
    verdict.counts.update(
        {
            "known before": len(tally.known_before),
            "announced": len(announced),
            "stored": sum(paper_id in book.first_seen for paper_id in announced),
            "unclear": len(oracle.unclear),
            "behind the mark": sum(id_order(paper_id) <= tally.mark for paper_id in announced),
            "waiting": len(book.waiting),
            "digests": len(book.digests),
            "mails": len(mails),
        }
    )


def _show(state: State) -> str:
    mark = " withdrawn" if state.is_withdrawn else ""
    return f"v{state.version}{mark} {' '.join(sorted(state.categories))} {state.journal_ref}".rstrip()
