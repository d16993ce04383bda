"""Made-up pages of arXiv's interfaces, in the formats they have, for tests to bend."""

from __future__ import annotations

from datetime import datetime
from xml.sax.saxutils import escape, quoteattr

NAMESPACES = (
    'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" '
    'xmlns:arxiv="http://arxiv.org/schemas/atom" '
    'xmlns="http://www.w3.org/2005/Atom"'
)
HEAD = "<?xml version='1.0' encoding='UTF-8'?>\n"
ATOM_TYPE = "application/atom+xml; charset=utf-8"
OAI_TYPE = "text/xml; charset=utf-8"
INTERNAL_ERROR = (
    "The server encountered an internal error and was unable to complete your request. "
    "Either the server is overloaded or there is an error in the application."
)
MOMENT = "2026-11-20T04:05:06Z"
ASKED = 'verb="ListRecords"'


def format_moment(moment: datetime) -> str:
    """Return a moment (UTC) as `2026-11-20T01:00:00Z`."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def atom_author(name: str, *affiliations: str) -> str:
    """Return an author of a current page."""
    places = "".join(
        f"<arxiv:affiliation>{escape(place)}</arxiv:affiliation>" for place in affiliations
    )
    return f"<author><name>{escape(name)}</name>{places}</author>"


def atom_entry(
    id_: str = "2611.00001v1",
    *,
    title: str = "Slow papers",
    summary: str = "We wait.",
    updated: str = "2026-11-02T10:00:00Z",
    published: str = "2026-11-01T10:00:00Z",
    authors: str = "<author><name>Ada One</name></author>",
    categories: tuple[str, ...] = ("cs.PF", "cs.DC"),
    extra: str = "",
) -> str:
    """Return one entry in the order of the current format."""
    terms = "".join(f"<category term={quoteattr(term)}/>" for term in categories)
    primary = f"<arxiv:primary_category term={quoteattr(categories[0])}/>" if categories else ""
    return (
        f"<entry><id>http://arxiv.org/abs/{id_}</id><title>{escape(title)}</title>"
        f"<updated>{updated}</updated>"
        f'<link href="https://arxiv.org/abs/{id_}" rel="alternate" type="text/html"/>'
        f"<summary>{escape(summary)}</summary>{terms}<published>{published}</published>"
        f"{primary}{extra}{authors}</entry>"
    )


def atom_feed(
    *entries: str,
    total: int | str | None = None,
    start: int | str = 0,
    per_page: int | str = 10,
    updated: str = "2026-11-20T00:00:00Z",
) -> bytes:
    """Return a page of the current format holding these entries."""
    shown = len(entries) if total is None else total
    return (
        f"{HEAD}<feed {NAMESPACES}><id>https://arxiv.org/api/abc</id>"
        "<title>arXiv Query: search_query=cat:cs.PF&amp;id_list=&amp;start=0</title>"
        f"<updated>{updated}</updated>"
        f"<opensearch:itemsPerPage>{per_page}</opensearch:itemsPerPage>"
        f"<opensearch:totalResults>{shown}</opensearch:totalResults>"
        f"<opensearch:startIndex>{start}</opensearch:startIndex>{''.join(entries)}</feed>"
    ).encode()


def legacy_feed() -> bytes:
    """Return a page as arXiv wrote them until November 2025.

    Other order, hard breaks, classes as categories.
    """
    search = 'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"'
    arxiv = 'xmlns:arxiv="http://arxiv.org/schemas/atom"'
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <link href="http://arxiv.org/api/query?x" rel="self" type="application/atom+xml"/>
  <title type="html">ArXiv Query: search_query=cat:cs.PF&amp;start=0</title>
  <updated>2020-08-27T00:00:00-04:00</updated>
  <opensearch:totalResults {search}>21</opensearch:totalResults>
  <opensearch:startIndex {search}>20</opensearch:startIndex>
  <opensearch:itemsPerPage {search}>20</opensearch:itemsPerPage>
  <entry>
    <id>http://arxiv.org/abs/hep-th/0007001v3</id>
    <updated>2000-08-26T17:53:17Z</updated>
    <!-- a comment -->
    <published>2000-07-01T17:53:17Z</published>
    <title>A long title that goes on
  and on</title>
    <summary>  First line of the text
second line of it.
  Another paragraph, likewise
wrapped.
</summary>
    <author><name>Bea Two</name>
      <arxiv:affiliation {arxiv}>Institute of
  Slowness</arxiv:affiliation></author>
    <arxiv:doi {arxiv}>10.1000/one</arxiv:doi>
    <link title="doi" href="http://dx.doi.org/10.1000/one" rel="related"/>
    <arxiv:comment {arxiv}>7 pages, in
  LaTeX</arxiv:comment>
    <arxiv:journal_ref {arxiv}>J. Slow 1 (2001)</arxiv:journal_ref>
    <arxiv:primary_category {arxiv} term="hep-th" scheme="http://arxiv.org/schemas/atom"/>
    <category term="hep-th" scheme="http://arxiv.org/schemas/atom"/>
    <category term="68T05, 14J60" scheme="http://arxiv.org/schemas/atom"/>
    <category term="I.2.6" scheme="http://arxiv.org/schemas/atom"/>
    <category term="cond-mat.str-el" scheme="http://arxiv.org/schemas/atom"/>
  </entry>
</feed>
""".encode()


def error_feed(
    message: str,
    id_: str = "https://arxiv.org/api/errors#some",
    updated: str = "2026-11-20T00:00:00Z",
) -> bytes:
    """Return the one-entry feed that arXiv answers wrong requests with."""
    return atom_feed(
        f"<entry><id>{id_}</id><title>Error</title><updated>{updated}</updated>"
        f"<summary>{escape(message)}</summary><author><name>arXiv api core</name></author></entry>",
        per_page=1,
        updated=updated,
    )


def raw_version(number: int, date: str, more: str = "<size>9kb</size>") -> str:
    """Return one version of the history."""
    return f'<version version="v{number}"><date>{date}</date>{more}</version>'


def raw_paper(
    id_: str = "2611.00001",
    *,
    versions: str = raw_version(1, "Sun, 1 Nov 2026 10:00:00 GMT"),
    title: str = "Slow papers",
    authors: str = "Ada One",
    categories: str = "cs.PF cs.DC",
    abstract: str = "  We wait.",
    extra: str = "",
) -> str:
    """Return a paper's arXivRaw metadata."""
    return (
        f'<arXivRaw xmlns="http://arxiv.org/OAI/arXivRaw/"><id>{id_}</id>'
        f"<submitter>Ada One</submitter>{versions}<title>{escape(title)}</title>"
        f"<authors>{escape(authors)}</authors><categories>{categories}</categories>"
        f"{extra}<abstract>{escape(abstract)}</abstract></arXivRaw>"
    )


def oai_entry(
    metadata: str | None = None,
    *,
    id_: str = "2611.00001",
    status: str = "",
    datestamp: str = "2026-11-20",
) -> str:
    """Return an entry of a list, without metadata where a status is given."""
    mark = f' status="{status}"' if status else ""
    if metadata is None:
        metadata = raw_paper(id_)
    held = "" if status else f"<metadata>{metadata}</metadata>"
    return (
        f"<record><header{mark}><identifier>oai:arXiv.org:{id_}</identifier>"
        f"<datestamp>{datestamp}</datestamp></header>{held}</record>"
    )


def oai_page(
    *entries: str,
    token: str | None = None,
    verb: str = "ListRecords",
    moment: str = MOMENT,
    asked: str = ASKED,
) -> bytes:
    """Return a page of a harvest."""
    end = (
        ""
        if token is None
        else f"<resumptionToken expirationDate='2026-11-21T00:00:00Z'>{token}</resumptionToken>"
    )
    return oai_answer(f"<{verb}>{''.join(entries)}{end}</{verb}>", moment, asked)


def oai_error(code: str, message: str = "Something is off.", moment: str = MOMENT) -> bytes:
    """Return a protocol error."""
    return oai_answer(f"<error code='{code}'>{escape(message)}</error>", moment)


def oai_answer(inner: str, moment: str = MOMENT, asked: str = ASKED) -> bytes:
    """Return a whole document of the protocol."""
    return (
        f'{HEAD}<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">'
        f"<responseDate>{moment}</responseDate>"
        f"<request {asked}>https://oaipmh.arxiv.org/oai</request>{inner}</OAI-PMH>"
    ).encode()
