"""`/livez`: this process answers. `/readyz`: it does its work, or does not. `/metrics`: what it counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from digest.errors import StoreError
from digest.messages import DeliveryState
from digest.planning.alarms import STUCK
from digest.scheduling import Pulse
from digest.store import alarms as alarm_store
from digest.store import cursors as cursor_store
from digest.store import overview
from digest.store import queries as query_store
from digest.web.shell import shell_of

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from digest.pipeline import Site
    from digest.telemetry import Metrics

UNAVAILABLE = 503

_WAITING = (
    DeliveryState.READY,
    DeliveryState.CLAIMED,
    DeliveryState.SENDING,
    DeliveryState.UNKNOWN,
    DeliveryState.HELD,
    DeliveryState.DEAD,
)


def show_liveness(_request: Request) -> Response:
    """Say that the process answers."""
    return JSONResponse({"alive": True})


def show_readiness(request: Request) -> Response:
    """Say whether digests are made and sent: 200 or 503. Why is for the operator: `digest status`."""
    shell = shell_of(request)
    is_ready = not find_failures(shell.site, shell.pulse or Pulse())
    return JSONResponse({"ready": is_ready}, 200 if is_ready else UNAVAILABLE)


def create_metrics_app(site: Site, pulse: Pulse, metrics: Metrics) -> ASGIApp:
    """Make what answers `/metrics` in Prometheus' text format, and nothing else: at an address of its own.

    Behind a proxy of the same machine everybody seems to ask from there, so no page of the public address can
    tell who may know.
    """

    def show_metrics(_request: Request) -> Response:
        now = site.clock.now()
        try:
            with site.store.read() as conn:
                outbox = overview.load_open(conn, now)
                last_look = _last_look(conn, site)
        except StoreError:
            return PlainTextResponse("The database does not answer.", UNAVAILABLE)
        waited = (now - outbox.oldest_due).total_seconds() if outbox.oldest_due else 0.0
        metrics.set_outbox({str(state): outbox.counts.get(state, 0) for state in _WAITING}, waited)
        metrics.set_ready(is_ready=not find_failures(site, pulse))
        if last_look is not None:
            metrics.set_last_poll(last_look)
        return Response(metrics.render(), headers={"Content-Type": metrics.content_type})

    return Starlette(routes=[Route("/metrics", show_metrics)])


def find_failures(site: Site, pulse: Pulse) -> list[str]:
    """Return why the installation does not do its work, in sentences; [] where it does."""
    try:
        with site.store.read() as conn:
            alarms = alarm_store.list_alarms(conn)
    except StoreError:
        return ["the database does not answer"]
    return [*pulse.failures, *(alarm.detail for alarm in alarms if alarm.name in STUCK)]


def _last_look(conn: Connection, site: Site) -> datetime | None:
    """Return when arXiv was last looked at completely: of several saved queries, the one that waits longest."""
    source = site.config.arxiv.source
    keys = [""] if source == "harvest" else [revision.canonical for revision in query_store.active_revisions(conn)]
    looks = [cursor_store.load_cursor(conn, source, key).last_complete_at for key in keys]
    known = [look for look in looks if look is not None]
    return min(known) if len(known) == len(looks) and known else None
