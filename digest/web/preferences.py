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
from digest.interest.tables import delete_like, load_likes, save_like
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
from digest.render.contexts import PageContext, PreferencesContext, QueryContext
from digest.render.digests import group_papers, view_digest, view_papers
from digest.render.text import name_zone, show_plain, write_long_day
from digest.store.digests import load_digest, load_frozen
from digest.store.subscribers import save_unsubscription
from digest.store.tokens import TokenPurpose, load_token
from digest.web.connections import as_search
from digest.web.endpoints import mask, shell_of
from digest.web.forms import Form, make_form_token, read_button, read_own_form
from digest.web.guards import name_network
from digest.web.signup import show_link

_ALL = "*"
"""What a button sends in place of a subscription's name, for everything: none can be called so."""

NOTHING = Form(())


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
        """Have a mail with a link sent; return what is said of it, or that too many were asked for."""
        maker, at = make_links(self.conn, self.config), self.at
        free_at = accept_request(
            self.conn, maker, kind, address, choices, network=self.network, at=at
        )
        if free_at is None:
            return said
        again = write_with_zone(free_at, self.config.zone, at)
        return f"Too many mails were asked for. Try again after {again}."

    def save(self, choices: SignupRequest) -> None:
        """Bring what they get in line with what they want."""
        apply_signup_request(
            self.conn, make_links(self.conn, self.config), self.found.person, choices, at=self.at
        )


Act = Callable[[Visit], str]
"""Does what a button says; returns what was done, in a sentence."""


def serve_preferences(request: Request) -> Response:
    """Show what comes; do what a button of the page says, and show it as it is then."""
    form, said, error = (
        change(request, _find, _ACTIONS) if request.method == "POST" else (NOTHING, "", None)
    )
    if form.get("action") == "end":  # this page's own link, too
        return show_link(shell_of(request), "sent.html", "", said=said)
    return _show(request, said, error, form)


def change(
    request: Request,
    find: Callable[[Connection, Request, Form], Preferences],
    actions: Mapping[str, Act],
) -> tuple[Form, str, UsageError | None]:
    """Do all that a form of ours asks for, or nothing; return it with what was done, or with the mistake.

    `find` finds who sent it, and `actions` are what its buttons do, by its field `action`.
    """
    site, form = shell_of(request).site, read_own_form(request)
    act = actions[read_button(form, "action", actions)]
    try:
        with site.store.begin() as conn:
            network, found = name_network(request, site.config), find(conn, request, form)
            return form, act(Visit(conn, site.config, found, form, network, site.clock.now())), None
    except UsageError as error:
        return form, "", error


def _find(conn: Connection, request: Request, _form: Form | None = None) -> Preferences:
    """Return what the person gets whose link was followed; whatever is nobody's link looks the same."""
    stored, found = load_token(conn, secrets.token_hash(request.path_params["token"])), None
    if stored is not None and stored.purpose is TokenPurpose.PREFERENCES:
        found = load_preferences(conn, Destination.parse(stored.destination).address)
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
    visit.save(replace(choices, cadence=write_cadence(*_read_when(visit.form))))
    return "Saved."


def _read_when(form: Form) -> tuple[str, str, str]:
    return form.get("days"), form.get("hour"), form.get("zone").strip()


def _read_choices(choices: SignupRequest, form: Form) -> SignupRequest:
    """Return all that the form says but when. Saved queries that its page did not list stay as they are."""
    listed, ticked = form.get_all("listed"), form.get_all("on")
    try:
        abstracts = Abstracts(form.get("abstracts"))
    except ValueError as error:
        raise UsageError("this is not offered", hint="Choose from the lists.") from error
    return replace(
        choices,
        queries=tuple(
            replace(one, is_on=one.name in ticked) if one.name in listed else one
            for one in choices.queries
        ),
        kinds=tuple(kind for kind in Kind if kind in form.get_all("kind")),
        abstracts=abstracts,
        has_feed=form.get("feed") == "yes",
    )


def _pause(visit: Visit) -> str:
    own, day = require_own(visit.found), visit.form.get("until").strip()
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
    save_unsubscription(visit.conn, person.destination, name, how=PAGE, at=visit.at)
    return f"You are unsubscribed from {title}."


def _undo(visit: Visit) -> str:
    name, title = _read_subscription(visit)
    undo_unsubscription(visit.conn, visit.found, name, at=visit.at)
    return f"You are subscribed to {title} again."


def _read_subscription(visit: Visit) -> tuple[str, str]:
    given = visit.form.get("subscription")
    titles = {one.name: one.title for one in visit.found.memberships} | {_ALL: "everything"}
    if given not in titles:
        raise UnknownName("this subscription is none of yours", hint="Open the page again.")
    return EVERYTHING if given == _ALL else given, titles[given]


def _delete(visit: Visit) -> str:
    choices = visit.found.choices
    gone = next((query for query in choices.queries if query.name == visit.form.get("name")), None)
    if gone is None:
        return "Deleted."
    if len(choices.queries) == 1:
        raise UsageError("this is your only saved query", hint="Turn it off, or unsubscribe.")
    visit.save(
        replace(choices, queries=tuple(query for query in choices.queries if query is not gone))
    )
    return f"Deleted: {gone.text}"


def _like(visit: Visit) -> str:
    due, digest = _find_digest(visit.conn, visit.config, visit.found, visit.form.get("digest"))
    papers = {str(entry.paper.id): entry.paper for entry in digest.entries}
    paper = papers.get(visit.form.get("paper"))
    if paper is None:
        raise UnknownName("this paper is not in the digest", hint="Press a button of its page.")
    known = {
        one.paper.arxiv_id
        for one in load_likes(visit.conn, due.id, str(visit.found.person.destination))
    }
    if len(known) >= MOST_LIKES and paper.id not in known:
        raise UsageError(
            f"you said this of {MOST_LIKES} papers, and nobody may of more", hint="Undo some first."
        )
    liked, opinion = (
        LibraryPaper(paper.title, paper.abstract, paper.id),
        Opinion(visit.form.get("action")),
    )
    save_like(
        visit.conn, due.id, liked, opinion, visit.at, reader=str(visit.found.person.destination)
    )
    return ""


def _forget(visit: Visit) -> str:
    due = list_read_alone(visit.config, visit.found).get(visit.form.get("subscription"))
    if due is None:
        raise UnknownName("this subscription is none of yours", hint="Open the page again.")
    paper = ArxivId.parse(visit.form.get("paper"))
    delete_like(visit.conn, due.id, paper, str(visit.found.person.destination))
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
    """Return what leads from the address of a request to the first page, below whatever path a proxy has us."""
    path: str = request.scope["path"]
    return "../" * (path.count("/") - 1)


def _show(
    request: Request, said: str = "", error: UsageError | None = None, form: Form = NOTHING
) -> Response:
    """Answer with the page as things are now: what was done, or what is wrong with a form and what was typed."""
    shell, token = shell_of(request), request.path_params["token"]
    now, config = shell.site.clock.now(), shell.site.config
    page = f"{lead_home(request)}p/{token}"
    with shell.site.store.read() as conn:
        found = _find(conn, request)
        likes = tuple(_view_likes(conn, config, found, page))
    own, choices, when = (
        found.own,
        found.choices,
        read_cadence_fields(Cadence.parse(found.choices.cadence)),
    )
    fields = {"save": "when" if form.get_all("kind") else "kinds", "pause": "until"}
    action = form.get("action") if error else ""
    if action == "save" and own:
        choices, when = _read_choices(choices, form), _read_when(form)
    if said in ("Saved.", "Resumed.") and own is not None and found.has_active_own:
        said = f"{said} {_say_next(own, now, 'Your')}"
    context = PreferencesContext(
        address=mask(found.person.destination),
        memberships=tuple(_view_memberships(found, now)),
        choices=choices if own else None,
        days=DAYS,
        when=when,
        likes=likes,
        action=page,
        token=make_form_token(shell, f"/p/{token}"),
        home=lead_home(request),
        is_paused=found.is_paused,
        until=form.get("until"),
        may_add=config.web.signup.admits(found.person.address),
        contact=config.arxiv.mail_contact,
        said=said,
        mistakes={fields.get(action, "") if own else "": f"{error.message}. {error.hint}"}
        if error
        else {},
    )
    return shell.pages.show("preferences.html", context, 400 if error else 200)


def _view_memberships(
    found: Preferences, now: datetime
) -> Iterator[tuple[str, str, str, bool, str]]:
    """Show what comes, one by one; what was left all at once comes back all at once."""
    is_all = found.has_unsubscribed_from_all
    for one in found.memberships[: 1 if is_all else None]:
        name, title = (_ALL, "Everything") if is_all else (one.name, one.title)
        says, button = _say_next(found.dues[one.id], now, "The"), "unsubscribe"
        if one.unsubscribed_at is not None:
            button = "undo" if found.can_undo(one, now) else ""
            says = f"You unsubscribed on {write_day(one.unsubscribed_at, now)}."
            says += (
                f" You can undo it here until {write_day(one.unsubscribed_at + UNDO, now)}."
                if button
                else ""
            )
        yield name, title, says, is_all or is_personal(one.origin), button


def _say_next(due: DueSubscription, now: datetime, whose: str) -> str:
    """Say when the next digest comes, or why none does."""
    zone = _zone_of(due)
    if due.state == SubscriptionState.PAUSED:
        return f"Paused until {_write_date(due.paused_until, zone, now) if due.paused_until else 'further notice'}."
    if not due.revisions:
        return "Nothing comes: no saved query is on."
    if due.next_due_at is None or due.next_due_at <= now:
        return f"{whose} next digest comes as soon as there is something in it."
    local = due.next_due_at.astimezone(ZoneInfo(zone))
    return f"{whose} next digest comes {_write_date(local, zone, now)} at {local:%H:%M} {name_zone(local)}."


def _write_date(moment: datetime, zone: str, now: datetime) -> str:
    """Write a day as `Friday 27 November`, with its year if that is not this one."""
    return write_long_day(moment.astimezone(ZoneInfo(zone)).date()).removesuffix(f" {now.year}")


def _zone_of(due: DueSubscription) -> str:
    return choose_zone(due.subscription.cadence, due.subscription.quiet_hours)


def serve_query(request: Request) -> Response:
    """Show one of their saved queries, or the box for a new one; save it, and show what comes then."""
    shell, name, token = (
        shell_of(request),
        request.path_params.get("name", ""),
        request.path_params["token"],
    )
    typed, error = request.query_params.get("q"), None
    if request.method == "POST":
        form, said, error = change(request, _find, {"": partial(_save_query, name)})
        if error is None:
            return _show(request, said)
        typed = form.get("q")
    with shell.site.store.read() as conn:
        queries = {query.name: query.text for query in _find(conn, request).choices.queries}
    if name and name not in queries:
        raise UnknownName(
            "you have no such saved query any more", hint="Go back to your subscriptions."
        )
    was = queries.get(name, "")
    text = was if typed is None else typed
    trial = shell.trials.try_text(text)
    if was and text != was:
        trial = replace(trial, difference=shell.trials.compare(was, text))
    context = QueryContext(
        trial=trial,
        action=name or "query",
        back=f"{lead_home(request)}p/{token}",
        token=make_form_token(shell, request.scope["path"]),
        home=lead_home(request),
        was=was,
        mistake=f"{error.message}. {error.hint}" if error and not trial.problem else "",
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
) -> Iterator[tuple[str, str, str, tuple[tuple[str, str, str], ...]]]:
    """Show of which papers they want more or less, by subscription."""
    maker = make_links(conn, config)
    for name, due in list_read_alone(config, found).items():
        slots = (
            row.slot for row, content in load_frozen(conn, name, limit=5) if content["entries"]
        )
        last = next((f"{page}/d/{maker.web_token(name, slot)}" for slot in slots), "")
        likes = reversed(load_likes(conn, due.id, str(found.person.destination)))
        papers = (
            (str(one.paper.arxiv_id), str(one.opinion), show_plain(one.paper.title))
            for one in likes
        )
        yield name, due.subscription.title, last, tuple(papers)


def serve_likes(request: Request) -> Response:
    """Show a digest to its one reader, who says of which papers more or less should come; do what they say."""
    shell, page, home = shell_of(request), request.path_params["digest"], lead_home(request)
    if request.method == "POST":
        *_, error = change(request, _find, _ACTIONS)
        if error is not None:
            raise error
    with shell.site.store.read() as conn:
        found = _find(conn, request)
        due, digest = _find_digest(conn, shell.site.config, found, page)
        likes = load_likes(conn, due.id, str(found.person.destination))
    context = PageContext(
        digest=view_digest(digest),
        groups=group_papers(digest, view_papers(digest)),
        links=Links(home=home, preferences=f"{home}p/{request.path_params['token']}"),
        opinions={str(one.paper.arxiv_id): str(one.opinion) for one in likes},
        token=make_form_token(shell, request.scope["path"]),
        action=page,
    )
    return shell.pages.show("likes.html", context)


def _find_digest(
    conn: Connection, config: Config, found: Preferences, page: str
) -> tuple[DueSubscription, Digest]:
    """Return a digest that nobody but this person got, by the token of its page, and its subscription."""
    stored = load_token(conn, secrets.token_hash(page))
    due = list_read_alone(config, found).get(stored.subscription) if stored else None
    if stored is None or due is None or stored.digest_id is None:
        raise UnknownName(
            "this is no digest that you alone get", hint="Open the page again, from a mail to you."
        )
    return due, load_digest(conn, stored.digest_id)


ROUTES = [
    Route("/p/{token}", serve_preferences, methods=["GET", "POST"]),
    Route("/p/{token}/d/{digest}", serve_likes, methods=["GET", "POST"]),
    Route("/p/{token}/query", as_search(serve_query), methods=["GET", "POST"]),
    Route("/p/{token}/query/{name}", as_search(serve_query), methods=["GET", "POST"]),
]
