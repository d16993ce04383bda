"""What can only be judged by looking at several settings together."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from digest.config.addresses import find_remote_hosts, is_loopback
from digest.config.settings import INCOMING
from digest.model.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from digest.config.draft import ConfigDraft
    from digest.model.subscriptions import Destination, Subscription

_ARXIV_KEYS = ("arxiv.api_url", "arxiv.oai_url")


def check_together(
    draft: ConfigDraft, subscriptions: Sequence[Subscription], destinations: Sequence[Destination]
) -> None:
    """Report settings that contradict one another, or that others need; warn of secrets still to come."""
    _check_arxiv(draft)
    _check_store(draft)
    _check_mail(draft, destinations)
    if not draft.values["slack.token"] and any(one.kind is DestinationKind.SLACK for one in destinations):
        draft.warnings.append(
            "there are slack: destinations, but no token: set DIGEST_SLACK_TOKEN or DIGEST_SLACK_TOKEN_FILE"
        )
    _check_feed_files(draft, subscriptions)
    _check_files(draft)
    _check_test_clock(draft, destinations)


def _check_arxiv(draft: ConfigDraft) -> None:
    values = draft.values
    is_outside = not all(is_loopback(values[key]) for key in _ARXIV_KEYS)
    if draft.has_file and is_outside and not values["arxiv.contact"] and "arxiv.contact" not in draft.wrong:
        draft.complain(
            "arxiv.contact",
            "is empty",
            "Write your mail address or web page: arXiv is told it with each request, and can warn you "
            "before it has to block you.",
        )


def _check_store(draft: ConfigDraft) -> None:
    url = draft.values["store.url"]
    if url.startswith("postgresql:") and "sslmode=" not in url and (hosts := find_remote_hosts(url)):
        draft.warnings.append(
            f"store.url reaches {', '.join(hosts)} without sslmode, so others may read along or answer instead: "
            "write ?sslmode=verify-full behind it"
        )


def _check_mail(draft: ConfigDraft, destinations: Sequence[Destination]) -> None:
    values = draft.values
    if not values["mail.from"] and any(one.kind is DestinationKind.MAIL for one in destinations):
        draft.complain("mail.from", "is missing, but there are mailto: destinations", 'Write from = "…".')
    server = urlsplit(values["mail.smtp"])
    if values["mail.password"] and not server.username:
        hint = "Write the name into it: smtp+starttls://name@host:587."
        draft.complain("mail.smtp", "names nobody to log in, but there is a password", hint)
    if server.username and not values["mail.password"]:
        draft.warnings.append(
            f"mail.smtp logs in as {server.username}, but no password is given: "
            "set DIGEST_MAIL_PASSWORD or DIGEST_MAIL_PASSWORD_FILE"
        )
    if server.username and server.scheme == "smtp" and not is_loopback(values["mail.smtp"]):
        hint = "Write smtp+starttls://… or smtps://…."
        draft.complain("mail.smtp", "would send the password in the clear", hint)


def _check_feed_files(draft: ConfigDraft, subscriptions: Sequence[Subscription]) -> None:
    """Two subscriptions that write one feed file would overwrite each other for ever."""
    owners: dict[str, str] = {}
    for subscription in subscriptions:
        for destination in subscription.destinations:
            if destination.kind is DestinationKind.FILE and destination.is_pulled:
                owner = owners.setdefault(destination.address, subscription.name)
                if owner != subscription.name:
                    what = f"{destination} is written by {owner} too"
                    draft.complain(f"subscriptions.{subscription.name}.to", what, "Name another file.")


def _check_files(draft: ConfigDraft) -> None:
    templates, ca_file = draft.values["templates"], draft.values["mail.ca_file"]
    if templates is not None and not templates.is_dir():
        draft.complain("templates", f"there is no folder {templates}", "Make it, or leave `templates` out.")
    if ca_file is not None and not ca_file.is_file():
        draft.complain("mail.ca_file", f"there is no file {ca_file}", "Name a PEM file, or leave it out.")


def _check_test_clock(draft: ConfigDraft, destinations: Sequence[Destination]) -> None:
    """Months pass in minutes under a test clock: nobody outside this machine must be asked or told then."""
    if not draft.values["test_clock"]:
        return
    outside = [key for key, url in _outside_addresses(draft, destinations) if not is_loopback(url)]
    if outside:
        draft.complain(
            "test_clock",
            f"is refused, because these are not on this machine: {', '.join(outside)}",
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
