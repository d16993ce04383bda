"""What the pages of one reader see: to subscribe, to confirm, to choose and to unsubscribe.

See `contexts` for what all templates know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from digest.model.announcements import Kind
from digest.model.people import SignupRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class WebContext:
    """What most pages see beside their own.

    Attributes:
        home: the installation's front page, "" if it has no public address.
        contact: the operator's address, "" if none is given.
        token: tells the server that this page posts.
        action: the address the page's forms post to.
    """

    home: str = ""
    contact: str = ""
    token: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonContext(WebContext):
    """What one person's own pages see beside their own.

    Attributes:
        address: their mail address, as far as the page may tell (masked).
        said: what was just done, in sentences; "" for nothing.
        mistakes: what is wrong, by the field that it is about.
    """

    address: str = ""
    said: str = ""
    mistakes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnsubscribeContext(WebContext):
    """`web/unsubscribe.html`, `web/unsubscribed.html`: asks whether to unsubscribe; confirms it.

    Attributes:
        title: what the subscription is called, "" if the page may not tell.
        address: the mail address its digests go to, masked; "" if the page may not tell.
        is_back: the reader unsubscribed, and that was undone just now.
        is_earlier: the reader unsubscribed before, and the link is only opened again.
        undo_until: the last day on which it can be undone here, such as `Fri 27 Nov`; "" if it
            can't.
    """

    title: str
    address: str = ""
    is_back: bool = False
    is_earlier: bool = False
    undo_until: str = ""


@dataclass(frozen=True, slots=True)
class SubscribeContext(WebContext):
    """`web/subscribe.html`: the form to subscribe as it was filled in, with what is wrong.

    Attributes:
        problem: what is wrong, with what to do about it.
        pointer: the query and a mark below the place that is meant, "" for none.
        given: what was filled in, by the fields' names.
        days: which days can be chosen, and how each is read.
        kinds: the same for kinds of announcement.
        joins: the same for the operator's subscriptions.
    """

    problem: str
    pointer: str
    given: Mapping[str, Sequence[str]]
    days: Mapping[str, str]
    kinds: Mapping[Kind, str]
    joins: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LinkContext(WebContext):
    """`link.html`, `sent.html`: the form to have a link mailed; what comes after a form was sent.

    Attributes:
        address: the mail address as it was typed.
        sender: who the mail is from, with the address.
        problem: what is wrong with the address, "" for nothing.
        is_link: the link to what somebody has was asked for; else a subscription.
        is_selective: only some addresses may subscribe; the page does not say which.
        said: how a new link comes, if the old ones were ended.
    """

    address: str
    sender: str
    problem: str = ""
    is_link: bool = True
    is_selective: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True)
class ComingView:
    """A subscription that writes to a person once it is confirmed.

    Attributes:
        title: what it is called.
        when: its days and its hour.
        next: when the next digest is expected, "" for not known.
    """

    title: str
    when: str
    next: str


@dataclass(frozen=True, slots=True)
class ConfirmContext(WebContext):
    """`web/confirm.html` and others: what the buttons of a mail's page do, or did.

    Attributes:
        address: whose it is, masked.
        coming: what the person gets.
        queries: how many saved queries were asked for.
        is_move: digests go to this address instead of another one.
        preferences: where the person changes all this.
    """

    address: str
    coming: tuple[ComingView, ...]
    preferences: str
    queries: int = 0
    is_move: bool = False


@dataclass(frozen=True, slots=True)
class MembershipView:
    """A subscription that writes to a person, or that they left.

    Attributes:
        name: its name, `*` for all subscriptions.
        title: what it is called.
        says: what comes of it, in sentences.
        is_own: it is their own.
        button: what its button does: `unsubscribe`, `undo` or "" for none.
    """

    name: str
    title: str
    says: str
    is_own: bool
    button: str


@dataclass(frozen=True, slots=True)
class LikedView:
    """A paper of which a person wants more, or less.

    Attributes:
        id: arXiv's identifier.
        opinion: `more` or `less`.
        title: its title.
    """

    id: str
    opinion: str
    title: str


@dataclass(frozen=True, slots=True)
class LikesView:
    """What the one reader of a subscription wants more or less of.

    Attributes:
        name: the subscription's name.
        title: what it is called.
        page: the address of `web/likes.html` for its last digest, "" before the first one.
        papers: those they said it of, the last one first.
    """

    name: str
    title: str
    page: str
    papers: tuple[LikedView, ...]


@dataclass(frozen=True, slots=True)
class PreferencesContext(PersonContext):
    """`web/preferences.html`: what comes to one person, and the forms that change it.

    Attributes:
        memberships: each subscription that writes to them or that they left.
        choices: what they want of their own subscription: `queries` (each with `name`, `text` and
            `is_on`), `kinds`, `abstracts`, `has_feed`; None if they have none.
        days: what is offered for the days, and how it is called.
        when: the days, hour and time zone of their own subscription, or as typed.
        likes: what they want more or less of, by subscription that nobody else reads.
        is_paused: their own subscription sends nothing for now.
        until: the day up to which it was to be paused, as typed.
        may_add: they may have a first saved query of their own.
    """

    memberships: tuple[MembershipView, ...]
    choices: SignupRequest | None
    days: Mapping[str, str]
    when: tuple[str, str, str]
    likes: tuple[LikesView, ...] = ()
    is_paused: bool = False
    until: str = ""
    may_add: bool = False


@dataclass(frozen=True, slots=True)
class PrivateContext(PersonContext):
    """`web/private.html`: what a forwarded mail must not give away; at first, its button alone.

    Attributes:
        key: opens it again for each form; "" before it is opened.
        feed: the address of their own feed, "" for none.
        typed: the other address as typed.
    """

    key: str = ""
    feed: str = ""
    typed: str = ""
