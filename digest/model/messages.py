"""Digests, the messages they become, and what the outside world answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Protocol, Self, TypeAlias

from digest.model.announcements import Kind
from digest.model.destinations import Destination
from digest.model.errors import DeliveryError, Refusal
from digest.model.papers import Paper, Reason
from digest.model.said import NOTHING, Said, Saying
from digest.model.subscriptions import Abstracts, Grouping, UncheckedTurn

FIRST_DIGEST_PAPERS = 15
"""How many papers a new saved query shows if its last days hold fewer."""

FEED_ENTRIES = 200
"""How many papers a feed holds at most: readers fetch all of it each time."""

FEED_DAYS = 30
"""How many days a feed goes back from its newest paper."""

SITE_INDEX = "index.html"
"""The file of a site's first page."""

SITE_FEEDS = ("feed.atom", "feed.json")
"""The files of a site's feeds."""

FEED_BYTES = 1_000_000
"""How long a feed is at most, as a document."""

HIDDEN_QUERY = "a query that is not shown"
"""What others read in place of a saved query that the operator hides."""

_SOFT_BREAK = b"=\r\n"

IsOurs: TypeAlias = "Callable[[], bool]"
"""Tells whether the claim on a message still holds: asked right before the point of no return."""


class Occasion(StrEnum):
    """Why a digest exists.

    Attributes:
        SCHEDULED: its time came.
        FIRST_DIGEST: a subscription is new, and shows a sample.
        ALREADY_SENT: the operator says that a lost database sent it; this one keeps that on record.
        TRIAL: somebody only wants to see what it would be.
        LETTER: it is no digest, but the mail with a link that somebody asked for on a page.
    """

    __hash__ = str.__hash__  # that of Enum is Python code, called for every paper of every digest

    SCHEDULED = "scheduled"
    FIRST_DIGEST = "first digest"
    ALREADY_SENT = "already sent"
    TRIAL = "trial"
    LETTER = "letter"

    @property
    def is_of_past(self) -> bool:
        """Whether its papers are not new."""
        return self in _OF_PAST


# Each mention of an enumeration's member is a call.
_OF_PAST = (Occasion.FIRST_DIGEST, Occasion.TRIAL)


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was checked before a digest was planned: it tells a quiet day from a failure.

    Attributes:
        announcement: Eastern date of the newest announcement searched for; None before the first
            run.
        is_complete: every paper of that announcement has been seen, as far as the source can show.
        matched: how many papers this digest has. None for a first digest: its papers are older
            than that announcement. None, too, if an earlier digest showed what matched.
        checked_at: when the check ended (UTC).
        source: "harvest" or "query".
        failure: what went wrong with the last check, in a reader's words; "" if nothing did.
        failing_since: when the first of the checks ended (UTC) that have failed since the last
            complete one.
        new: papers that announcement is known to have brought; 0 if that is not known.
        is_settled: that announcement is complete, and came to its end: it may come in parts.
        is_awaited: arXiv was checked, and nothing of that announcement was there.
        since: Eastern date of the first announcement of several that this digest is for; None if it
            is for one alone, or that is not known.
        announcements: how many announcements were expected from `since` on; 1 if it is for one
            alone.
        total: how many papers arXiv's search finds, if only the newest of them were checked and
            older ones may belong to the digest, too; 0 otherwise. Only trials have it: they are
            never stored.
        last_shown_at: of a digest without papers, when an earlier one last showed papers of these
            announcements (UTC). None if none did: then nothing in them matched.
    """

    announcement: date | None
    is_complete: bool
    compared: int
    matched: int | None
    checked_at: datetime | None
    source: str
    failure: str = ""
    new: int = 0
    is_settled: bool = False
    is_awaited: bool = False
    since: date | None = None
    announcements: int = 1
    total: int = 0
    last_shown_at: datetime | None = None
    failing_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredText:
    """A paper as it read at some time, and the key of that text in the store; 0 if it has none."""

    paper: Paper
    key: int = 0


@dataclass(frozen=True, slots=True)
class Sequel:
    """What became of a paper after what its entry shows, before the digest was planned.

    Attributes:
        day: Eastern date of the announcement that brought it.
        before: the paper as it is shown.
        after: the paper as it has been since; it may be the entry's own, if both are shown.
    """

    kind: Kind
    day: date
    before: StoredText
    after: StoredText


@dataclass(frozen=True, slots=True)
class NearLibrary:
    """The paper of a library that another paper is near to. As text it is the title.

    Attributes:
        title: plain Unicode on one line and fit for quotation marks; "" if the paper has none, or
            if it is hidden.
        is_own: the reader is the library's owner; nobody else reads a title.
    """

    title: str = ""
    is_own: bool = True

    def __str__(self) -> str:
        return self.title


HIDDEN_LIBRARY = NearLibrary(is_own=False)
"""What others get in place of the paper in somebody's library."""


@dataclass(frozen=True, slots=True)
class DigestEntry:
    """One paper of a digest.

    Attributes:
        paper: the paper at the version announced.
        label: what changed since the reader saw it, such as "v1 → v2" or "first time here"; "" for
            new.
        queries: names of the saved queries that matched, in the subscription's order.
        announced: Eastern date of the announcement it is shown for.
        before: the text its reader had; None for papers that are new to the reader.
        near: to what in the subscription's library it is near, if it is in the top tenth of its
            announcement by that; None else.
    """

    kind: Kind
    paper: Paper
    label: str
    queries: tuple[str, ...]
    reasons: tuple[Reason, ...]
    announced: date
    change_id: int = 0
    before: StoredText | None = None
    sequel: Sequel | None = None
    near: NearLibrary | None = None

    @property
    def shows_change(self) -> bool:
        """Whether only what changed is shown: its reader knows the paper, or it was withdrawn."""
        return self.is_withdrawn or self.before is not None

    @property
    def is_withdrawn(self) -> bool:
        """Whether its authors took it back, as far as was known when the digest was planned."""
        return self.kind is Kind.WITHDRAWAL or self.latest.is_withdrawn

    @property
    def latest(self) -> Paper:
        """The paper as it was when the digest was planned."""
        return self.sequel.after.paper if self.sequel else self.paper

    @property
    def clauses(self) -> int:
        """How many distinct clauses the paper meets, in all its saved queries together."""
        return len({reason.clause for reason in self.reasons})


class Form(StrEnum):
    """How much is said of a paper: its abstract, sentences of it, its title, or what changed.

    Papers with minor changes share an entry. No digest is planned with whole abstracts, but Slack's
    thread may have room.
    """

    ABSTRACT = "abstract"
    TWO_SENTENCES = "two sentences"
    SENTENCE = "one sentence"
    TITLE = "title"
    CHANGE = "change"
    MINOR = "minor"


class WhyFirst(StrEnum):
    """Why a paper comes before all headings of a long digest.

    A reader follows its authors; its subscription puts a query first; it is near a library; several
    saved queries match it; its title has their words; or it says where it appears.
    """

    AUTHORS = "authors"
    PUT_FIRST = "put first"
    NEAR = "near"
    QUERIES = "queries"
    TITLE = "title"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class FirstReason:
    """One reason why a paper comes first.

    Attributes:
        words: the names of the authors, the query that is put first, or the place. () if the entry
            of the paper has the words: to what it is near, and which saved queries match it.
    """

    why: WhyFirst
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbours of a digest under one heading.

    Attributes:
        is_name: its title is the name of a category or a saved query.
        reasons: why each of its papers comes first, the strongest reason first; () in other groups.
    """

    title: str
    count: int
    form: Form
    is_name: bool = False
    reasons: tuple[tuple[FirstReason, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Digest:
    """What one subscription gets for one slot, frozen when planned.

    Attributes:
        slot: the name of what it is made for (see `SlotName`), unique within the subscription.
        planned_at: when it was frozen (UTC).
        zone: IANA zone its dates are shown in.
        shown: how many of `entries` are shown; the rest are counted and linked.
        queries: (name, text) of the saved queries it comes from.
        id: the stored digest's number; 0 before it is stored.
        remark: a sentence of what it leaves out; "" mostly.
        is_nearest: it is a first digest with a library, and holds those of the newest papers that
            are nearest to it.
        unchecked: turns before it that brought no digest, since nothing could be checked.
    """

    subscription: str
    title: str
    slot: str
    occasion: Occasion
    planned_at: datetime
    zone: str
    entries: tuple[DigestEntry, ...]
    shown: int
    queries: tuple[tuple[str, str], ...]
    coverage: Coverage
    groups: tuple[Group, ...] = ()
    id: int = 0
    group_by: Grouping = Grouping.KIND
    abstracts: Abstracts = Abstracts.SHORT
    remark: str = ""
    is_nearest: bool = False
    unchecked: tuple[UncheckedTurn, ...] = ()

    def hide_library(self) -> Digest:
        """Return it as others may read it, without titles of its reader's library."""
        entries = []
        for entry in self.entries:
            near = None if entry.near is None else HIDDEN_LIBRARY
            entries.append(replace(entry, near=near))
        return replace(self, entries=tuple(entries))

    def hide_queries(self) -> Digest:
        """Return it for those who must not know what is asked for, nor why a paper matched."""
        entries = tuple([replace(one, queries=(), reasons=()) for one in self.entries])
        groups = [replace(one, reasons=()) for one in self.groups]
        if self.group_by is Grouping.QUERY:
            groups = [replace(one, title="Papers") for one in groups]
        hidden = (HIDDEN_QUERY, HIDDEN_QUERY)
        return replace(self, queries=(hidden,), entries=entries, groups=tuple(groups))


class DeliveryState(StrEnum):
    """States of a delivery. Only `SENDING` is ambiguous after a crash.

    `digest/README.md` has their diagram.
    """

    READY = "ready"
    CLAIMED = "claimed"
    SENDING = "sending"
    SENT = "sent"
    UNKNOWN = "unknown"
    HELD = "held"
    DEAD = "dead"
    SUPPRESSED = "suppressed"


TERMINAL_STATES = frozenset({DeliveryState.SENT, DeliveryState.DEAD, DeliveryState.SUPPRESSED})


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses a message may offer; "" for each that does not exist: no dead link is printed.

    Attributes:
        unsubscribe: https address that takes a one-click POST (RFC 8058).
        unsubscribe_mail: `mailto:` address with subject that does the same by mail.
        refs: what `/2611.14886.bib` or `.ris` is added to for a paper's BibTeX or RIS.
        likes: the page on which the one reader of a digest says of which papers more or less should
            come.
        ask: the mail address that readers ask to be taken off, if several read at one address: they
            have no link of their own.
    """

    unsubscribe: str = ""
    unsubscribe_mail: str = ""
    web_view: str = ""
    feed: str = ""
    home: str = ""
    refs: str = ""
    preferences: str = ""
    likes: str = ""
    archive: str = ""
    earlier: str = ""
    later: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """Which papers of a digest one Slack message shows.

    Attributes:
        first: place of the first, from 0.
        end: place after the last one. A message in the channel has `first` here if the thread shows
            all papers, those listed in the channel too.
        shown: how many of them it shows at most; the others are counted and linked. In the channel,
            how many titles it lists at most.
        form: in the thread, how much it says of each; a sentence is for two, too, if so many are
            planned.
    """

    first: int
    end: int
    shown: int
    form: Form = Form.TITLE

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` wrote; None for ""."""
        if not text:
            return None
        first, end, shown, form = text.split("-")
        return cls(int(first), int(end), int(shown), Form(form))

    @property
    def count(self) -> int:
        """How many papers."""
        return self.end - self.first

    def __str__(self) -> str:
        return f"{self.first}-{self.end}-{self.shown}-{self.form}"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One part of a digest on its way to one destination.

    Attributes:
        part: 0-based; part 0 is the first message a reader sees.
        attempts: how many times the network was touched for it.
        token: the fence of the present claim; a mark with another token changes nothing.
        idempotency_key: the same for every attempt (a UUID).
        not_before: earliest next attempt (UTC).
        remote_address: the destination as the other side knows it (a Slack channel id), "" until
            resolved.
        parent_remote_id: what the first part was answered with (a Slack `ts`), "" for part 0.
        remote_id: what the other side answered, "" until sent.
        share: which papers it shows; None unless it goes to Slack.
        refusal: what it was refused for last; None if it never was.
        held_at: since when it has been held for that (UTC).
    """

    id: int
    digest_id: int
    destination: Destination
    part: int
    parts: int
    state: DeliveryState
    attempts: int
    token: int
    idempotency_key: str
    not_before: datetime
    created_at: datetime
    remote_address: str = ""
    parent_remote_id: str = ""
    remote_id: str = ""
    last_error: Said = NOTHING
    share: Share | None = None
    refusal: Refusal | None = None
    held_at: datetime | None = None

    @classmethod
    def make_sample(
        cls,
        digest: Digest,
        destination: Destination,
        part: int,
        parts: int,
        key: str,
        *,
        share: Share | None = None,
    ) -> Self:
        """Return a delivery that is in no outbox, for a look at a part beside the real one."""
        return cls(
            id=0,
            digest_id=digest.id,
            destination=destination,
            part=part,
            parts=parts,
            state=DeliveryState.CLAIMED,
            attempts=0,
            token=0,
            idempotency_key=key,
            not_before=digest.planned_at,
            created_at=digest.planned_at,
            parent_remote_id="0" if part else "",
            share=share,
        )


@dataclass(frozen=True, slots=True)
class Message:
    """Rendered bytes of one part for one destination. Every retry sends exactly these.

    Attributes:
        media_type: `message/rfc822`, `application/json` (Slack), `text/plain` …
        body: the whole mail, or the JSON of the call.
        name: a file name for transports that write files, without a folder.
        shared: the bytes of messages to other readers, too, with marks: `fill_body` makes `body` of
            them. b"" for none.
        own: what stands in it in place of each mark.
    """

    media_type: str
    body: bytes = field(repr=False)
    idempotency_key: str
    name: str = ""
    shared: bytes = field(default=b"", repr=False, compare=False)
    own: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


def fill_body(body: bytes, values: Mapping[str, str]) -> bytes:
    """Return bytes with a value in place of each mark; all of these are ASCII.

    A line of quoted-printable text may be broken within a mark (RFC 2045 §6.7). Then it is broken
    within the value, at the same place.
    """

    def choose_value(found: re.Match[bytes]) -> bytes:
        before, soft_break, after = found[0].partition(_SOFT_BREAK)
        value = values[(before + after).decode("ascii")].encode("ascii")
        return value[: len(before)] + soft_break + value[len(before) :]

    return compile_marks(values).sub(choose_value, body)


def compile_marks(marks: Iterable[str]) -> re.Pattern[bytes]:
    """Return a pattern that finds any of some marks, also where a line is broken within it."""
    spelled = []
    for mark in marks:
        letters = [re.escape(letter) for letter in mark]
        spelled.append("(?:=\r\n)?".join(letters))
    return re.compile("|".join(spelled).encode("ascii"))


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the other side answered to a message it took.

    `remote_id`: its own name for the message (Slack `ts`, a path); "" if it gives none.
    """

    remote_id: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Feed:
    """A subscription's feed: a pure function of committed rows.

    Attributes:
        id: permanent URI (`secrets.feed_uri`); never the secret address.
        updated: when its newest entry came or changed (UTC).
        self_url: its own address, "" for a file that does not know where it is served.
        entries: newest first.
        notice: a sentence shown as an entry of its own (an empty feed says what it waits for); ""
            for none.
        refs_url: as `Links.refs`, "" if no server answers.
        papers: how many papers came in the days it goes back; `entries` are the newest of them.
        unchecked: the announcements of the last week that were not checked before the next one.
    """

    id: str
    title: str
    updated: datetime
    self_url: str
    home_url: str
    entries: tuple[FeedEntry, ...]
    notice: str = ""
    refs_url: str = ""
    papers: int = 0
    unchecked: tuple[UncheckedTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One paper of a feed.

    Attributes:
        id: permanent URI (`secrets.feed_uri`) of the paper without version, in this feed.
        published: when it first came into this feed (UTC).
        updated: when it last changed in a way the subscription asked for (UTC).
    """

    id: str
    entry: DigestEntry
    published: datetime
    updated: datetime


@dataclass(frozen=True, slots=True)
class DayCount:
    """How many papers a subscription or query brought on one day."""

    day: date
    papers: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What the reader of one subscription saw of a paper before.

    Attributes:
        version: the highest version sent.
        key: of the stored text that was sent last at that version; 0 if it is not known.
        paper: the paper as that text reads; None if it was not loaded.
    """

    version: int
    key: int = 0
    paper: Paper | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class EarlierDigest:
    """A digest that a subscription had before, without its papers."""

    planned_at: datetime
    occasion: Occasion
    papers: int
    coverage: Coverage


@dataclass(frozen=True, slots=True)
class DeliveryPlan:
    """A delivery to be stored with its digest."""

    destination: Destination
    part: int
    parts: int
    idempotency_key: str
    share: Share | None = None


def always_ours() -> bool:
    """Say yes: for senders that nobody can take a message from."""
    return True


def require_ours(is_ours: IsOurs) -> None:
    """Go on only while the message is ours."""
    if not is_ours():
        raise DeliveryError(Said.of(Saying.CLAIM_ENDED))


class Transport(Protocol):
    """A transport to one kind of destination.

    Several threads use it at once, and `close` may come from any.
    """

    def resolve(self, destination: Destination) -> str:
        """Return the address as the other side knows it (a Slack channel id); "" if none is needed.

        Raise `DeliveryError`: the other side does not know it, or could not be asked.
        """
        ...

    def send(
        self, message: Message, destination: Destination, is_ours: Callable[[], bool] = ...
    ) -> Receipt:
        """Hand the message over, once, and return the answer.

        `is_ours`: asked right before the point of no return, if a second copy does harm.

        Raise `DeliveryError`: it was not taken, or (`ambiguous`) nobody can say whether it was.
        """
        ...

    def find(
        self, message: Message, destination: Destination, begun_at: datetime
    ) -> Receipt | None:
        """Check whether the message was taken after all; None if it was not.

        `begun_at`: when sending it began, by the clock of the host that sent.

        Raise `DeliveryError`: that is not known (`permanent`: never by this transport as
        configured).
        """
        ...

    def close(self) -> None:
        """Let go of connections. May be called twice."""
        ...
