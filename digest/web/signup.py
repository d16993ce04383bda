"""The first page: tries a query, takes an address, and does what the buttons of mailed links say.

Known and unknown addresses are answered alike: both have one row stored, and mails are made
elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import ceil
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from digest.model import secrets
from digest.model.cadences import choose_zone
from digest.model.clock import monotonic, write_with_zone
from digest.model.destinations import normalise_address
from digest.model.errors import QueryError, UnknownName, UsageError
from digest.model.people import DAYS, KINDS, RequestKind, SignupRequest, write_cadence
from digest.model.subscriptions import DueSubscription, SubscriptionState
from digest.people.letters import accept_request
from digest.people.preferences import (
    TITLE,
    confirm_signup,
    list_offered,
    load_preferences,
    make_signup_request,
    refuse_letters,
)
from digest.people.signups import StoredSignup, load_signup
from digest.plan.links import LinkMaker, remember_preferences
from digest.poll.coverage import load_coverage
from digest.render.contexts import StartContext, TrialContext
from digest.render.digests import describe_coverage
from digest.render.pages import ComingView, ConfirmContext, LinkContext, SubscribeContext
from digest.store import subscriptions
from digest.web.archive import list_public_archives
from digest.web.connections import as_search
from digest.web.endpoints import answer_cached, mask
from digest.web.forms import Form, make_form_token, read_button, read_own_form
from digest.web.guards import name_network
from digest.web.shell import Shell, shell_of

_KEPT = 5.0
"""Seconds after which a page that is kept is made anew."""

_FIELDS = ("address", "q", "days", "hour", "zone", "kinds", "feed", "joins")


def show_start(request: Request) -> Response:
    """Show the page to begin, and what the query in its box brings.

    While the papers of the last days are read, the page without a query comes from memory.
    """
    shell = shell_of(request)
    text = request.query_params.get("q", "")
    if text or not shell.trials.is_reading:
        return HTMLResponse(_render_start(shell, text))
    period = int(monotonic() // _KEPT)
    made_in, page = shell.kept.get("/", (-1, b""))
    if made_in != period:
        page = _render_start(shell, text)
        shell.kept["/"] = (period, page)
    return HTMLResponse(page)


def _render_start(shell: Shell, text: str) -> bytes:
    site = shell.site
    config = site.config
    with site.store.read() as conn:
        coverage = load_coverage(conn, config.arxiv.source, site.clock.now())
        archives = list_public_archives(conn, site)
    if coverage.checked_at is None:
        # Without a check the page must not say that papers of this announcement may be missing.
        coverage = replace(coverage, announcement=None)
    context = StartContext(
        trial=shell.trials.try_text(text),
        form=None if config.web.signup.is_off else _fill_form(shell, {"q": (text,)}),
        archives=archives,
        coverage=describe_coverage(coverage),
        contact=config.arxiv.mail_contact,
    )
    return site.renderer.render_web("start.html", context).encode()


def show_trial(request: Request) -> Response:
    """Show the trial of a query alone, to be put into a page.

    With `was` it also shows what the query changes against that.
    """
    shell = shell_of(request)
    asked = request.query_params
    text = asked.get("q", "")
    trial = shell.trials.try_text(text)
    if "was" in asked:
        trial = replace(trial, difference=shell.trials.compare(asked["was"], text))
    return shell.pages.show("trial.html", TrialContext(trial))


def serve_file(request: Request) -> Response:
    """Answer with a page's script or icon, which is named like its template.

    Browsers look for favicon.ico.
    """
    name = request.scope["path"].replace(".ico", ".svg")
    source = shell_of(request).site.renderer.templates.read_source(f"web{name}")
    kind = "text/javascript" if name.endswith(".js") else "image/svg+xml"
    return answer_cached(request, source.encode(), kind)


def subscribe(request: Request) -> Response:
    """Take a request for a subscription.

    If it can't be taken, show the form again with what is wrong.
    """
    shell = shell_of(request)
    config = shell.site.config
    admission = config.web.signup
    if admission.is_off:
        return shell.pages.fail(404)
    if request.method != "POST":  # a reload of the page that the form opened
        return shell.pages.show("subscribe.html", _fill_form(shell, {}))
    form = read_own_form(request)
    try:
        address = normalise_address(form.get("address"))
        cadence = write_cadence(form.get("days"), form.get("hour"), form.get("zone").strip())
        choices = make_signup_request(
            config,
            form.get("q"),
            cadence,
            kinds=form.get_all("kinds"),
            joins=form.get_all("joins"),
            has_feed=bool(form.get("feed")),
        )
    except UsageError as error:
        return _show_form(shell, form, error)
    if not admission.takes_request_for(address):
        domains = " or ".join(sorted(admission.domains))
        refusal = UsageError(f"only addresses of {domains} may subscribe here")
        return _show_form(shell, form, refusal)
    return _take_request(request, RequestKind.SUBSCRIBE, address, choices)


def _show_form(shell: Shell, form: Form, error: UsageError) -> Response:
    given = {name: form.get_all(name) for name in _FIELDS}
    return shell.pages.show("subscribe.html", _fill_form(shell, given, error), 400)


def _fill_form(
    shell: Shell, given: Mapping[str, Sequence[str]], error: UsageError | None = None
) -> SubscribeContext:
    """Return the form to subscribe with what is in its fields, and the error in them, if any."""
    config = shell.site.config
    usual = {
        "days": ("weekdays",),
        "hour": ("9",),
        "zone": (str(config.zone or "UTC"),),
        "kinds": SignupRequest().kinds,
    }
    return SubscribeContext(
        problem=f"{error.message}. {error.hint}" if error else "",
        pointer=error.pointer() if isinstance(error, QueryError) else "",
        token=make_form_token(shell, "/subscribe"),
        given={name: given.get(name, usual.get(name, ())) for name in _FIELDS},
        days=DAYS,
        kinds=KINDS,
        joins={one.name: one.title for one in list_offered(config)},
        home=config.web.base_url,
    )


def _take_request(
    request: Request, kind: RequestKind, address: str, choices: SignupRequest
) -> Response:
    shell = shell_of(request)
    config = shell.site.config
    now = shell.site.clock.now()
    if not config.mail.from_address:
        return shell.pages.fail(404)
    network = name_network(request, config)
    maker = LinkMaker(config, shell.load_secret())
    with shell.site.store.begin() as conn:
        allowed_at = accept_request(conn, maker, kind, address, choices, network=network, at=now)
    if allowed_at is not None:
        seconds = ceil((allowed_at - now).total_seconds())
        return shell.pages.fail(
            429,
            "Too many people asked for a mail in the last hour.",
            f"Try again after {write_with_zone(allowed_at, config.zone, now)}.",
            {"Retry-After": str(seconds)},
        )
    is_link = kind is RequestKind.LINK
    has_list = bool(config.web.signup.addresses)
    is_selective = kind is RequestKind.SUBSCRIBE and has_list
    return show_link(shell, "sent.html", address, is_link=is_link, is_selective=is_selective)


def link(request: Request) -> Response:
    """Show the form that asks for the link to one's subscriptions; take it."""
    shell = shell_of(request)
    if request.method != "POST":
        return show_link(shell, "link.html", "")
    given = read_own_form(request).get("address")
    try:
        address = normalise_address(given)
    except UsageError as error:
        problem = f"{error.message}. {error.hint}"
        return show_link(shell, "link.html", given, problem=problem, status=400)
    return _take_request(request, RequestKind.LINK, address, SignupRequest())


def show_link(
    shell: Shell,
    page: str,
    address: str,
    *,
    status: int = 200,
    **more: Any,  # noqa: ANN401 - the context's own
) -> Response:
    """Answer with `link.html`, the form that asks for a link, or with what comes after a form.

    That is `sent.html`: a mail is on its way, or old links no longer work.
    """
    config = shell.site.config
    home = config.web.base_url
    if not (home and config.mail.from_address):
        return shell.pages.fail(404)  # no mail could link to a page
    sender = f"{config.mail.from_name} <{config.mail.from_address}>"
    token = make_form_token(shell, "/link")
    context = LinkContext(address, sender, home=home, token=token, **more)
    return shell.pages.show(page, context, status)


def show_request(request: Request) -> Response:
    """Show what would be done, and two buttons.

    Programs that follow links in mails change nothing here.
    """
    shell = shell_of(request)
    with shell.site.store.read() as conn:
        signup = _load(conn, request, shell.site.clock.now())
        before = load_preferences(conn, signup.address)
    choices = signup.choices
    coming = []
    if choices.queries:
        has_own = before is not None and before.has_active_own
        coming.append(ComingView(TITLE, "" if has_own else choices.cadence, ""))
    joined = [one for one in list_offered(shell.site.config) if one.name in choices.joins]
    coming += [ComingView(one.title, str(one.cadence), "") for one in joined]
    return _show(request, "confirm.html", signup, coming)


def answer_request(request: Request) -> Response:
    """Do what a button says: what was asked for, or that it never happens again."""
    shell = shell_of(request)
    config = shell.site.config
    now = shell.site.clock.now()
    answer = read_button(read_own_form(request), "answer", ("yes", "not-me"))
    with shell.site.store.begin() as conn:
        signup = _load(conn, request, now)
        if answer == "not-me":
            refuse_letters(conn, signup, at=now)
            return _show(request, "refused.html", signup, [])
        maker = LinkMaker(config, shell.load_secret())
        found = confirm_signup(conn, config, maker, signup, at=now)
        preferences_token = remember_preferences(conn, maker, signup.destination, at=now)
        names = [one.name for one in found.memberships if one.unsubscribed_at is None]
        coming = [_describe(due, now) for due in subscriptions.load(conn, names=names)]
    return _show(request, "confirmed.html", signup, coming, preferences_token)


def _load(conn: Connection, request: Request, now: datetime) -> StoredSignup:
    found = load_signup(conn, secrets.token_hash(request.path_params["token"]), None, now)
    if found is None or found.kind not in (RequestKind.SUBSCRIBE, RequestKind.MOVE):
        raise UnknownName(
            "this link no longer works",
            hint="It works once, for 48 hours. If you used it, it worked. To ask again, open the"
            " first page.",
        )
    return found


def _describe(due: DueSubscription, now: datetime) -> ComingView:
    subscription = due.subscription
    when = str(subscription.cadence)
    next_digest = ""
    if due.state == SubscriptionState.PAUSED:
        when += ", but paused now"
    elif due.next_due_at:
        zone = ZoneInfo(choose_zone(subscription.cadence, subscription.quiet_hours))
        next_digest = write_with_zone(due.next_due_at, zone, now)
    return ComingView(subscription.title, when, next_digest)


def _show(
    request: Request,
    page: str,
    signup: StoredSignup,
    coming: Sequence[ComingView],
    preferences_token: str = "",
) -> Response:
    shell = shell_of(request)
    config = shell.site.config
    home = config.web.base_url
    context = ConfirmContext(
        address=mask(signup.destination),
        coming=tuple(coming),
        token=make_form_token(shell, request.scope["path"]),
        contact=config.arxiv.mail_contact,
        home=home,
        preferences=f"{home.rstrip('/')}/p/{preferences_token}",
        queries=len(signup.choices.queries),
        is_move=signup.kind is RequestKind.MOVE,
    )
    return shell.pages.show(page, context)


ROUTES = [
    Route("/", as_search(show_start, "q")),
    Route("/live", as_search(show_trial)),
    *(
        Route(path, serve_file)
        for path in ("/live.js", "/digest.js", "/favicon.svg", "/favicon.ico")
    ),
    Route("/subscribe", subscribe, methods=["GET", "POST"]),
    Route("/link", link, methods=["GET", "POST"]),
    Route("/c/{token}", show_request, methods=["GET"]),
    Route("/c/{token}", answer_request, methods=["POST"]),
]
