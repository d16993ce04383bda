"""One mailing as RSS 2.0, the way rss.arxiv.org shows it."""

from __future__ import annotations

from datetime import datetime, time
from email.utils import format_datetime
from typing import TYPE_CHECKING

from lxml import etree

from digest.announcements import EASTERN
from digest.demo.markup import add_element, write_xml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.demo.archive import DemoPaper

ARXIV = "http://arxiv.org/schemas/atom"
DC = "http://purl.org/dc/elements/1.1/"
MEDIA_TYPE = "application/rss+xml; charset=utf-8"


def write_rss(subjects: str, news: Sequence[tuple[DemoPaper, DemoPaper | None]], moment: datetime) -> bytes:
    """Return the channel.

    Args:
        subjects: archives or categories joined by `+`.
        news: the states a mailing made public, each with the one before it, None for a new paper.
        moment: now (UTC).
    """
    root = etree.Element("rss", nsmap={"arxiv": ARXIV, "dc": DC})
    root.set("version", "2.0")
    channel = add_element(root, "channel")
    add_element(channel, "title", f"{subjects} updates on arXiv.org")
    add_element(channel, "link", f"https://rss.arxiv.org/rss/{subjects}")
    add_element(channel, "description", f"{subjects} updates on the arXiv.org e-print archive.")
    add_element(channel, "lastBuildDate", format_datetime(moment))
    midnight = datetime.combine(moment.astimezone(EASTERN).date(), time(), tzinfo=EASTERN)
    wanted = tuple(subjects.lower().split("+"))
    for paper, before in news:
        if any(_is_in(category, wanted) for category in paper.categories):
            _add_item(channel, paper, _name_type(paper, before, wanted), midnight)
    return write_xml(root)


def _is_in(category: str, wanted: tuple[str, ...]) -> bool:
    name = category.lower()
    return name in wanted or name.partition(".")[0] in wanted


def _name_type(paper: DemoPaper, before: DemoPaper | None, wanted: tuple[str, ...]) -> str:
    is_home = _is_in(paper.categories[0], wanted)
    if before is not None and before.version < paper.version:
        return "replace" if is_home else "replace-cross"
    return "new" if is_home and before is None else "cross"


def _add_item(channel: etree._Element, paper: DemoPaper, kind: str, midnight: datetime) -> None:
    item = add_element(channel, "item")
    name = f"{paper.id}v{paper.version}"
    add_element(item, "title", paper.title)
    add_element(item, "link", f"https://arxiv.org/abs/{paper.id}")
    add_element(item, "description", f"arXiv:{name} Announce Type: {kind} \nAbstract: {paper.abstract}")
    add_element(item, "guid", f"oai:arXiv.org:{name}", {"isPermaLink": "false"})
    for category in paper.categories:
        add_element(item, "category", category)
    add_element(item, "pubDate", format_datetime(midnight))
    add_element(item, f"{{{ARXIV}}}announce_type", kind)
    add_element(item, f"{{{DC}}}creator", ", ".join(author.name for author in paper.authors))
