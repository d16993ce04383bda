"""What comes to one person, and when: the page that every mail to them links to, and their saved queries.

Whoever has the link may do here what whoever was forwarded the mail may do. For all else see `digest.web.private`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse
from starlette.routing import Route

from digest.deliver import people
from digest.model import secrets
from digest.model.announcements import Kind
from digest.model.cadences import Cadence, CadenceKind, choose_zone, read_pause_end
from digest.model.errors import ConfigurationError, QueryError, UnknownName, UsageError
from digest.model.people import DAYS, UNDO, Ask, Wish, read_cadence_fields, write_cadence
from digest.model.subscriptions import EVERYTHING, Abstracts, Destination, SubscriptionState, Weekly, is_personal
from digest.plan.links import make_links
from digest.render.contexts import MembershipView, PreferencesContext, QueryContext
from digest.render.text import name_zone, write_day, write_long_day
from digest.store import database as token_store
from digest.store import signups as signup_store
from digest.store import subscribers as subscriber_store
from digest.web.endpoints import mask, shell_of
from digest.web.forms import make_form_token, read_form, require_own_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.responses import Response

    from digest.deliver.people import Preferences
    from digest.model.subscriptions import DueSubscription
    from digest.web.endpoints import Shell
    from digest.web.forms import Form

_ALL = "*"
"""What a button sends in place of a subscription's name, for everything: none can be called so."""

_MISTAKEN = 400

_GOES_ON = frozenset({"save", "resume", "undo"})
"""Actions after which one wants to know when the next digest comes."""


@dataclass(frozen=True, slots=True)
class _Visit:
    """A form that somebody sent by their link, inside a transaction."""

    shell: Shell
    conn: Connection
    preferences: Preferences
    form: Form
    at: datetime

    def save(self, wish: Wish) -> None:
        maker = make_links(self.conn, self.shell.site.config)
        people.save_wish(self.conn, maker, self.preferences.person, wish, at=self.at)


def show_preferences(request: Request) -> Response:
    """Show what comes to whoever has the link, and the forms to change it."""
    return _show(request)


def change_preferences(request: Request) -> Response:
    """Do what a button of the page says, and show the page as it is then."""
    form = read_form(request)
    require_own_form(request, form)
    action = form.get("action")
    if action not in _ACTIONS:
        raise UsageError("this page has no such button", hint="Open the page again, and press a button there.")
    said, error = _change(request, form, _ACTIONS[action])
    return _show(request, said, error, form=form, action=action)


def _change(request: Request, form: Form, act: Callable[[_Visit], str]) -> tuple[str, UsageError | None]:
    """Do all that a form asks for, or nothing; return what was done, in a sentence, or the mistake."""
    shell = shell_of(request)
    try:
        with shell.site.store.begin() as conn:
            return act(_Visit(shell, conn, _find(conn, request), form, shell.site.clock.now())), None
    except UsageError as error:
        return "", error


def _find(conn: Connection, request: Request) -> Preferences:
    """Return what the person gets whose link was followed; whatever is nobody's link looks the same."""
    stored = token_store.load_token(conn, secrets.token_hash(request.path_params["token"]))
    if stored is None or stored.purpose is not token_store.TokenPurpose.PREFERENCES:
        raise HTTPException(404)
    found = people.load_preferences(conn, Destination.parse(stored.destination).address)
    if found is None:
        raise HTTPException(404)
    return found


def _save(visit: _Visit) -> str:
    people.require_own(visit.preferences)
    wish = _read_wish(visit.preferences.wish, visit.form)
    visit.save(replace(wish, cadence=write_cadence(*_read_when(visit.form))))
    return "Saved."


def _read_when(form: Form) -> tuple[str, str, str]:
    return form.get("days"), form.get("hour"), form.get("zone").strip()


def _read_wish(wish: Wish, form: Form) -> Wish:
    """Return all that the form says but when. Saved queries that its page did not list stay as they are."""
    listed, ticked = form.get_all("listed"), form.get_all("on")
    try:
        abstracts, weekly = Abstracts(form.get("abstracts")), Weekly(form.get("weekly"))
    except ValueError as error:
        raise UsageError("this is not offered", hint="Choose from the lists.") from error
    return replace(
        wish,
        queries=tuple(
            replace(one, is_on=one.name in ticked) if one.name in listed else one for one in wish.queries
        ),
        kinds=tuple(kind for kind in Kind if kind in form.get_all("kind")),
        abstracts=abstracts,
        weekly=weekly,
        has_feed=form.get("feed") == "yes",
    )


def _pause(visit: _Visit) -> str:
    own, day = people.require_own(visit.preferences), visit.form.get("until").strip()
    try:
        until = read_pause_end(day, _zone_of(own)) if day else None
    except ConfigurationError as error:
        raise UsageError(error.message, hint=error.hint) from error
    people.pause(visit.conn, visit.preferences, until, at=visit.at)
    return "Paused. What matches meanwhile waits."


def _resume(visit: _Visit) -> str:
    people.resume(visit.conn, visit.preferences, at=visit.at)
    return "Resumed."


def _leave(visit: _Visit) -> str:
    name, title = _read_subscription(visit)
    person = visit.preferences.person
    subscriber_store.leave(visit.conn, person.destination, name, how=people.PAGE, at=visit.at)
    return f"You are unsubscribed from {title}."


def _undo(visit: _Visit) -> str:
    name, title = _read_subscription(visit)
    people.undo(visit.conn, visit.preferences, name, at=visit.at)
    return f"You are subscribed to {title} again."


def _read_subscription(visit: _Visit) -> tuple[str, str]:
    """Return the name of the subscription that a button is about, and its title."""
    given = visit.form.get("subscription")
    titles = {one.name: one.title for one in visit.preferences.memberships} | {_ALL: "everything"}
    if given not in titles:
        raise UnknownName("this subscription is none of yours", hint="Open the page again.")
    return EVERYTHING if given == _ALL else given, titles[given]


def _delete(visit: _Visit) -> str:
    wish = visit.preferences.wish
    gone = next((query for query in wish.queries if query.name == visit.form.get("name")), None)
    if gone is None:
        return "Deleted."
    if len(wish.queries) == 1:
        raise UsageError("this is your only saved query", hint="Turn it off, or unsubscribe.")
    visit.save(replace(wish, queries=tuple(query for query in wish.queries if query is not gone)))
    return f"Deleted: {gone.text}"


def _ask_fresh(visit: _Visit) -> str:
    signup_store.save_signup(visit.conn, Ask.FRESH, visit.preferences.person.address, Wish(), at=visit.at)
    return "A mail with a fresh link is on its way to you. It works once, for 30 minutes."


_ACTIONS: dict[str, Callable[[_Visit], str]] = {
    "save": _save,
    "pause": _pause,
    "resume": _resume,
    "leave": _leave,
    "undo": _undo,
    "delete": _delete,
    "fresh": _ask_fresh,
}


def _show(
    request: Request,
    said: str = "",
    error: UsageError | None = None,
    *,
    form: Form | None = None,
    action: str = "",
    up: str = "",
) -> Response:
    """Answer with the page as things are now: what was done, or what is wrong with a form and what was typed.

    `up` leads from the request's address to the folder of the page's own.
    """
    shell, token = shell_of(request), request.path_params["token"]
    now, config = shell.site.clock.now(), shell.site.config
    with shell.site.store.read() as conn:
        found = _find(conn, request)
    own, wish, when = found.own, found.wish, read_cadence_fields(Cadence.parse(found.wish.cadence))
    if error and form and action == "save":
        wish, when = _read_wish(wish, form), _read_when(form)
    elif action in _GOES_ON and own is not None:
        said = f"{said} {_say_next(own, now, 'Your')}".strip()
    context = PreferencesContext(
        address=mask(found.person.destination),
        memberships=tuple(_view_memberships(found, now)),
        wish=wish if own else None,
        days=DAYS,
        when=when,
        is_paused=own is not None and own.state == SubscriptionState.PAUSED,
        tomorrow=(now + timedelta(days=1)).date().isoformat(),
        until=form.get("until") if error and form else "",
        may_add=config.web.signup.admits(found.person.address),
        said=said,
        mistakes={_find_field(found, action, form): f"{error.message}. {error.hint}"} if error and form else {},
        action=f"{up}{token}",
        token=make_form_token(shell, f"/p/{token}"),
        home=config.web.base_url,
    )
    return HTMLResponse(shell.site.renderer.render_web("preferences.html", context), _MISTAKEN if error else 200)


def _find_field(found: Preferences, action: str, form: Form) -> str:
    """Return at which field a mistake is shown; "" for above all of them."""
    fields = {"save": "when" if form.get_all("kind") else "kinds", "pause": "until"}
    return fields.get(action, "") if found.own else ""


def _view_memberships(found: Preferences, now: datetime) -> Iterator[MembershipView]:
    undo_all = ""
    for one in found.memberships:
        is_own, undo_until = is_personal(one.origin), ""
        if one.left_at is None:
            says = _say_comes(found.dues[one.id], now)
        else:
            undo_until = write_day((one.left_at + UNDO).date()) if found.can_undo(one, now) else ""
            says = f"You unsubscribed on {write_day(one.left_at.date())}."
        if found.has_left_everything:
            undo_all, undo_until = undo_all or undo_until, ""
        yield MembershipView(one.name, one.title, says, is_own, one.left_at is not None, undo_until)
    if found.has_left_everything:
        yield MembershipView(
            _ALL, "Everything", "You want no mail from here.", is_own=True, has_left=True, undo_until=undo_all
        )


def _say_comes(due: DueSubscription, now: datetime) -> str:
    """Say in one or two sentences when a subscription's digests come."""
    says, cadence = _say_next(due, now, "The"), due.subscription.cadence
    if due.state == SubscriptionState.PAUSED or not due.revisions:
        return says
    at_once = cadence.kind is CadenceKind.AT_ONCE
    usual = "as soon as a paper is found" if at_once else "as soon as arXiv’s announcement is complete"
    return f"It comes {cadence if cadence.kind is CadenceKind.CLOCK else usual}. {says}".strip()


def _say_next(due: DueSubscription, now: datetime, whose: str) -> str:
    """Say when the next digest comes, or why none does; "" where nobody can know."""
    if due.state == SubscriptionState.PAUSED:
        until = due.paused_until
        day = _write_date(until.astimezone(ZoneInfo(_zone_of(due)))) if until else "further notice"
        return f"Paused until {day}."
    if not due.revisions:
        return "Nothing comes: no saved query is on."
    if due.next_due_at is None:
        return ""
    if due.next_due_at <= now:
        return f"{whose} next digest is due now."
    local = due.next_due_at.astimezone(ZoneInfo(_zone_of(due)))
    zone = "" if due.subscription.cadence.kind is CadenceKind.CLOCK else f" {name_zone(local)}"
    return f"{whose} next digest comes {_write_date(local)} at {local:%H:%M}{zone}."


def _write_date(local: datetime) -> str:
    """Write a day near now, without its year: `Friday 27 November`."""
    return write_long_day(local.date()).rpartition(" ")[0]


def _zone_of(due: DueSubscription) -> str:
    return choose_zone(due.subscription.cadence, due.subscription.quiet_hours)


def show_query(request: Request) -> Response:
    """Show one of their saved queries, or the box for a new one, with what it would bring."""
    return _show_query(request, request.query_params.get("name", ""), request.query_params.get("q"))


def save_query(request: Request) -> Response:
    """Save one of their queries, or a new one, and show what comes now."""
    form = read_form(request)
    require_own_form(request, form)
    said, error = _change(request, form, _save_query)
    if error:
        return _show_query(request, form.get("name"), form.get("q"), error)
    return _show(request, said, action="save", up="../")


def _save_query(visit: _Visit) -> str:
    config = visit.shell.site.config
    name, text = visit.form.get("name"), visit.form.get("q").strip()
    if not text:
        raise UsageError("nothing is typed", hint="Type what you follow.")
    people.save_query(visit.conn, config, visit.preferences, name, text, at=visit.at)
    return "Saved."


def _show_query(request: Request, name: str, typed: str | None, error: UsageError | None = None) -> Response:
    shell = shell_of(request)
    with shell.site.store.read() as conn:
        found = _find(conn, request)
    queries = {query.name: query.text for query in found.wish.queries}
    if name and name not in queries:
        raise UnknownName("you have no such saved query any more", hint="Go back to your subscriptions.")
    was = queries.get(name, "")
    pointer = [error.pointer()] if isinstance(error, QueryError) and error.text else []
    context = QueryContext(
        action="query",
        back=f"../{request.path_params['token']}",
        token=make_form_token(shell, request.scope["path"]),
        home=shell.site.config.web.base_url,
        name=name,
        text=was if typed is None else typed,
        was=was,
        mistake="\n".join([f"{error.message}.", *pointer, error.hint]).strip() if error else "",
    )
    return HTMLResponse(shell.site.renderer.render_web("query.html", context), _MISTAKEN if error else 200)


ROUTES = [
    Route("/p/{token}", show_preferences, methods=["GET"]),
    Route("/p/{token}", change_preferences, methods=["POST"]),
    Route("/p/{token}/query", show_query, methods=["GET"]),
    Route("/p/{token}/query", save_query, methods=["POST"]),
]
