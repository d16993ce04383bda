"""`/livez`: this process answers. `/readyz`: it does its work, or why not. `/metrics`: what it counted."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from digest.clock import LOOPBACK_HOSTS
from digest.errors import StoreError
from digest.messages import DeliveryState
from digest.pipeline.watching import look_for_alarms
from digest.planning.alarms import STUCK, AlarmName
from digest.scheduling import TICK
from digest.store import alarms as alarm_store
from digest.store import cursors as cursor_store
from digest.store import overview, provenance
from digest.store import queries as query_store
from digest.telemetry import Health, HealthFacts, assess_health
from digest.web.shell import shell_of

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection
    from starlette.requests import Request

    from digest.pipeline import Site
    from digest.scheduling import Pulse

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
    """Say whether digests are made and sent: 200, or 503 with the reasons."""
    shell = shell_of(request)
    health = judge_site(shell.site, shell.pulse)
    answer = {"ready": health.is_ready, "reasons": health.failures, "warnings": health.warnings}
    return JSONResponse(answer, 200 if health.is_ready else UNAVAILABLE)


def show_metrics(request: Request) -> Response:
    """Say what was counted, in Prometheus' text format, to who asks from this machine."""
    shell = shell_of(request)
    if shell.metrics is None or request.client is None or request.client.host not in LOOPBACK_HOSTS:
        return shell.pages.fail(404)
    now = shell.site.clock.now()
    with shell.site.store.read() as conn:
        outbox = overview.load_open(conn, now)
        last_look = _last_look(conn, shell.site)
    waited = (now - outbox.oldest_due).total_seconds() if outbox.oldest_due else 0.0
    shell.metrics.set_outbox({str(state): outbox.counts.get(state, 0) for state in _WAITING}, waited)
    shell.metrics.set_ready(is_ready=judge_site(shell.site, shell.pulse).is_ready)
    if last_look is not None:
        shell.metrics.set_last_poll(last_look)
    return Response(shell.metrics.render(), headers={"Content-Type": shell.metrics.content_type})


def judge_site(site: Site, pulse: Pulse | None) -> Health:
    """Gather the facts about a running installation, and judge them."""
    now = site.clock.now()
    try:
        with site.store.read() as conn:
            facts = _gather(conn, site, pulse, now)
            alarms = [alarm for alarm in alarm_store.list_alarms(conn) if alarm.ended_at is None]
            # Those that were told keep the words they were told in; what they name may be mended since.
            anew = look_for_alarms(conn, site.config, now) if alarms else ()
    except StoreError:
        return Health(failures=("the database does not answer",))
    health = assess_health(facts, now)
    troubles = tuple(
        f"the job {name} failed last time ({error}); the log says why"
        for name, error in (sorted(pulse.troubles.items()) if pulse else ())
    )
    remarks = tuple(
        f"the job {name} left something undone last time ({what})"
        for name, what in (sorted(pulse.remarks.items()) if pulse else ())
    )
    stuck = tuple(
        f"the job {name} has been at the same turn for {seconds / 60:.0f} min"
        for name, seconds in (sorted(pulse.board.stuck.items()) if pulse else ())
    )
    pressing = frozenset() if facts.is_copy else STUCK  # a copy waits for a person, whatever is restarted
    told = pressing | ({AlarmName.RESTORED} if facts.is_copy else frozenset())  # among the warnings already
    said = {str(alarm.name): alarm.detail for alarm in anew}
    urgent = tuple(said.get(alarm.name, alarm.detail) for alarm in alarms if alarm.name in pressing)
    others = tuple(said.get(alarm.name, alarm.detail) for alarm in alarms if alarm.name not in told)
    refused = pulse.refused if pulse else ""
    edited = (f"the edited digest.toml was refused, the one before counts: {refused}",) if refused else ()
    return Health((*health.failures, *troubles, *stuck, *urgent), (*health.warnings, *edited, *remarks, *others))


def _gather(conn: Connection, site: Site, pulse: Pulse | None, now: datetime) -> HealthFacts:
    outbox = overview.load_open(conn, now)
    breaker = overview.load_breaker(conn, site.clock)
    age = pulse.age if pulse else None
    return HealthFacts(
        is_store_writable=pulse is None or pulse.age is None or pulse.is_store_writable,
        tick=TICK,
        # Jobs tick in real time, whatever the installation's clock says.
        heartbeat_at=None if age is None else now - timedelta(seconds=age),
        oldest_due_at=outbox.oldest_due,
        last_complete_poll_at=_last_look(conn, site),
        breaker_until=now + timedelta(seconds=breaker.seconds) if breaker.seconds else None,
        dead=outbox.counts.get(DeliveryState.DEAD, 0),
        held=outbox.counts.get(DeliveryState.HELD, 0),
        is_copy=provenance.is_in_quarantine(conn),
    )


def _last_look(conn: Connection, site: Site) -> datetime | None:
    """Return when arXiv was last looked at completely: of several saved queries, the one that waits longest."""
    source = site.config.arxiv.source
    keys = [""] if source == "harvest" else [revision.canonical for revision in query_store.active_revisions(conn)]
    looks = [cursor_store.load_cursor(conn, source, key).last_complete_at for key in keys]
    known = [look for look in looks if look is not None]
    return min(known) if len(known) == len(looks) and known else None
