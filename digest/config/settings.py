"""Every setting, declared once as a field: how it is read, its default, and what it means.

Reading, `config show` and the manual's table are all made from these fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta, tzinfo
from pathlib import Path
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from digest.config import addresses, values
from digest.config.declarations import Secrecy, Setting, declare, list_settings
from digest.model.announcements import Kind
from digest.model.cadences import Cadence, QuietHours, choose_zone
from digest.model.destinations import FORMS, Destination, DestinationKind
from digest.model.people import Signup
from digest.model.subscriptions import (
    Abstracts,
    Archive,
    Grouping,
    SavedQuery,
    Subscription,
    WhenEmpty,
)

NAMING = {"follow": "follows", "read_first": "reads first", "read_last": "reads last"}
"""Keys of a subscription that take saved queries by name, and what it does to them."""

QUERY = Setting(
    values.read_query_text,
    None,
    "A saved query, written as in arXiv's search.",
    name="NAME",
    table="queries",
)
"""What is written in `[queries]`, by any name."""

INCOMING: dict[DestinationKind, Setting] = {
    DestinationKind.SLACK_WEBHOOK: Setting(
        addresses.make_webhook_reader(
            r"https://hooks\.slack(?:-gov)?\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]+",
            "https://hooks.slack.com/services/T…/B…/…",
        ),
        "",
        'The URL of a Slack incoming webhook, for `to = "slack-webhook:NAME"`.',
        name="NAME",
        table="slack.webhooks",
        secrecy=Secrecy.SECRET,
    ),
    DestinationKind.DISCORD: Setting(
        addresses.make_webhook_reader(
            r"https://(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/[\w-]+"
            r"(?:\?[\w=&-]+)?",
            "https://discord.com/api/webhooks/…/…",
        ),
        "",
        'The URL of a Discord channel\'s webhook, for `to = "discord:NAME"`.',
        name="NAME",
        table="discord",
        secrecy=Secrecy.SECRET,
    ),
}
"""What is written in `[slack.webhooks]` and its like, by any name: a channel's secret address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArxivSettings:
    """Where papers come from."""

    contact: str = declare(
        addresses.read_reachable,
        "",
        "Your mail address or web page. It goes to arXiv with each request, so that arXiv can "
        "reach you. Default: `mail.from`.",
    )
    source: Literal["harvest", "query"] = declare(
        values.choose_from(("harvest", "query")),
        "harvest",
        '"harvest" fetches everything arXiv announced. '
        '"query" asks arXiv\'s search for each saved query, 30 at most.',
    )
    api_url: str = declare(
        addresses.read_http_url, "https://export.arxiv.org/api/query", "arXiv's search API."
    )
    oai_url: str = declare(
        addresses.read_http_url,
        "https://oaipmh.arxiv.org/oai",
        "arXiv's OAI-PMH interface, for harvests.",
    )

    @property
    def mail_contact(self) -> str:
        """The operator's mail address, as arXiv is given it; "" if that is a web page, or none."""
        return self.contact if "@" in self.contact and ":" not in self.contact else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Where everything is kept."""

    url: str = declare(
        addresses.read_store_url,
        "sqlite:///digest.db",
        "The database: sqlite:///file, or postgresql://name@host/database for several machines. "
        "Add ?sslmode=verify-full where the network is not your own.",
        secrecy=Secrecy.INSIDE,
        resolve=addresses.resolve_store_url,
    )
    git_branch: str = declare(
        values.read_name,
        "",
        "Instead of `store.url`, without a server: a branch of the git repository that "
        "digest.toml lies in. The database is kept there, encrypted. Each command fetches it from "
        "`origin`, and pushes what it changes.",
    )
    state_key: bytes = declare(
        values.read_state_key,
        "",
        "The key of what is on that branch. `digest init --start github` makes one.",
        secrecy=Secrecy.SECRET,
    )
    forget_unmatched_after: int = declare(
        values.read_retention,
        "90 days",
        'How long the texts of papers are kept that matched nothing; their ids stay. "never" '
        "keeps all.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """How all that speaks HTTP gets out."""

    proxy: str = declare(
        addresses.read_proxy,
        "",
        "The proxy that arXiv, Slack and webhooks are asked through: http://host:port. Default: "
        "what HTTPS_PROXY, HTTP_PROXY and ALL_PROXY say. NO_PROXY names hosts that are asked "
        "without it.",
        secrecy=Secrecy.INSIDE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    """How mail is sent."""

    from_address: str = declare(
        addresses.read_mail_address,
        "",
        "The address every digest comes from.",
        name="from",
    )
    from_name: str = declare(
        values.read_line,
        "Digest",
        "The sender of letters and alarms. A digest comes from its list, with this in brackets "
        "unless it is `Digest`.",
    )
    smtp: str = declare(
        addresses.read_smtp_url,
        "smtp://localhost:25",
        "The mail server: smtp://host:25, smtp+starttls://name@host:587 or smtps://name@host:465.",
    )
    helo: str = declare(
        addresses.read_host_name,
        "",
        "The name this machine gives itself to the mail server. Default: the domain of "
        "`mail.from`.",
    )
    password: str = declare(
        values.read_line, "", "The password of the user in `mail.smtp`.", secrecy=Secrecy.SECRET
    )
    ca_file: Path | None = declare(
        values.read_line,
        "",
        "A file of certificates (PEM) to trust for the mail server, besides the system's.",
        resolve=addresses.resolve_path,
    )
    unsubscribe: str = declare(
        addresses.read_mail_address,
        "",
        "The address for replies and for mails that unsubscribe. Default: `mail.from`.",
    )
    dkim_selector: str = declare(
        values.read_name,
        "",
        "The DKIM selector that your mail server signs with, so that `digest doctor` can check "
        "its key.",
    )
    on_ambiguous: Literal["resend", "hold"] = declare(
        values.choose_from(("resend", "hold")),
        "resend",
        "What to do when the mail server's last answer is lost: resend the same mail, or hold it "
        "for you.",
    )
    ambiguous_wait: timedelta = declare(
        values.read_seconds,
        900,
        "How many seconds to wait before that, because a slow server may still answer.",
    )
    connections: int = declare(
        values.number(1, 50, "connections"),
        1,
        "The most connections to the mail server at once, from each process. More send faster, "
        "but after a crash more mails may come twice.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """How Slack is reached."""

    token: str = declare(
        values.read_line, "", "The Slack app's bot token (xoxb-…).", secrecy=Secrecy.SECRET
    )
    url: str = declare(
        addresses.read_slack_url,
        "https://slack.com/api/",
        "Slack's Web API.",
        needs="slack.token",
    )
    ambiguous_wait: timedelta = declare(
        values.read_seconds,
        15,
        "How many seconds to wait before a post whose answer was lost is searched for in the "
        "channel.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoteroSettings:
    """How libraries at Zotero are read."""

    key: str = declare(
        values.read_line,
        "",
        "The key that reads your library at Zotero, made at zotero.org/settings/keys. Public "
        "groups need none.",
        secrecy=Secrecy.SECRET,
    )
    url: str = declare(
        addresses.read_http_url,
        "https://api.zotero.org/",
        "Zotero's Web API.",
        needs="zotero.key",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Where feeds and pages are served by `digest serve`."""

    base_url: str = declare(
        addresses.read_secure_url,
        "",
        "The public https address of `digest serve`. Without it messages have no links to pages "
        "and feeds.",
    )
    bind: str = declare(
        addresses.read_bind, "127.0.0.1:8000", "The host and port `digest serve` listens on."
    )
    metrics_bind: str = declare(
        addresses.read_bind,
        "",
        "The host and port where `digest serve` shows `/metrics` to anybody, in Prometheus' "
        "format.",
    )
    signup: Signup = declare(
        addresses.read_signup,
        "closed",
        'Who may subscribe by themselves on the first page: nobody ("closed"), anybody ("open"), '
        "or a list of "
        "domains and mail addresses.",
    )
    trusted_proxies: tuple[str, ...] = declare(
        addresses.read_reverse_proxies,
        ["127.0.0.1", "::1"],
        "The addresses of your reverse proxies. Only they may say, in X-Forwarded-For, who asks.",
    )

    @property
    def host(self) -> str:
        """The public host name, "" if there is no public address."""
        return urlsplit(self.base_url).hostname or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmSettings:
    """Who gets a message when something that should have happened has not."""

    to: tuple[Destination, ...] = declare(
        addresses.read_operator_destinations,
        [],
        "Where alarms go: any destination but `feed`, such as mailto:… or slack:#….",
        resolve=addresses.resolve_destinations,
    )
    ping_url: str = declare(
        addresses.read_private_url,
        "",
        "Requested once a minute while all works. A service such as Healthchecks warns you when "
        "that stops.",
        secrecy=Secrecy.SECRET,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultSettings:
    """What counts for each subscription that does not say otherwise."""

    when: Cadence = declare(
        values.read_cadence,
        "on announcement",
        'When digests are due: "on announcement", "at once", or for example "weekdays at 09:00 '
        'Europe/Berlin, at the latest 12:00". A digest waits for the whole announcement, but at '
        "most 90 minutes unless you say.",
    )
    kinds: tuple[Kind, ...] = declare(
        values.read_kinds,
        ["new", "cross-listed"],
        "What a digest shows: any of new, cross-listed, replaced, withdrawn, edited.",
    )
    when_empty: WhenEmpty = declare(
        values.choose_from(WhenEmpty),
        "skip",
        'What comes if there are no papers: nothing ("skip"), a "note", or a note even after a '
        'failed check ("always").',
    )
    quiet_hours: QuietHours | Literal[""] = declare(
        values.read_quiet_hours,
        "",
        "Hours in which nothing is sent; digests wait until they end. Name a zone if `when` has "
        "none: "
        '"22:00-07:00 Europe/Berlin".',
    )
    show: int | None = declare(
        values.read_show,
        values.ALL,
        'The most papers a message shows, or "all" for as many as fit. The rest are counted.',
    )
    abstracts: Abstracts = declare(
        values.choose_from(Abstracts),
        "short",
        'How much of each abstract a digest shows: "short" for as many sentences as its length '
        'allows (two, one or none), "full" for all of it, or "none".',
    )
    look_back: int = declare(
        values.read_days,
        "7 days",
        '"0 days" means no first digest. Otherwise it holds at most 15 of the newest papers.',
    )
    group_by: Grouping = declare(
        values.choose_from(Grouping),
        "kind",
        'How papers are grouped: by "kind" (in a digest of more than 25 papers by category), or '
        'by the first saved "query" that they match.',
    )
    library: tuple[str, ...] = declare(
        values.read_sources,
        [],
        "Papers you keep: a file (BibTeX, RIS, CSL-JSON, or ids of papers), zotero:1234567, "
        "zotero:group/98765, zotero:1234567/Collection, or a list of them. Papers near them come "
        "first.",
        resolve=addresses.resolve_sources,
    )
    not_like: tuple[str, ...] = declare(
        values.read_sources,
        [],
        "Papers whose like come later, in the same forms.",
        resolve=addresses.resolve_sources,
    )


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where signed JSON is posted, and the key that signs it."""

    url: str = declare(
        addresses.read_private_url,
        "",
        'The address that gets digests as signed JSON, for `to = "webhook:NAME"`.',
        secrecy=Secrecy.INSIDE,
    )
    secret: bytes = declare(
        values.read_signing_key,
        "",
        "The secret that signs them (whsec_…). `digest webhook secret` makes one.",
        secrecy=Secrecy.SECRET,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything the operator configured, checked. Paths and SQLite's URL are absolute.

    Attributes:
        incoming: addresses of incoming webhooks, by kind of destination and name.
        queries: saved queries as written, those with a name first; whether one can be read is found
            out later.
        subscriptions: with everything inherited from `defaults`.
        path: the file read, None if there was none.
        folder: absolute; what relative paths in the configuration count from.
        origins: key → where its value comes from: `default`, `digest.toml`, `DIGEST_MAIL_SMTP` …
        given: `$NAME` in the file → the text that its variable gives.
        hidden: key → its value as the file has it, if that names such variables.
    """

    templates: Path | None = declare(
        values.read_line,
        "",
        "A folder with templates of your own. Each file replaces the shipped one of the same name.",
        resolve=addresses.resolve_path,
    )
    test_clock: str = declare(
        addresses.read_http_url,
        "",
        "The address of a simulated clock, for tests. All other addresses must be on this machine.",
        is_environment_only=True,
    )
    test_dns: str = declare(
        addresses.read_bind,
        "",
        "The host and port of a name server for `digest doctor`, for tests.",
        is_environment_only=True,
    )
    arxiv: ArxivSettings
    store: StoreSettings
    network: NetworkSettings
    mail: MailSettings
    slack: SlackSettings
    zotero: ZoteroSettings
    web: WebSettings
    alarms: AlarmSettings
    defaults: DefaultSettings
    queries: tuple[SavedQuery, ...]
    subscriptions: tuple[Subscription, ...]
    path: Path | None
    folder: Path
    warnings: tuple[str, ...] = ()
    incoming: Mapping[DestinationKind, Mapping[str, str]] = field(
        default_factory=lambda: MappingProxyType({}), repr=False
    )
    webhooks: Mapping[str, Webhook] = field(default_factory=lambda: MappingProxyType({}))
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    given: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    hidden: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    choose_proxy: addresses.ChooseProxy = field(default=lambda _: None, repr=False)

    @property
    def query_names(self) -> frozenset[str]:
        """The names under `[queries]`; a text that a subscription follows has none."""
        return frozenset(query.name for query in self.queries if query.name != query.text)

    def find_key(self, subscription: str, name: str) -> str:
        """Return where a subscription's setting is written: of the only one, at the file's top."""
        return name if "follow" in self.origins else f"subscriptions.{subscription}.{name}"

    def find_reader(self, subscription: Subscription) -> str | None:
        """Return the mail destination of a subscription's only reader; "" if that is its owner.

        None if others may read it, too: then no title of a library is shown. Who joined does not
        own it.
        """
        of_its_name = (one for one in self.subscriptions if one.name == subscription.name)
        written = next(of_its_name, subscription)
        if not (written.has_one_reader and subscription.has_one_reader):
            return None
        mails = [place for place in subscription.destinations if place.traits.is_personal]
        if not set(mails) <= set(written.destinations):
            return None
        return "".join(map(str, mails))

    @property
    def hides_queries(self) -> bool:
        """Whether the file hides a query behind a variable; then nobody else reads any query."""
        keys = ("follow", "exclude", "read_first", "read_last")
        return any(key.startswith("queries.") or key.endswith(keys) for key in self.hidden)

    def list_texts(self) -> list[tuple[str, str]]:
        """Return where each query of the file is written, and its text.

        Those that only one subscription has are among them.
        """
        texts = [(query.place, query.text) for query in self.queries]
        named = {query.name for query in self.queries}
        for subscription in self.subscriptions:
            for key in ("exclude", "read_first", "read_last"):
                place = self.find_key(subscription.name, key)
                for text in getattr(subscription, key):
                    if key == "exclude" or text not in named:
                        texts.append((place, text))
        return texts

    @property
    def zone(self) -> tzinfo | None:
        """The zone a screen's times are shown in; None for the machine's own.

        One screen shows one zone: that of `defaults.when`, if it has none of
        `defaults.quiet_hours`. Else it is the one zone all subscriptions share.
        """
        name = choose_zone(self.defaults.when, self.defaults.quiet_hours or None, "")
        zones = {choose_zone(one.cadence, one.quiet_hours, "") for one in self.subscriptions}
        zones.discard("")
        if not name and len(zones) == 1:
            (name,) = zones
        return ZoneInfo(name) if name else None


TABLES: dict[str, type] = {
    "": Config,
    "arxiv": ArxivSettings,
    "store": StoreSettings,
    "network": NetworkSettings,
    "mail": MailSettings,
    "slack": SlackSettings,
    "zotero": ZoteroSettings,
    "web": WebSettings,
    "alarms": AlarmSettings,
    "defaults": DefaultSettings,
}
"""The tables of single settings, in the order they are written; "" for what is above all tables."""

SETTINGS: tuple[Setting, ...] = tuple(
    setting for table, owner in TABLES.items() for setting in list_settings(table, owner)
)
"""Every setting, in that order."""

INHERITED: dict[str, Setting] = {
    setting.name: setting for setting in SETTINGS if setting.table == "defaults"
}
"""What a subscription takes from `[defaults]` if it says nothing else."""

WEBHOOK: tuple[Setting, ...] = list_settings("webhooks.NAME", Webhook)
"""What is written in `[webhooks.NAME]`."""


SUBSCRIPTION: tuple[Setting, ...] = (
    Setting(
        values.read_name,
        None,
        "Its name, which never changes. Small letters, digits, dots, dashes, underscores.",
        name="name",
    ),
    Setting(
        values.read_followed,
        None,
        "What it follows: a query or a list of them, each as a text or by its name.",
        name="follow",
    ),
    Setting(
        addresses.read_destinations,
        None,
        f"One destination or a list: {FORMS}. mailto:@members.txt is a file of mail addresses, "
        "one a line.",
        name="to",
        resolve=addresses.resolve_destinations,
    ),
    Setting(
        values.read_line,
        "",
        "The title of its digests, and their sender. Default: its name, `Perf team` for "
        "`perf-team`.",
        name="title",
    ),
    Setting(
        values.read_queries,
        [],
        "A query or a list of queries. What they match is never shown, as with `ANDNOT`.",
        name="exclude",
    ),
    Setting(
        values.read_paper_ids,
        [],
        "The ids of papers it never shows, in any version.",
        name="exclude_papers",
    ),
    Setting(
        values.read_queries,
        [],
        "A query or a list of queries, as texts or by name. What they match comes before the rest.",
        name="read_first",
    ),
    Setting(
        values.read_queries,
        [],
        "A query or a list of queries. What they match comes after the rest, whatever else it "
        "matches.",
        name="read_last",
    ),
    Setting(
        values.choose_from(Archive),
        "link",
        'Who finds its past digests: everybody with the "link" of one, or everybody on the first '
        'page ("public").',
        name="archive",
    ),
    Setting(
        values.read_flag,
        default=False,
        help="Whether people may join it by themselves, on the first page.",
        name="joinable",
    ),
    Setting(
        values.read_flag,
        default=False,
        help="Whether several people read each address, as on a mailing list. Then no mail can be "
        "unsubscribed.",
        name="shared",
    ),
    *(
        replace(setting, table="", help=f"Instead of {setting.key}.")
        for setting in INHERITED.values()
    ),
)
"""What is written in `[[subscriptions]]`."""
