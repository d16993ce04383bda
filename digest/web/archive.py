"""Answers pages of digests, archives and robots.txt."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from digest.inspect.archive import list_past, search_past
from digest.model import secrets
from digest.model.errors import QueryError, UsageError
from digest.model.messages import Links
from digest.model.subscriptions import Archive, DueSubscription, Subscription
from digest.people.preferences import read_text
from digest.plan.links import make_links, make_refs_url
from digest.render.contexts import ArchiveContext
from digest.render.digests import view_query
from digest.render.text import clean_text
from digest.site import Site
from digest.store import digests, subscriptions, tokens
from digest.store.tokens import TokenPurpose
from digest.web.connections import as_search
from digest.web.endpoints import answer_cached
from digest.web.shell import shell_of

_MOST_DIGITS = 18
"""Of a number that databases take."""


def show_digest(request: Request) -> Response:
    """Show every paper of a digest.

    The address is shared by all who got it, so it says nothing of any of them.
    """
    shell = shell_of(request)
    config = shell.site.config
    with shell.site.store.read() as conn:
        found = tokens.load(conn, secrets.token_hash(request.path_params["token"]))
        if found is None or found.purpose is not TokenPurpose.WEB or found.digest_id is None:
            return shell.pages.fail(404)
        links = _link_page(conn, shell.site, found.subscription, found.digest_id)
        dues = subscriptions.load(conn, names=[found.subscription], include_ended=True)
    is_own = all(config.find_reader(due.subscription) is not None for due in dues)
    return HTMLResponse(shell.render_digest(found.digest_id, links, is_own))


def _link_page(conn: Connection, site: Site, name: str, digest_id: int) -> Links:
    """Return where a digest's page leads: relative, so that a proxy may serve us below a path."""
    maker = make_links(conn, site.config)
    archive = maker.archive_token(name)
    is_kept = tokens.load(conn, secrets.token_hash(archive)) is not None
    earlier = digests.load_frozen(conn, name, before=digest_id)
    later = digests.load_frozen(conn, name, after=digest_id)
    return Links(
        home=site.config.web.base_url,
        refs=make_refs_url(site.config),
        archive=f"../a/{archive}" if is_kept else "",
        earlier="".join(maker.web_token(name, row.slot) for row, _ in earlier),
        later="".join(maker.web_token(name, row.slot) for row, _ in later),
    )


def render_digest(
    site: Site,
    digest_id: int,
    links: Links,
    is_own: bool,  # noqa: FBT001 - for a cache
) -> bytes:
    """Render the page of a digest.

    It is the same for ever, except where it leads, and to whom its list is open now.
    """
    with site.store.read() as conn:
        digest = digests.load(conn, digest_id)
    if not is_own:
        digest = digest.hide_library()
    return site.renderer.render_page(digest, links).encode()


def show_archive(request: Request) -> Response:
    """Show the past digests of a subscription, newest first, or what a search finds in them."""
    shell = shell_of(request)
    search = request.query_params.get("q", "").strip()
    before = request.query_params.get("before", "0")
    if not before.isdecimal() or len(before) > _MOST_DIGITS:
        raise UsageError(
            "This address names no digest to go on from.", hint="Begin with the newest ones."
        )
    with shell.site.store.read() as conn:
        found = tokens.load(conn, secrets.token_hash(request.path_params["token"]))
        if found is None or found.purpose is not TokenPurpose.ARCHIVE:
            return shell.pages.fail(404)
        known = subscriptions.load(conn, names=[found.subscription], include_ended=True)
        if not known:
            return shell.pages.fail(404)
        context = _list_past(conn, shell.site, known[0], search, int(before))
    answer = shell.pages.show("archive.html", context)
    if context.is_public and not search:
        answer.headers["X-Robots-Tag"] = "all"
    return answer


def _list_past(
    conn: Connection, site: Site, due: DueSubscription, search: str, before: int
) -> ArchiveContext:
    name = due.subscription.name
    maker = make_links(conn, site.config)
    query = None
    problem = None
    try:
        query = read_text(search) if search else None
    except QueryError as error:
        problem = error
    asked = {}
    if query is None:
        past, go_on = list_past(conn, maker, name, before)
    else:
        past, go_on = search_past(conn, maker, name, query, before)
        asked["q"] = search
    following = urlencode({**asked, "before": go_on})
    return ArchiveContext(
        title=clean_text(due.subscription.title),
        queries=tuple(view_query(one.name, one.text) for one in due.revisions),
        past=tuple(past),
        search=search,
        problem=problem,
        go_on=f"?{following}" if go_on else "",
        is_public=any(one.name == name for one in _list_public(site)),
        home=site.config.web.base_url,
    )


def _list_public(site: Site) -> list[Subscription]:
    """Return the subscriptions whose archive everybody may find."""
    return [one for one in site.config.subscriptions if one.archive is Archive.PUBLIC]


def list_public_archives(conn: Connection, site: Site) -> tuple[tuple[str, str], ...]:
    """Return the title and the address of each archive that everybody may find.

    It holds a digest already.
    """
    maker = make_links(conn, site.config)
    base = site.config.web.base_url.rstrip("/")
    archives = []
    for one in _list_public(site):
        token = maker.archive_token(one.name)
        if tokens.load(conn, secrets.token_hash(token)):
            archives.append((one.title, f"{base}/a/{token}"))
    return tuple(archives)


def serve_robots(request: Request) -> Response:
    """Keep programs that list pages away from all but the first page and public archives."""
    site = shell_of(request).site
    with site.store.read() as conn:
        archives = list_public_archives(conn, site)
    base = urlsplit(site.config.web.base_url).path.rstrip("/")
    lines = ["User-agent: *", "Disallow: /", f"Allow: {base}/$"]
    lines += [f"Allow: {urlsplit(url).path}" for _, url in archives]
    text = "\n".join(lines) + "\n"
    return answer_cached(request, text.encode(), "text/plain; charset=utf-8")


ROUTES = [
    Route("/d/{token}", show_digest),
    Route("/a/{token}", as_search(show_archive, "q")),
    Route("/robots.txt", serve_robots),
]
