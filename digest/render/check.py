"""Lists the templates and what each sees, and renders all with samples."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING

from digest.model.errors import TemplateError
from digest.model.messages import Delivery, Digest, Feed, Links
from digest.model.subscriptions import Destination
from digest.render import contexts, coverage, digests, papers
from digest.render.contexts import POST_SUFFIX, find_context
from digest.render.digests import write_page, write_post
from digest.render.environments import SHIPPED_PREFIX, SLACK_FOLDER, Templates
from digest.render.feeds import write_content
from digest.render.mail import MailPapers, render_mail_text
from digest.render.papers import PaperView
from digest.render.samples import EVENING, SAMPLE_LINKS, SAMPLES, list_samples
from digest.render.slack import SlackParts, compile_blocks, make_payload, write_webhook_payload
from digest.render.terminal import write_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from _typeshed import DataclassInstance


_PARTS = {
    "email/style.css": "the mail's styles, written into each element",
    "email/media.css": "the styles that stay in the mail's head: titles, dark mode, narrow screens",
    "web/style.css": "the pages' styles",
    "web/frame.html": "what all pages share",
    "web/live.js": "shows the trial of a query while it is typed",
    "web/digest.js": "filters a digest's papers by words, and moves among them by keys",
    "web/favicon.svg": "the pages' icon",
}
"""Templates that others take in. They see what those see, style sheets nothing."""

_FIRST_COMMENT = re.compile(r"\{#-? *(.*?)\.? *#\}")
"""Says what any other template is for."""

_TURNS = ("archive", "earlier", "later")

_VIEWS = {
    name.removesuffix("View").lower(): view
    for module in (contexts, coverage, digests, papers)
    for name, view in vars(module).items()
    if name.endswith("View")
} | {"links": Links}
"""Values with parts of their own that templates meet."""

_FIELD = re.compile(r"^ {4}(\w+): (.*)$")


@dataclass(frozen=True, slots=True)
class TemplateEntry:
    """A template.

    Attributes:
        name: its path below the folder, such as `email/digest.html`.
        purpose: what it is for, in a few words; "" for one of the operator's that Digest does not know.
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
    """Return a template that extends the shipped one of its name, to start from; "" where that has no blocks."""
    blocks = templates.find_blocks(f"{SHIPPED_PREFIX}:{name}")
    if not blocks:
        return ""
    return (
        f'{{% extends "{SHIPPED_PREFIX}:{name}" %}}\n'
        f"{{# Write anew what you want otherwise, as {{% block {blocks[0]} %}}…{{% endblock %}};\n"
        "   {{ super() }} is what stood there.\n"
        f"   Blocks: {', '.join(blocks)}.\n"
        f"   They see: {', '.join(_find_names(name))}. #}}\n"
    )


def _describe(templates: Templates, name: str) -> TemplateEntry:
    path, blocks = templates.find_file(name), templates.find_blocks(name)  # refuses what can't be read
    return TemplateEntry(name, _find_purpose(name, path), _find_names(name), blocks, path, templates.is_own(path))


def _find_purpose(name: str, path: Path) -> str:
    if context := find_context(name):
        first, _, _ = (context.__doc__ or "").partition("\n")
        return first.partition(": ")[2].removesuffix(".")
    comment = _FIRST_COMMENT.match(path.read_text(encoding="utf-8"))
    return _PARTS.get(name, comment[1] if comment else "")


def _find_names(name: str) -> tuple[str, ...]:
    context = find_context(name)
    return tuple(field.name for field in fields(context)) if context else ()


def check_templates(templates: Templates) -> tuple[TemplateError, ...]:
    """Write sample digests for every medium, and other pages and messages; return what failed."""
    problems: dict[str, TemplateError] = {}
    for attempt in _list_attempts(templates):
        try:
            attempt()
        except TemplateError as error:
            problems.setdefault(error.message, error)
    return tuple(problems.values())


def find_unused(templates: Templates) -> tuple[str, ...]:
    """Return the operator's own files that no shipped one is like and no other of theirs names."""
    shipped = set(templates.shipped_names())
    own = {name: templates.find_file(name) for name in templates.names()}
    texts = {name: path.read_text("utf-8", "replace") for name, path in own.items() if templates.is_own(path)}
    extra = [name for name in texts if name not in shipped and not name.endswith(POST_SUFFIX)]
    return tuple(name for name in extra if not any(name in text for text in texts.values()))


def _list_attempts(templates: Templates) -> Iterator[Callable[[], object]]:
    papers = MailPapers(templates)
    posts = [name for name in templates.names() if name.endswith(POST_SUFFIX)]
    for digest in SAMPLES:
        for links in (SAMPLE_LINKS, Links()):
            yield partial(render_mail_text, papers, digest, links)
            yield partial(_try_slack, templates, digest, links)
            yield partial(write_page, templates, digest, replace(links, **dict.fromkeys(_TURNS, links.home)))
            for name in posts:
                yield partial(write_post, templates, name, digest, links)
        yield partial(write_terminal, templates, digest, width=80, color=False, limit=None)
        for refs_url in (SAMPLE_LINKS.refs, ""):
            feed = Feed(id="", title="", updated=EVENING, self_url="", home_url="", entries=(), refs_url=refs_url)
            for entry in digest.entries:
                yield partial(write_content, templates, feed, PaperView(entry, 1))
    for name, context in contexts.CONTEXTS.items():
        if name == "web/likes.html" or not {"digest", "paper"} & {*_find_names(name)}:  # others were of a digest
            for sample in list_samples(context):
                yield partial(_try_template, templates, name, sample)


def _try_template(templates: Templates, name: str, context: DataclassInstance) -> None:
    rendered = templates.render(name, context)
    if name.startswith(SLACK_FOLDER):
        make_payload(name, compile_blocks(rendered))


def _try_slack(templates: Templates, digest: Digest, links: Links) -> None:
    parts = SlackParts(templates, digest)
    for destination in map(Destination.parse, ("slack:#papers", "slack-webhook:team")):
        shares = parts.divide(destination)
        for part, share in enumerate(shares):
            for one in (share, replace(share, shown=0)):
                delivery = Delivery.make_sample(digest, destination, part, len(shares), "sample", share=one)
                write_webhook_payload(parts, delivery, links)


def list_seen(template: str) -> dict[str, dict[str, str]]:
    """Return what a template sees, below "", and the parts of each kind of value it meets there: name -> meaning.

    Nothing for a template that is not rendered by its own name: it sees what the one sees that takes it in.
    """
    found: dict[str, dict[str, str]] = {}
    waiting: list[tuple[str, type]] = [("", context)] if (context := find_context(template)) else []
    while waiting:
        kind, view = waiting.pop(0)
        found[kind] = {name: said for one in view.__mro__ for name, said in _read_meanings(one).items()}
        types = set(re.findall(r"\w+", " ".join(_list_types(view))))
        kinds = {kind: one for kind, one in _VIEWS.items() if one.__name__ in types}
        waiting += [pair for pair in kinds.items() if pair[0] not in found and pair not in waiting]
    return found


def _find_properties(view: type) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, found in vars(view).items():
        getter = found.fget if isinstance(found, property) else getattr(found, "func", None)
        if not name.startswith("_") and getter is not None:
            yield name, getter


def _list_types(view: type) -> Iterator[str]:
    yield from map(str, inspect.get_annotations(view).values())
    yield from (str(getter.__annotations__.get("return", "")) for _, getter in _find_properties(view))


def _read_meanings(view: type) -> dict[str, str]:
    """Return what the documentation of a class says of each field and property."""
    meanings: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(view.__doc__ or "").partition("Attributes:\n")[2].split("\n"):
        if match := _FIELD.match(line):
            name, meanings[match[1]] = match[1], match[2]
        elif name and line.strip():
            meanings[name] += f" {line.strip()}"
    documented = _find_properties(view)
    return (
        dict.fromkeys(inspect.get_annotations(view), "")
        | meanings
        | {name: " ".join((getter.__doc__ or "").partition("\n\n")[0].split()) for name, getter in documented}
    )
