"""What a forwarded mail must not give away: all that is stored of a person, their address, their feed's address.

A link that they asked for opens it, once. The page carries a key, which each of its forms sends
back: until when it holds, and a MAC that binds this to the person and their address. So nothing of
it is kept, and it is worth nothing once they move or are erased.
"""

from __future__ import annotations

import hmac
import json
import re

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from digest.model import secrets
from digest.model.destinations import normalise_address
from digest.model.errors import Forbidden, UsageError
from digest.model.people import FRESH, RequestKind, SignupRequest
from digest.people.preferences import (
    Preferences,
    erase_person,
    export_records,
    load_preferences,
    require_own,
)
from digest.people.signups import delete_signup, load_signup
from digest.people.tables import Person, load_person
from digest.plan.links import make_links
from digest.render.contexts import PrivateContext
from digest.store.subscriptions import bump_feed_generation
from digest.web.endpoints import Shell, shell_of
from digest.web.forms import Form, make_form_token, read_own_form
from digest.web.preferences import NOTHING, Visit, change, lead_home, refuse_link


def open_private(request: Request) -> Response:
    """Show a button, for programs that follow links in mails use nothing up; pressed, show what the link opens."""
    shell, token = shell_of(request), request.path_params["token"]
    site, now, is_pressed = shell.site, shell.site.clock.now(), request.method == "POST"
    if is_pressed:
        read_own_form(request)
    with site.store.begin() if is_pressed else site.store.read() as conn:
        signup = load_signup(conn, secrets.token_hash(token), RequestKind.FRESH, now)
        person = load_person(conn, signup.address) if signup else None
        if signup is None or person is None:
            raise refuse_link(request)
        if is_pressed:
            delete_signup(conn, signup.id)
    if is_pressed:
        return _show(request, _make_key(shell, person, str(int((now + FRESH).timestamp()))))
    context = PrivateContext(
        action=token, token=make_form_token(shell, f"/k/{token}"), home=lead_home(request)
    )
    return shell.pages.show("private.html", context)


def _make_key(shell: Shell, person: Person, expiry: str) -> str:
    mac = secrets.derive_token(shell.secret(), "private", str(person.id), person.address, expiry)
    return f"{expiry}.{mac}.{person.address}"


def _read_key(shell: Shell, conn: Connection, key: str) -> Preferences:
    match = re.fullmatch(r"(\d{1,12})\.[\w-]+\.(.+)", key, re.ASCII)
    found = load_preferences(conn, match[2]) if match else None
    if match and found and int(match[1]) > shell.site.clock.now().timestamp():
        known = _make_key(shell, found.person, match[1])
        if hmac.compare_digest(key.encode("utf-8", "surrogatepass"), known.encode()):
            return found
    raise Forbidden(
        "this page is closed", hint="The page of your subscriptions mails the link to your account."
    )


def change_private(request: Request) -> Response:
    """Do what a button of the page says: export, erase, move, or make a new address of the feed."""
    shell = shell_of(request)
    form, said, error = change(
        request, lambda conn, _, form: _read_key(shell, conn, form.get("key")), _ACTIONS
    )
    action = "" if error else form.get("action")
    if action == "export":
        return Response(
            said,
            headers={"Content-Disposition": 'attachment; filename="digest.json"'},
            media_type="application/json",
        )
    if action == "erase":
        return shell.pages.show("private.html", PrivateContext(home=lead_home(request), said=said))
    return _show(request, form.get("key"), said, error, form)


def _export(visit: Visit) -> str:
    return json.dumps(
        export_records(visit.conn, visit.found.person.address),
        default=str,
        ensure_ascii=False,
        indent=1,
    )


def _erase(visit: Visit) -> str:
    if visit.form.get("sure") != "yes":
        raise UsageError("nothing was erased", hint="Tick the box to say that you are sure.")
    if erase_person(visit.conn, visit.config, visit.found.person.address, at=visit.at):
        return "The operator’s file still names your address. So one thing stays stored: that you want no mail."
    return "Nothing about you is stored any more."


def _move(visit: Visit) -> str:
    address = normalise_address(visit.form.get("address"))
    admission = visit.config.web.signup
    if not (admission.is_off or admission.admits(address)):
        raise UsageError(
            "this service takes no such address", hint="Give another one, or ask the operator."
        )
    return visit.request(
        RequestKind.MOVE,
        address,
        SignupRequest(old_address=visit.found.person.address),
        f"A mail is on its way to {address}. Press its button within 48 hours. Until then nothing changes.",
    )


def _renew_feed(visit: Visit) -> str:
    bump_feed_generation(visit.conn, require_own(visit.found).id)
    return "Your feed has a new address. The old one stops working within a minute."


_ACTIONS = {"export": _export, "erase": _erase, "move": _move, "feed": _renew_feed}


def _show(
    request: Request,
    key: str,
    said: str = "",
    error: UsageError | None = None,
    form: Form = NOTHING,
) -> Response:
    shell, feed = shell_of(request), ""
    config = shell.site.config
    with shell.site.store.read() as conn:
        found, maker = _read_key(shell, conn, key), make_links(conn, config)
    if found.own is not None and found.choices.has_feed:
        token = maker.feed_token(found.own.subscription.name, found.own.feed_generation)
        feed = maker.write_feed_url(token, "atom")
    context = PrivateContext(
        action=f"{lead_home(request)}private",
        token=make_form_token(shell, "/private"),
        home=lead_home(request),
        key=key,
        address=found.person.address,
        feed=feed,
        said=said,
        mistakes={form.get("action"): f"{error.message}. {error.hint}"} if error else {},
        typed=form.get("address"),
    )
    return shell.pages.show("private.html", context, 400 if error else 200)


ROUTES = [
    Route("/k/{token}", open_private, methods=["GET", "POST"]),
    Route("/private", change_private, methods=["POST"]),
]
