"""Answers feeds, unsubscribing, references, health, and what no page answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from digest.model.clock import write_day
from digest.model.destinations import Destination
from digest.model.errors import DigestError, StoreError, UsageError
from digest.model.messages import DeliveryState
from digest.model.papers import ArxivId, Paper
from digest.people.stored import STORED
from digest.people.unsubscription import (
    ONE_CLICK,
    PAGE,
    Unsubscription,
    find_unsubscription,
    resubscribe_by_link,
    unsubscribe_by_link,
)
from digest.plan.links import make_refs_url
from digest.render import references
from digest.render.contexts import StoredContext
from digest.render.pages import UnsubscribeContext
from digest.serve.telemetry import Metrics, Pulse
from digest.store import alarms, outbox, papers, runs
from digest.store.alarms import STUCK
from digest.web.feeds import CACHE_CONTROL, is_unmodified, make_etag, prefers_page, write_http_date
from digest.web.forms import is_one_click, make_form_token, read_button, read_own_form
from digest.web.shell import RETRY_AFTER, shell_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from digest.site import Site


_log = logging.getLogger("digest.web")

UNAVAILABLE = 503

_WAITING = (
    DeliveryState.READY,
    DeliveryState.CLAIMED,
    DeliveryState.SENDING,
    DeliveryState.UNKNOWN,
    DeliveryState.HELD,
    DeliveryState.DEAD,
)


def answer_http_error(request: Request, error: Exception) -> Response:
    """Answer if no endpoint takes the request."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    return shell_of(request).pages.fail(error.status_code, headers=error.headers)


def answer_digest_error(request: Request, error: Exception) -> Response:
    """Answer an error of ours; only whoever asked wrongly is told the reason."""
    assert isinstance(error, DigestError)  # noqa: S101 - registered for nothing else
    pages = shell_of(request).pages
    if isinstance(error, StoreError):
        _log.error("the database did not answer a request: %s %s", error.message, error.hint)
        return pages.fail(503, headers={"Retry-After": RETRY_AFTER})
    if error.http_status >= 500:  # noqa: PLR2004 - HTTP's own boundary: our fault from here on
        _log.error("a request failed", exc_info=error)
        return pages.fail(500)
    return pages.fail(error.http_status, error.message, error.hint)


def answer_any_error(request: Request, _error: Exception) -> Response:
    """Answer if nothing else did; the server logs the error itself."""
    return shell_of(request).pages.fail(500)


async def serve_feed(request: Request) -> Response:
    """Answer with a feed or a page about it; with 304 if the reader has it, 410 if it is gone.

    A browser gets the page. The page's own links have a query, and with one a browser gets the
    feed, too.
    """
    shell = shell_of(request)
    token, _, suffix = request.path_params["name"].rpartition(".")
    accepted = ",".join(request.headers.getlist("accept"))
    is_page = not request.url.query and prefers_page(accepted)
    found = await shell.feeds.find(token, suffix, is_page=is_page)
    if isinstance(found, HTTPStatus):
        return shell.pages.fail(found)
    headers = {
        "ETag": found.etag,
        "Last-Modified": write_http_date(found.updated),
        "Cache-Control": CACHE_CONTROL,
        "Vary": "Accept, Accept-Encoding",
    }
    if is_unmodified(request.headers, found.etag, found.updated):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(found.body, headers=headers, media_type=found.media_type)
    headers["Content-Encoding"] = "gzip"
    return Response(found.packed, headers=headers, media_type=found.media_type)


async def show_liveness(_request: Request) -> Response:
    """Say that the process answers, however many threads are at work."""
    return JSONResponse({"alive": True})


def show_readiness(request: Request) -> Response:
    """Say whether digests are made and sent: 200 or 503.

    Why is for the operator: `digest status`.
    """
    shell = shell_of(request)
    is_ready = not find_failures(shell.site, shell.pulse or Pulse())
    return JSONResponse({"ready": is_ready}, 200 if is_ready else UNAVAILABLE)


def create_metrics_app(site: Site, pulse: Pulse, metrics: Metrics) -> ASGIApp:
    """Make what answers `/metrics` in Prometheus' text format, at an address of its own.

    It answers nothing else. Metrics are not at the public address: behind a proxy on this machine
    all requests seem to come from this machine, so strangers could not be told apart.
    """

    def show_metrics(_request: Request) -> Response:
        now = site.clock.now()
        try:
            with site.store.read() as conn:
                waiting = outbox.load_open(conn, now)
                checked_at = runs.load_cursor(conn, site.config.arxiv.source).last_complete_at
        except StoreError:
            return PlainTextResponse("The database does not answer.", UNAVAILABLE)
        waited = 0.0
        if waiting.oldest_due:
            waited = (now - waiting.oldest_due).total_seconds()
        counts = {str(state): waiting.counts.get(state, 0) for state in _WAITING}
        metrics.set_outbox(counts, waited)
        metrics.ready.set(not find_failures(site, pulse))
        if checked_at is not None:
            metrics.last_poll.set(checked_at.timestamp())
        return Response(metrics.render(), headers={"Content-Type": metrics.content_type})

    return Starlette(routes=[Route("/metrics", show_metrics)])


def find_failures(site: Site, pulse: Pulse) -> list[str]:
    """Return why the installation does not do its work, in sentences; [] if it does."""
    try:
        with site.store.read() as conn:
            current = alarms.load_stored(conn)
    except StoreError:
        return ["the database does not answer"]
    stuck = [str(alarm.detail) for alarm in current if alarm.name in STUCK]
    return [*pulse.failures, *stuck]


def ask_to_unsubscribe(request: Request) -> Response:
    """Show which subscription would be unsubscribed, and a button.

    Programs that follow links in mails change nothing here.
    """
    shell = shell_of(request)
    with shell.site.store.read() as conn:
        unsubscription = find_unsubscription(conn, request.path_params["token"])
    return _show_unsubscription(request, unsubscription, is_earlier=True)


def confirm_unsubscribe(request: Request) -> Response:
    """Unsubscribe, or undo that. It counts from this answer on.

    A mail program's one click needs the link alone. The answer to it does not tell that a link is
    unknown. Any other request must come from the page at this link.
    """
    shell = shell_of(request)
    token = request.path_params["token"]
    is_click = is_one_click(request)
    is_undo = False
    if not is_click:
        button = read_button(read_own_form(request), "answer", ("unsubscribe", "undo"))
        is_undo = button == "undo"
    at = shell.site.clock.now()
    with shell.site.store.begin() as conn:
        if is_undo:
            unsubscription = resubscribe_by_link(conn, token, at=at)
        else:
            how = ONE_CLICK if is_click else PAGE
            unsubscription = unsubscribe_by_link(conn, token, how=how, at=at)
    if unsubscription is None and is_click:
        without_title = UnsubscribeContext("", home=shell.site.config.web.base_url)
        return shell.pages.show("unsubscribed.html", without_title)
    return _show_unsubscription(request, unsubscription, is_back=is_undo, is_earlier=is_undo)


def _show_unsubscription(
    request: Request,
    unsubscription: Unsubscription | None,
    *,
    is_back: bool = False,
    is_earlier: bool = False,
) -> Response:
    """Show how things stand; `is_back` and `is_earlier`: see `UnsubscribeContext`."""
    shell = shell_of(request)
    if unsubscription is None:
        return shell.pages.fail(404)
    now = shell.site.clock.now()
    undo_until = unsubscription.undo_until if unsubscription.can_undo(now) else None
    context = UnsubscribeContext(
        unsubscription.title,
        address=mask(unsubscription.destination),
        is_back=is_back,
        is_earlier=is_earlier,
        undo_until=write_day(undo_until, now) if undo_until else "",
        home=shell.site.config.web.base_url,
        contact=shell.site.config.arxiv.mail_contact,
        token=make_form_token(shell, request.scope["path"]),
        # The action is relative, so that a proxy may serve us below a path of its own.
        action=request.path_params["token"],
    )
    page = "unsubscribed.html" if unsubscription.has_unsubscribed else "unsubscribe.html"
    return shell.pages.show(page, context)


def mask(destination: Destination) -> str:
    """Tell the reader which of their addresses is meant.

    A finder of the link learns as little as can be.
    """
    if not destination.traits.is_personal:
        return destination.address
    name, _, host = destination.address.partition("@")
    return f"{name[:1]}…@{host}"


def show_stored(request: Request) -> Response:
    """Say what is stored of people, why, and for how long."""
    shell = shell_of(request)
    config = shell.site.config
    context = StoredContext(STORED, contact=config.arxiv.mail_contact, home=config.web.base_url)
    return shell.pages.show("stored.html", context)


def serve_reference(request: Request) -> Response:
    """Answer with a paper's reference; 304 if the reader has it, 404 for what is not stored."""
    name, _, suffix = request.path_params["name"].rpartition(".")
    paper = _find_paper(request, name) if suffix in references.FORMATS else None
    if paper is None:
        return shell_of(request).pages.fail(404)
    write, media_type = references.FORMATS[suffix]
    file_name = f"{references.make_key(paper)}.{suffix}"
    headers = {
        "Last-Modified": write_http_date(paper.updated),
        "Content-Disposition": f'attachment; filename="{file_name}"',
    }
    body = write([paper], with_abstracts=True).encode()
    return answer_cached(request, body, media_type, headers)


def answer_cached(
    request: Request, body: bytes, media_type: str, more: Mapping[str, str] | None = None
) -> Response:
    """Answer with what seldom changes; with 304 if the reader has it.

    Its tag decides that, as no date shows edits.
    """
    etag = make_etag(body)
    headers = {"ETag": etag, "Cache-Control": CACHE_CONTROL, **(more or {})}
    if is_unmodified(request.headers, etag):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)


def _find_paper(request: Request, name: str) -> Paper | None:
    """Return the stored paper of an id in its one spelling; None for anything else.

    Where no message may link to references, no paper is found.
    """
    site = shell_of(request).site
    try:
        id_ = ArxivId.parse(name)
    except UsageError:
        return None
    has_references = bool(make_refs_url(site.config))
    if str(id_) != name or not has_references:
        return None
    with site.store.read() as conn:
        known = papers.load(conn, id_)
    return known.paper if known else None


ROUTES = [
    Route("/f/{name}", serve_feed),
    Route("/u/{token}", ask_to_unsubscribe, methods=["GET"]),
    Route("/u/{token}", confirm_unsubscribe, methods=["POST"]),
    Route("/stored", show_stored),
    Route("/refs/{name:path}", serve_reference),
    Route("/livez", show_liveness),
    Route("/readyz", show_readiness),
]
