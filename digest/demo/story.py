"""`digest demo`: the real pipeline, over loopback HTTP, through two evenings of a made-up arXiv.

The clock is simulated, so the three seconds between requests are kept but take no time. Everything
else is as on a real installation: configuration file, SQLite, sockets, mail, Slack and, while
somebody reads, pages.
"""

from __future__ import annotations

import email
import email.policy
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from digest.config import load_config
from digest.demo.servers import LOOPBACK, TOKEN, DemoArxiv, DemoMail, DemoSlack, find_port
from digest.model.announcements import Kind
from digest.model.clock import ManualClock
from digest.model.destinations import Destination
from digest.model.errors import ConfigurationError
from digest.model.messages import Digest, Links
from digest.plan.links import make_links
from digest.render.renderer import Renderer
from digest.serve.installation import open_site
from digest.serve.steps import PassReport, run_pass
from digest.site import Progress, Silent, Site
from digest.web import WebServer, create_app

FIRST_DAY = datetime(2026, 11, 9, 20, 0, tzinfo=UTC)
"""Monday afternoon, Eastern time: the installation is new and checks arXiv for the first time."""

EVENING_BEFORE = datetime(2026, 11, 19, 3, 47, tzinfo=UTC)
"""22:47 Eastern time of Wed 18 Nov: an ordinary check of a paper that is replaced later."""

EVENING = datetime(2026, 11, 20, 3, 47, tzinfo=UTC)
"""22:47 Eastern time of Thu 19 Nov: the announcement is out, and OAI-PMH shows it."""

NIGHT = datetime(2026, 11, 20, 5, 31, tzinfo=UTC)
"""00:31: the next check; nothing has happened since."""

SUNDAY = datetime(2026, 11, 23, 3, 47, tzinfo=UTC)
"""22:47 of Sun 22 Nov: the next announcement is out. It brings a new version of `REVISED` alone."""

REVISED = "2611.15012"

_CONFIG = """\
# The configuration `digest demo` ran with. Every address is on this machine.
[arxiv]
contact = "demo@digest.example"
api_url = "{arxiv}/api/query"
oai_url = "{arxiv}/oai"

[store]
url = "sqlite:///digest.db"

[mail]
from = "digest@digest.example"
smtp = "{smtp}"

[slack]
url = "{slack}"
{web}
[defaults]
when = "on announcement"
kinds = ["new", "cross-listed", "replaced", "withdrawn"]
look_back = "0 days"

[queries]
perf = "cat:cs.PF"
gpu = "ti:GPU OR abs:GPU"
follow = 'au:"Ingrith Solvane"'

[[subscriptions]]
name = "demo-team"
title = "GPU performance"
follow = ["perf", "gpu", "follow"]
to = ["mailto:reader@digest.example", "slack:#papers", "feed", "file:feed.atom"]
"""

_WEB = """
[web]
base_url = "http://{bind}"
bind = "{bind}"
"""

MAIL_SHOWN = "mail.html"

_READER = Destination.parse("mailto:reader@digest.example")


@dataclass(frozen=True, slots=True)
class StoryOutcome:
    """What the story showed.

    Attributes:
        was_quiet: the second check found nothing and sent nothing.
        was_only_replacement: the third check reported the one new version and nothing else.
        home: the first page, as `page` is the evening's digest; "" if no pages are served.
    """

    was_quiet: bool
    was_only_replacement: bool
    files: tuple[Path, ...]
    mail: Path
    home: str = ""
    page: str = ""


def run_story(
    folder: Path,
    progress: Progress,
    show: Callable[[Digest, Renderer], None],
    stay: Callable[[StoryOutcome], None] | None = None,
) -> StoryOutcome:
    """Live through two evenings; leave page, mail, Slack message and feed in `folder`.

    `show` gets the evening's digest. Pages are served until `stay` returns; without it there are
    none.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} can't be made: {error.strerror}", hint="Name another place with --folder."
        ) from error
    for left_over in folder.glob("digest.db*"):
        left_over.unlink()
    clock = ManualClock(FIRST_DAY)
    with ExitStack() as stack:
        arxiv = stack.enter_context(closing(DemoArxiv(clock)))
        mail = stack.enter_context(closing(DemoMail()))
        slack = stack.enter_context(closing(DemoSlack(clock)))
        port = find_port() if stay else 0
        web = _WEB.format(bind=f"{LOOPBACK}:{port}") if stay else ""
        text = _CONFIG.format(arxiv=arxiv.url, smtp=mail.url, slack=slack.api_url, web=web)
        site = _open_site(folder / "digest.toml", text, clock)
        stack.callback(site.close)
        run_pass(site)
        clock.set(EVENING_BEFORE)
        run_pass(site)

        earlier = len(slack.posts)
        clock.set(EVENING)
        site.progress = progress
        digest = run_pass(site).plan.digests[0]
        show(digest, site.renderer)
        files = _write_files(folder, site, digest, mail.mails[-1], slack.posts[earlier:])

        site.progress = Silent()
        clock.set(NIGHT)
        night = run_pass(site)
        clock.set(SUNDAY)
        sunday = run_pass(site)
        with site.store.read() as conn:
            links = make_links(conn, site.config).links(_READER, digest)
        outcome = StoryOutcome(
            was_quiet=_was_quiet(night),
            was_only_replacement=_list_sent(sunday) == [(REVISED, Kind.REPLACEMENT)],
            files=tuple(files),
            mail=folder / MAIL_SHOWN,
            home=links.home,
            page=links.web_view,
        )
        if stay:
            pages = WebServer(create_app(site), LOOPBACK, port)
            stack.callback(pages.stop)
            pages.start()
            stay(outcome)
        return outcome


def _open_site(config_path: Path, text: str, clock: ManualClock) -> Site:
    config_path.write_text(text, encoding="utf-8")
    config = load_config(config_path, {"DIGEST_SLACK_TOKEN": TOKEN})
    return open_site(config, clock, owner="demo", jitter=lambda: 0.0)


def _was_quiet(report: PassReport) -> bool:
    """Whether a pass came to its end, found nothing and sent nothing."""
    has_sent = report.deliver.total > 0
    return not has_sent and not report.plan.digests and not report.poll.failures


def _list_sent(report: PassReport) -> list[tuple[str, Kind]]:
    """Return the papers in the digests of a pass, and what is new about each."""
    sent: list[tuple[str, Kind]] = []
    for digest in report.plan.digests:
        sent += [(str(entry.paper.id), entry.kind) for entry in digest.entries]
    return sent


def _write_files(
    folder: Path, site: Site, digest: Digest, mail: bytes, posts: Sequence[dict[str, Any]]
) -> list[Path]:
    """Write what arrived where a person can look at it; the feed is there already."""
    contents = {
        "digest.html": site.renderer.render_page(digest, Links()).encode(),
        "digest.eml": mail,
        MAIL_SHOWN: _read_html(mail),
        "slack.json": json.dumps(posts, indent=2).encode(),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in (*contents, "feed.atom")]


def _read_html(mail: bytes) -> bytes:
    """Return the HTML part of a mail: few browsers open a mail as it is sent."""
    message: EmailMessage = email.message_from_bytes(mail, policy=email.policy.default)
    part = message.get_body(("html",))
    return str(part.get_content()).encode() if part else b""
