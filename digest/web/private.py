"""What a forwarded mail must not give away.

That is all that is stored of a person, their address, and their feed's address.

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
from digest.model.people import FRESH_LINK_LIFETIME, RequestKind, SignupRequest
from digest.people.preferences import (
    Preferences,
    erase_person,
    export_records,
    load_preferences,
    require_own,
)
from digest.people.signups import StoredSignup, delete_signup, load_signup
from digest.people.tables import Person, load_person
from digest.plan.links import make_links
from digest.render.pages import PrivateContext
from digest.store import subscriptions
from digest.web.forms import make_form_token, read_own_form
from digest.web.preferences import NOTHING_DONE, Change, Visit, change, lead_home, refuse_link
from digest.web.shell import Shell, shell_of


def open_private(request: Request) -> Response:
    """Show a button, for programs that follow links in mails use nothing up.

    Pressed, it shows what the link opens.
    """
    shell = shell_of(request)
    token = request.path_params["token"]
    if request.method == "POST":
        return _open(request, token)
    with shell.site.store.read() as conn:
        _load_link(request, conn, token)
    form_token = make_form_token(shell, f"/k/{token}")
    context = PrivateContext(action=token, token=form_token, home=lead_home(request))
    return shell.pages.show("private.html", context)


def _open(request: Request, token: str) -> Response:
    """Use the link up, and show what it opens."""
    shell = shell_of(request)
    read_own_form(request)
    with shell.site.store.begin() as conn:
        signup, person = _load_link(request, conn, token)
        delete_signup(conn, signup.id)
    expiry = shell.site.clock.now() + FRESH_LINK_LIFETIME
    return _show(request, _make_key(shell, person, str(int(expiry.timestamp()))))


def _load_link(request: Request, conn: Connection, token: str) -> tuple[StoredSignup, Person]:
    now = shell_of(request).site.clock.now()
    signup = load_signup(conn, secrets.token_hash(token), RequestKind.FRESH, now)
    person = load_person(conn, signup.address) if signup else None
    if signup is None or person is None:
        raise refuse_link(request)
    return signup, person


def _make_key(shell: Shell, person: Person, expiry: str) -> str:
    mac = secrets.derive_token(
        shell.load_secret(), "private", str(person.id), person.address, expiry
    )
    return f"{expiry}.{mac}.{person.address}"


def _read_key(shell: Shell, conn: Connection, key: str) -> Preferences:
    match = re.fullmatch(r"(\d{1,12})\.[\w-]+\.(.+)", key, re.ASCII)
    found = load_preferences(conn, match[2]) if match else None
    if match and found:
        is_open = int(match[1]) > shell.site.clock.now().timestamp()
        known = _make_key(shell, found.person, match[1])
        is_known = hmac.compare_digest(key.encode("utf-8", "surrogatepass"), known.encode())
        if is_open and is_known:
            return found
    raise Forbidden(
        "this page is closed", hint="The page of your subscriptions mails the link to your account."
    )


def change_private(request: Request) -> Response:
    """Do what a button of the page says: export, erase, move, or make a new address of the feed."""
    shell = shell_of(request)
    done = change(request, lambda conn, _, form: _read_key(shell, conn, form.get("key")), _ACTIONS)
    action = "" if done.error else done.form.get("action")
    if action == "export":
        headers = {"Content-Disposition": 'attachment; filename="digest.json"'}
        return Response(done.said, headers=headers, media_type="application/json")
    if action == "erase":
        context = PrivateContext(home=lead_home(request), said=done.said)
        return shell.pages.show("private.html", context)
    return _show(request, done.form.get("key"), done)


def _export(visit: Visit) -> str:
    records = export_records(visit.conn, visit.found.person.address)
    return json.dumps(records, default=str, ensure_ascii=False, indent=1)


def _erase(visit: Visit) -> str:
    if visit.form.get("sure") != "yes":
        raise UsageError("nothing was erased", hint="Tick the box to say that you are sure.")
    if erase_person(visit.conn, visit.config, visit.found.person.address, at=visit.at):
        return (
            "The operator’s file still names your address. So one thing stays stored: that you want"
            " no mail."
        )
    return "Nothing about you is stored any more."


def _move(visit: Visit) -> str:
    address = normalise_address(visit.form.get("address"))
    admission = visit.config.web.signup
    if not (admission.is_off or admission.admits(address)):
        raise UsageError(
            "this service takes no such address", hint="Give another one, or ask the operator."
        )
    wanted = SignupRequest(old_address=visit.found.person.address)
    said = (
        f"A mail is on its way to {address}. Press its button within 48 hours. Until then nothing"
        " changes."
    )
    return visit.request(RequestKind.MOVE, address, wanted, said)


def _renew_feed(visit: Visit) -> str:
    subscriptions.bump_feed_generation(visit.conn, require_own(visit.found).id)
    return "Your feed has a new address. The old one stops working within a minute."


_ACTIONS = {"export": _export, "erase": _erase, "move": _move, "feed": _renew_feed}


def _show(request: Request, key: str, done: Change = NOTHING_DONE) -> Response:
    shell = shell_of(request)
    config = shell.site.config
    with shell.site.store.read() as conn:
        found = _read_key(shell, conn, key)
        maker = make_links(conn, config)
    feed = ""
    if found.own is not None and found.choices.has_feed:
        token = maker.feed_token(found.own.subscription.name, found.own.feed_generation)
        feed = maker.write_feed_url(token, "atom")
    mistakes = {}
    if done.error:
        mistakes[done.form.get("action")] = f"{done.error.message}. {done.error.hint}"
    context = PrivateContext(
        action=f"{lead_home(request)}private",
        token=make_form_token(shell, "/private"),
        home=lead_home(request),
        key=key,
        address=found.person.address,
        feed=feed,
        said=done.said,
        mistakes=mistakes,
        typed=done.form.get("address"),
    )
    return shell.pages.show("private.html", context, 400 if done.error else 200)


ROUTES = [
    Route("/k/{token}", open_private, methods=["GET", "POST"]),
    Route("/private", change_private, methods=["POST"]),
]
