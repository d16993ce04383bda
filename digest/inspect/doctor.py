"""The doctor's checks, from the database to the public address. Nothing is sent or changed.

What a sender's domain publishes: RFC 7208 (SPF), RFC 6376 (DKIM), RFC 7489 (DMARC).
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import dns.exception
import dns.resolver
from sqlalchemy import Connection

from digest.arxiv.client import ArxivClient
from digest.branch.step import opened_branch
from digest.config import Config
from digest.config.addresses import REACHED, split_bind
from digest.config.providers import Provider, find_provider
from digest.config.settings import SETTINGS
from digest.config.values import suggest
from digest.deliver.transports.registry import TRANSPORTS
from digest.deliver.transports.slack import SlackClient, SlackTransport
from digest.deliver.transports.smtp import SmtpTransport
from digest.deliver.transports.smtp_connection import Timeouts
from digest.inspect.alarms import STALE_POLL
from digest.inspect.findings import Finding, Verdict, is_channel
from digest.inspect.here import Here
from digest.inspect.status import (
    CALL,
    RESTART,
    RETRY_OPTIONS,
    Trouble,
    find_job_troubles,
    find_stuck,
)
from digest.interest.libraries import name_source, read_source
from digest.model.clock import Clock, read_rfc_date, write_age
from digest.model.destinations import OWN_FEED, Destination, DestinationKind
from digest.model.errors import (
    ArxivError,
    ArxivThrottled,
    ConfigurationError,
    DeliveryError,
    OutsideError,
    QueryError,
    StoreBusy,
)
from digest.model.libraries import ZOTERO
from digest.model.numbers import count
from digest.query import NoteKind, parse_query
from digest.render.check import check_templates, find_unused, list_templates
from digest.render.renderer import Renderer
from digest.store import alarms, open_store, runs, workers
from digest.store.alarms import STUCK
from digest.store.engine import check_writable, head_revision
from digest.store.workers import Worker
from digest.wire import ExchangeError, ask_status

_PATIENCE = 15.0
"""Seconds that a mail server, Slack or the public address may be silent."""

_GIGABYTE = 1_000_000_000
_LEAST_ROOM = _GIGABYTE // 20
"""Fewer free bytes than this are a problem."""
_LITTLE_ROOM = _GIGABYTE
"""Fewer free bytes than this are a warning."""
_CLOCK_TOLERANCE = timedelta(seconds=60)
_NEWEST_VERSION = "2147483647"
"""A version that no library at Zotero has reached: Zotero answers that nothing is newer."""

_DNS_SECONDS = 8.0
"""For one question, all name servers of the machine together."""

_NOT_CHECKED = "SPF, DKIM and DMARC are not checked"
AskName = Callable[[str], list[str] | None]
"""Returns the TXT records of a name, None where there is no such name."""

_DKIM_KEY = re.compile(r"(?:^|;)\s*p\s*=\s*([^;\s]*)")
_TOKEN_KINDS = {
    "xoxb-": "a bot token",
    "xoxp-": "a token of a person",
    "xapp-": "a token of the whole app",
}


class Scope(NamedTuple):
    """A permission of the app in Slack.

    Attributes:
        name: of the permission at Slack.
        private: the name of the same in private channels; "" if there is no other.
        why: what the permission is for.
    """

    name: str
    private: str
    why: str


SCOPES = (
    Scope("chat:write", "", "to post digests"),
    Scope("channels:read", "groups:read", "to find a channel by its name"),
    Scope("channels:history", "groups:history", "to look up a post whose answer was lost"),
)


def list_scopes(*, is_private: bool) -> dict[str, str]:
    """Return the scopes that the app needs, each with what it is for."""
    scopes = {scope.name: scope.why for scope in SCOPES}
    if is_private:
        private = [scope.private for scope in SCOPES if scope.private]
        scopes |= dict.fromkeys(private, "the same in private channels")
    return scopes


def check_queries(config: Config, *, share: bool) -> Iterator[Finding]:
    """Yield the queries that can't be read and what looks like a slip.

    To `share`, they are named without their words.
    """
    followed: set[str] = set()
    for subscription in config.subscriptions:
        followed.update(subscription.queries)
        followed.update(subscription.read_first)
        followed.update(subscription.read_last)
    for one in config.queries:
        if one.name not in followed:
            yield Finding(Verdict.WARNING, "queries", f"{one.place}: no subscription follows it")
    is_searched = config.arxiv.source == "query"
    for place, text in config.list_texts():
        try:
            notes = parse_query(text).notes
        except QueryError as error:
            yield _describe_unreadable(place, error, share=share)
            continue
        for note in notes:
            if note.kind is not NoteKind.LICENCE or is_searched:
                said = f"a note: {note.kind}" if share else note.message
                yield Finding(Verdict.WARNING, "queries", f"{place}: {said}")


def _describe_unreadable(place: str, error: QueryError, *, share: bool) -> Finding:
    if share:
        return Finding(Verdict.PROBLEM, "queries", f"{place}: can't be read")
    said = f"{place}: {error.message}"
    return Finding(Verdict.PROBLEM, "queries", said, error.hint, error.pointer())


def check_database(config: Config, clock: Clock) -> Iterator[Finding]:
    """Open the database, and see that it is of this release and can be written.

    See, too, whether `digest serve` or runs do their work.
    """
    if config.store.git_branch:
        with opened_branch(config, clock, "doctor", create=True) as branch:
            yield Finding(Verdict.OK, "database", f"{branch.describe()}, of this release")
        return
    path = find_database_file(config)
    if path is not None and not path.exists():
        yield _describe_missing_database(path)
        return
    with closing(open_store(config.store.url)) as store:
        try:
            with store.begin() as conn:
                check_writable(conn)
            said = f"{store.dialect}, of this release (revision {head_revision()}), can be written"
            yield Finding(Verdict.OK, "database", said, more=store.url_masked)
            with store.read() as conn:
                yield from _check_work(conn, config, clock)
        except StoreBusy as error:
            yield Finding(Verdict.WARNING, "database", error.message, error.hint)


def _describe_missing_database(path: Path) -> Finding:
    can_be_made = os.access(path.parent, os.W_OK)
    if can_be_made:
        todo = "The first `digest run` makes it."
        return Finding(Verdict.WARNING, "database", "there is none yet", todo)
    said = f"it can't be made in {path.parent}"
    todo = "Make the folder and let this account write to it, or change `store.url`."
    return Finding(Verdict.PROBLEM, "database", said, todo)


def _check_work(conn: Connection, config: Config, clock: Clock) -> Iterator[Finding]:
    """Say whether this machine's `digest serve` does its work.

    Where there is none, say whether runs go on.
    """
    here = Here(clock.now(), config.zone, config.folder)
    serving = {turn.owner for turn in workers.load_job_turns(conn)}
    host = socket.gethostname()
    local = [worker for worker in workers.load(conn) if worker.host == host]
    at_work = [worker for worker in local if worker.owner in serving]
    for stuck in find_stuck(conn, RETRY_OPTIONS, here):
        yield Finding(Verdict.WARNING, "messages", str(stuck.what), str(stuck.remedy))
    checked_at = runs.load_cursor(conn, config.arxiv.source).last_complete_at
    troubles = list(_find_silence(at_work, checked_at, clock))
    troubles += find_job_troubles(conn, at_work)
    for alarm in alarms.load_stored(conn):
        if alarm.name in STUCK:
            troubles.append(Trouble(alarm.detail))
    for trouble in troubles:
        yield Finding(Verdict.PROBLEM, "work", str(trouble.what), str(trouble.remedy))
    if at_work and not troubles:
        yield Finding(Verdict.OK, "work", "`digest serve` is at work")


def _find_silence(
    at_work: Sequence[Worker], checked_at: datetime | None, clock: Clock
) -> Iterator[Trouble]:
    """Yield a trouble if nobody works here.

    Either each process is gone, or there is none and the last complete check is long ago.
    """
    if at_work:
        if all(worker.is_gone for worker in at_work):
            silence = timedelta(seconds=min(worker.silent_for for worker in at_work))
            what = f"`digest serve` has given no sign of life for {write_age(silence)}"
            yield Trouble(what, RESTART)
    elif checked_at:
        age = clock.now() - checked_at
        if age > STALE_POLL:
            yield Trouble(f"the last complete check of arXiv was {write_age(age)} ago", CALL)


def find_database_file(config: Config) -> Path | None:
    """Return SQLite's file, whether it exists or not; None on PostgreSQL."""
    url = config.store.url
    if not url.startswith("sqlite:"):
        return None
    path, _, _options = url.removeprefix("sqlite:///").partition("?")
    return Path(path)


def check_disk(config: Config) -> Iterator[Finding]:
    """See whether the disk of the database, or of the configuration, has room."""
    path = find_database_file(config)
    folder = path.parent if path is not None else config.folder
    if not folder.is_dir():
        return  # the database's own check says so
    free = shutil.disk_usage(folder).free
    if free < _LEAST_ROOM:
        verdict = Verdict.PROBLEM
    elif free < _LITTLE_ROOM:
        verdict = Verdict.WARNING
    else:
        verdict = Verdict.OK
    todo = "" if verdict is Verdict.OK else "Make room: a full disk stops the database."
    yield Finding(verdict, "disk", f"{free / _GIGABYTE:,.2f} GB free", todo)


def check_feeds(config: Config) -> Iterator[Finding]:
    """Name the subscriptions whose feed nobody can fetch."""
    names = [one.name for one in config.subscriptions if OWN_FEED in one.destinations]
    if names and not config.web.base_url:
        said = f"nobody can fetch the feed of {', '.join(names)}: `web.base_url` is not set"
        todo = 'Set it and let `digest serve` run. Or write a file: to = "file:papers.atom".'
        yield Finding(Verdict.WARNING, "feeds", said, todo)


def check_libraries(config: Config, clock: Clock, *, at_zotero: bool) -> Iterator[Finding]:
    """Read the libraries that are files, or see that those at Zotero can be read."""
    sources: dict[str, None] = {}
    for subscription in config.subscriptions:
        sources |= dict.fromkeys((*subscription.library, *subscription.not_like))
    for source in sources:
        is_at_zotero = source.startswith(ZOTERO)
        if is_at_zotero is at_zotero:
            yield _check_library(config, clock, source, at_zotero=at_zotero)


def _check_library(config: Config, clock: Clock, source: str, *, at_zotero: bool) -> Finding:
    try:
        reading = read_source(config, clock, source, _NEWEST_VERSION)
    except (ConfigurationError, OutsideError) as error:
        said = f"{source}: {error.message}" if at_zotero else error.message
        return Finding(Verdict.PROBLEM, "library", said, error.hint)
    said = f"{name_source(config, source)} can be read"
    troubles = reading.troubles if reading else ()
    if not troubles:
        return Finding(Verdict.OK, "library", said)
    entries = count(len(troubles), "entry", "entries")
    first, _, _ = troubles[0].partition(":")
    said += f", but {entries} can't, the first: {first}; `digest library show` lists them"
    return Finding(Verdict.WARNING, "library", said)


def check_own_templates(config: Config) -> Iterator[Finding]:
    """Render the operator's own templates with everything they may meet."""
    if config.templates is None:
        yield Finding(Verdict.OK, "templates", "the shipped ones")
        return
    renderer = Renderer([config.templates])
    templates = renderer.templates
    problems = check_templates(renderer)
    for one in problems:
        yield Finding(Verdict.PROBLEM, "templates", one.message, one.hint)
    unused = find_unused(templates)
    for name in unused:
        todo = suggest(name, templates.shipped_names(), "")
        if not todo:
            todo = "`digest templates list` shows the names that count."
        yield Finding(Verdict.WARNING, "templates", f"nothing uses your {name}", todo)
    for place in templates.personal_uses:
        yield Finding(
            Verdict.WARNING,
            "templates",
            f"{place} does more with a reader's own address than print it: each mail is rendered"
            " by itself",
            "Just print such an address, or ask with `if` whether it is there: that is faster.",
        )
    if not (problems or unused or templates.personal_uses):
        number_own = sum(entry.is_own for entry in list_templates(templates))
        yield Finding(Verdict.OK, "templates", f"all can be used, {number_own} of them your own")


def check_mail(config: Config, clock: Clock) -> Iterator[Finding]:
    """Connect to the mail server as digests do, and log in; nothing is sent."""
    settings: dict[str, Any] = dict(TRANSPORTS[DestinationKind.MAIL].configure(config, clock))
    timeouts = Timeouts(command=_PATIENCE)
    with closing(SmtpTransport(**settings, timeouts=timeouts)) as transport:
        transport.log_in()
    server = urlsplit(config.mail.smtp)
    encrypted = "not encrypted" if server.scheme == "smtp" else "encrypted"
    login = "logged in" if server.username else "no login asked for"
    said = f"connected as {config.mail.helo}, {encrypted}, {login}"
    yield Finding(Verdict.OK, "mail server", said, more=config.mail.smtp)


def check_domain(config: Config) -> Iterator[Finding]:
    """Ask DNS what the sender's domain publishes."""
    if config.test_clock and not config.test_dns:
        said = "not checked: under a test clock nothing outside is asked"
        yield Finding(Verdict.UNCHECKED, "DNS", said)
        return
    _, _, domain = config.mail.from_address.rpartition("@")
    yield from inspect_domain(
        domain,
        selector=config.mail.dkim_selector,
        mail_host=urlsplit(config.mail.smtp).hostname or "",
        server=split_bind(config.test_dns) if config.test_dns else None,
    )


def inspect_domain(
    domain: str, *, selector: str, mail_host: str, server: tuple[str, int] | None
) -> Iterator[Finding]:
    """Yield what the domain publishes for receivers of its mail, and what it should.

    Args:
        selector: of the DKIM key. For "", that of the mail provider, if one is known.
        mail_host: the mail server, by which the provider is found.
        server: the name server to ask; None for those of this machine.
    """
    try:
        resolver = dns.resolver.Resolver(configure=server is None)
        if server is not None:
            host, port = server
            resolver.nameservers = [host]
            resolver.port = port
        ask = partial(_ask, resolver)
        records = ask(domain)
        if records is None:
            yield _describe_no_domain(ask, domain)
            return
        provider = find_provider(mail_host)
        if provider and provider.spf:
            proposed = f"v=spf1 include:{provider.spf} ~all"
        else:
            proposed = "v=spf1 mx ~all, or what your mail provider names"
        published = _select(records, "v=spf1")
        yield _check_only_record("SPF", published, f"at {domain}: {proposed}")
        yield _inspect_dkim(ask, domain, selector, provider)
        published = _find_dmarc(ask, domain)
        yield _check_only_record("DMARC", published, f"at _dmarc.{domain}: v=DMARC1; p=none")
    except dns.exception.DNSException:
        yield Finding(Verdict.UNCHECKED, "DNS", f"{_NOT_CHECKED}: no name server answers here")


def _describe_no_domain(ask: AskName, domain: str) -> Finding:
    _, _, top_level = domain.rpartition(".")
    # Some networks have names of their own only: then the whole top-level domain is missing, too.
    if ask(top_level) is None:
        said = f"{_NOT_CHECKED}: the name servers here know no public names"
        return Finding(Verdict.UNCHECKED, "DNS", said)
    return Finding(Verdict.PROBLEM, "DNS", f"there is no domain {domain}", "Mend `mail.from`.")


def _inspect_dkim(ask: AskName, domain: str, selector: str, provider: Provider | None) -> Finding:
    if provider and domain in provider.domains:
        return Finding(Verdict.OK, "DKIM", f"{provider.name} signs mail from its own domain")
    if not selector and provider:
        selector = provider.selector
    if not selector:
        todo = "Set `mail.dkim_selector`: your mail provider names it."
        said = "not checked: the selector is not known"
        return Finding(Verdict.UNCHECKED, "DKIM", said, todo)
    name = f"{selector}._domainkey.{domain}"
    return check_dkim(ask(name) or [], name)


def _find_dmarc(ask: AskName, domain: str) -> list[str]:
    """Return the policies of a domain; if it has none, those of the nearest domain above it."""
    labels = domain.split(".")
    names_asked = max(len(labels) - 1, 1)  # not the top-level domain
    for first in range(names_asked):
        name = ".".join(["_dmarc", *labels[first:]])
        policies = _select(ask(name) or [], "v=DMARC1")
        if policies:
            return policies
    return []


def _ask(resolver: dns.resolver.Resolver, name: str) -> list[str] | None:
    """Return the TXT records of a name, None where there is no such name."""
    try:
        answer = resolver.resolve(f"{name}.", "TXT", lifetime=_DNS_SECONDS)
    except dns.resolver.NXDOMAIN:
        return None
    except dns.resolver.NoAnswer:
        return []
    records = [b"".join(one.strings) for one in answer]
    return [record.decode("utf-8", "replace") for record in records]


def _select(records: Sequence[str], version: str) -> list[str]:
    """Return the records of one kind: those that begin with its version."""
    return [
        one
        for one in records
        if re.match(rf"{re.escape(version)}(?:[\s;]|$)", one.strip(), re.IGNORECASE)
    ]


def check_dkim(records: Sequence[str], name: str) -> Finding:
    """Judge the TXT records where a DKIM key should stand."""
    keys = [match[1] for match in map(_DKIM_KEY.search, records) if match]
    if any(keys):
        return Finding(Verdict.OK, "DKIM", "the key is published", more=name)
    if keys:
        todo = "Let your mail server sign with another key, and name its selector."
        return Finding(Verdict.PROBLEM, "DKIM", f"the key at {name} is revoked", todo)
    todo = "Publish the TXT record that your mail provider gives you, or mend `mail.dkim_selector`."
    return Finding(Verdict.PROBLEM, "DKIM", f"there is no key at {name}", todo)


def _check_only_record(check: str, found: Sequence[str], proposed: str) -> Finding:
    if len(found) == 1:
        return Finding(Verdict.OK, check, "published", more=found[0])
    if found:
        said = f"there are {len(found)} records, so receivers ignore them all"
        return Finding(Verdict.PROBLEM, check, said, "Make one record of them.")
    return Finding(Verdict.WARNING, check, "missing", f"Publish a TXT record {proposed}.")


def name_channels(config: Config) -> dict[Destination, str]:
    """Return each channel of others that is written to, with the subscription that writes there.

    If only alarms go there, that is "alarms". So a report can tell channels apart
    without their names.
    """
    named = dict.fromkeys(config.alarms.to, "alarms")
    for one in config.subscriptions:
        named |= dict.fromkeys(one.destinations, one.name)
    return {place: whose for place, whose in named.items() if is_channel(place)}


def check_slack(config: Config, clock: Clock) -> Iterator[Finding]:
    """Ask Slack about the token, its scopes and each channel; nothing is posted."""
    settings: dict[str, Any] = dict(TRANSPORTS[DestinationKind.SLACK].configure(config, clock))
    transport = SlackTransport(**settings, timeout=_PATIENCE)
    named = name_channels(config)
    channels = {place: named[place] for place in named if place.kind is DestinationKind.SLACK}
    return inspect_slack(channels, transport, config.slack.token)


def inspect_slack(
    channels: Mapping[Destination, str], transport: SlackTransport, token: str
) -> Iterator[Finding]:
    """Yield what Slack says of the token, its scopes and each channel.

    Slack is asked about channels only if the token is good.
    """
    kind = next(
        (words for start, words in _TOKEN_KINDS.items() if token.startswith(start)),
        "a token of an unknown kind",
    )
    if kind != _TOKEN_KINDS["xoxb-"]:
        todo = "Copy the bot token under OAuth & Permissions: it starts with xoxb-."
        yield Finding(Verdict.PROBLEM, "Slack", f"the token is {kind}", todo)
        return
    client = transport.client
    try:
        answer = client.call("auth.test", form={})
    except DeliveryError as error:
        yield _judge_refusal("the token", error)
        return
    whose = f"the app {answer.text('user')} in the workspace {answer.text('team')}"
    yield Finding(Verdict.OK, "Slack", f"{kind}, and it works", more=whose)
    granted = answer.headers.get("x-oauth-scopes", "").split(",")
    yield _check_scopes({scope.strip() for scope in granted})
    for destination, name in channels.items():
        what = f"{destination.address} ({name})"
        try:
            yield _inspect_channel(client, destination, transport.resolve(destination), what)
        except DeliveryError as error:
            yield _judge_refusal(what, error)


def _check_scopes(granted: Collection[str]) -> Finding:
    """Say for which channels the app has the scopes, or which are missing."""
    missing = [scope for scope in SCOPES if scope.name not in granted]
    missing_privately = [scope for scope in SCOPES if (scope.private or scope.name) not in granted]
    reached = []
    if not missing:
        reached.append("public")
    if not missing_privately:
        reached.append("private")
    if reached:
        said = f"the app has the scopes for {' and '.join(reached)} channels"
        return Finding(Verdict.OK, "Slack", said)
    said = ", ".join(f"the scope {scope.name} is missing ({scope.why})" for scope in missing)
    todo = "Add it under OAuth & Permissions, Bot Token Scopes. Then install the app again."
    return Finding(Verdict.PROBLEM, "Slack", said, todo)


def _inspect_channel(client: SlackClient, destination: Destination, id_: str, what: str) -> Finding:
    if not id_.startswith(("C", "G")):
        said = f"{what} is a person or a direct message: only a post shows if it arrives"
        return Finding(Verdict.UNCHECKED, "Slack", said, more=str(destination))
    answer = client.call("conversations.info", form={"channel": id_})
    more = f"#{answer.text('channel', 'name')} ({id_})"
    if answer.get("channel", "is_archived") is True:
        todo = "Unarchive it, or name another."
        return Finding(Verdict.PROBLEM, "Slack", f"{what} is archived", todo, more)
    if answer.get("channel", "is_member") is not True:
        todo = "Type `/invite @` and the app's name there."
        return Finding(Verdict.PROBLEM, "Slack", f"the app is not in {what}", todo, more)
    return Finding(Verdict.OK, "Slack", f"the app is in {what}", more=more)


def _judge_refusal(what: str, error: DeliveryError) -> Finding:
    """Return what Slack refused for good; raise the error again if it may pass."""
    if not error.permanent:
        raise error
    todo = error.hint or "Look into the app's settings at https://api.slack.com/apps."
    return Finding(Verdict.PROBLEM, "Slack", f"{what}: {error.message}", todo)


def check_arxiv(client: ArxivClient, source: str, *, is_simulated: bool) -> Iterator[Finding]:
    """See whether arXiv answers, and compare this machine's clock with arXiv's.

    Clocks are not compared if `is_simulated`. An installation that harvests needs the search, too:
    for first digests and for missing ids.
    """
    try:
        fetched = client.greet(source)
        if source != "query":
            client.greet("query")
    except ArxivError as error:
        verdict = Verdict.WARNING if isinstance(error, ArxivThrottled) else Verdict.PROBLEM
        yield Finding(verdict, "arXiv", str(error.bare), error.hint)
        return
    yield Finding(Verdict.OK, "arXiv", "answers")
    if fetched.date and not is_simulated:
        yield compare_clocks(fetched.fetched_at, read_rfc_date(fetched.date))


def compare_clocks(here: datetime, there: datetime) -> Finding:
    """Judge this machine's time by another one's (both UTC)."""
    off = abs(here - there)
    if off <= _CLOCK_TOLERANCE:
        return Finding(Verdict.OK, "clock", "right within a minute")
    side = "ahead of" if here > there else "behind"
    said = f"{write_age(off)} {side} arXiv's"
    return Finding(Verdict.WARNING, "clock", said, "Let this machine set its clock by NTP.")


def check_proxy(config: Config) -> Iterator[Finding]:
    """Name each proxy that requests go through."""
    urls = [setting.find(config) for setting in SETTINGS if setting.read in REACHED]
    # Mail goes through no proxy.
    proxies = dict.fromkeys(config.choose_proxy(url) for url in urls if url.startswith("http"))
    for proxy in proxies:
        if proxy:
            yield Finding(Verdict.OK, "proxy", f"requests go through {proxy}")


def check_base_url(config: Config) -> Iterator[Finding]:
    """Ask the public address whether `digest serve` answers there."""
    url = config.web.base_url
    try:
        status = ask_status(f"{url}/livez", silence=_PATIENCE, choose_proxy=config.choose_proxy)
    except ExchangeError as error:
        todo = (
            "Start `digest serve`, and check the name and the server before it:"
            " it passes all on to `web.bind`."
        )
        raise OutsideError(f"can't be reached: {error}", hint=error.hint or todo) from error
    if status == HTTPStatus.OK:
        yield Finding(Verdict.OK, "base_url", "`digest serve` answers there", more=url)
        return
    said = f"/livez answers {status}, so something else is there"
    todo = "Check `web.base_url`, and that the server before `digest serve` passes all paths on."
    yield Finding(Verdict.PROBLEM, "base_url", said, todo)


class NetworkCheck(NamedTuple):
    """One check that asks another machine.

    Attributes:
        name: what findings are shown under.
        find: what yields the findings.
        needs: the setting without which nobody is asked, unless a channel needs it; "" for none.
    """

    name: str
    find: Callable[[Config, Clock], Iterator[Finding]]
    needs: str = ""


_NETWORK_CHECKS = (
    NetworkCheck("mail server", check_mail, "mail.from"),
    NetworkCheck("DNS", lambda config, _: check_domain(config), "mail.from"),
    NetworkCheck("Slack", check_slack, "slack.token"),
    NetworkCheck("Zotero", partial(check_libraries, at_zotero=True)),
    NetworkCheck("base_url", lambda config, _: check_base_url(config), "web.base_url"),
)
"""In the order in which they are shown, after arXiv's."""


def list_network_checks(config: Config) -> list[NetworkCheck]:
    """Return the checks of what a configuration uses."""
    needed = {place.traits.needs for place in name_channels(config)}
    given = {setting.key for setting in SETTINGS if setting.find(config)}
    used = {"", *needed, *given}
    return [check for check in _NETWORK_CHECKS if check.needs in used]
