"""What comes to one person, when, and in which order: the page that every mail to them links to.

A forwarded mail has the link, too: whatever must not be given away with it is in
`digest.web.private`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from digest.config import Config
from digest.interest.tables import StoredLibraryPaper, delete_like, load_likes, save_like
from digest.model import secrets
from digest.model.announcements import Kind
from digest.model.cadences import Cadence, choose_zone, read_pause_end
from digest.model.clock import write_day, write_with_zone
from digest.model.destinations import Destination
from digest.model.errors import UnknownName, UsageError
from digest.model.libraries import LibraryPaper, Opinion
from digest.model.messages import Digest, Links
from digest.model.papers import ArxivId
from digest.model.people import (
    DAYS,
    MOST_LIKES,
    UNDO,
    RequestKind,
    SignupRequest,
    read_cadence_fields,
    write_cadence,
)
from digest.model.subscriptions import (
    EVERYTHING,
    Abstracts,
    DueSubscription,
    SubscriptionState,
    is_personal,
)
from digest.people.letters import accept_request
from digest.people.preferences import (
    Preferences,
    apply_signup_request,
    list_read_alone,
    load_preferences,
    pause_digests,
    require_own,
    resume_digests,
    save_query,
    undo_unsubscription,
)
from digest.people.tables import end_links
from digest.people.unsubscription import PAGE
from digest.plan.links import make_links
from digest.render.contexts import PageContext, QueryContext
from digest.render.digests import group_papers, view_digest, view_papers
from digest.render.pages import LikedView, LikesView, MembershipView, PreferencesContext
from digest.render.text import name_zone, show_plain, write_long_day
from digest.store import digests, subscribers, tokens
from digest.store.tokens import TokenPurpose
from digest.web.connections import as_search
from digest.web.endpoints import mask
from digest.web.forms import Form, make_form_token, read_button, read_own_form
from digest.web.guards import name_network
from digest.web.shell import shell_of
from digest.web.signup import show_link

_ALL = "*"
"""What a button sends in place of a subscription's name, for everything: none can be called so."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A form that a person sent, inside a transaction, and what they get."""

    conn: Connection
    config: Config
    found: Preferences
    form: Form
    network: str
    at: datetime

    def request(self, kind: RequestKind, address: str, choices: SignupRequest, said: str) -> str:
        """Have a mail with a link sent.

        Return what is said of it, or that too many were asked for.
        """
        maker = make_links(self.conn, self.config)
        allowed_at = accept_request(
            self.conn, maker, kind, address, choices, network=self.network, at=self.at
        )
        if allowed_at is None:
            return said
        again = write_with_zone(allowed_at, self.config.zone, self.at)
        return f"Too many mails were asked for. Try again after {again}."

    def save(self, choices: SignupRequest) -> None:
        """Bring what they get in line with what they want."""
        maker = make_links(self.conn, self.config)
        apply_signup_request(self.conn, maker, self.found.person, choices, at=self.at)

    @property
    def reader(self) -> str:
        """Where their digests go, as likes name it."""
        return str(self.found.person.destination)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a form: what was done, in a sentence, or the mistake for which nothing was."""

    form: Form
    said: str = ""
    error: UsageError | None = None


NOTHING_DONE = Change(Form(()))
"""A page is opened: nobody pressed a button."""

Act = Callable[[Visit], str]
"""Does what a button says; returns what was done, in a sentence."""


def serve_preferences(request: Request) -> Response:
    """Show what comes; do what a button of the page says, and show it as it is then."""
    done = NOTHING_DONE
    if request.method == "POST":
        done = change(request, _find, _ACTIONS)
    if done.form.get("action") == "end":  # this page's own link, too
        return show_link(shell_of(request), "sent.html", "", said=done.said)
    return _show(request, done)


def change(
    request: Request,
    find: Callable[[Connection, Request, Form], Preferences],
    actions: Mapping[str, Act],
) -> Change:
    """Do all that a form of ours asks for, or nothing.

    `find` finds who sent it, and `actions` are what its buttons do, by its field `action`.
    """
    site = shell_of(request).site
    form = read_own_form(request)
    act = actions[read_button(form, "action", actions)]
    try:
        with site.store.begin() as conn:
            network = name_network(request, site.config)
            found = find(conn, request, form)
            visit = Visit(conn, site.config, found, form, network, site.clock.now())
            return Change(form, act(visit))
    except UsageError as error:
        return Change(form, error=error)


def _find(conn: Connection, request: Request, _form: Form | None = None) -> Preferences:
    """Return what the person gets whose link was followed.

    Whatever is nobody's link looks the same.
    """
    stored = tokens.load(conn, secrets.token_hash(request.path_params["token"]))
    found = None
    if stored is not None and stored.purpose is TokenPurpose.PREFERENCES:
        destination = Destination.parse(stored.destination)
        found = load_preferences(conn, destination.address)
    if found is None:
        raise refuse_link(request)
    return found


def refuse_link(request: Request) -> UnknownName:
    """Return what to answer to a link that opens nothing, or no longer: where a new one is had."""
    home = shell_of(request).site.config.web.base_url.rstrip("/")
    return UnknownName("this link no longer works", hint=f"Get a new one by mail: {home}/link")


def _save(visit: Visit) -> str:
    require_own(visit.found)
    choices = _read_choices(visit.found.choices, visit.form)
    days, hour, zone = _read_when(visit.form)
    visit.save(replace(choices, cadence=write_cadence(days, hour, zone)))
    return "Saved."


def _read_when(form: Form) -> tuple[str, str, str]:
    return form.get("days"), form.get("hour"), form.get("zone").strip()


def _read_choices(choices: SignupRequest, form: Form) -> SignupRequest:
    """Return all that the form says but when.

    Saved queries that its page did not list stay as they are.
    """
    try:
        abstracts = Abstracts(form.get("abstracts"))
    except ValueError as error:
        raise UsageError("this is not offered", hint="Choose from the lists.") from error
    listed = form.get_all("listed")
    ticked = form.get_all("on")
    queries = []
    for query in choices.queries:
        is_listed = query.name in listed
        queries.append(replace(query, is_on=query.name in ticked) if is_listed else query)
    kinds = form.get_all("kind")
    return replace(
        choices,
        queries=tuple(queries),
        kinds=tuple(kind for kind in Kind if kind in kinds),
        abstracts=abstracts,
        has_feed=form.get("feed") == "yes",
    )


def _pause(visit: Visit) -> str:
    own = require_own(visit.found)
    day = visit.form.get("until").strip()
    until = read_pause_end(day, _zone_of(own)) if day else None
    if until is not None and until <= visit.at:
        raise UsageError("this day is over already", hint="Choose a later day.")
    pause_digests(visit.conn, own, until, at=visit.at)
    return "Paused."


def _resume(visit: Visit) -> str:
    resume_digests(visit.conn, require_own(visit.found), at=visit.at)
    return "Resumed."


def _unsubscribe(visit: Visit) -> str:
    name, title = _read_subscription(visit)
    person = visit.found.person
    subscribers.save_unsubscription(visit.conn, person.destination, name, how=PAGE, at=visit.at)
    return f"You are unsubscribed from {title}."


def _undo(visit: Visit) -> str:
    name, title = _read_subscription(visit)
    undo_unsubscription(visit.conn, visit.found, name, at=visit.at)
    return f"You are subscribed to {title} again."


def _read_subscription(visit: Visit) -> tuple[str, str]:
    """Return the name and the title of the subscription that a form means."""
    given = visit.form.get("subscription")
    if given == _ALL:
        return EVERYTHING, "everything"
    for membership in visit.found.memberships:
        if membership.name == given:
            return given, membership.title
    raise UnknownName("this subscription is none of yours", hint="Open the page again.")


def _delete(visit: Visit) -> str:
    choices = visit.found.choices
    name = visit.form.get("name")
    gone = next((query for query in choices.queries if query.name == name), None)
    if gone is None:
        return "Deleted."
    if len(choices.queries) == 1:
        raise UsageError("this is your only saved query", hint="Turn it off, or unsubscribe.")
    kept = tuple(query for query in choices.queries if query is not gone)
    visit.save(replace(choices, queries=kept))
    return f"Deleted: {gone.text}"


def _like(visit: Visit) -> str:
    due, digest = _find_digest(visit.conn, visit.config, visit.found, visit.form.get("digest"))
    papers = {str(entry.paper.id): entry.paper for entry in digest.entries}
    paper = papers.get(visit.form.get("paper"))
    if paper is None:
        raise UnknownName("this paper is not in the digest", hint="Press a button of its page.")
    likes = load_likes(visit.conn, due.id, visit.reader)
    known = {like.paper.arxiv_id for like in likes}
    if len(known) >= MOST_LIKES and paper.id not in known:
        raise UsageError(
            f"you said this of {MOST_LIKES} papers, and nobody may of more", hint="Undo some first."
        )
    liked = LibraryPaper(paper.title, paper.abstract, paper.id)
    opinion = Opinion(visit.form.get("action"))
    save_like(visit.conn, due.id, liked, opinion, visit.at, reader=visit.reader)
    return ""


def _forget(visit: Visit) -> str:
    due = list_read_alone(visit.config, visit.found).get(visit.form.get("subscription"))
    if due is None:
        raise UnknownName("this subscription is none of yours", hint="Open the page again.")
    paper = ArxivId.parse(visit.form.get("paper"))
    delete_like(visit.conn, due.id, paper, visit.reader)
    return "Undone."


def _fresh(visit: Visit) -> str:
    return visit.request(
        RequestKind.FRESH,
        visit.found.person.address,
        SignupRequest(),
        "A mail with the link comes within minutes, unless you got three with a link today."
        " It works once, for 30 minutes.",
    )


def _end(visit: Visit) -> str:
    end_links(visit.conn, visit.found.person.destination)
    return visit.request(
        RequestKind.LINK,
        visit.found.person.address,
        SignupRequest(),
        "A mail with a new link comes within minutes, unless you got three with a link today.",
    )


_ACTIONS = {
    "save": _save,
    "pause": _pause,
    "resume": _resume,
    "unsubscribe": _unsubscribe,
    "undo": _undo,
    "delete": _delete,
    "more": _like,
    "less": _like,
    "forget": _forget,
    "fresh": _fresh,
    "end": _end,
}


def lead_home(request: Request) -> str:
    """Return what leads from the address of a request to the first page.

    It is relative, as a proxy may have us below a path of its own.
    """
    path: str = request.scope["path"]
    return "../" * (path.count("/") - 1)


def _show(request: Request, done: Change) -> Response:
    """Answer with the page as things are now.

    It says what was done, or what is wrong with a form, and holds what was typed.
    """
    shell = shell_of(request)
    token = request.path_params["token"]
    now = shell.site.clock.now()
    config = shell.site.config
    page = f"{lead_home(request)}p/{token}"
    with shell.site.store.read() as conn:
        found = _find(conn, request)
        likes = tuple(_view_likes(conn, config, found, page))
    choices = found.choices
    when = read_cadence_fields(Cadence.parse(choices.cadence))
    if found.own and done.error and done.form.get("action") == "save":
        choices = _read_choices(choices, done.form)
        when = _read_when(done.form)
    context = PreferencesContext(
        address=mask(found.person.destination),
        memberships=tuple(_view_memberships(found, now)),
        choices=choices if found.own else None,
        days=DAYS,
        when=when,
        likes=likes,
        action=page,
        token=make_form_token(shell, f"/p/{token}"),
        home=lead_home(request),
        is_paused=found.is_paused,
        until=done.form.get("until"),
        may_add=config.web.signup.admits(found.person.address),
        contact=config.arxiv.mail_contact,
        said=_tell(done, found, now),
        mistakes=_name_mistakes(done, found),
    )
    return shell.pages.show("preferences.html", context, 400 if done.error else 200)


def _tell(done: Change, found: Preferences, now: datetime) -> str:
    """Say what was done, and when the next digest comes if that may have changed."""
    is_of_time = done.said in ("Saved.", "Resumed.")
    if is_of_time and found.own is not None and found.has_active_own:
        return f"{done.said} {_say_next(found.own, now, 'Your')}"
    return done.said


def _name_mistakes(done: Change, found: Preferences) -> dict[str, str]:
    """Return what is wrong, by the field it is about; "" for none of the page's fields."""
    if done.error is None:
        return {}
    field = ""
    if found.own:
        action = done.form.get("action")
        if action == "save":
            field = "when" if done.form.get_all("kind") else "kinds"
        elif action == "pause":
            field = "until"
    return {field: f"{done.error.message}. {done.error.hint}"}


def _view_memberships(found: Preferences, now: datetime) -> Iterator[MembershipView]:
    """Show what comes, one by one; what was unsubscribed at once comes back at once."""
    is_all = found.has_unsubscribed_from_all
    for one in found.memberships[: 1 if is_all else None]:
        if one.unsubscribed_at is None:
            says = _say_next(found.dues[one.id], now, "The")
            button = "unsubscribe"
        else:
            says = f"You unsubscribed on {write_day(one.unsubscribed_at, now)}."
            button = ""
            if found.can_undo(one, now):
                last = write_day(one.unsubscribed_at + UNDO, now)
                says += f" You can undo it here until {last}."
                button = "undo"
        if is_all:
            yield MembershipView(_ALL, "Everything", says, is_own=True, button=button)
        else:
            is_own = is_personal(one.origin)
            yield MembershipView(one.name, one.title, says, is_own=is_own, button=button)


def _say_next(due: DueSubscription, now: datetime, whose: str) -> str:
    """Say when the next digest comes, or why none does."""
    zone = _zone_of(due)
    if due.state == SubscriptionState.PAUSED:
        if due.paused_until is None:
            return "Paused until further notice."
        return f"Paused until {_write_date(due.paused_until, zone, now)}."
    if not due.revisions:
        return "Nothing comes: no saved query is on."
    if due.next_due_at is None or due.next_due_at <= now:
        return f"{whose} next digest comes as soon as there is something in it."
    local = due.next_due_at.astimezone(ZoneInfo(zone))
    moment = f"{_write_date(local, zone, now)} at {local:%H:%M} {name_zone(local)}"
    return f"{whose} next digest comes {moment}."


def _write_date(moment: datetime, zone: str, now: datetime) -> str:
    """Write a day as `Friday 27 November`, with its year if that is not this one."""
    day = moment.astimezone(ZoneInfo(zone)).date()
    return write_long_day(day).removesuffix(f" {now.year}")


def _zone_of(due: DueSubscription) -> str:
    return choose_zone(due.subscription.cadence, due.subscription.quiet_hours)


def serve_query(request: Request) -> Response:
    """Show one of their saved queries, or the box for a new one; save it, and show what comes."""
    name = request.path_params.get("name", "")
    if request.method == "POST":
        done = change(request, _find, {"": partial(_save_query, name)})
        if done.error is None:
            return _show(request, replace(NOTHING_DONE, said=done.said))
        return _show_query(request, name, done.form.get("q"), done.error)
    return _show_query(request, name, request.query_params.get("q"))


def _show_query(
    request: Request, name: str, typed: str | None, error: UsageError | None = None
) -> Response:
    """Answer with the box of a query: what is stored if nothing is typed, and what is wrong."""
    shell = shell_of(request)
    with shell.site.store.read() as conn:
        found = _find(conn, request)
    queries = {query.name: query.text for query in found.choices.queries}
    if name and name not in queries:
        raise UnknownName(
            "you have no such saved query any more", hint="Go back to your subscriptions."
        )
    was = queries.get(name, "")
    text = was if typed is None else typed
    trial = shell.trials.try_text(text)
    if was and text != was:
        trial = replace(trial, difference=shell.trials.compare(was, text))
    mistake = ""
    if error and not trial.problem:
        mistake = f"{error.message}. {error.hint}"
    context = QueryContext(
        trial=trial,
        action=name or "query",
        back=f"{lead_home(request)}p/{request.path_params['token']}",
        token=make_form_token(shell, request.scope["path"]),
        home=lead_home(request),
        was=was,
        mistake=mistake,
    )
    return shell.pages.show("query.html", context, 400 if error else 200)


def _save_query(name: str, visit: Visit) -> str:
    text = visit.form.get("q").strip()
    if not text:
        raise UsageError("nothing is typed", hint="Type what you follow.")
    save_query(visit.conn, visit.config, visit.found, name, text, at=visit.at)
    return "Saved."


def _view_likes(
    conn: Connection, config: Config, found: Preferences, page: str
) -> Iterator[LikesView]:
    """Show of which papers they want more or less, by subscription."""
    maker = make_links(conn, config)
    reader = str(found.person.destination)
    for name, due in list_read_alone(config, found).items():
        last = ""
        for row, content in digests.load_frozen(conn, name, limit=5):
            if content["entries"]:
                last = f"{page}/d/{maker.web_token(name, row.slot)}"
                break
        likes = reversed(load_likes(conn, due.id, reader))
        papers = tuple(_view_like(like) for like in likes)
        yield LikesView(name, due.subscription.title, last, papers)


def _view_like(like: StoredLibraryPaper) -> LikedView:
    title = show_plain(like.paper.title)
    return LikedView(str(like.paper.arxiv_id), str(like.opinion), title)


def serve_likes(request: Request) -> Response:
    """Show a digest to its one reader, who says of which papers more or less should come.

    Do what they say.
    """
    shell = shell_of(request)
    page = request.path_params["digest"]
    if request.method == "POST":
        done = change(request, _find, _ACTIONS)
        if done.error is not None:
            raise done.error
    with shell.site.store.read() as conn:
        found = _find(conn, request)
        due, digest = _find_digest(conn, shell.site.config, found, page)
        likes = load_likes(conn, due.id, str(found.person.destination))
    home = lead_home(request)
    links = Links(home=home, preferences=f"{home}p/{request.path_params['token']}")
    context = PageContext(
        digest=view_digest(digest),
        groups=group_papers(digest, view_papers(digest)),
        links=links,
        opinions={str(like.paper.arxiv_id): str(like.opinion) for like in likes},
        token=make_form_token(shell, request.scope["path"]),
        action=page,
    )
    return shell.pages.show("likes.html", context)


def _find_digest(
    conn: Connection, config: Config, found: Preferences, page: str
) -> tuple[DueSubscription, Digest]:
    """Return a digest that nobody but this person got, and its subscription.

    `page` is the token of its page.
    """
    stored = tokens.load(conn, secrets.token_hash(page))
    due = list_read_alone(config, found).get(stored.subscription) if stored else None
    if stored is None or due is None or stored.digest_id is None:
        raise UnknownName(
            "this is no digest that you alone get", hint="Open the page again, from a mail to you."
        )
    return due, digests.load(conn, stored.digest_id)


ROUTES = [
    Route("/p/{token}", serve_preferences, methods=["GET", "POST"]),
    Route("/p/{token}/d/{digest}", serve_likes, methods=["GET", "POST"]),
    Route("/p/{token}/query", as_search(serve_query), methods=["GET", "POST"]),
    Route("/p/{token}/query/{name}", as_search(serve_query), methods=["GET", "POST"]),
]
