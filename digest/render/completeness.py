"""Whether what a template made tells every paper it should: what it leaves out, nobody would ever see.

A message that leaves papers out is not sent; whoever wants it so says it in the template, with the comment
`{# leaves out papers on purpose #}`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from digest.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from digest.render.digest_view import RestView
    from digest.render.environments import Templates
    from digest.render.presentation import PaperView

_ON_PURPOSE = re.compile(r"\{#-?\s*leaves\s+out\s+papers\s+on\s+purpose\s*-?#\}", re.IGNORECASE)
_NAMED = 3
"""How many of the papers left out an error names."""


def check_told(
    templates: Templates, name: str, papers: Sequence[PaperView], text: str, told: Collection[int] = ()
) -> None:
    """See that a text tells papers: by their ids, with which their links end.

    Args:
        templates: all templates.
        name: the template that made the text.
        papers: what it should tell.
        text: what it made.
        told: numbers of papers that are known to be in it.

    Raises:
        TemplateError: it leaves some out, and not on purpose.
    """
    missing = [paper for paper in papers if paper.number not in told and paper.id not in text]
    if missing:  # a template may have written all in capitals
        folded = text.casefold()
        missing = [paper for paper in missing if paper.id.casefold() not in folded]
    if not missing or _is_on_purpose(templates, name):
        return
    named = ", ".join(paper.id for paper in missing[:_NAMED])
    raise TemplateError(
        f"{name} tells {len(papers) - len(missing)} of the {len(papers)} papers it is given:"
        f" {named}{' …' if len(missing) > _NAMED else ''} would be left out unseen",
        hint="Loop over all papers of all groups, and print each one's link or id."
        " If they are left out on purpose, write {# leaves out papers on purpose #} into the template.",
    )


def check_rest(templates: Templates, name: str, rest: RestView, text: str) -> None:
    """See that a text says that papers are beyond what it tells: by a link, their ids or their number.

    Raises:
        TemplateError: it says nothing of them, and not on purpose.
    """
    if (
        not rest.count
        or (rest.url and (rest.url in text or escape(rest.url) in text))
        or (rest.papers and rest.papers[0].id in text)
        or re.search(rf"(?<!\d){rest.count}(?!\d)", text)
        or _is_on_purpose(templates, name)
    ):
        return
    raise TemplateError(
        f"{name} says nothing of {rest.count} papers that have no room in the message",
        hint="Print rest.count and rest.url. If they are left out on purpose,"
        " write {# leaves out papers on purpose #} into the template.",
    )


def check_part(templates: Templates, name: str, paper: PaperView, text: str) -> None:
    """See that what stands for one paper is not blank.

    Raises:
        TemplateError: it is, and not on purpose.
    """
    if paper.id in text or Markup(text).striptags() or _is_on_purpose(templates, name):  # noqa: S704 - not shown
        return
    raise TemplateError(
        f"{name} prints nothing for {paper.id} ({paper.kind})",
        hint="Print its title and link, whatever its kind. If papers are left out on purpose,"
        " write {# leaves out papers on purpose #} into the template.",
    )


def _is_on_purpose(templates: Templates, name: str) -> bool:
    return any(_ON_PURPOSE.search(source.text) for source in templates.trace(name))
