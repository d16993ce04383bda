"""What a forwarded mail must not give away: all that is stored of a person, their address, their feed's address.

A link that they asked for opens it, once. The page carries a key, which each of its forms sends back: until when
it holds, and a MAC that binds this to the person and their address. So nothing of it is kept, and it is worth
nothing once they move or are erased.
"""

from __future__ import annotations

import hmac
import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from digest.deliver import people
from digest.model import secrets
from digest.model.errors import Forbidden, UsageError
from digest.model.people import FRESH, Ask, Wish
from digest.model.subscriptions import normalise_address
from digest.plan.links import make_links
from digest.render.contexts import PrivateContext
from digest.store import people as people_store
from digest.store import signups as signup_store
from digest.store import subscriptions as subscription_store
from digest.web.endpoints import shell_of
from digest.web.forms import make_form_token, read_form, require_own_form

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection
    from starlette.requests import Request

    from digest.deliver.people import Preferences
    from digest.store.people import Person
    from digest.web.endpoints import Shell
    from digest.web.forms import Form


def ask_to_open(request: Request) -> Response:
    """Show a button. Programs that follow links in mails use nothing up."""
    shell, token = shell_of(request), request.path_params["token"]
    with shell.site.store.read() as conn:
        _load_signup(conn, shell, token)
    return _render(
        shell, PrivateContext(token, make_form_token(shell, f"/k/{token}"), shell.site.config.web.base_url)
    )


def open_private(request: Request) -> Response:
    """Use the link up, and show the page that it opens."""
    shell, token = shell_of(request), request.path_params["token"]
    require_own_form(request, read_form(request))
    with shell.site.store.begin() as conn:
        signup = _load_signup(conn, shell, token)
        signup_store.delete_signup(conn, signup.id)
        person = people_store.load_person(conn, signup.address)
        if person is None:
            raise HTTPException(404)
        expiry = str(int((shell.site.clock.now() + FRESH).timestamp()))
        return _show(conn, shell, _make_key(shell, person, expiry), "../")


def _load_signup(conn: Connection, shell: Shell, token: str) -> signup_store.StoredSignup:
    now = shell.site.clock.now()
    signup = signup_store.load_signup(conn, secrets.token_hash(token), Ask.FRESH, now)
    if signup is None:
        raise HTTPException(404)
    return signup


def _make_key(shell: Shell, person: Person, expiry: str) -> str:
    mac = secrets.derive_token(shell.secret(), "private", str(person.id), person.address, expiry)
    return f"{expiry}.{mac}.{person.address}"


def _read_key(conn: Connection, shell: Shell, key: str) -> Preferences:
    """Return whose key this is.

    Raises:
        Forbidden: it is nobody's, or its time is over.
    """
    expiry, _, address = key.partition(".")[0], *key.partition(".")[2].partition(".")[1:]
    found = people.load_preferences(conn, address)
    if found is not None and re.fullmatch(r"\d{1,12}", expiry, re.ASCII):
        known = _make_key(shell, found.person, expiry).encode()
        is_right = hmac.compare_digest(key.encode("utf-8", "surrogatepass"), known)
        if is_right and int(expiry) > shell.site.clock.now().timestamp():
            return found
    raise Forbidden("this page is closed", hint="Ask for a fresh link: the page of your subscriptions sends one.")


def change_private(request: Request) -> Response:
    """Do what a button of the page says: export, erase, move, or make a new address of the feed."""
    shell, form = shell_of(request), read_form(request)
    require_own_form(request, form)
    action, key = form.get("action"), form.get("key")
    if action not in _ACTIONS:
        raise UsageError("this page has no such button", hint="Press one of its buttons.")
    with shell.site.store.begin() as conn:
        found = _read_key(conn, shell, key)
        try:
            done = _ACTIONS[action](conn, shell, found, form)
        except UsageError as error:
            mistakes = {action: f"{error.message}. {error.hint}"}
            return _show(conn, shell, key, mistakes=mistakes, typed=form.get("address"))
        return done if isinstance(done, Response) else _show(conn, shell, key, said=done)


def _export(conn: Connection, _shell: Shell, found: Preferences, _form: Form) -> Response:
    body = json.dumps(people.export(conn, found.person.address), default=str, ensure_ascii=False, indent=1)
    headers = {"Content-Disposition": 'attachment; filename="digest.json"'}
    return Response(body, headers=headers, media_type="application/json")


def _erase(conn: Connection, shell: Shell, found: Preferences, form: Form) -> Response:
    if form.get("sure") != "yes":
        raise UsageError("nothing was erased", hint="Tick the box to say that you are sure.")
    config = shell.site.config
    is_named = people.erase(conn, config, found.person.address, at=shell.site.clock.now())
    said = "Nothing about you is stored any more."
    if is_named:
        said = "The operator’s file still names your address. So one thing stays stored: that you want no mail."
    return _render(shell, PrivateContext("", "", config.web.base_url, said=said, is_over=True))


def _move(conn: Connection, shell: Shell, found: Preferences, form: Form) -> str:
    address = normalise_address(form.get("address"))
    if not shell.site.config.web.signup.admits(address):
        raise UsageError("this service takes no such address", hint="Give another one, or ask the operator.")
    wish = Wish(old_address=found.person.address)
    signup_store.save_signup(conn, Ask.MOVE, address, wish, at=shell.site.clock.now())
    return f"A mail is on its way to {address}. Press its button within 48 hours. Until then nothing changes."


def _renew_feed(conn: Connection, _shell: Shell, found: Preferences, _form: Form) -> str:
    subscription_store.bump_feed_generation(conn, people.require_own(found).id)
    return "Your feed has a new address. The old one stops working within a minute."


_ACTIONS: dict[str, Callable[[Connection, Shell, Preferences, Form], str | Response]] = {
    "export": _export,
    "erase": _erase,
    "move": _move,
    "feed": _renew_feed,
}


def _show(
    conn: Connection,
    shell: Shell,
    key: str,
    up: str = "",
    said: str = "",
    *,
    mistakes: Mapping[str, str] | None = None,
    typed: str = "",
) -> Response:
    """Answer with the page that a key opens; `up` leads from the request's address to the first page's folder."""
    found, config = _read_key(conn, shell, key), shell.site.config
    maker, feed = make_links(conn, config), ""
    if found.own is not None and found.wish.has_feed:
        token = maker.feed_token(found.own.subscription.name, found.own.feed_generation)
        feed = maker.write_feed_url(token, "atom")
    context = PrivateContext(
        action=f"{up}private",
        token=make_form_token(shell, "/private"),
        home=config.web.base_url,
        key=key,
        until=f"{datetime.fromtimestamp(int(key.partition('.')[0]), UTC):%H:%M} UTC",
        address=found.person.address,
        may_move=not config.web.signup.is_off,
        feed=feed,
        said=said,
        mistakes=mistakes or {},
        typed=typed,
    )
    return _render(shell, context)


def _render(shell: Shell, context: PrivateContext) -> Response:
    body = shell.site.renderer.render_web("private.html", context)
    return HTMLResponse(body, 400 if context.mistakes else 200)


ROUTES = [
    Route("/k/{token}", ask_to_open, methods=["GET"]),
    Route("/k/{token}", open_private, methods=["POST"]),
    Route("/private", change_private, methods=["POST"]),
]
