"""The page to begin: tries a query, offers what can be joined, and takes an address."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from digest.poll.record import load_coverage
from digest.render.contexts import StartContext, TrialContext
from digest.render.digests import describe_coverage
from digest.web.archive import list_public_archives
from digest.web.connections import as_search
from digest.web.endpoints import answer_cached, find_contact, shell_of
from digest.web.signup import fill_form


def show_start(request: Request) -> Response:
    """Show the page to begin, and what the query in its box brings."""
    shell, text = shell_of(request), request.query_params.get("q", "")
    site, config = shell.site, shell.site.config
    with site.store.read() as conn:
        coverage = load_coverage(conn, config.arxiv.source, site.clock.now())
        archives = list_public_archives(conn, site)
    context = StartContext(
        trial=shell.trials.try_text(text),
        form=None if config.web.signup.is_off else fill_form(shell, {"q": (text,)}),
        archives=archives,
        coverage=describe_coverage(
            replace(coverage, matched=None, announcement=coverage.checked_at and coverage.announcement)
        ),
        contact=find_contact(config),
    )
    return shell.pages.show("start.html", context)


def show_trial(request: Request) -> Response:
    """Show the trial of a query alone, to be put into a page; with `was` also what it changes against that."""
    trials, query = shell_of(request).trials, request.query_params
    trial = trials.try_text(query.get("q", ""))
    if "was" in query:
        trial = replace(trial, difference=trials.compare(query["was"], query.get("q", "")))
    return shell_of(request).pages.show("trial.html", TrialContext(trial))


def serve_file(request: Request) -> Response:
    """Answer with a page's script or icon, which is named like its template; browsers look for favicon.ico."""
    name = request.scope["path"].replace(".ico", ".svg")
    source = shell_of(request).site.renderer.templates.read_source(f"web{name}")
    return answer_cached(request, source.encode(), "text/javascript" if name.endswith(".js") else "image/svg+xml")


ROUTES = [
    Route("/", as_search(show_start, "q")),
    Route("/live", as_search(show_trial)),
    *(Route(path, serve_file) for path in ("/live.js", "/digest.js", "/favicon.svg", "/favicon.ico")),
]
