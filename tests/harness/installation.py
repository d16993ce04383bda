"""An installation to live with: a folder with its file, beside an arXiv, a mail server and a Slack.

All of them are on this machine, under one clock that tests move.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from digest.config import load_config
from digest.model.clock import Clock
from digest.model.messages import Digest
from digest.plan.links import LinkMaker, make_links
from digest.serve.installation import open_site
from digest.serve.steps import PassReport, run_pass
from digest.site import Site
from tests.command_line import ROOT, run_digest
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.config_file import Table, write_config
from tests.fakes.mail import MailSink
from tests.fakes.slack import SlackReceiver
from tests.harness.arrivals import Arrival, list_posts, read_mail
from tests.harness.kept_sites import KeptSite
from tests.harness.oracle import Verdict, judge_stored

AnInstallation = TypeVar("AnInstallation", bound="Installation")


@dataclass
class Installation:
    """The folder of an installation, and the servers beside it. Close it when done.

    Attributes:
        environ: the secrets and the clock that whoever works in the folder is given.
        reports: of its passes so far.
    """

    folder: Path
    clock: Clock
    arxiv: DemoArxiv
    mail: MailSink
    slack: SlackReceiver
    environ: dict[str, str] = field(default_factory=dict)
    reports: list[PassReport] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.environ.setdefault("DIGEST_SLACK_TOKEN", self.slack.token)
        if self.clock.is_simulated:
            self.environ.setdefault("DIGEST_TEST_CLOCK", self.arxiv.clock_url)
        self._kept = KeptSite(self.environ)

    @property
    def config_file(self) -> Path:
        """Its `digest.toml`."""
        return self.folder / "digest.toml"

    def write(self, text: str) -> None:
        self.config_file.write_text(text, encoding="utf-8")

    def write_file(
        self, queries: Mapping[str, str], subscriptions: Sequence[Table], **tables: Table
    ) -> None:
        """Write its file, which names the servers beside it."""
        around: dict[str, Table] = {
            "mail": {"smtp": self.mail.url},
            "slack": {"url": self.slack.url},
        }
        whole = {
            name: {**around.get(name, {}), **tables.get(name, {})} for name in {**around, **tables}
        }
        self.write(write_config(self.arxiv.url, queries, subscriptions, **whole))

    def edit(self, before: str, after: str) -> None:
        """Replace words in its file."""
        text = self.config_file.read_text(encoding="utf-8")
        assert before in text
        self.write(text.replace(before, after))

    def open(self, owner: str = "test") -> Site:
        """Open it anew, as another process does; who opens it closes it."""
        config = load_config(self.config_file, self.environ)
        return open_site(config, self.clock, owner=owner, jitter=lambda: 0.5)

    @property
    def site(self) -> Site:
        """The installation as it is kept open from pass to pass."""
        return self._kept.open(self.folder, self.clock)

    def close(self) -> None:
        """Close what a pass left open; harmless when done twice."""
        self._kept.close()

    def run(self, *, anyway: bool = False) -> PassReport:
        """Make one pass; `anyway` also if a look at arXiv is not worth it yet."""
        self.reports.append(run_pass(self.site, poll_anyway=anyway))
        return self.reports[-1]

    @property
    def digests(self) -> list[Digest]:
        """What its passes planned so far, the oldest first."""
        planned: list[Digest] = []
        for report in self.reports:
            planned += report.plan.digests
        return planned

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.site.store.read() as conn:
            yield conn

    def links(self, site: Site | None = None) -> LinkMaker:
        """Return what makes its secret addresses."""
        opened = site or self.site
        with opened.store.read() as conn:
            return make_links(conn, opened.config)

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the real command line to its end."""
        return run_digest(self.folder, self.environ, *arguments)

    def command(self, *arguments: str, expect: int = 0) -> str:
        """Run the real command line; return what it printed."""
        done = self.call(*arguments)
        assert done.returncode == expect, done
        return done.stdout + done.stderr

    def environment(self) -> dict[str, str]:
        """Return the whole environment of a process that works in its folder."""
        return {**os.environ, **self.environ, "PYTHONPATH": str(ROOT)}

    def list_arrivals(self) -> list[Arrival]:
        """Return every mail and every post that came."""
        arrivals = list_posts(self.slack, counts_titles=True)
        for mail in self.mail.mails:
            arrivals += read_mail(mail)
        return arrivals

    def judge(self) -> Verdict:
        """Hold every mail and every post that came against what its database says was planned."""
        with self.reading() as conn:
            return judge_stored(conn, self.list_arrivals())

    def list_mails(self, address: str) -> list[EmailMessage]:
        """Return the mails that came to an address, oldest first."""
        return [mail.message for mail in self.mail.mails if mail.recipients == (address,)]

    def read_posts(self) -> str:
        """Return the words of every post that came."""
        texts: list[str] = []
        for message in self.slack.messages:
            texts += message.block_texts
        return " ".join(texts)

    def read_mails(self) -> list[str]:
        """Return the plain text of every mail that came."""
        return [read_text(mail.message) for mail in self.mail.mails]


@contextmanager
def installed(
    kind: type[AnInstallation],
    folder: Path,
    arxiv: DemoArxiv,
    *,
    mail: MailSink | None = None,
    slack: SlackReceiver | None = None,
    **more: Any,  # noqa: ANN401 - other fields of that kind
) -> Iterator[AnInstallation]:
    """Start an arXiv and what can be sent to, and yield an installation of a kind beside them."""
    mail_server = MailSink() if mail is None else mail
    slack_server = SlackReceiver(arxiv.clock) if slack is None else slack
    with arxiv, mail_server, slack_server:
        made = kind(folder, arxiv.clock, arxiv, mail_server, slack_server, **more)
        with closing(made):
            yield made


def copy_database(source: Path, folder: Path) -> None:
    """Copy an installation's database to the folder of another."""
    with (
        closing(sqlite3.connect(source / "digest.db")) as old,
        closing(sqlite3.connect(folder / "digest.db")) as new,
    ):
        old.backup(new)


def read_text(message: EmailMessage) -> str:
    """Return the plain text of a mail."""
    part = message.get_body(("plain",))
    assert part is not None
    return str(part.get_content())
