"""`/refs/<id>.bib` and `.ris`: what arXiv says of a stored paper, for a reference manager.

arXiv's metadata are anybody's (CC0, https://info.arxiv.org/help/api/tou.html), so the address is no secret. What
is stored is none either where everything that is announced is; elsewhere there is no such page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from digest.errors import UsageError
from digest.papers import ArxivId
from digest.pipeline.links import make_refs_url
from digest.render import bibtex, ris
from digest.render.references import make_key
from digest.store import papers as paper_store
from digest.web.conditional import is_unmodified, make_etag, write_http_date
from digest.web.feed_copies import CACHE_CONTROL
from digest.web.shell import shell_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from digest.papers import Paper


def serve_reference(request: Request) -> Response:
    """Answer with a paper's reference; 304 where the reader has it, 404 for what is not stored."""
    shell = shell_of(request)
    name, _, suffix = request.path_params["name"].rpartition(".")
    paper = _find_paper(request, name) if suffix in ("bib", "ris") else None
    if paper is None:
        return shell.pages.fail(404)
    if suffix == "bib":
        text, media_type = bibtex.write_bibtex([paper], with_abstracts=True), bibtex.MEDIA_TYPE
    else:
        text, media_type = ris.write_ris([paper], with_abstracts=True), ris.MEDIA_TYPE
    body = text.encode()
    etag = make_etag(body)
    headers = {
        "ETag": etag,
        "Last-Modified": write_http_date(paper.updated),
        "Cache-Control": CACHE_CONTROL,
        "Content-Disposition": f'attachment; filename="{make_key(paper)}.{suffix}"',
    }
    tags = request.headers.getlist("if-none-match")
    # An edit leaves the version's own date as it was: that date alone proves nothing.
    if tags and is_unmodified(etag, paper.updated, if_none_match=", ".join(tags), if_modified_since=None):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)


def _find_paper(request: Request, name: str) -> Paper | None:
    """Return the stored paper of an id in its one spelling; None for anything else."""
    site = shell_of(request).site
    try:
        id_ = ArxivId.parse(name)
    except UsageError:
        return None
    if str(id_) != name or not make_refs_url(site.config):
        return None
    with site.store.read() as conn:
        known = paper_store.load_paper(conn, id_)
    return known.paper if known else None
