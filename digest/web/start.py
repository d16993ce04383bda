"""The page to begin: tries a query, offers what can be joined, and takes an address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from digest.model.people import Wish
from digest.poll.coverage import load_coverage
from digest.render.contexts import StartContext, TrialContext
from digest.render.coverage import describe_coverage
from digest.web.endpoints import find_contact, shell_of
from digest.web.feeds import CACHE_CONTROL, is_unmodified, make_etag
from digest.web.signup import fill_form

if TYPE_CHECKING:
    from starlette.requests import Request

    from digest.render.contexts import ArchiveLink
    from digest.web.endpoints import Shell


def show_start(request: Request) -> Response:
    """Show the page to begin, and what comes of the query in its box."""
    shell, text = shell_of(request), request.query_params.get("q", "")
    site, config = shell.site, shell.site.config
    with site.store.read() as conn:
        coverage = load_coverage(conn, config.arxiv.source, site.clock.now())
    usual = {"q": text, "days": "weekdays", "hour": "9", "zone": str(config.zone or "UTC")}
    given = {name: (value,) for name, value in usual.items()} | {"kinds": Wish().kinds}
    context = StartContext(
        trial=shell.trials.try_text(text),
        form=None if config.web.signup.is_off else fill_form(shell, given),
        archives=list_archives(shell),
        coverage=describe_coverage(
            replace(coverage, matched=None, mailing=coverage.checked_at and coverage.mailing)
        ),
        contact=find_contact(config),
    )
    return shell.pages.show("start.html", context)


def list_archives(_shell: Shell) -> tuple[ArchiveLink, ...]:
    """Return the past digests that everybody may read."""
    return ()


def show_trial(request: Request) -> Response:
    """Show the trial of a query alone, to be put into a page; with `was` also what it changes against that."""
    trials, query = shell_of(request).trials, request.query_params
    trial = trials.try_text(query.get("q", ""))
    if "was" in query:
        trial = replace(trial, difference=trials.compare(query["was"], query.get("q", "")))
    return shell_of(request).pages.show("trial.html", TrialContext(trial))


def serve_script(request: Request) -> Response:
    """Answer with what makes trials follow the typing; 304 where the browser has it."""
    body = shell_of(request).site.renderer.templates.read_source("web/live.js").encode()
    headers = {"ETag": make_etag(body), "Cache-Control": CACHE_CONTROL}
    if is_unmodified(request.headers, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="text/javascript")


ROUTES = [Route("/", show_start), Route("/live", show_trial), Route("/live.js", serve_script)]
