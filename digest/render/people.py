"""What the pages of one person see: see `digest.render.contexts`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from digest.model.people import Wish
    from digest.render.contexts import TrialView


@dataclass(frozen=True, slots=True)
class MembershipView:
    """A subscription on the page of somebody who gets it.

    Attributes:
        name: its name; `*` for all of them, where all were left.
        title: what its digests are called.
        says: when it comes, or why it does not, in sentences.
        is_own: it is the person's own. The operator's file decides over every other.
        has_left: it was left.
        undo_until: the last day on which that can be undone here, such as `Fri 27 Nov`; "" where it can't.
    """

    name: str
    title: str
    says: str
    is_own: bool = False
    has_left: bool = False
    undo_until: str = ""


@dataclass(frozen=True, slots=True)
class PreferencesContext:
    """`web/preferences.html`: what comes to one person, and the forms that change it.

    Attributes:
        address: theirs, as far as the page may tell (masked).
        memberships: the subscriptions that write to them or that they left.
        wish: what they want of their own subscription: `queries` (each with `name`, `text` and `is_on`), `kinds`,
            `abstracts`, `weekly`, `has_feed`; None where they have none.
        days: what is offered for the days, and how it is called.
        when: the days, hour and time zone of their own subscription, or as typed.
        action: the address the forms post to; that of a saved query lies below it.
        token: tells the server that this page posts.
        home: the installation's front page.
        is_paused: their own subscription sends nothing for now.
        tomorrow: the first day up to which it can be paused, as `2026-11-27`.
        until: the day up to which it was to be paused, as typed.
        may_add: they may have a first saved query of their own.
        said: what was just changed, in sentences; "" for nothing.
        mistakes: what is wrong, by the field that it is about.
    """

    address: str
    memberships: tuple[MembershipView, ...]
    wish: Wish | None
    days: Mapping[str, str]
    when: tuple[str, str, str]
    action: str
    token: str
    home: str
    is_paused: bool = False
    tomorrow: str = ""
    until: str = ""
    may_add: bool = False
    said: str = ""
    mistakes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryContext:
    """`web/query.html`: one of a person's saved queries, or a new one, with what it would bring.

    Attributes:
        trial: the trial of what is typed, or stored, and what that changes.
        action: the address the form goes to.
        root: what leads to the first page.
        back: the address of the person's preferences, from there.
        token: tells the server that this page posts.
        home: the installation's front page.
        was: as stored; "" for a new one.
        mistake: why it can't be saved, "" for no reason or one that its trial tells.
    """

    trial: TrialView
    action: str
    root: str
    back: str
    token: str
    home: str
    was: str = ""
    mistake: str = ""


@dataclass(frozen=True, slots=True)
class PrivateContext:
    """`web/private.html`: what a forwarded mail must not give away. At first, the button that opens it alone.

    Attributes:
        action: the address the forms post to.
        token: tells the server that this page posts.
        home: the installation's front page.
        key: opens it again for each form; "" before it is opened and after all was erased.
        address: the person's mail address.
        feed: the address of their own feed, "" for none.
        said: what was just done, in sentences; "" for nothing.
        mistakes: what is wrong, by the field that it is about.
        typed: the other address as typed.
        is_over: all was erased.
    """

    action: str
    token: str
    home: str
    key: str = ""
    address: str = ""
    feed: str = ""
    said: str = ""
    mistakes: Mapping[str, str] = field(default_factory=dict)
    typed: str = ""
    is_over: bool = False
