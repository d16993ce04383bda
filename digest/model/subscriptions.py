"""Saved queries and subscriptions: who wants what and, by a cadence, when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from digest.model.announcements import Kind
from digest.model.cadences import Cadence, QuietHours
from digest.model.destinations import Destination
from digest.model.papers import ArxivId
from digest.model.taxonomy import is_archive, is_category, spell_name

EVERYTHING = ""
"""In place of a subscription's name: all of them, for good."""

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}", re.ASCII)
"""Names of saved queries and subscriptions: they appear in addresses and file names."""

NAME_RULE = (
    "Names are small letters, digits, dots, dashes and underscores, up to 63, beginning with a "
    "letter or digit."
)
"""What `NAME` takes, in words."""

FILE = "file"
"""Origin of the saved queries and subscriptions that the operator's file names."""

RETURNS_WITHIN = timedelta(days=7)
"""How long a subscription or a saved query may be missing in the file, and then just go on."""

_PERSON = "person:"


class SubscriberState(StrEnum):
    """Whether an address is written to.

    One that somebody asked for and nobody confirmed is not among these.
    """

    CONFIRMED = "confirmed"
    UNSUBSCRIBED = "unsubscribed"


def write_title(name: str) -> str:
    """Write a name as a title: `Perf team` for `perf-team`, `cs.LG` for `cs.lg`."""
    if is_category(name) or is_archive(name):
        return spell_name(name)
    words = re.sub("[-_]+", " ", name).strip()
    return words[:1].upper() + words[1:]


class WhenEmpty(StrEnum):
    """What a due digest without papers does: nothing, a line that says so, or one at a failure."""

    SKIP = "skip"
    NOTE = "note"
    ALWAYS = "always"


class Grouping(StrEnum):
    """What a digest's headings are: kinds of announcement, or the queries that papers match."""

    KIND = "kind"
    QUERY = "query"


class Abstracts(StrEnum):
    """How much of each abstract a digest shows: one sentence, all of it, or nothing."""

    SHORT = "short"
    FULL = "full"
    NONE = "none"


class Archive(StrEnum):
    """Who finds a subscription's past digests: who has a link to one, or all on the first page."""

    LINK = "link"
    PUBLIC = "public"


def write_origin(person_id: int) -> str:
    """Return the origin of what one person keeps, from the key of their `subscribers` row."""
    return f"{_PERSON}{person_id}"


def is_personal(origin: str) -> bool:
    """Whether an origin is a person's own."""
    return origin.startswith(_PERSON)


class SubscriptionState(StrEnum):
    """`ENDED` keeps history and sends nothing more; `PAUSED` collects and sends later."""

    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query somebody wants to go on hearing about: a name and the text as written.

    A text that a subscription of the file follows is its own name: so the same text is one saved
    query.
    """

    name: str
    text: str

    @property
    def place(self) -> str:
        """Where it is written, for a message about it."""
        if self.name == self.text:
            return f"follow {self.text!r}"
        return f"queries.{self.name}"


@dataclass(frozen=True, slots=True)
class Subscription:
    """Queries × destinations × cadence, as configured.

    Attributes:
        queries: names of saved queries; see `SavedQuery`.
        show: how many papers a message shows; None for all.
        look_back: how many days the first digest of a saved query goes back; 0 for no first digest.
        title: what people see of it everywhere; its name written as a title if none is given.
        exclude: queries; it never shows what they match.
        quiet_hours: when nothing goes out; None for never. With `zone` filled in if the cadence has
            none.
        shared: several people read each of its addresses, so none of them can end it for all by a
            link.
        library: sources of papers by which its digests are put in order: paths, and libraries at
            Zotero.
    """

    name: str
    queries: tuple[str, ...]
    destinations: tuple[Destination, ...]
    cadence: Cadence
    kinds: tuple[Kind, ...] = (Kind.NEW, Kind.CROSS_LIST)
    when_empty: WhenEmpty = WhenEmpty.SKIP
    show: int | None = None
    abstracts: Abstracts = Abstracts.SHORT
    look_back: int = 7
    group_by: Grouping = Grouping.KIND
    title: str = ""
    exclude: tuple[str, ...] = ()
    exclude_papers: tuple[ArxivId, ...] = ()
    quiet_hours: QuietHours | None = None
    archive: Archive = Archive.LINK
    joinable: bool = False
    shared: bool = False
    library: tuple[str, ...] = ()
    not_like: tuple[str, ...] = ()
    read_first: tuple[str, ...] = ()
    read_last: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", write_title(self.name))

    @property
    def has_digests(self) -> bool:
        """Whether anything is sent to it; feeds alone need no digest."""
        return any(not destination.is_pulled for destination in self.destinations)

    @property
    def has_one_reader(self) -> bool:
        """Whether nobody but its owner reads it: then it may name titles of a library."""
        if self.shared or self.joinable or self.archive is Archive.PUBLIC:
            return False
        others = [place.traits for place in self.destinations if not place.traits.is_own]
        if not others:
            return True
        return len(others) == 1 and others[0].is_personal


@dataclass(frozen=True, slots=True)
class Timing:
    """When a subscription wants to hear: all of it that decides over a turn."""

    cadence: Cadence
    quiet_hours: QuietHours | None
    when_empty: WhenEmpty


class TurnFailure(StrEnum):
    """Why what was announced by a turn was not checked: a code that is stored."""

    ARXIV_FAILED = "arxiv-failed"
    NOT_ANNOUNCED = "not-announced"
    DID_NOT_RUN = "did-not-run"


@dataclass(frozen=True, slots=True)
class UncheckedTurn:
    """A turn that came before what was announced by then was checked to its end.

    Attributes:
        due_at: when it came (UTC).
        is_late: its digest came, but hours later.
    """

    due_at: datetime
    failure: TurnFailure
    is_late: bool = False

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read what `str` wrote."""
        moment, failure, *late = line.split()
        return cls(datetime.fromisoformat(moment), TurnFailure(failure), bool(late))

    def __str__(self) -> str:
        late = " late" if self.is_late else ""
        return f"{self.due_at.isoformat()} {self.failure}{late}"


@dataclass(frozen=True, slots=True)
class TurnState:
    """How far a subscription has come with its turns.

    Attributes:
        next_due_at: when it is due by the clock (UTC); None while nothing makes it due.
        taken: the slots taken last, one of each kind.
        awaits_check: its turn has come and is open: it is due again after the next check of arXiv,
            too.
        unchecked: the open turn, and those before it that closed and that no digest has
            named yet; the oldest first.
    """

    next_due_at: datetime | None
    taken: str = ""
    awaits_check: bool = False
    unchecked: tuple[UncheckedTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class ActiveRevision:
    """A saved query as it reads now.

    Attributes:
        id: the revision's key: another text is another revision.
        query_id: the saved query's key, the same over all revisions.
        text: as written, or in its one form if what is written can't be read any more.
        canonical: as printed; equal queries have equal canonical texts.
        active_from_change: changes above this id are matched against it.
    """

    id: int
    query_id: int
    name: str
    text: str
    canonical: str
    active_from_change: int


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """What a run of changes means to one saved query, as change ids in growing order.

    Attributes:
        new: the paper matches now and did not before (or was never stored before).
        changed: it matched before and still does.
        gone: it matched before and does not any more.
    """

    new: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)


@dataclass(frozen=True, slots=True)
class Wording:
    """What a saved query asked for a while; `until` is None if it still does."""

    name: str
    text: str
    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class DueSubscription:
    """A subscription as stored, with the saved queries it reads now.

    Attributes:
        state: `SubscriptionState` as text.
        next_due_at: when its next digest is due (UTC); None while nothing makes it due.
        plan_after: only matches of later match runs are planned.
        last_slot: the slot of its last digest or quiet turn.
        revisions: its saved queries in the subscription's order.
        feed_generation: how often its feed's address was changed.
        paused_until: the end of its pause, or of the last one (UTC); None for none, or until
            further notice.
        is_personal: a person's own, made on a page; else the operator's file names it.
    """

    id: int
    subscription: Subscription
    state: str
    next_due_at: datetime | None
    plan_after: int
    last_slot: str
    created_at: datetime
    revisions: tuple[ActiveRevision, ...] = ()
    feed_generation: int = 0
    paused_until: datetime | None = None
    is_personal: bool = False
