"""The doctor's checks, from the database to the public address. Nothing is sent or changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from digest.arxiv.client import ArxivClient
from digest.config import Config
from digest.inspect.findings import Finding, Verdict
from digest.model.clock import Clock, read_rfc_date, write_age
from digest.model.errors import ArxivError, ArxivThrottled, ConfigurationError, OutsideError, StoreBusy, count
from digest.model.libraries import ZOTERO
from digest.model.subscriptions import Destination, DestinationKind
from digest.store import open_store
from digest.store.engine import check_writable, head_revision
from digest.wire import ExchangeError, ask_status

_PATIENCE = 15.0
"""Seconds that a mail server, Slack or the public address may be silent."""

_GIGABYTE = 1_000_000_000
_LEAST_ROOM, _LITTLE_ROOM = _GIGABYTE // 20, _GIGABYTE
_CLOCK_TOLERANCE = timedelta(seconds=60)
_FINE = 200
_NEWEST = "2147483647"
"""A version that no library at Zotero has reached: it answers that nothing is newer."""


def check_database(config: Config) -> Iterator[Finding]:
    """Open the database, see that it is of this release and can be written."""
    path = find_database_file(config)
    if path is not None and not path.exists():
        if os.access(path.parent, os.W_OK):
            yield Finding(Verdict.WARNING, "database", "there is none yet", "The first `digest run` makes it.")
        else:
            todo = "Make the folder and let this account write to it, or change `store.url`."
            yield Finding(Verdict.PROBLEM, "database", f"it can't be made in {path.parent}", todo)
        return
    store = open_store(config.store.url)
    try:
        with store.begin() as conn:
            check_writable(conn)
    except StoreBusy as error:
        yield Finding(Verdict.WARNING, "database", error.message, error.hint)
        return
    finally:
        store.close()
    said = f"{store.dialect}, of this release (revision {head_revision()}), can be written"
    yield Finding(Verdict.OK, "database", said, more=store.url_masked)


def find_database_file(config: Config) -> Path | None:
    """Return SQLite's file, be it there or not; None on PostgreSQL."""
    url = config.store.url
    return Path(url.removeprefix("sqlite:///").partition("?")[0]) if url.startswith("sqlite:") else None


def check_disk(config: Config) -> Iterator[Finding]:
    """See whether the disk of the database, or of the configuration, has room."""
    path = find_database_file(config)
    folder = path.parent if path is not None else config.folder
    if not folder.is_dir():
        return  # the database's own check says so
    free = shutil.disk_usage(folder).free
    verdict = Verdict.PROBLEM if free < _LEAST_ROOM else Verdict.WARNING if free < _LITTLE_ROOM else Verdict.OK
    todo = "" if verdict is Verdict.OK else "Make room: a full disk stops the database."
    yield Finding(verdict, "disk", f"{free / _GIGABYTE:,.2f} GB free", todo)


def check_feeds(config: Config) -> Iterator[Finding]:
    """Name the subscriptions whose feed nobody can fetch."""
    feed = Destination(DestinationKind.FEED)
    names = [one.name for one in config.subscriptions if feed in one.destinations]
    if names and not config.web.base_url:
        said = f"nobody can fetch the feed of {', '.join(names)}: `web.base_url` is not set"
        todo = 'Set it and let `digest serve` run. Or write a file: to = "file:papers.atom".'
        yield Finding(Verdict.WARNING, "feeds", said, todo)


def check_libraries(config: Config, clock: Clock, *, at_zotero: bool) -> Iterator[Finding]:
    """Read the libraries that are files, or see that those at Zotero can be read."""
    from digest.interest.libraries import name_source, read_source  # noqa: PLC0415 - only where there are any

    for source in dict.fromkeys(each for one in config.subscriptions for each in (*one.library, *one.not_like)):
        if source.startswith(ZOTERO) is not at_zotero:
            continue
        try:
            reading = read_source(config, clock, source, _NEWEST)
        except (ConfigurationError, OutsideError) as error:
            said = f"{source}: {error.message}" if at_zotero else error.message
            yield Finding(Verdict.PROBLEM, "library", said, error.hint)
        else:
            said, troubles = f"{name_source(config, source)} can be read", reading.troubles if reading else ()
            if troubles:
                first, number = troubles[0].partition(":")[0], count(len(troubles), "entry", "entries")
                said += f", but {number} can't, the first: {first}; `digest library show` lists them"
            yield Finding(Verdict.WARNING if troubles else Verdict.OK, "library", said)


def check_mail(config: Config, clock: Clock) -> Iterator[Finding]:
    """Connect to the mail server as digests do, and log in; nothing is sent."""
    from digest.deliver.transports.registry import TRANSPORTS  # noqa: PLC0415 - smtplib and its like only where asked for
    from digest.deliver.transports.smtp import SmtpTransport  # noqa: PLC0415 - the same
    from digest.deliver.transports.smtp_connection import Timeouts  # noqa: PLC0415 - the same

    settings: dict[str, Any] = dict(TRANSPORTS[DestinationKind.MAIL].configure(config, clock))
    transport = SmtpTransport(**settings, patience=Timeouts(command=_PATIENCE))
    try:
        transport.log_in()
    finally:
        transport.close()
    server = urlsplit(config.mail.smtp)
    encrypted = "not encrypted" if server.scheme == "smtp" else "encrypted"
    login = "logged in" if server.username else "no login asked for"
    yield Finding(
        Verdict.OK, "mail server", f"connected as {config.mail.helo}, {encrypted}, {login}", more=config.mail.smtp
    )


def check_domain(config: Config) -> Iterator[Finding]:
    """Ask DNS what the sender's domain publishes."""
    from digest.config.addresses import split_bind  # noqa: PLC0415 - beside the next
    from digest.inspect.domain import inspect_domain  # noqa: PLC0415 - dnspython takes a tenth of a second

    if config.test_clock and not config.test_dns:
        yield Finding(Verdict.UNCHECKED, "DNS", "not checked: under a test clock nothing outside is asked")
        return
    yield from inspect_domain(
        config.mail.from_address.rpartition("@")[2],
        selector=config.mail.dkim_selector,
        mail_host=urlsplit(config.mail.smtp).hostname or "",
        server=split_bind(config.test_dns) if config.test_dns else None,
    )


def name_channels(config: Config) -> dict[Destination, str]:
    """Return every channel of Slack's that is written to, with whose it is: readable without its name."""
    named = dict.fromkeys(config.alarms.to, "alarms")
    for one in config.subscriptions:
        named |= dict.fromkeys(one.destinations, one.name)
    return {place: whose for place, whose in named.items() if place.kind is DestinationKind.SLACK}


def check_slack(config: Config, clock: Clock) -> Iterator[Finding]:
    """Ask Slack about the token, its scopes and each channel; nothing is posted."""
    from digest.deliver.transports.registry import TRANSPORTS  # noqa: PLC0415 - beside the next
    from digest.deliver.transports.slack import SlackTransport  # noqa: PLC0415 - slack_sdk only where it is used
    from digest.inspect.slack_check import inspect_slack  # noqa: PLC0415 - the same

    settings: dict[str, Any] = dict(TRANSPORTS[DestinationKind.SLACK].configure(config, clock))
    transport = SlackTransport(**settings, timeout=_PATIENCE)
    return inspect_slack(name_channels(config), transport, config.slack.token)


def check_arxiv(client: ArxivClient, source: str, *, is_simulated: bool) -> Iterator[Finding]:
    """Ask arXiv once, and hold this machine's clock against its own, unless it is simulated."""
    try:
        fetched = client.greet(source)
    except ArxivError as error:
        verdict = Verdict.WARNING if isinstance(error, ArxivThrottled) else Verdict.PROBLEM
        yield Finding(verdict, "arXiv", error.message.removeprefix(f"{error.request}: "), error.hint)
        return
    yield Finding(Verdict.OK, "arXiv", "answers")
    if fetched.date and not is_simulated:
        yield compare_clocks(fetched.fetched_at, read_rfc_date(fetched.date))


def compare_clocks(here: datetime, there: datetime) -> Finding:
    """Judge this machine's time by another one's (both UTC)."""
    off = abs(here - there)
    if off <= _CLOCK_TOLERANCE:
        return Finding(Verdict.OK, "clock", "right within a minute")
    said = f"{write_age(off)} {'ahead of' if here > there else 'behind'} arXiv's"
    return Finding(Verdict.WARNING, "clock", said, "Let this machine set its clock by NTP.")


def check_proxy(config: Config) -> Iterator[Finding]:
    """Name each proxy that requests go through."""
    urls = (config.arxiv.api_url, config.arxiv.oai_url, config.slack.url)
    for proxy in dict.fromkeys(filter(None, map(config.choose_proxy, urls))):
        yield Finding(Verdict.OK, "proxy", f"requests go through {proxy}")


def check_base_url(config: Config) -> Iterator[Finding]:
    """Ask the public address whether `digest serve` answers there."""
    url = config.web.base_url
    try:
        status = ask_status(f"{url}/livez", silence=_PATIENCE, choose_proxy=config.choose_proxy)
    except ExchangeError as error:
        todo = "Start `digest serve`, and check the name and the server before it: it passes all on to `web.bind`."
        raise OutsideError(f"can't be reached: {error}", hint=error.hint or todo) from error
    if status == _FINE:
        yield Finding(Verdict.OK, "base_url", "`digest serve` answers there", more=url)
    else:
        todo = "Check `web.base_url`, and that the server before `digest serve` passes all paths on."
        yield Finding(Verdict.PROBLEM, "base_url", f"/livez answers {status}, so something else is there", todo)
