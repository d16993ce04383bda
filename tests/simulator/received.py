"""What came out of a life: its messages, held against what was planned."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NoReturn

from sqlalchemy import Connection

from tests.harness.arrivals import Arrival, list_posts, read_mail
from tests.harness.oracle import (
    Planned,
    Verdict,
    expect_papers,
    judge_copies,
    judge_deliveries,
    judge_papers,
    load_planned,
)
from tests.simulator.life import Life, ask


class Broken(AssertionError):
    """What must always be true is not; `rule` says which."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule


def fail(rule: str, detail: str) -> NoReturn:
    raise Broken(rule, detail)


@dataclass
class Received:
    """The messages of a life, of which each new one is looked into once.

    Attributes:
        papers_of: the ids of the papers that each digest tells.
    """

    life: Life
    papers_of: dict[int, frozenset[str]] = field(default_factory=dict)
    _old: list[Arrival] = field(default_factory=list)
    _texts: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    _mails: int = 0
    _posts: int = 0

    def look(self, conn: Connection) -> None:
        """What is sent came, once, and alike where it came again; nothing to somebody who left."""
        planned = load_planned(conn)
        by_key = {row.key: row for row in planned}
        new_mails = self._take_mails()
        posts = list_posts(self.life.slack, counts_titles=True)
        new_posts = posts[self._posts :]
        # Of what was deleted since, because it is old, nothing is held to anything.
        self._old = [one for one in self._old if one.key in by_key]
        old_posts = [one for one in posts[: self._posts] if one.key in by_key]
        self._judge(conn, planned, [*self._old, *new_mails, *old_posts, *new_posts])
        self._look_at_keys()
        left = self.life.left
        for number, mail in enumerate(new_mails, start=self._mails):
            row = by_key[mail.key]
            leaver = left.get((row.place, row.subscription))
            if leaver and number >= leaver.mails:
                fail("nothing is sent to somebody who left", f"{row.place}, {row.subscription}")
            papers = self.papers_of[row.digest]
            if mail.papers != papers:
                fail("a mail shows its digest's papers", f"{set(mail.papers)}, not {set(papers)}")
        for number, post in enumerate(new_posts, start=self._posts):
            row = by_key[post.key]
            leaver = left.get((row.place, row.subscription))
            if leaver and number >= leaver.posts:
                fail("nothing is sent to somebody who left", f"{row.place}, {row.subscription}")
        self._old += new_mails
        self._mails += len(new_mails)
        self._posts += len(new_posts)

    def _take_mails(self) -> list[Arrival]:
        """Return the mails that came since the last look; copies of one are alike."""
        arrivals = []
        for mail in self.life.mail.mails[self._mails :]:
            (arrival,) = read_mail(mail)
            arrivals.append(arrival)
            texts = self._texts[arrival.key]
            texts.add(mail.raw)
            if len(texts) > 1:
                fail("a mail that comes again is the same", arrival.place)
        return arrivals

    def _look_at_keys(self) -> None:
        """A post bears one key in both the places where it is asked for."""
        for message in self.life.slack.messages[self._posts :]:
            event = (message.metadata or {}).get("event_payload", {})
            key = event.get("delivery")
            if message.client_msg_id != key:
                fail("stranger", f"a post has the keys {key} and {message.client_msg_id}")

    def _judge(self, conn: Connection, planned: list[Planned], arrivals: list[Arrival]) -> None:
        repeated = ask(conn, "SELECT delivery_id FROM attempts WHERE outcome = 'repeated'")
        repeats = Counter(row.delivery_id for row in repeated)
        mails = {row.key: 1 + repeats[row.id] for row in planned if row.medium == "mailto"}
        wanted, excused = expect_papers(planned, self.papers_of)
        verdict = Verdict()
        judge_deliveries(verdict, planned, arrivals)
        judge_copies(verdict, arrivals, lambda key, _: mails.get(key, 1))
        judge_papers(verdict, wanted, arrivals, excused=excused)
        for check, details in verdict.findings.items():
            fail(check, details[0])
