"""Lists the templates and what each sees, and renders all with samples."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from markupsafe import Markup

from digest.model.errors import TemplateError
from digest.model.messages import Delivery, DeliveryState, Links
from digest.model.subscriptions import Destination
from digest.render import contexts
from digest.render.blocks import compile_blocks, make_payload
from digest.render.contexts import CONTEXTS, AlarmView
from digest.render.coverage import CoverageView
from digest.render.digests import (
    WEEKLY_TEMPLATES,
    DayView,
    DigestView,
    GroupView,
    MatchView,
    QueryView,
    RestView,
    ShareView,
    WeekView,
    as_fields,
    group_papers,
    view_digest,
    view_papers,
    view_rest,
    view_week,
)
from digest.render.environments import SHIPPED_PREFIX, SLACK_FOLDER
from digest.render.mail import Fragments, render_mail_text
from digest.render.papers import PaperView
from digest.render.samples import (
    EVENING,
    SAMPLE_LINKS,
    full_digest,
    make_digest,
    merged_digest,
    odd_entries,
    quiet_digests,
    revised_digest,
    sample_digest,
    weekly_digest,
)
from digest.render.slack import TOP_PAPERS, SlackParts, write_webhook_payload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from _typeshed import DataclassInstance

    from digest.model.messages import Digest, Share
    from digest.render.environments import Templates


_PARTS = {
    "email/style.css": "the mail's styles, written into each element",
    "email/media.css": "the mail's styles for dark mode and narrow screens",
    "web/style.css": "the pages' styles",
    "web/frame.html": "what all pages share",
}
"""Templates that others take in. They see what those see, style sheets nothing."""


@dataclass(frozen=True, slots=True)
class TemplateEntry:
    """A template.

    Attributes:
        name: its path below the folder, such as `email/digest.html`.
        purpose: what it is for, in a few words; "" for one of the operator's that Digest does not know.
        sees: the names it may use.
        blocks: the names of its blocks, which a template that extends it can replace one by one.
        path: its file.
        is_own: it is the operator's, in place of a shipped one or beside them.
    """

    name: str
    purpose: str
    sees: tuple[str, ...]
    blocks: tuple[str, ...]
    path: Path
    is_own: bool


def list_templates(templates: Templates) -> tuple[TemplateEntry, ...]:
    """Return every template that is in force, by name.

    Raises:
        TemplateError: one cannot be read.
    """
    return tuple(_describe(templates, name) for name in templates.names())


def write_extension(templates: Templates, name: str) -> str:
    """Return a template that extends the shipped one of its name, to start from; "" where that has no blocks.

    Raises:
        TemplateError: there is no such template.
    """
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
    path = templates.find_file(name)
    return TemplateEntry(
        name, _find_purpose(name), _find_names(name), templates.find_blocks(name), path, templates.is_own(path)
    )


def _find_purpose(name: str) -> str:
    if name in CONTEXTS:
        first, _, _ = (CONTEXTS[name].__doc__ or "").partition("\n")
        return first.partition(": ")[2].removesuffix(".")
    return _PARTS.get(name, "")


def _find_names(name: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(CONTEXTS[name])) if name in CONTEXTS else ()


@dataclass(frozen=True, slots=True)
class TemplateProblem:
    """A template that cannot be used: its name, what is wrong, and what to do."""

    name: str
    message: str
    hint: str


def check_templates(templates: Templates) -> tuple[TemplateProblem, ...]:
    """Render every template with sample contexts, then whole mails and Slack threads; return what is wrong.

    What is wrong with a template that others take in is told once.
    """
    problems: dict[str, TemplateProblem] = {}
    tries: dict[str, Callable[[], None]] = {
        name: partial(_try_template, templates, name) for name in contexts.CONTEXTS
    }
    tries |= {"email/digest.html as a whole": partial(_try_mails, templates)}
    tries |= {"slack/digest.txt as a whole": partial(_try_slack, templates)}
    for name, attempt in tries.items():
        try:
            attempt()
        except TemplateError as error:
            problems.setdefault(error.message, TemplateProblem(name.partition(" ")[0], error.message, error.hint))
    return tuple(problems.values())


def sample_contexts(name: str) -> Iterator[DataclassInstance]:
    """Yield contexts a template must cope with."""
    if name in _PLAIN_CONTEXTS:
        yield from _PLAIN_CONTEXTS[name]
        return
    ordinary = (sample_digest(), make_digest(odd_entries(), shown=3), merged_digest(), revised_digest())
    digests = (*ordinary, *quiet_digests().values())
    if name in WEEKLY_TEMPLATES:
        digests = (weekly_digest(), *(replace(digest, is_round_up=True) for digest in digests))
    for digest in digests:
        for links in (SAMPLE_LINKS, Links()):
            yield from _DIGEST_CONTEXTS[name](_Sample(digest, links))


def _try_template(templates: Templates, name: str) -> None:
    for context in sample_contexts(name):
        rendered = templates.render(name, context)
        if name.startswith(SLACK_FOLDER):
            make_payload(name, compile_blocks(rendered))


def _try_mails(templates: Templates) -> None:
    fragments = Fragments(templates)
    for digest in _make_wholes():
        for links in (SAMPLE_LINKS, Links()):
            render_mail_text(fragments, digest, links)


def _try_slack(templates: Templates) -> None:
    for digest in _make_wholes():
        parts = SlackParts(templates, digest)
        for part, share in enumerate(parts.shares):
            for links in (SAMPLE_LINKS, Links()):
                write_webhook_payload(parts, _make_delivery(share, part, len(parts.shares)), links)


def _make_wholes() -> Iterator[Digest]:
    yield from (sample_digest(), make_digest(odd_entries(), shown=3), merged_digest(), revised_digest())
    yield from (full_digest(), weekly_digest(), quiet_digests()["quiet"])


def _make_delivery(share: Share, part: int, parts: int) -> Delivery:
    return Delivery(
        id=1,
        digest_id=1,
        destination=Destination.parse("slack:#papers"),
        part=part,
        parts=parts,
        state=DeliveryState.CLAIMED,
        attempts=0,
        token=1,
        idempotency_key="0b9d2a4e-6f1c-4c7e-9a55-0d3c8f1e2b77",
        not_before=EVENING,
        created_at=EVENING,
        share=share,
    )


class _Sample:
    """A sample digest as all kinds of contexts see it."""

    def __init__(self, digest: Digest, links: Links) -> None:
        self.links = links
        self.digest = view_digest(digest)
        self.papers = view_papers(digest)
        self.shown = self.papers[: digest.shown]
        self.groups = group_papers(digest, self.shown)
        self.top = group_papers(digest, self.shown[:TOP_PAPERS])
        self.week = view_week(digest, self.papers)
        self.rest = view_rest(self.papers[digest.shown :], links.web_view)


def _make_subjects(sample: _Sample) -> Iterator[DataclassInstance]:
    top = sample.papers[0] if sample.papers else None
    yield contexts.SubjectContext(sample.digest, top, top.title if top else "", sample.digest.title)


def _make_texts(sample: _Sample) -> Iterator[DataclassInstance]:
    fragments = {paper.number: "…" for paper in sample.shown}
    for limit in (None, 0):
        yield contexts.MailTextContext(sample.digest, sample.groups, fragments, limit, sample.rest, sample.links)


def _make_mails(sample: _Sample) -> Iterator[DataclassInstance]:
    fragments = {paper.number: Markup("<p>…</p>") for paper in sample.shown}
    yield contexts.MailContext(sample.digest, sample.groups, fragments, sample.rest, sample.links)


def _make_mail_papers(sample: _Sample) -> Iterator[DataclassInstance]:
    for paper in sample.papers:
        yield contexts.MailPaperContext(paper, paper.show_abstract())
        yield contexts.MailPaperContext(paper, ())


def _make_mail_text_papers(sample: _Sample) -> Iterator[DataclassInstance]:
    for paper in sample.papers:
        yield contexts.MailPaperTextContext(paper, paper.abstract)
        yield contexts.MailPaperTextContext(paper, "")


def _make_slack_digests(sample: _Sample) -> Iterator[DataclassInstance]:
    top, more = sample.shown[:TOP_PAPERS], len(sample.shown[TOP_PAPERS:])
    yield contexts.SlackDigestContext(sample.digest, top, sample.top, more, sample.rest, sample.links)


def _make_slack_pages(sample: _Sample) -> Iterator[DataclassInstance]:
    if sample.shown:
        yield contexts.SlackPageContext(sample.digest, sample.groups, 1, len(sample.shown), 1, 1)


def _make_slack_briefs(sample: _Sample) -> Iterator[DataclassInstance]:
    shown, hidden = len(sample.shown), sample.rest.count
    yield contexts.SlackBriefContext(sample.digest, (), shown, hidden, sample.links)
    for paper in sample.shown:
        yield contexts.SlackBriefContext(sample.digest, (paper,), 0, 0, sample.links)


def _make_feed_entries(sample: _Sample) -> Iterator[DataclassInstance]:
    for paper in sample.papers:
        refs = f"{sample.links.refs}/{paper.id}" if sample.links.refs else ""
        bibtex_url, ris_url = (f"{refs}.{suffix}" if refs else "" for suffix in ("bib", "ris"))
        yield contexts.FeedEntryContext(paper, paper.show_abstract(), bibtex_url, ris_url)


def _make_terminals(sample: _Sample) -> Iterator[DataclassInstance]:
    yield contexts.TerminalContext(sample.digest, sample.groups)


def _make_pages(sample: _Sample) -> Iterator[DataclassInstance]:
    yield contexts.PageContext(sample.digest, sample.groups, sample.links)


def _add_week(
    context: Callable[..., DataclassInstance],
    make: Callable[[_Sample], Iterator[DataclassInstance]],
    sample: _Sample,
) -> Iterator[DataclassInstance]:
    """Yield what a round-up's template sees: an ordinary one's names, and the week."""
    for ordinary in make(sample):
        yield context(**as_fields(ordinary), week=sample.week)


_DIGEST_CONTEXTS: dict[str, Callable[[_Sample], Iterator[DataclassInstance]]] = {
    "email/subject.txt": _make_subjects,
    "email/text.txt": _make_texts,
    "email/digest.html": _make_mails,
    "email/weekly.txt": partial(_add_week, contexts.WeeklyTextContext, _make_texts),
    "email/weekly.html": partial(_add_week, contexts.WeeklyMailContext, _make_mails),
    "email/paper.html": _make_mail_papers,
    "email/paper.txt": _make_mail_text_papers,
    "slack/digest.txt": _make_slack_digests,
    "slack/weekly.txt": partial(_add_week, contexts.WeeklySlackContext, _make_slack_digests),
    "slack/page.txt": _make_slack_pages,
    "slack/brief.txt": _make_slack_briefs,
    "feed/entry.html": _make_feed_entries,
    "terminal/digest.txt": _make_terminals,
    "terminal/weekly.txt": partial(_add_week, contexts.WeeklyTerminalContext, _make_terminals),
    "web/digest.html": _make_pages,
    "web/weekly.html": partial(_add_week, contexts.WeeklyPageContext, _make_pages),
}

_ALARMS = (
    contexts.AlarmContext(
        "Digest: a mailing is missing",
        (
            contexts.AlarmView("mailing, since Fri 20 Nov 11:00 UTC", "the mailing of Thu 19 Nov is not out yet."),
            contexts.AlarmView("outbox is over", "It lasted 2 h."),
        ),
        "https://digest.example.org",
        "Fri 20 Nov 11:00 UTC",
    ),
    contexts.AlarmContext("Digest: a test", (), "<host>:/srv/digest", "Fri 20 Nov 11:00 UTC", is_test=True),
)

_PLAIN_CONTEXTS: dict[str, tuple[DataclassInstance, ...]] = {
    "email/alarm.txt": _ALARMS,
    "slack/alarm.txt": _ALARMS,
    "web/leave.html": (
        contexts.LeaveContext("demo-team", "r…@example.org", SAMPLE_LINKS.unsubscribe),
        contexts.LeaveContext("<i>", "", "/u/x", home="https://digest.example.org"),
    ),
    "web/left.html": (
        contexts.LeftContext("demo-team"),
        contexts.LeftContext(
            "demo-team", is_earlier=True, contact="ops@example.org", home="https://digest.example.org"
        ),
        contexts.LeftContext(""),
    ),
    "web/error.html": (
        contexts.ErrorContext(404, "There is no such page", "Look at the address again."),
        contexts.ErrorContext(500, "Something went wrong", "", "https://digest.example.org"),
    ),
    "web/home.html": (
        contexts.HomeContext("ops@example.org", "mailing of Thu 19 Nov: complete, 412 looked at", is_healthy=True),
        contexts.HomeContext("", "", is_healthy=False),
    ),
}


_VIEWS = {
    kind.__name__: kind
    for kind in (
        *(AlarmView, CoverageView, DayView, DigestView, GroupView, Links),
        *(MatchView, PaperView, QueryView, RestView, ShareView, WeekView),
    )
}
"""Values with parts of their own that templates meet."""

_FIELD = re.compile(r"^ {4}(\w+): (.*)$")


@dataclass(frozen=True, slots=True)
class SeenName:
    """A name that a template may use.

    Attributes:
        name: as it is written.
        meaning: what it stands for, in a sentence; "" where its name says it.
        kind: what kind of value has parts (`digest`, `paper`, …); "" for a plain one.
        is_many: there are several of that kind, to be gone through.
    """

    name: str
    meaning: str
    kind: str = ""
    is_many: bool = False


def list_seen(template: str) -> dict[str, tuple[SeenName, ...]]:
    """Return what a template sees, below ""; and the parts of each kind of value it meets there, by kind.

    Nothing for a template that is not rendered by its own name: it sees what the one sees that takes it in.
    """
    if template not in CONTEXTS:
        return {}
    found: dict[str, tuple[SeenName, ...]] = {}
    waiting: list[tuple[str, type]] = [("", CONTEXTS[template])]
    while waiting:
        kind, view = waiting.pop(0)
        if kind in found:
            continue
        found[kind] = tuple(_list_parts(view))
        waiting += [(part.kind, _find_view(part.kind)) for part in found[kind] if part.kind]
    return found


def _list_parts(view: type) -> Iterator[SeenName]:
    """Yield fields and properties of a class, with what its documentation says of each."""
    meanings = _read_meanings(view)
    if is_dataclass(view):
        for field in fields(view):
            kind, is_many = _judge_type(str(field.type))
            yield SeenName(field.name, meanings.get(field.name, ""), kind, is_many)
    for name in dict.fromkeys(name for one in reversed(view.__mro__) for name in vars(one)):
        found = inspect.getattr_static(view, name)
        getter = found.fget if isinstance(found, property) else getattr(found, "func", None)
        if not name.startswith("_") and isinstance(found, property | cached_property) and getter is not None:
            kind, is_many = _judge_type(str(getter.__annotations__.get("return", "")))
            yield SeenName(name, " ".join((getter.__doc__ or "").partition("\n\n")[0].split()), kind, is_many)


def _judge_type(annotation: str) -> tuple[str, bool]:
    """Return which kind of value a type names, "" for a plain one, and whether there are several."""
    named = next((word for word in re.findall(r"\w+", annotation) if word in _VIEWS), "")
    return _name_kind(named), bool(named) and annotation.startswith(("tuple[", "Mapping["))


def _name_kind(view: str) -> str:
    return view.removesuffix("View").lower()


def _find_view(kind: str) -> type:
    return next(view for name, view in _VIEWS.items() if _name_kind(name) == kind)


def _read_meanings(view: type) -> dict[str, str]:
    """Return what the documentation of a class and of those it is made from says of each field."""
    meanings: dict[str, str] = {}
    for one in reversed(view.__mro__):
        _, _, told = inspect.cleandoc(one.__doc__ or "").partition("Attributes:\n")
        name = ""
        for line in told.split("\n"):
            if match := _FIELD.match(line):
                name = match[1]
                meanings[name] = match[2]
            elif name and line.strip():
                meanings[name] += f" {line.strip()}"
            else:
                name = ""
    return meanings
