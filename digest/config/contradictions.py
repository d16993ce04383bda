"""What settings that are right one by one must not say together, and what others need of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from urllib.parse import urlsplit

from digest.config.addresses import REACHED, find_remote_hosts, is_loopback
from digest.config.declarations import Setting, variable_of
from digest.config.draft import DEFAULT_ORIGIN, ConfigDraft
from digest.config.settings import INCOMING, SETTINGS
from digest.model.destinations import Destination
from digest.model.polls import MOST_SEARCHED
from digest.model.subscriptions import Subscription

_ARXIV_KEYS = ("arxiv.api_url", "arxiv.oai_url")


def judge_settings(
    draft: ConfigDraft,
    queries: int,
    subscriptions: Iterable[Subscription],
    destinations: Collection[Destination],
) -> None:
    """Report settings that contradict one another, or lack what others need."""
    _judge_sender(draft, destinations)
    _judge_sources(draft, queries)
    _judge_mail_server(draft)
    _judge_signup(draft)
    _judge_paths(draft)
    _judge_subscriptions(draft, subscriptions)
    _judge_test_clock(draft, destinations)


def warn_of_needs(draft: ConfigDraft, destinations: Collection[Destination]) -> None:
    """Warn of what is allowed, and should still be mended before the first message."""
    values = draft.values
    url = values["store.url"]
    if url.startswith("postgresql:") and "sslmode=" not in url:
        hosts = ", ".join(find_remote_hosts(url))
        if hosts:
            draft.warnings.append(
                f"the connection to {hosts} is not secure: add ?sslmode=verify-full to store.url"
            )
    server = urlsplit(values["mail.smtp"])
    if server.username and not values["mail.password"]:
        draft.warnings.append(
            f"mail.smtp logs in as {server.username!r} and needs a password: "
            "set DIGEST_MAIL_PASSWORD, or name its file with mail.password_file"
        )
    secrets = {setting.key: setting.name for setting in SETTINGS if setting.is_secret}
    for kind in sorted({place.kind for place in destinations}):
        key = kind.traits.needs
        if key in secrets and not values[key]:
            draft.warnings.append(
                f"{kind}: destinations need a {secrets[key]}: set {variable_of(key)}, "
                f"or name its file with {key}_file"
            )


def _is_needed(key: str, destinations: Iterable[Destination]) -> bool:
    """Whether a digest goes to a kind of destination that needs this setting."""
    return any(place.traits.needs == key for place in destinations)


def _judge_sender(draft: ConfigDraft, destinations: Iterable[Destination]) -> None:
    """Report that nobody is named whom the mail comes from, or whom arXiv can write to."""
    values = draft.values
    has_sender = values["mail.from"] or "mail.from" in draft.wrong
    is_here = all(is_loopback(values[key]) for key in _ARXIV_KEYS)
    is_reported = draft.wrong & {"arxiv.contact", "mail.from"}
    if not has_sender and _is_needed("mail.from", destinations):
        draft.complain(
            "mail.from",
            "is missing, but there are mailto: destinations",
            'Write mail.from = "…" at the top of the file.',
        )
    elif draft.path and not values["arxiv.contact"] and not is_here and not is_reported:
        draft.complain(
            "arxiv.contact",
            "is empty",
            "Write your mail address or web page: arXiv can write to you before it blocks you. "
            "With mail.from, that address is taken.",
        )


def _judge_sources(draft: ConfigDraft, queries: int) -> None:
    """Report two places for the database, and more queries than arXiv's search is asked for."""
    values = draft.values
    if values["store.git_branch"] and draft.origins["store.url"] != DEFAULT_ORIGIN:
        draft.complain("store.url", "is set, and so is store.git_branch", "Remove one of the two.")
    if values["arxiv.source"] == "query" and queries > MOST_SEARCHED:
        draft.complain(
            "arxiv.source",
            f'is "query", and there are {queries:,} saved queries: '
            f"arXiv's search is asked for {MOST_SEARCHED}",
            'Write source = "harvest": that is enough for any number of them.',
        )


def _judge_mail_server(draft: ConfigDraft) -> None:
    url = draft.values["mail.smtp"]
    server = urlsplit(url)
    if draft.values["mail.password"] and not server.username:
        draft.complain(
            "mail.smtp",
            "has no user name for the password",
            "Write the name before the host: smtp+starttls://name@host:587.",
        )
    if server.username and server.scheme == "smtp" and not is_loopback(url):
        draft.complain(
            "mail.smtp",
            "would send the password unencrypted",
            "Write smtp+starttls://… or smtps://…",
        )


def _judge_signup(draft: ConfigDraft) -> None:
    """Report what is missing so that people can subscribe by a mail that links to a page."""
    values = draft.values
    signup = values["web.signup"]
    if not signup or signup.is_off or "web.base_url" in draft.wrong:
        return
    if not values["web.base_url"]:
        draft.complain(
            "web.signup",
            "lets people subscribe, but web.base_url is missing, so no mail could link to a page",
            'Write base_url = "https://…" under [web].',
        )
    elif not values["mail.from"]:
        draft.complain(
            "web.signup",
            "lets people subscribe, but mail.from is missing, so nobody could confirm",
            'Write from = "…" and smtp = "…" under [mail].',
        )


def _judge_paths(draft: ConfigDraft) -> None:
    templates = draft.values["templates"]
    if templates is not None and not templates.is_dir():
        draft.complain(
            "templates",
            f"there is no folder {templates}",
            "Make the folder, or remove `templates`.",
        )
    certificates = draft.values["mail.ca_file"]
    if certificates is not None and not certificates.is_file():
        draft.complain(
            "mail.ca_file",
            f"there is no file {certificates}",
            "Name a PEM file, or remove `mail.ca_file`.",
        )


def _judge_subscriptions(draft: ConfigDraft, subscriptions: Iterable[Subscription]) -> None:
    """Report lists that nobody could leave, and files that two subscriptions write."""
    owners: dict[str, str] = {}
    for subscription in subscriptions:
        key = f"subscriptions.{subscription.name}"
        if subscription.shared and subscription.joinable:
            draft.complain(
                f"{key}.shared",
                "can't be joined by single people",
                "Take out `joinable` or `shared`.",
            )
        for destination in subscription.destinations:
            if not destination.is_feed_file:
                continue
            owner = owners.setdefault(str(destination), subscription.name)
            if owner != subscription.name:
                draft.complain(
                    f"{key}.to",
                    f"{destination} is also written by {owner}",
                    "Choose another file; `digest add` takes it with --to.",
                )


def _judge_test_clock(draft: ConfigDraft, destinations: Collection[Destination]) -> None:
    """Report what is outside while months pass in minutes: nobody there must be asked."""
    if not draft.values["test_clock"]:
        return
    outside = [key for key, url in _list_reached(draft, destinations) if not is_loopback(url)]
    if outside:
        draft.complain(
            "test_clock",
            f"needs all addresses on this machine; these are not: {', '.join(outside)}",
            "Unset DIGEST_TEST_CLOCK, or point all of them at 127.0.0.1.",
        )


def _list_reached(
    draft: ConfigDraft, destinations: Collection[Destination]
) -> Iterator[tuple[str, str]]:
    """Yield key and address of all that may be reached: settings, then webhooks."""
    for setting in _list_addresses(draft, destinations):
        yield setting.key, draft.values[setting.key]
    incoming = tuple(f"{setting.table}." for setting in INCOMING.values())
    for key, value in draft.values.items():
        is_webhook = key.startswith("webhooks.") and key.endswith(".url")
        if is_webhook or key.startswith(incoming):
            yield key, value


def _list_addresses(draft: ConfigDraft, destinations: Collection[Destination]) -> list[Setting]:
    """Return the settings whose address may be reached; last those that need a secret for it.

    Without its secret an address is reached only if a destination needs that secret, too.
    """
    always = []
    with_secret = []
    for setting in SETTINGS:
        if setting.read not in REACHED:
            continue
        if not setting.needs:
            always.append(setting)
        elif draft.values[setting.needs] or _is_needed(setting.needs, destinations):
            with_secret.append(setting)
    return always + with_secret
