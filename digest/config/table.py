"""Every setting, once: how it is called, read, explained, and what it is where nobody says.

Reading, `config show`, the starter file and the README's table are all made from `SETTINGS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.config import addresses, destinations, values

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PREFIX = "DIGEST_"
FILE_SUFFIX = "_FILE"


class Secrecy(StrEnum):
    """How much of a value is hidden when it is shown: nothing, a password inside it, or all."""

    OPEN = "open"
    INSIDE = "inside"
    SECRET = "secret"  # noqa: S105 - the name of a degree, no password


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        key: table and name as in `digest.toml`; a key without a dot stands above all tables.
        read: from the value as written to the value as used; raises `ConfigurationError`.
        default: as it would be written.
        help: one sentence, for the starter file and the README.
        attribute: its name in the settings' dataclass, where it is not the key's.
        secrecy: what of it is hidden.
        example: what the starter file shows where the default is empty.
        from_text: from a variable's text to the value as it would be written.
        resolve: makes the value absolute, given the configuration's folder.
        is_environment_only: it cannot be written in `digest.toml`.
    """

    key: str
    read: Callable[[object], object]
    default: object
    help: str
    attribute: str = ""
    secrecy: Secrecy = Secrecy.OPEN
    example: str = ""
    from_text: Callable[[str], object] = str
    resolve: Callable[[object, Path], object] | None = None
    is_environment_only: bool = False

    @property
    def table(self) -> str:
        """The table it is written in, "" for none."""
        return self.key.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The key within its table."""
        return self.key.rpartition(".")[2]

    @property
    def field(self) -> str:
        """The attribute of the settings' dataclass that holds it."""
        return self.attribute or self.name

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return variable_of(self.key)

    @property
    def takes_file(self) -> bool:
        """Whether a variable may name a file that holds it."""
        return self.secrecy is not Secrecy.OPEN


def variable_of(key: str) -> str:
    """Return the environment variable of a key: `mail.smtp` → `DIGEST_MAIL_SMTP`."""
    return PREFIX + "".join(letter if letter.isalnum() else "_" for letter in key).upper()


TABLES: dict[str, str] = {
    "": "",
    "arxiv": "Where papers come from.",
    "store": "Where everything is kept.",
    "mail": "How mail is sent.",
    "slack": "How Slack is reached; the app's token belongs in DIGEST_SLACK_TOKEN or DIGEST_SLACK_TOKEN_FILE.",
    "web": "Where feeds and pages are served by `digest serve`.",
    "alarms": "Who is told when something that should have happened has not.",
    "defaults": "What each subscription gets that says nothing else.",
}
"""The tables of single settings, in the order they are written, with what each is about."""

WEBHOOKS = "slack.webhooks"
"""The table of incoming webhooks, name = URL; each may come from a variable of its own too."""

_WHEN = Setting(
    "defaults.when",
    values.read_cadence,
    "on announcement",
    'When digests are due: "on announcement", "at once", or days, time and zone such as '
    '"weekdays at 09:00 Europe/Berlin": once the mailing is complete, not before 09:00, and at the latest 90 '
    'minutes later, or when you say: "weekdays at 09:00 Europe/Berlin, at the latest 12:00".',
)
_KINDS = Setting(
    "defaults.kinds",
    values.read_kinds,
    ["new", "cross-list"],
    "What is told: any of new, cross-list, replacement, withdrawal, metadata.",
    from_text=values.split_text,
)
_QUIET_DAYS = Setting(
    "defaults.quiet_days",
    values.read_quiet_days,
    "skip",
    "A due digest without papers: skip it, send a note, or a heartbeat even when looking failed.",
)
_QUIET_HOURS = Setting(
    "defaults.quiet_hours",
    values.may_be_empty(values.read_quiet_hours),
    "",
    "Hours in which nothing goes out: what is due then is due when they end. In the zone of `when`; with "
    '"on announcement" and "at once", which have none, name one: "22:00-07:00 Europe/Berlin".',
    example="22:00-07:00 Europe/Berlin",
)
_CAP = Setting(
    "defaults.cap",
    values.read_cap,
    40,
    'How many papers a mail or a Slack message shows in full; "none" for all there is room for. A mail has room'
    " for 100 KB: abstracts are shortened, then left out, until about 130 papers fill it. The rest are counted and"
    " linked: by the page that holds them or, without `web.base_url`, by their ids, up to 400 in a mail and 20 in"
    " Slack.",
    from_text=values.number_text,
)
_FIRST_LOOK = Setting(
    "defaults.first_look",
    values.read_days,
    7,
    "How many days a new saved query looks back, once; 0 for not at all.",
    from_text=values.number_text,
)
_GROUP_BY = Setting(
    "defaults.group_by",
    values.read_grouping,
    "kind",
    'What papers stand under: their "kind", or the first saved "query" of the subscription that they match.',
)
_REPLACEMENTS = Setting(
    "defaults.replacements",
    values.read_replacements,
    "folded",
    'How a replaced paper tells what changed: "folded" to one line, or "whole": the abstract word by word.',
)
_WEEKLY = Setting(
    "defaults.weekly",
    values.read_weekly,
    "round-up",
    'What comes where `when` names one day a week: a "round-up" of the week by day, or a "digest" like any other.',
)
_INHERITED = (
    *(_WHEN, _KINDS, _QUIET_DAYS, _QUIET_HOURS, _CAP, _FIRST_LOOK),
    *(_GROUP_BY, _REPLACEMENTS, _WEEKLY),
)

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "templates",
        values.read_line,
        "",
        "Folder with templates of your own, which replace the shipped ones file by file.",
        example="templates",
        resolve=addresses.resolve_path,
    ),
    Setting(
        "test_clock",
        values.may_be_empty(addresses.read_http_url),
        "",
        "Address of a simulated clock, for tests; refused unless every outside address is on this machine.",
        is_environment_only=True,
    ),
    Setting(
        "arxiv.contact",
        values.may_be_empty(addresses.read_reachable),
        "",
        "Your mail address or web page: sent with each request, so that arXiv can tell you of trouble.",
        example="ops@example.org",
    ),
    Setting(
        "arxiv.source",
        values.choose_from("harvest", "query"),
        "harvest",
        '"harvest" fetches all that is announced; '
        '"query" asks arXiv\'s search: up to five saved queries one by one, more together.',
    ),
    Setting("arxiv.api_url", addresses.read_http_url, "https://export.arxiv.org/api/query", "The search API."),
    Setting("arxiv.oai_url", addresses.read_http_url, "https://oaipmh.arxiv.org/oai", "The OAI-PMH interface."),
    Setting(
        "store.url",
        addresses.read_store_url,
        "sqlite:///digest.db",
        "The database: sqlite:///file, or postgresql://name@host/database for several machines.",
        secrecy=Secrecy.INSIDE,
        resolve=addresses.resolve_store_url,
    ),
    Setting(
        "store.pool",
        values.read_pool,
        10,
        "Connections to PostgreSQL that each process opens at most.",
        from_text=values.number_text,
    ),
    Setting(
        "mail.from",
        values.may_be_empty(addresses.read_mail_address),
        "",
        "Sender of every digest.",
        attribute="from_address",
        example="digest@example.org",
    ),
    Setting("mail.from_name", values.read_line, "Digest", "The sender's name."),
    Setting(
        "mail.smtp",
        addresses.read_smtp_url,
        "smtp://localhost:25",
        "The mail server: smtp://host:25, smtp+starttls://name@host:587 or smtps://name@host:465.",
    ),
    Setting("mail.password", values.read_line, "", "Password of the name in mail.smtp.", secrecy=Secrecy.SECRET),
    Setting(
        "mail.ca_file",
        values.read_line,
        "",
        "Certificates (PEM) trusted for the mail server besides the system's.",
        example="mail-ca.pem",
        resolve=addresses.resolve_path,
    ),
    Setting(
        "mail.unsubscribe",
        values.may_be_empty(addresses.read_mail_address),
        "",
        "Address that reads mails from people who want to leave, and replies; mail.from where none is given.",
        example="leave@example.org",
    ),
    Setting(
        "mail.on_ambiguous",
        values.choose_from("resend", "hold"),
        "resend",
        "Where the mail server's last answer was lost: resend the same mail, or hold it for you.",
    ),
    Setting(
        "mail.ambiguous_wait",
        values.read_seconds,
        900,
        "Seconds such a mail is left alone first: a slow server or a paused process may yet be heard of.",
        from_text=values.number_text,
    ),
    Setting(
        "mail.idempotency_header",
        values.may_be_empty(values.read_header_name),
        "",
        "Header by which your mail provider knows a repeated mail; then such a mail is simply sent again.",
        example="Resend-Idempotency-Key",
    ),
    Setting(
        "mail.connections",
        values.read_connections,
        1,
        "Connections to the mail server at once, at most, from each process: several send faster, and a crash "
        "makes more mails come twice. Exchange Online allows 3 in all, your own server takes 8.",
        from_text=values.number_text,
    ),
    Setting("slack.token", values.read_line, "", "The Slack app's bot token (xoxb-…).", secrecy=Secrecy.SECRET),
    Setting("slack.url", addresses.read_slack_url, "https://slack.com/api/", "Slack's Web API."),
    Setting(
        "slack.ambiguous_wait",
        values.read_seconds,
        15,
        "Seconds until a post whose answer was lost is looked for in the channel's history, which lags a little.",
        from_text=values.number_text,
    ),
    Setting(
        "slack.webhook_on_ambiguous",
        values.choose_from("resend", "hold"),
        "hold",
        "Where a webhook's answer was lost: resend the post, or hold it for you.",
    ),
    Setting(
        "web.base_url",
        values.may_be_empty(addresses.read_secure_url),
        "",
        "Public https address of `digest serve`; without it no message carries a link to it.",
        example="https://digest.example.org",
    ),
    Setting("web.bind", addresses.read_bind, "127.0.0.1:8000", "Where `digest serve` listens."),
    Setting(
        "web.metrics_bind",
        values.may_be_empty(addresses.read_bind),
        "",
        "Where `digest serve` answers `/metrics` in Prometheus' format to anybody; nowhere where none is given.",
        example="127.0.0.1:9464",
    ),
    Setting(
        "web.secret",
        values.may_be_empty(values.read_long_secret),
        "",
        "What secret addresses are derived from, in 32 characters or more; made by the store where none is given.",
        secrecy=Secrecy.SECRET,
    ),
    Setting(
        "alarms.to",
        destinations.read_operator_places,
        [],
        "Where you are told: mailto:…, slack:#…, slack-webhook:name, webhook:name, file:…, console.",
        example="mailto:ops@example.org",
        from_text=values.split_text,
        resolve=destinations.resolve_operator_places,
    ),
    Setting(
        "alarms.ping_url",
        values.may_be_empty(addresses.read_ping_url),
        "",
        "Asked once a minute while the work is done: a watcher such as Healthchecks notices when that stops.",
        secrecy=Secrecy.SECRET,
    ),
    *_INHERITED,
)

INHERITED: dict[str, Setting] = {setting.name: setting for setting in _INHERITED}
"""What a subscription takes from `[defaults]` where it says nothing else."""

HOOKS = "webhooks"
"""The table of webhooks: a table of keys by name; each key may come from a variable of its own too."""

HOOK_KEYS = {
    "url": 'Where digests are posted as signed JSON, for `to = "webhook:NAME"`.',
    "secret": "What they are signed with (whsec_…): `digest webhook secret` makes one.",
}
"""The keys of `[webhooks.NAME]`, with what each means."""

SUBSCRIPTION_KEYS: dict[str, str] = {
    "name": "Its name, unique and lasting; small letters, digits, dots, dashes, underscores.",
    "queries": "Names of the saved queries it follows.",
    "to": "One or a list: mailto:…, slack:#…, slack-webhook:name, webhook:name, feed, file:…, console.",
    "title": "What its digests are called; its name where none is given, which subjects of mails leave out.",
    "was": "The name it had before, so that renaming loses no history and changes no address.",
    "exclude": "A query or a list of them: what they bring is never told to it, as with `ANDNOT`.",
    "exclude_papers": "Papers never told to it, by id, in whichever version.",
    "paused_until": "The first day or moment it goes on: 2026-12-01; it collects meanwhile. One without an offset "
    "is of the zone of its `when`, else of its quiet hours, else America/New_York. Resting by command "
    "(`digest subscription pause`) is apart from this: it rests while either says so.",
    **{name: f"Instead of defaults.{name}." for name in INHERITED},
}
"""The keys of `[[subscriptions]]`, with what each means."""

OTHER_KEYS = ("queries", "subscriptions", "webhooks")
"""Tables of the operator's own names."""
