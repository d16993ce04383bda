"""Pages to read: the front page, and a whole digest at its secret address."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def show_digest(request: Request) -> Response:
    """Show every paper of a digest. The address is shared by all who got it, so it says nothing of any of them."""
    shell = shell_of(request)
    site = shell.site
    now = site.clock.now()
    with site.store.read() as conn:
        token = token_store.find_token(conn, signing.token_hash(request.path_params["token"]))
        has_ended = token is not None and token.expires_at is not None and token.expires_at <= now
        if token is None or token.digest_id is None or has_ended:
            return shell.pages.fail(404)
        digest = digest_store.load_digest(conn, token.digest_id)
    links = Links(home=site.config.web.base_url, refs=make_refs_url(site.config))
    return HTMLResponse(site.renderer.render_page(digest, links))


def _describe(coverage: Coverage) -> str:
    if coverage.mailing is None or coverage.checked_at is None:
        return ""
    mailing = f"mailing of {write_day(coverage.mailing)}"
    if coverage.is_complete:
        found = f"{coverage.new:,} new papers" if coverage.new else f"{coverage.looked_at:,} papers looked at"
        return f"{mailing}: complete, {found}"
    return f"{mailing}: {'not out yet' if coverage.is_awaited else 'not complete yet'}"
