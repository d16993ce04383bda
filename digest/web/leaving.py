"""`/u/<token>`: a page that asks, and the POST that leaves (RFC 8058).

The address itself is the secret and does one thing, so the body of a POST is not looked at: every
encoding a mail program chooses works, and one that forgets its field still lets its owner leave. A POST
succeeds for every address, and names what was left to whoever has a link that the page names it to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.membership import find_way_out, leave_by_link
from digest.render.contexts import LeaveContext, LeftContext
from digest.subscriptions import DestinationKind
from digest.web.shell import find_contact, shell_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from digest.subscriptions import Destination
    from digest.web.shell import Shell


def ask_to_leave(request: Request) -> Response:
    """Show what would be left, and a button. Programs that follow links in mails change nothing here."""
    shell = shell_of(request)
    token = request.path_params["token"]
    with shell.site.store.read() as conn:
        way_out = find_way_out(conn, token)
    if way_out is None:
        return shell.pages.fail(404)
    if way_out.has_left:
        return _confirm(shell, way_out.title, is_earlier=True)
    # Relative, so that it is right behind a proxy that serves us below a path of its own.
    context = LeaveContext(way_out.title, _mask(way_out.destination), token, shell.site.config.web.base_url)
    return shell.pages.show("leave.html", context)


def leave(request: Request) -> Response:
    """Leave, once or again: nothing more is sent from this answer on."""
    shell = shell_of(request)
    with shell.site.store.begin() as conn:
        way_out = leave_by_link(conn, request.path_params["token"], at=shell.site.clock.now())
    return _confirm(shell, way_out.title if way_out else "")


def _confirm(shell: Shell, title: str, *, is_earlier: bool = False) -> Response:
    config = shell.site.config
    context = LeftContext(title, is_earlier, find_contact(config), config.web.base_url)
    return shell.pages.show("left.html", context)


def _mask(destination: Destination) -> str:
    """Tell the reader which of their addresses is meant, and a finder of the link as little as can be."""
    if destination.kind is not DestinationKind.MAIL:
        return destination.address
    name, _, host = destination.address.partition("@")
    return f"{name[:1]}…@{host}"
