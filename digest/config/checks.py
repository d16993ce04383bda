"""What can only be judged from several settings together."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from digest.config.addresses import find_remote_hosts, is_loopback
from digest.config.settings import INCOMING
from digest.model.polls import MOST_SEARCHED
from digest.model.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from digest.config.draft import ConfigDraft
    from digest.model.subscriptions import Destination, SavedQuery, Subscription

_ARXIV_KEYS = ("arxiv.api_url", "arxiv.oai_url")


def check_together(
    draft: ConfigDraft,
    queries: Sequence[SavedQuery],
    subscriptions: Sequence[Subscription],
    destinations: Sequence[Destination],
) -> None:
    """Report settings that contradict one another, or that others need; warn of secrets still to come."""
    _check_arxiv(draft, len(queries))
    _check_store(draft)
    _check_mail(draft, destinations)
    _check_signup(draft)
    if not draft.values["slack.token"] and any(one.kind is DestinationKind.SLACK for one in destinations):
        draft.warnings.append(
            "slack: destinations need a token: set DIGEST_SLACK_TOKEN, or name its file with slack.token_file"
        )
    _check_feed_files(draft, subscriptions)
    _check_files(draft)
    _check_test_clock(draft, destinations)


def _check_arxiv(draft: ConfigDraft, queries: int) -> None:
    values = draft.values
    is_outside = not all(is_loopback(values[key]) for key in _ARXIV_KEYS)
    if draft.has_file and is_outside and not values["arxiv.contact"] and "arxiv.contact" not in draft.wrong:
        draft.complain(
            "arxiv.contact",
            "is empty",
            "Write your mail address or web page. It goes to arXiv with each request, "
            "so that arXiv can write to you before it blocks you.",
        )
    if values["arxiv.source"] == "query" and queries > MOST_SEARCHED:
        what = f'is "query", and there are {queries:,} saved queries: arXiv\'s search is asked for {MOST_SEARCHED}'
        draft.complain("arxiv.source", what, 'Write source = "harvest": that is enough for any number of them.')


def _check_store(draft: ConfigDraft) -> None:
    url = draft.values["store.url"]
    if url.startswith("postgresql:") and "sslmode=" not in url and (hosts := find_remote_hosts(url)):
        draft.warnings.append(
            f"the connection to {', '.join(hosts)} is not secure: add ?sslmode=verify-full to store.url"
        )


def _check_mail(draft: ConfigDraft, destinations: Sequence[Destination]) -> None:
    values = draft.values
    if not values["mail.from"] and any(one.kind is DestinationKind.MAIL for one in destinations):
        draft.complain("mail.from", "is missing, but there are mailto: destinations", 'Write from = "…".')
    server = urlsplit(values["mail.smtp"])
    if values["mail.password"] and not server.username:
        hint = "Write the name before the host: smtp+starttls://name@host:587."
        draft.complain("mail.smtp", "has no user name for the password", hint)
    if server.username and not values["mail.password"]:
        draft.warnings.append(
            f"mail.smtp logs in as {server.username} and needs a password: "
            "set DIGEST_MAIL_PASSWORD, or name its file with mail.password_file"
        )
    if server.username and server.scheme == "smtp" and not is_loopback(values["mail.smtp"]):
        hint = "Write smtp+starttls://… or smtps://…"
        draft.complain("mail.smtp", "would send the password unencrypted", hint)


def _check_feed_files(draft: ConfigDraft, subscriptions: Sequence[Subscription]) -> None:
    """Two subscriptions that write one feed file would overwrite each other for ever."""
    owners: dict[str, str] = {}
    for subscription in subscriptions:
        for destination in subscription.destinations:
            if destination.kind is DestinationKind.FILE and destination.is_pulled:
                owner = owners.setdefault(destination.address, subscription.name)
                if owner != subscription.name:
                    what = f"{destination} is also written by {owner}"
                    draft.complain(f"subscriptions.{subscription.name}.to", what, "Choose another file.")


def _check_files(draft: ConfigDraft) -> None:
    templates, ca_file = draft.values["templates"], draft.values["mail.ca_file"]
    if templates is not None and not templates.is_dir():
        draft.complain("templates", f"there is no folder {templates}", "Make the folder, or remove `templates`.")
    if ca_file is not None and not ca_file.is_file():
        draft.complain("mail.ca_file", f"there is no file {ca_file}", "Name a PEM file, or remove `mail.ca_file`.")


def _check_signup(draft: ConfigDraft) -> None:
    """People who subscribe by themselves confirm by a mail that links to a page."""
    values = draft.values
    if not values["web.signup"] or values["web.signup"].is_off or "web.base_url" in draft.wrong:
        return
    if not values["web.base_url"]:
        what = "lets people subscribe, but web.base_url is missing, so no mail could link to a page"
        draft.complain("web.signup", what, 'Write base_url = "https://…" under [web].')
    elif not values["mail.from"]:
        what = "lets people subscribe, but mail.from is missing, so nobody could confirm"
        draft.complain("web.signup", what, 'Write from = "…" and smtp = "…" under [mail].')


def _check_test_clock(draft: ConfigDraft, destinations: Sequence[Destination]) -> None:
    """Months pass in minutes under a test clock: nothing outside this machine must be asked or written to."""
    if not draft.values["test_clock"]:
        return
    outside = [key for key, url in _outside_addresses(draft, destinations) if not is_loopback(url)]
    if outside:
        draft.complain(
            "test_clock",
            f"needs all addresses on this machine; these are not: {', '.join(outside)}",
            "Unset DIGEST_TEST_CLOCK, or point all of them at 127.0.0.1.",
        )


def _outside_addresses(draft: ConfigDraft, destinations: Sequence[Destination]) -> Iterator[tuple[str, str]]:
    """Yield key and address of all that may be reached; Slack only where something could be posted there."""
    for key in ("test_clock", *_ARXIV_KEYS, "mail.smtp", "web.base_url", "alarms.ping_url"):
        yield key, draft.values[key]
    if draft.values["slack.token"] or any(one.kind is DestinationKind.SLACK for one in destinations):
        yield "slack.url", draft.values["slack.url"]
    for key, value in draft.values.items():
        is_incoming = key.startswith(tuple(f"{setting.table}." for setting in INCOMING.values()))
        if is_incoming or (key.startswith("webhooks.") and key.endswith(".url")):
            yield key, value
