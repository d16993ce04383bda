"""What can be configured, as values. `digest.config.table` says how each is written, checked and explained."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta
    from pathlib import Path

    from digest.announcements import Kind
    from digest.subscriptions import (
        Cadence,
        Destination,
        Grouping,
        QuietDays,
        QuietHours,
        Replacements,
        SavedQuery,
        Subscription,
        Weekly,
    )


@dataclass(frozen=True, slots=True)
class ArxivSettings:
    """How arXiv is asked.

    Attributes:
        contact: mail address or web page sent with every request, so that arXiv can tell us of trouble.
        source: `harvest` fetches all that is announced, `query` asks for each saved query.
        api_url: the search API's address.
        oai_url: the OAI-PMH address.
    """

    contact: str
    source: Literal["harvest", "query"]
    api_url: str
    oai_url: str


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where everything is kept.

    Attributes:
        url: `sqlite:////absolute/path` or `postgresql://…`.
        pool: connections to PostgreSQL a process opens at most.
    """

    url: str = field(repr=False)
    pool: int = 10


@dataclass(frozen=True, slots=True)
class MailSettings:
    """How mail is sent.

    Attributes:
        from_address: sender of every digest; "" where no mail is sent.
        from_name: the sender's name.
        smtp: `smtp://`, `smtp+starttls://` or `smtps://`, with host, optional port and user; no password.
        password: of the user in `smtp`, "" for none.
        ca_file: certificates (PEM) trusted besides the system's, None for none.
        unsubscribe: address that reads "leave" mails; "" for `from_address`.
        on_ambiguous: what is done where a mail server may have taken a mail but its answer was lost.
        ambiguous_wait: how long such a mail is left alone before that.
        idempotency_header: header by which the mail server knows a repetition, "" where it doesn't.
        connections: to the mail server at once, at most.
    """

    from_address: str
    from_name: str
    smtp: str
    password: str = field(repr=False)
    ca_file: Path | None
    unsubscribe: str
    on_ambiguous: Literal["resend", "hold"]
    ambiguous_wait: timedelta
    idempotency_header: str
    connections: int


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """How Slack is reached.

    Attributes:
        token: the app's bot token, "" where there is none.
        url: the Web API's address, with a trailing slash.
        ambiguous_wait: how long a post that may have arrived is left alone before it is looked for.
        webhook_on_ambiguous: what is done then where a webhook's answer was lost: it can't be asked.
        webhooks: name → URL of an incoming webhook; each URL is a secret.
    """

    token: str = field(repr=False)
    url: str
    ambiguous_wait: timedelta
    webhook_on_ambiguous: Literal["resend", "hold"]
    webhooks: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where signed JSON is posted.

    Attributes:
        url: https, or this machine; it may be a secret.
        secret: the key that signs, as bytes.
    """

    url: str = field(repr=False)
    secret: bytes = field(repr=False)


Lacking = tuple[tuple[str, str], ...]
"""What is not given of a webhook: `url` or `secret`, and the variable that gives it."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Where feeds and pages are served.

    Attributes:
        base_url: public address without a trailing slash, "" where there is none: then no link is made.
        bind: `host:port` that `digest serve` listens at.
        metrics_bind: the same for what it counts, "" for nowhere.
        secret: what secret addresses are derived from; "" for the one the store made.
    """

    base_url: str
    bind: str
    metrics_bind: str
    secret: str = field(repr=False)

    @property
    def host(self) -> str:
        """The public host name, "" where there is no public address."""
        return urlsplit(self.base_url).hostname or ""


def split_bind(bind: str) -> tuple[str, int]:
    """Return the address listened at, without brackets, and the TCP port; 0 for any free one."""
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port)


@dataclass(frozen=True, slots=True)
class DefaultSettings:
    """What a subscription that says nothing else gets; see `digest.subscriptions.Subscription`."""

    when: Cadence
    kinds: tuple[Kind, ...]
    quiet_days: QuietDays
    quiet_hours: QuietHours | Literal[""]
    cap: int | None
    first_look: int
    group_by: Grouping
    replacements: Replacements
    weekly: Weekly


@dataclass(frozen=True, slots=True)
class AlarmSettings:
    """Who is told of what should have happened and has not.

    Attributes:
        to: where the operator is told; () for nowhere.
        ping_url: an address asked as long as all is well, so that a watcher notices silence; "" for none.
    """

    to: tuple[Destination, ...]
    ping_url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Config:
    """Everything the operator configured, checked. Paths and SQLite's URL are absolute.

    Attributes:
        arxiv, store, mail, slack, web, alarms, defaults: the tables of `digest.toml`.
        webhooks: where signed JSON is posted, by name.
        unready_webhooks: by name what those lack that are written down, or that a subscription names, and can't
            be used yet.
        templates: folder of the operator's templates, which win over the shipped ones; None for none.
        queries: saved queries as written; whether one can be read is found out one by one, later.
        subscriptions: with everything inherited from `defaults`.
        test_clock: address of a simulated clock on this machine, "" for real time.
        path: the file read, None where there was none.
        folder: absolute; what relative paths in the configuration count from.
        warnings: sentences the operator should see.
        origins: key → where its value comes from: `default`, `digest.toml:12`, `DIGEST_MAIL_SMTP` …
    """

    arxiv: ArxivSettings
    store: StoreSettings
    mail: MailSettings
    slack: SlackSettings
    web: WebSettings
    alarms: AlarmSettings
    defaults: DefaultSettings
    webhooks: Mapping[str, Webhook]
    templates: Path | None
    queries: tuple[SavedQuery, ...]
    subscriptions: tuple[Subscription, ...]
    test_clock: str
    path: Path | None
    folder: Path
    warnings: tuple[str, ...] = ()
    unready_webhooks: Mapping[str, Lacking] = field(default_factory=lambda: MappingProxyType({}))
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
