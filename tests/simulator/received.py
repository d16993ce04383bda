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
    _arrivals: list[Arrival] = field(default_factory=list)
    _texts: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    _mails: int = 0
    _posts: int = 0

    def look(self, conn: Connection) -> None:
        """What is sent came, once, and alike where it came again; nothing to somebody who left."""
        planned = load_planned(conn)
        by_key = {row.key: row for row in planned}
        mails = self._take_mails()
        posts = self._take_posts()
        # Of what was deleted since, because it is old, nothing is held to anything.
        self._arrivals = [one for one in self._arrivals if one.key in by_key]
        self._arrivals += (*mails, *posts)
        self._judge(conn, planned)
        left = self.life.left
        for number, mail in enumerate(mails, start=self._mails):
            row = by_key[mail.key]
            leaver = left.get((row.place, row.subscription))
            if leaver and number >= leaver.mails:
                fail("nothing is sent to somebody who left", f"{row.place}, {row.subscription}")
            papers = self.papers_of[row.digest]
            if mail.papers != papers:
                fail("a mail shows its digest's papers", f"{set(mail.papers)}, not {set(papers)}")
        for number, post in enumerate(posts, start=self._posts):
            row = by_key[post.key]
            leaver = left.get((row.place, row.subscription))
            if leaver and number >= leaver.posts:
                fail("nothing is sent to somebody who left", f"{row.place}, {row.subscription}")
        self._mails += len(mails)
        self._posts += len(posts)

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

    def _take_posts(self) -> list[Arrival]:
        """Return the posts that came since the last look; each bears one key in both its places."""
        messages = self.life.slack.messages[self._posts :]
        arrivals = list_posts(self.life.slack)[self._posts :]
        for message, arrival in zip(messages, arrivals, strict=True):
            if message.client_msg_id != arrival.key:
                fail("stranger", f"{arrival.place} got {arrival.key}, {message.client_msg_id}")
        return arrivals

    def _judge(self, conn: Connection, planned: list[Planned]) -> None:
        repeated = ask(conn, "SELECT delivery_id FROM attempts WHERE outcome = 'repeated'")
        repeats = Counter(row.delivery_id for row in repeated)
        mails = {row.key: 1 + repeats[row.id] for row in planned if row.medium == "mailto"}
        wanted, excused = expect_papers(planned, self.papers_of)
        verdict = Verdict()
        judge_deliveries(verdict, planned, self._arrivals)
        judge_copies(verdict, self._arrivals, lambda key, _: mails.get(key, 1))
        judge_papers(verdict, wanted, self._arrivals, excused=excused)
        for check, details in verdict.findings.items():
            fail(check, details[0])
