"""Lists the templates and what each sees, and renders all of them with samples."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

from digest.model.destinations import Destination
from digest.model.errors import TemplateError
from digest.model.messages import Delivery, Digest, Feed, Links
from digest.render.contexts import CONTEXTS, POST_SUFFIX, Context, find_context
from digest.render.feeds import write_content
from digest.render.mail import MailPapers, render_mail_text
from digest.render.papers import PaperView
from digest.render.renderer import Renderer, write_post
from digest.render.samples import EVENING, SAMPLE_LINKS, SAMPLES, list_samples
from digest.render.slack import SlackParts, compile_blocks, make_payload, write_slack_payload
from digest.render.templates import SHIPPED_PREFIX, SLACK_FOLDER, Templates

_PARTS = {
    "email/style.css": "the mail's styles, written into each element",
    "email/media.css": "the styles that stay in the mail's head: titles, dark mode, narrow screens",
    "web/style.css": "the pages' styles",
    "web/frame.html": "what all pages share",
    "web/live.js": "shows the trial of a query while it is typed",
    "web/digest.js": "filters a digest's papers by words, and moves among them by keys",
    "web/fold.js": "writes words as they are compared",
    "web/site.js": "finds papers in the digests of a site by their titles",
    "web/favicon.svg": "the pages' icon",
}
"""Templates that others include, and what pages load.

They see what those see; style sheets see nothing.
"""

_FIRST_COMMENT = re.compile(r"\{#-? *+(.*?)\.? {0,9}#\}")
"""Says what any other template is for."""

_FIELD = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
"""An attribute in a docstring, and what is said of it, in one line or several."""


@dataclass(frozen=True, slots=True)
class TemplateEntry:
    """A template.

    Attributes:
        name: its path below the folder, such as `email/digest.html`.
        purpose: what it is for, in a few words; "" for one of the operator's that Digest does not
            know.
        is_own: it is the operator's, in place of a shipped one or beside them.
    """

    name: str
    purpose: str
    sees: tuple[str, ...]
    blocks: tuple[str, ...]
    path: Path
    is_own: bool


def list_templates(templates: Templates) -> tuple[TemplateEntry, ...]:
    """Return every template that is in force, by name."""
    return tuple(_describe(templates, name) for name in templates.names())


def write_extension(templates: Templates, name: str) -> str:
    """Return a template that extends the shipped one of its name, to start from.

    "" if that has no blocks.
    """
    shipped = f"{SHIPPED_PREFIX}:{name}"
    blocks = templates.find_blocks(shipped)
    if not blocks:
        return ""
    names = _find_names(name)
    return (
        f'{{% extends "{shipped}" %}}\n'
        f"{{# Write anew what you want otherwise, as {{% block {blocks[0]} %}}…{{% endblock %}};\n"
        "   {{ super() }} is what was there.\n"
        f"   Blocks: {', '.join(blocks)}.\n"
        f"   They see: {', '.join(names)}. #}}\n"
    )


def _describe(templates: Templates, name: str) -> TemplateEntry:
    path = templates.find_file(name)
    return TemplateEntry(
        name=name,
        blocks=templates.find_blocks(name),  # refuses what can't be read
        purpose=_find_purpose(name, path),
        sees=_find_names(name),
        path=path,
        is_own=templates.is_own(path),
    )


def _find_purpose(name: str, path: Path) -> str:
    context = find_context(name)
    if context:
        first, _, _ = (context.__doc__ or "").partition("\n")
        return first.partition(": ")[2].removesuffix(".")
    comment = _FIRST_COMMENT.match(path.read_text(encoding="utf-8"))
    return _PARTS.get(name, comment[1] if comment else "")


def _find_names(name: str) -> tuple[str, ...]:
    context = find_context(name)
    return tuple(field.name for field in fields(context)) if context else ()


def check_templates(renderer: Renderer) -> tuple[TemplateError, ...]:
    """Render sample digests for every medium, and other pages and messages; return what failed."""
    problems: dict[str, TemplateError] = {}
    for attempt in _list_attempts(renderer):
        try:
            attempt()
        except TemplateError as error:
            problems.setdefault(error.message, error)
    return tuple(problems.values())


def find_unused(templates: Templates) -> tuple[str, ...]:
    """Return the operator's own files that replace no shipped one.

    Those that another of theirs names are left out.
    """
    texts = {}
    for name in templates.names():
        path = templates.find_file(name)
        if templates.is_own(path):
            texts[name] = path.read_text("utf-8", "replace")
    known = set(templates.shipped_names())
    unused = []
    for name in texts:
        is_used = name in known or name.endswith(POST_SUFFIX)
        if not is_used and not any(name in text for text in texts.values()):
            unused.append(name)
    return tuple(unused)


def _list_attempts(renderer: Renderer) -> Iterator[Callable[[], object]]:
    papers = MailPapers(renderer.templates)
    for digest in SAMPLES:
        for links in (SAMPLE_LINKS, Links()):
            yield from _list_messages(renderer, papers, digest, links)
        yield partial(renderer.render_terminal, digest, width=80, color=False, limit=None)
        for refs_url in (SAMPLE_LINKS.refs, ""):
            yield from _list_feed_entries(renderer.templates, digest, refs_url)
    for name, context in CONTEXTS.items():
        is_of_digest = not {"digest", "paper"}.isdisjoint(_find_names(name))
        if not is_of_digest or name == "web/likes.html":  # others were tried above
            for sample in list_samples(context):
                yield partial(_try_template, renderer.templates, name, sample)


def _list_messages(
    renderer: Renderer, papers: MailPapers, digest: Digest, links: Links
) -> Iterator[Callable[[], object]]:
    """List what renders a digest as a mail, for Slack, as pages, and for other places."""
    templates = renderer.templates
    yield partial(render_mail_text, papers, digest, links)
    yield partial(_try_slack, templates, digest, links)
    turning = replace(links, archive=links.home, earlier=links.home, later=links.home)
    yield partial(renderer.render_page, digest, turning)
    yield partial(renderer.render_site_page, digest, links, "")
    for name in templates.names():
        if name.endswith(POST_SUFFIX):
            yield partial(write_post, templates, name, digest, links)


def _list_feed_entries(
    templates: Templates, digest: Digest, refs_url: str
) -> Iterator[Callable[[], object]]:
    feed = Feed(
        id="", title="", updated=EVENING, self_url="", home_url="", entries=(), refs_url=refs_url
    )
    for entry in digest.entries:
        yield partial(write_content, templates, feed, PaperView(entry, 1))


def _try_template(templates: Templates, name: str, context: Context) -> None:
    rendered = templates.render(name, context)
    if name.startswith(SLACK_FOLDER):
        make_payload(name, compile_blocks(rendered))


def _try_slack(templates: Templates, digest: Digest, links: Links) -> None:
    parts = SlackParts(templates, digest)
    for destination in map(Destination.parse, ("slack:#papers", "slack-webhook:team")):
        shares = parts.divide(destination)
        make = partial(Delivery.make_sample, digest, destination)
        for part, share in enumerate(shares):
            for one in (share, replace(share, shown=0)):
                delivery = make(part, len(shares), "sample", share=one)
                write_slack_payload(parts, delivery, links)


def list_seen(template: str) -> dict[str, dict[str, str]]:
    """Return what a template sees, below "", and the parts of each kind of value that it meets.

    Each is name -> meaning. Nothing for a template that others include: it sees what those see.
    """
    context = find_context(template)
    waiting: dict[str, type] = {"": context} if context else {}
    found: dict[str, dict[str, str]] = {}
    while waiting:
        kind = next(iter(waiting))
        view = waiting.pop(kind)
        found[kind] = {}
        for one in view.__mro__:
            found[kind] |= _read_meanings(one)
        for other in _list_views(view):
            name = other.__name__.removesuffix("View").lower()
            if name not in found:
                waiting[name] = other
    return found


def _list_views(view: type) -> Iterator[type]:
    hints = list(get_type_hints(view).values())
    hints += [get_type_hints(getter).get("return") for _, getter in _find_properties(view)]
    while hints:
        hint: Any = hints.pop(0)
        hints += get_args(hint)
        is_view = isinstance(hint, type) and hint.__name__.endswith("View")
        if hint is Links or is_view:
            yield hint


def _find_properties(view: type) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, found in vars(view).items():
        getter = found.fget if isinstance(found, property) else getattr(found, "func", None)
        if not name.startswith("_") and getter is not None:
            yield name, getter


def _read_meanings(view: type) -> dict[str, str]:
    attributes = inspect.cleandoc(view.__doc__ or "").partition("Attributes:\n")[2]
    meanings = dict.fromkeys(inspect.get_annotations(view), "")
    meanings |= _FIELD.findall(attributes)
    for name, getter in _find_properties(view):
        meanings[name] = (getter.__doc__ or "").partition("\n\n")[0]
    return {name: " ".join(said.split()) for name, said in meanings.items()}
