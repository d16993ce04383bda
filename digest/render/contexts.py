"""What each template sees: a frozen dataclass, whose fields are the names that it may use.

Every template also knows `|count_papers` (`9 papers`) and `|open_sentence` (first letter large).
Parts of a text, as `paper.title_parts`, are written by `|marked` (HTML), `|mrkdwn` (Slack),
`|starred` (plain Unicode) and `|styled` (terminal). Slack's templates have `link(url, label)`. The
terminal's have `link(url, text)`, `styled(text, style)` and `cut_line(text, columns, lines)`. HTML
templates have `read_style(name)` and `read_script(name)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

from digest.model.errors import QueryError
from digest.model.messages import Form, Links
from digest.model.subscriptions import Abstracts
from digest.render.digests import CoverageView, DigestView, GroupView, QueryView, RestView
from digest.render.pages import (
    ConfirmContext,
    LinkContext,
    PreferencesContext,
    PrivateContext,
    SubscribeContext,
    UnsubscribeContext,
    WebContext,
)
from digest.render.papers import PaperView

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

POST_SUFFIX = "/digest.md"

Context: TypeAlias = "DataclassInstance"
"""What a template sees: any of the dataclasses below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestContext:
    """What the templates of a digest see in every medium, each beside its own.

    Attributes:
        digest: the digest as a whole.
        groups: the papers shown, under their headings.
        rest: the papers left out.
        links: addresses; "" for each that does not exist.
    """

    digest: DigestView
    groups: tuple[GroupView, ...]
    rest: RestView = field(default_factory=RestView)
    links: Links = field(default_factory=Links)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailContext(DigestContext):
    """`email/subject.txt`, `text.txt`, `digest.html`: the mail's subject, and its parts.

    Attributes:
        fragments: each shown paper, by its number: `email/paper.html` or `email/title.html`, or
            `.txt` of them; none for the subject.
        top_title: the first paper's title, shortened for the subject; "" on a quiet day.
    """

    fragments: Mapping[int, str]
    top_title: str


@dataclass(frozen=True, slots=True)
class MailPaperContext:
    """`email/paper.html`, `email/title.html`, and `.txt` of them: one paper of the mail.

    Attributes:
        paper: the paper, without its number, which another digest may not share. A link to `#paper`
            leads to its place on the digest's page, or to arXiv if there is none.
        abstracts: how much of its abstract there is room for: `short`, `full` or `none`. If it is
            `full`, the authors' comment is shown, too.
        letters: how many letters of a title there is room for, without names; 0 for the whole
            title, with names.
    """

    paper: PaperView
    abstracts: Abstracts
    letters: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PostContext(DigestContext):
    """`slack/digest.txt`, or another destination's `digest.md`: the message in its channel.

    Attributes:
        papers: the first papers, whose titles it lists.
        in_thread: how many papers are in Slack's thread; 0 if there is no thread.
        unlisted: how many of those are not listed here.
    """

    papers: tuple[PaperView, ...]
    in_thread: int = 0
    unlisted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackPageContext(DigestContext):
    """`slack/thread.txt`: a message in its thread; `groups` and `rest` are of its papers.

    Attributes:
        form: how much is said of each: `abstract`, `one sentence` or `title`.
        first: number of the first paper of this message.
        last: number of the last one that is shown.
        pages: how many messages the thread has.
    """

    form: Form
    first: int
    last: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalContext(DigestContext):
    """`terminal/digest.txt`: a tab parts a title from the line that is said about it.

    Attributes:
        width: columns of the terminal.
    """

    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext(DigestContext):
    """`web/digest.html`: the whole digest as a page; and `web/likes.html`, for its one reader.

    Attributes:
        opinions: what its one reader wants of papers like some, `more` or `less`, by their ids.
        token: tells the server that this page posts.
        action: the address its forms post to, which is also the token of the digest's page.
        is_static: it is a file of a site: what it needs is in it, and its feeds are beside it.
    """

    opinions: Mapping[str, str] = field(default_factory=dict)
    token: str = ""
    action: str = ""
    is_static: bool = False


@dataclass(frozen=True, slots=True)
class FeedEntryContext:
    """`feed/entry.html`: the content of a feed's entry.

    Attributes:
        paper: the paper.
        refs: where papers are fetched as BibTeX and RIS, by their ids; "" for nowhere.
    """

    paper: PaperView
    refs: str


@dataclass(frozen=True, slots=True)
class MissedContext:
    """`missed.txt`, `missed.html`: what was announced near a library that it does not have.

    Attributes:
        library: the library as it was typed.
        follow: the command that follows such papers daily.
        followed_by: the subscriptions that have this library already.
        failure: why not all of the days could be read, "" if they were.
        days: how many days.
        limit: how many papers are shown at most.
        span: the first of them, and the day of the last announcement.
        read_until: the announcement after which some are missing; None if the last one was read.
        announced: how many papers were announced.
        held: how many of them the library has.
        in_library: how many papers it has in all.
        without_text: of how many of these nothing but an id is known.
        unasked: for how many of these the next call asks arXiv.
        troubles: what could not be read of it.
        papers: the nearest. `paper.entry.near` is the title of the library's nearest,
            `paper.why_first` the words that they share.
    """

    library: str
    follow: str
    followed_by: str
    failure: str
    days: int
    limit: int
    span: tuple[date, date]
    read_until: date | None
    announced: int
    held: int
    in_library: int
    without_text: int
    unasked: int
    troubles: tuple[str, ...]
    papers: tuple[PaperView, ...]


@dataclass(frozen=True, slots=True)
class PastView:
    """A past digest, or what a search found in it.

    Attributes:
        digest: its words: `digest.day`, and on a day without papers `digest.headline`.
        month: when it came, `November 2026`.
        url: its page; `#paper-3` after it leads to the third paper.
        papers: its first papers, or those that were found.
        left_out: how many more there are.
    """

    digest: DigestView
    month: str
    url: str
    papers: tuple[PaperView, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class ProblemView:
    """Why a query cannot be read, what is before, at and after the place, a hint, what works."""

    message: str
    before: str
    marked: str
    after: str
    hint: str
    suggestion: str


@dataclass(frozen=True, slots=True)
class BarView:
    """One day, `Thu 19 Nov`, how many papers it brought, and how high the bar is, from 1 to 70."""

    day: str
    papers: int
    height: int


@dataclass(frozen=True, slots=True)
class VariantView:
    """A query near another: its text, what was changed, how many papers it brings, and a day."""

    text: str
    change: str
    papers: int
    rate: str


@dataclass(frozen=True, slots=True)
class DifferenceView:
    """How many papers another wording of a query gains, loses and keeps, and the newest titles."""

    gained: int
    lost: int
    kept: int
    gained_titles: tuple[str, ...]
    lost_titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrialView:
    """What a query means and would have brought.

    Attributes:
        text: the query as typed.
        reading: how it is read, in words; "" if it is not.
        problem: why it cannot be read; None if it can.
        notes: what its author should know, without full stops.
        message: why there are no figures, as a sentence; "" if there are.
        is_ready: no figures are being made that are worth waiting for.
        is_offered: queries can be tried in this installation.
        rate: how much it brings, `About 6 papers a day, one mail each weekday`; "" without figures.
        bars: its papers day by day.
        since: the first day that is stored, if the figures reach back to it only; "" mostly.
        heading: what its papers are.
        papers: those of today, at most ten; if there are none, the last ones.
        more: how many of today are not shown.
        variants: what comes near it.
        difference: against another wording; None if there is none.
    """

    text: str
    reading: str = ""
    problem: ProblemView | None = None
    notes: tuple[str, ...] = ()
    message: str = ""
    is_ready: bool = True
    is_offered: bool = True
    rate: str = ""
    bars: tuple[BarView, ...] = ()
    since: str = ""
    heading: str = ""
    papers: tuple[PaperView, ...] = ()
    more: int = 0
    variants: tuple[VariantView, ...] = ()
    difference: DifferenceView | None = None


@dataclass(frozen=True, slots=True)
class ArchiveContext(WebContext):
    """`archive.html`, `site.html`: the past digests of a subscription, or what a search found.

    Attributes:
        title: what the subscription is called.
        queries: its saved queries as they read now.
        past: digests, newest first.
        search: what is searched for, "" for nothing.
        problem: why that can't be read, with `message`, `pointer()` and `hint`; None if it can.
        go_on: the address of what is older, "" if there is nothing more.
        is_public: everybody may find it.
        is_shared: it has digests of several subscriptions.
        coverage: which announcements of the last week were checked late; "" for none.
    """

    title: str
    queries: tuple[QueryView, ...]
    past: tuple[PastView, ...]
    search: str = ""
    problem: QueryError | None = None
    go_on: str = ""
    is_public: bool = False
    is_shared: bool = False
    coverage: str = ""


@dataclass(frozen=True, slots=True)
class FeedContext(WebContext):
    """`web/feed.html`: what a browser shows at a feed's address.

    Attributes:
        title: what the feed is called.
        papers: the newest ones.
        atom: its address as Atom.
        json: its address as JSON Feed.
    """

    title: str
    papers: tuple[PaperView, ...]
    atom: str
    json: str


@dataclass(frozen=True, slots=True)
class StoredKind:
    """One kind of thing that is stored of people: what, why, how long, and in which tables."""

    what: str
    why: str
    how_long: str
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredContext(WebContext):
    """`web/stored.html`: what is stored of people.

    Attributes:
        kinds: each kind, in the order of the page.
    """

    kinds: tuple[StoredKind, ...]


@dataclass(frozen=True, slots=True)
class QueryContext(WebContext):
    """`web/query.html`: one of a person's saved queries, or a new one, with what it would bring.

    Attributes:
        trial: the trial of what is typed, or stored, and what that changes.
        back: the address of the person's preferences.
        was: as stored; "" for a new one.
        mistake: why it can't be saved, "" for no reason or one that its trial tells.
    """

    trial: TrialView
    back: str
    was: str = ""
    mistake: str = ""


@dataclass(frozen=True, slots=True)
class LetterContext:
    """`email/letter.txt`: the mail with a link that somebody asked for on a page.

    It holds nothing they wrote.

    Attributes:
        kind: `subscribe`, `link`, `fresh` or `move`.
        subject: the mail's subject.
        link: the address of the page.
        host: the name of the server.
        contact: the operator's address, "" if none is given.
        sender: who the mail is from.
        home: the first page.
    """

    kind: str
    subject: str
    link: str
    host: str
    contact: str
    sender: str
    home: str


@dataclass(frozen=True, slots=True)
class ErrorContext(WebContext):
    """`web/error.html`: what went wrong and what to do.

    Attributes:
        status: the HTTP status.
        message: what is wrong, as a sentence.
        hint: what to do next, "" for nothing.
    """

    status: int
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class TrialContext:
    """`web/trial.html`: the trial of a query, a part of pages.

    Attributes:
        trial: the trial.
    """

    trial: TrialView


@dataclass(frozen=True, slots=True)
class StartContext:
    """`web/start.html`: the page to begin.

    Attributes:
        trial: the trial of the query in the box.
        form: the form to subscribe, with what `web/subscribe.html` sees; None if nobody may.
        archives: past digests that everybody may read: title and address of each.
        coverage: what was checked last.
        contact: the operator's address, "" if none is given.
    """

    trial: TrialView
    form: SubscribeContext | None
    archives: tuple[tuple[str, str], ...]
    coverage: CoverageView
    contact: str


@dataclass(frozen=True, slots=True)
class AlarmView:
    """One alarm.

    Attributes:
        heading: which, and since when; or that it is over.
        detail: what is amiss, and what to do.
    """

    heading: str
    detail: str


@dataclass(frozen=True, slots=True)
class AlarmContext:
    """`email/alarm.txt`, `slack/alarm.txt`: a message to the operator.

    Attributes:
        headline: what it is about, in one line.
        alarms: what is amiss or over; () in a test.
        installation: where it comes from: the public address, or the machine and folder.
        moment: when, in words.
        is_test: nothing is wrong; somebody tries whether messages arrive.
    """

    headline: str
    alarms: tuple[AlarmView, ...]
    installation: str
    moment: str
    is_test: bool = False


@dataclass(frozen=True, slots=True)
class WorkflowContext:
    """`start/*`: what `digest init --start github` writes; only the shipped ones count.

    Attributes:
        schedule: when it starts: cron's five fields, and the zone of each.
        in_utc: the same where no zone can be named; nothing if it is the same.
        requirement: where Digest is installed from, as pip takes it.
        secrets: the variables that no file of the repository may hold, and their values as a shell
            reads them.
        is_site: it publishes the folder `site` on GitHub Pages.
        has_history: there is a database, which knows what was sent.
        ignored: files with secrets that digest.toml names, as `.gitignore` writes them.
    """

    schedule: tuple[tuple[str, str], ...]
    in_utc: tuple[tuple[str, str], ...]
    requirement: str
    secrets: Mapping[str, str]
    is_site: bool
    has_history: bool
    ignored: tuple[str, ...] = ()


_TEMPLATES: dict[type[Context], str] = {
    MailContext: "email/subject.txt email/text.txt email/digest.html",
    MailPaperContext: "email/paper.html email/paper.txt email/title.html email/title.txt",
    AlarmContext: "email/alarm.txt slack/alarm.txt",
    LetterContext: "email/letter.txt",
    PostContext: "slack/digest.txt",
    SlackPageContext: "slack/thread.txt",
    FeedEntryContext: "feed/entry.html",
    TerminalContext: "terminal/digest.txt",
    MissedContext: "terminal/missed.txt web/missed.html",
    PageContext: "web/digest.html web/likes.html",
    ArchiveContext: "web/archive.html web/site.html",
    FeedContext: "web/feed.html",
    UnsubscribeContext: "web/unsubscribe.html web/unsubscribed.html",
    PreferencesContext: "web/preferences.html",
    QueryContext: "web/query.html",
    PrivateContext: "web/private.html",
    StoredContext: "web/stored.html",
    SubscribeContext: "web/subscribe.html",
    LinkContext: "web/link.html web/sent.html",
    ConfirmContext: "web/confirm.html web/confirmed.html web/refused.html",
    ErrorContext: "web/error.html",
    StartContext: "web/start.html",
    TrialContext: "web/trial.html",
    WorkflowContext: "start/digest.yml start/gitignore.txt start/requirements.txt"
    " start/secrets.env start/github.txt",
}


def _list_contexts() -> Iterator[tuple[str, type[Context]]]:
    for context, names in _TEMPLATES.items():
        for name in names.split():
            yield name, context


CONTEXTS = dict(_list_contexts())
"""Every template that is rendered by name, and what it sees. Style sheets see nothing."""


def find_context(name: str) -> type[Context] | None:
    """Return what a template sees; None for style sheets, and for names that mean nothing."""
    if name in CONTEXTS:
        return CONTEXTS[name]
    return PostContext if name.endswith(POST_SUFFIX) else None
