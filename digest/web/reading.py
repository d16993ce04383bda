"""Pages to read: the front page, and a whole digest at its secret address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse

from digest import signing
from digest.messages import Links
from digest.pipeline.covering import load_whole_coverage
from digest.pipeline.links import make_refs_url
from digest.render.contexts import HomeContext
from digest.render.dates import write_day
from digest.store import digests as digest_store
from digest.store import tokens as token_store
from digest.web.shell import find_contact, shell_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from digest.messages import Coverage
    from digest.pipeline import Site


def show_home(request: Request) -> Response:
    """Say what this is, what was looked at last, and whom to ask."""
    shell = shell_of(request)
    site = shell.site
    with site.store.read() as conn:
        coverage = load_whole_coverage(conn, site.config.arxiv.source, site.clock.now())
    context = HomeContext(
        contact=find_contact(site.config),
        coverage=_describe(coverage),
        is_healthy=coverage.is_complete,
    )
    return shell.pages.show("home.html", context)


async def show_digest(request: Request) -> Response:
    """Show every paper of a digest. The address is shared by all who got it, so it says nothing of any of them."""
    shell = shell_of(request)
    digest_id = await run_in_threadpool(_find_digest, shell.site, request.path_params["token"])
    if digest_id is None:
        return await run_in_threadpool(shell.pages.fail, 404)
    return HTMLResponse(await shell.digests.find(digest_id))


def render_digest(site: Site, digest_id: int) -> bytes:
    """Render the page of a digest."""
    with site.store.read() as conn:
        digest = digest_store.load_digest(conn, digest_id)
    links = Links(home=site.config.web.base_url, refs=make_refs_url(site.config))
    return site.renderer.render_page(digest, links).encode()


def _find_digest(site: Site, token: str) -> int | None:
    """Return the digest that an address shows; None where it shows none, or none any more."""
    with site.store.read() as conn:
        found = token_store.find_token(conn, signing.token_hash(token))
    return None if found is None else found.digest_id


def _describe(coverage: Coverage) -> str:
    if coverage.mailing is None or coverage.checked_at is None:
        return ""
    mailing = f"mailing of {write_day(coverage.mailing)}"
    if coverage.is_complete:
        found = f"{coverage.new:,} new papers" if coverage.new else f"{coverage.looked_at:,} papers looked at"
        return f"{mailing}: complete, {found}"
    return f"{mailing}: {'not out yet' if coverage.is_awaited else 'not complete yet'}"
