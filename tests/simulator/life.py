"""A whole installation being lived: what anybody may do to it, and what was done, for the checks to know.

arXiv, the mail server and Slack are real servers on 127.0.0.1, the database is a real one, every pass is the
product's own. A death is an exception that nothing catches (see `Life.die_at`): thousands of real processes
would take hours, and test_fail_points.py has those. From its death on a process can't touch its database,
so that no `finally` on the way out mends anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

from sqlalchemy.util import LRUCache

from digest.config import load_config
from digest.deliver.transports.smtp import SmtpTransport
from digest.model.clock import ManualClock
from digest.model.subscriptions import Destination
from digest.people.unsubscription import resubscribe_to, unsubscribe_from
from digest.render import Renderer
from digest.serve.installation import open_site
from digest.serve.steps import run_pass
from digest.site import Site
from tests.acceptance.made import START, made_up
from tests.fakes.archive import DemoPaper, plan_announcement
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.config_file import write_config
from tests.fakes.mail import MailSink
from tests.fakes.slack import SlackReceiver
from tests.simulator.dying import Point, find

TEXTS: dict[str, Callable[[Any], bool]] = {
    "cat:cs.PF": lambda paper: "cs.PF" in paper.categories,
    "cat:cs.DC": lambda paper: "cs.DC" in paper.categories,
    "abs:latency": lambda paper: "latency" in paper.abstract,
    "cat:cs.PF AND abs:latency": lambda paper: "cs.PF" in paper.categories and "latency" in paper.abstract,
    "cat:cs.PF OR cat:cs.DC": lambda paper: bool({"cs.PF", "cs.DC"} & {*paper.categories}),
}
"""Saved queries, and what each means, said once more by other means than the product's."""

CADENCES = (
    "daily at 06:00 UTC",
    "weekdays at 09:00 Europe/Berlin",
    "mondays at 08:00 America/New_York",
    "on announcement",
    "at once",
)
KINDS = (("new", "cross-listed"), ("new", "cross-listed", "replaced", "withdrawn"))
CATEGORIES = ("cs.PF", "cs.DC", "math.CO")
WORDS = ("latency", "throughput")

_compiled: LRUCache[Any, Any] = LRUCache(2_000)


class Killed(BaseException):
    """The process is gone: nothing of ours may catch this."""


@dataclass(frozen=True)
class Wish:
    """A subscription as the file has it."""

    follow: tuple[str, ...]
    to: tuple[str, ...]
    when: str = CADENCES[0]
    kinds: tuple[str, ...] = KINDS[0]
    when_empty: str = "skip"

    @property
    def sent_to(self) -> tuple[str, ...]:
        return tuple(place for place in self.to if place.startswith(("mailto:", "slack:")))


WISHES = {
    "team": Wish(("a", "b"), ("mailto:team@example.org", "slack:#papers", "file:feeds/team.atom")),
    "solo": Wish(("a",), ("mailto:solo@example.org",), when=CADENCES[1], when_empty="note"),
    "lab": Wish(("b",), ("slack:#lab", "file:feeds/lab.json"), when=CADENCES[4]),
    "board": Wish(("a",), ("file:feeds/board.atom",)),
}


@dataclass(frozen=True)
class File:
    """What `digest.toml` says."""

    queries: dict[str, str]
    wishes: dict[str, Wish]

    def list_subscriptions(self) -> list[dict[str, object]]:
        return [{"name": name, **asdict(wish)} for name, wish in self.wishes.items()]


@dataclass
class Left:
    """Since when somebody is to be left alone: so many messages had come by then."""

    mails: int
    posts: int


@dataclass
class Life:
    """One installation from its first look on.

    Attributes:
        file: what the operator wants.
        left: who left what: (destination, subscription).
        disturbed: since when each subscription's turns go as they go now.
        passed: the file as each pass read it, with when it began; the last element is the latest pass.
        has_completed: whether the latest pass came to its end.
        returned: subscriptions that somebody, or the file, came back to, with how many passes there had been.
    """

    folder: Path
    database: str
    arxiv: DemoArxiv
    mail: MailSink
    slack: SlackReceiver
    renderer: Renderer
    file: File = field(default_factory=lambda: File({"a": "cat:cs.PF", "b": "abs:latency"}, dict(WISHES)))
    left: dict[tuple[str, str], Left] = field(default_factory=dict)
    disturbed: dict[str, datetime] = field(default_factory=dict)
    passed: list[tuple[datetime, File]] = field(default_factory=list)
    has_completed: bool = False
    returned: dict[str, int] = field(default_factory=dict)
    papers: dict[str, list[DemoPaper]] = field(default_factory=dict)
    held: list[tuple[int, datetime]] = field(default_factory=list)
    deaths: int = 0
    _edited: set[str] = field(default_factory=set)
    _number: int = 0
    _site: Site | None = None

    @property
    def clock(self) -> ManualClock:
        assert isinstance(self.arxiv.clock, ManualClock)
        return self.arxiv.clock

    def announce(self, category: str, word: str, *, held_since: tuple[int, datetime] | None = None) -> None:
        """Let a paper come out with the next announcement; one that was held, under the number it had long ago."""
        number, submitted = held_since or (self._next_number(), self.clock.now())
        paper = made_up(
            number,
            submitted,
            announced=plan_announcement(self.clock.now()),
            categories=(category,),
            abstract=f"We measure {word}.",
        )
        self._publish(paper)

    def hold(self) -> None:
        """Let a moderator keep a paper back; its number is given out."""
        self.held.append((self._next_number(), self.clock.now()))

    def replace_paper(self, paper_id: str, word: str) -> None:
        self._keep(self.arxiv.replace(paper_id, abstract=f"We measure {word} anew."))

    def cross_list(self, paper_id: str, category: str) -> None:
        if category not in self.papers[paper_id][-1].categories:
            self._keep(self.arxiv.cross_list(paper_id, category))

    def withdraw(self, paper_id: str) -> None:
        if not self.papers[paper_id][-1].is_withdrawn:
            self._keep(self.arxiv.withdraw(paper_id))

    def edit(self, file: File) -> None:
        """Change the file; the next pass reads it."""
        names = {*self.file.wishes, *file.wishes}
        self._edited |= {name for name in names if self.file.wishes.get(name) != file.wishes.get(name)}
        self.returned |= dict.fromkeys(file.wishes.keys() - self.file.wishes.keys(), len(self.passed))
        self.file = file
        self.discard()

    def edit_wish(self, name: str, **changes: Any) -> None:  # noqa: ANN401 - fields of Wish
        if name in self.file.wishes:
            wish = replace(self.file.wishes[name], **changes)
            self.edit(replace(self.file, wishes=self.file.wishes | {name: wish}))

    def leave(self, place: str, name: str) -> None:
        """Somebody leaves by the link, at this moment; also in the middle of a pass."""
        with self.site.store.begin() as conn:
            unsubscribe_from(conn, Destination.parse(place), name, how="page", at=self.clock.now())
        self.left.setdefault((place, name), Left(len(self.mail.mails), len(self.slack.messages)))
        self._edited.add(name)

    def resubscribe(self, place: str, name: str) -> None:
        if (place, name) in self.left:
            with self.site.store.begin() as conn:
                resubscribe_to(conn, Destination.parse(place), name, how="page", at=self.clock.now())
            del self.left[place, name]
            self.returned[name] = len(self.passed)
            self._edited.add(name)

    def run(self, point: Point | None = None, meanwhile: Callable[[], None] | None = None) -> None:
        """Live one pass; it dies at a point, or something is done from outside before a message is rendered."""
        self.clock.advance(timedelta(minutes=1))
        for name in self._edited:
            self.disturbed[name] = self.clock.now()
        self._edited.clear()
        self.passed.append((self.clock.now(), self.file))
        self.has_completed = False
        site = self.site
        try:
            with self.die_at(point, site) if point else self.interject(meanwhile) if meanwhile else nullcontext():
                run_pass(site)
            self.has_completed = True
        except Killed:
            self.deaths += 1
            self.discard()

    @contextmanager
    def die_at(self, point: Point, site: Site) -> Iterator[None]:
        """Kill whoever comes to a point; what it holds is lost, and its database is out of its reach."""
        owner, name = find(point.at)
        original, calls = getattr(owner, name), 0

        def die(*_: object, **__: object) -> NoReturn:
            raise Killed

        def fateful(*args: Any, **keywords: Any) -> Any:  # noqa: ANN401 - stands for any function
            nonlocal calls
            calls += 1
            if calls != point.skip + 1:
                return original(*args, **keywords)
            if point.after:
                original(*args, **keywords)
            site.store.begin = site.store.read = die  # type: ignore[method-assign]  # the dead write nothing
            raise Killed

        with patch.object(owner, name, fateful):
            yield

    @contextmanager
    def interject(self, act: Callable[[], None]) -> Iterator[None]:
        """Do something from outside once the first message of a pass is about to be rendered."""
        owner, name = find("digest.deliver.step:_render")
        original, is_done = getattr(owner, name), False

        def interrupted(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - stands for any function
            nonlocal is_done
            if not is_done:
                is_done = True
                act()
            return original(*args, **named)

        with patch.object(owner, name, interrupted):
            yield

    @property
    def site(self) -> Site:
        """The installation as the next process finds it."""
        if self._site is None:
            text = write_config(
                self.arxiv.url,
                self.file.queries,
                self.file.list_subscriptions(),
                store={"url": self.database},
                mail={"smtp": self.mail.url},
                slack={"url": self.slack.url},
                defaults={"look_back": "0 days"},
            )
            (self.folder / "digest.toml").write_text(text, encoding="utf-8")
            environ = {"DIGEST_SLACK_TOKEN": self.slack.token, "DIGEST_TEST_CLOCK": self.arxiv.clock_url}
            config = load_config(self.folder / "digest.toml", environ)
            owner = f"process {len(self.passed)}"
            self._site = open_site(config, self.clock, owner=owner, jitter=lambda: 0.5)
            # Compiled templates and statements are the same for every process.
            self._site.renderer = self.renderer
            self._site.store.engine._compiled_cache = _compiled
        return self._site

    def discard(self) -> None:
        """Throw the process away, without a word to anybody."""
        if self._site is not None:
            for transport in self._site._transports.values():
                if isinstance(transport, SmtpTransport):
                    for connection in (*transport._resting, *transport._lent):
                        connection.drop()
            self._site.client.close()
            self._site.store.engine.dispose()
            self._site = None

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _publish(self, paper: DemoPaper) -> None:
        self.arxiv.add(paper)
        self._keep(paper)

    def _keep(self, paper: DemoPaper) -> None:
        self.papers.setdefault(paper.id, []).append(paper)


@contextmanager
def living(folder: Path, database: str, renderer: Renderer) -> Iterator[Life]:
    """Begin a life in an empty folder, on a database with tables and nothing in them."""
    with ExitStack() as stack:
        arxiv = stack.enter_context(DemoArxiv([], ManualClock(START), page_size=3))
        mail = stack.enter_context(MailSink())
        slack = stack.enter_context(SlackReceiver(arxiv.clock, channels=["papers", "lab"]))
        life = Life(folder, database, arxiv, mail, slack, renderer)
        stack.callback(life.discard)
        for _ in range(4):
            number, before = life._next_number(), START - timedelta(days=3)
            life._publish(made_up(number, before, abstract="We measure latency."))
        life.run()
        yield life
