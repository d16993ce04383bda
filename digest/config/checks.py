"""What can only be judged by looking at several settings together."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from digest.config.addresses import find_remote_hosts, is_loopback
from digest.config.problems import Place
from digest.config.table import HOOKS, WEBHOOKS, variable_of
from digest.subscriptions import FEED_SUFFIXES, DestinationKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from digest.config.progress import Reading
    from digest.config.settings import Lacking, Webhook
    from digest.subscriptions import Destination, Subscription

_ARXIV_KEYS = ("arxiv.api_url", "arxiv.oai_url")


_FILE_SUFFIXES = (".pdf", ".html", ".htm", ".txt", ".md", ".eml", ".rss", ".csv")
"""What a name of one file ends in, and hardly that of a folder."""


def check_together(
    reading: Reading,
    webhooks: Mapping[str, str],
    hooks: Mapping[str, Webhook],
    lacking: Mapping[str, Lacking],
    subscriptions: Sequence[Subscription],
    *,
    has_file: bool,
) -> None:
    """Report settings that contradict one another, or that others need; warn of secrets still to come."""
    destinations = [one for subscription in subscriptions for one in subscription.destinations]
    destinations += reading.values["alarms.to"]
    if has_file:
        _check_reachable(reading)
    _check_store(reading)
    _check_mail(reading, destinations)
    _check_slack(reading, destinations, webhooks)
    _check_hooks(reading, destinations, lacking)
    _check_feed_files(reading, subscriptions)
    _check_page_folders(reading, destinations)
    _check_folders(reading)
    addresses = {f"{WEBHOOKS}.{name}": url for name, url in webhooks.items()}
    addresses |= {f"{HOOKS}.{name}.url": hook.url for name, hook in hooks.items()}
    _check_test_clock(reading, destinations, addresses)


def _check_reachable(reading: Reading) -> None:
    place = reading.places.get("arxiv.contact", Place())
    if place != Place() and any(problem.place == place for problem in reading.problems.found):
        return  # what is written there is wrong, and told
    if not reading.values["arxiv.contact"] and not all(is_loopback(reading.values[key]) for key in _ARXIV_KEYS):
        _complain(
            reading,
            "arxiv.contact",
            "is empty",
            "Write your mail address or web page: arXiv is told it with each request, and can warn you "
            "before it has to block you.",
        )


def _check_store(reading: Reading) -> None:
    url = reading.values["store.url"]
    if url.startswith("postgresql:") and "sslmode=" not in url and (hosts := find_remote_hosts(url)):
        reading.warnings.append(
            f"store.url reaches {', '.join(hosts)} without sslmode, so others may read along or answer instead: "
            "write ?sslmode=verify-full behind it"
        )


def _check_mail(reading: Reading, destinations: Sequence[Destination]) -> None:
    values = reading.values
    if not values["mail.from"] and any(one.kind is DestinationKind.MAIL for one in destinations):
        _complain(reading, "mail.from", "is missing, but there are mailto: destinations", 'Write from = "…".')
    server = urlsplit(values["mail.smtp"])
    if values["mail.password"] and not server.username:
        _complain(
            reading,
            "mail.smtp",
            "names nobody to log in, but there is a password",
            "Write the name into it: smtp+starttls://name@host:587.",
        )
    if server.username and not values["mail.password"]:
        reading.warnings.append(
            f"mail.smtp logs in as {server.username}, but no password is given: "
            "set DIGEST_MAIL_PASSWORD or DIGEST_MAIL_PASSWORD_FILE"
        )
    if server.username and server.scheme == "smtp" and not is_loopback(values["mail.smtp"]):
        _complain(
            reading,
            "mail.smtp",
            "would send the password in the clear",
            "Write smtp+starttls://… or smtps://….",
        )


def _check_slack(reading: Reading, destinations: Sequence[Destination], webhooks: Mapping[str, str]) -> None:
    if not reading.values["slack.token"] and any(one.kind is DestinationKind.SLACK for one in destinations):
        reading.warnings.append(
            "there are slack: destinations, but no token: set DIGEST_SLACK_TOKEN or DIGEST_SLACK_TOKEN_FILE"
        )
    for destination in destinations:
        key = f"{WEBHOOKS}.{destination.address}"
        if (
            destination.kind is DestinationKind.SLACK_WEBHOOK
            and destination.address not in webhooks
            and key not in reading.origins
        ):
            reading.warnings.append(f"{destination} has no URL: set {variable_of(key)} or {variable_of(key)}_FILE")


def _check_hooks(reading: Reading, destinations: Sequence[Destination], lacking: Mapping[str, Lacking]) -> None:
    for name in sorted(
        {one.address for one in destinations if one.kind is DestinationKind.WEBHOOK} & set(lacking)
    ):
        keys, variables = zip(*lacking[name], strict=True)
        what = " and ".join(f"{HOOKS}.{name}.{key}" for key in keys)
        reading.warnings.append(f"webhook:{name} lacks {what}: set {' and '.join(variables)}")


def _check_feed_files(reading: Reading, subscriptions: Sequence[Subscription]) -> None:
    """Two subscriptions that write one feed file would overwrite each other for ever."""
    owners: dict[str, str] = {}
    for subscription in subscriptions:
        for destination in subscription.destinations:
            if destination.kind is DestinationKind.FILE and destination.is_pulled:
                owner = owners.setdefault(destination.address, subscription.name)
                if owner != subscription.name:
                    what = f"{destination} is written by {owner} too"
                    _complain(reading, f"subscriptions.{subscription.name}.to", what, "Name another file.")


def _check_page_folders(reading: Reading, destinations: Sequence[Destination]) -> None:
    """A folder that is named like a file was hardly meant as one."""
    for destination in dict.fromkeys(destinations):
        if destination.kind is DestinationKind.FILE and destination.address.lower().endswith(_FILE_SUFFIXES):
            reading.warnings.append(
                f"{destination} becomes a folder, with a file for each digest; "
                f"a feed is kept in one file, which ends in {', '.join(FEED_SUFFIXES)}"
            )


def _check_folders(reading: Reading) -> None:
    templates, ca_file = reading.values["templates"], reading.values["mail.ca_file"]
    if templates is not None and not templates.is_dir():
        _complain(reading, "templates", f"there is no folder {templates}", "Make it, or leave `templates` out.")
    if ca_file is not None and not ca_file.is_file():
        _complain(reading, "mail.ca_file", f"there is no file {ca_file}", "Name a PEM file, or leave it out.")


def _check_test_clock(reading: Reading, destinations: Sequence[Destination], hooks: Mapping[str, str]) -> None:
    """Months pass in minutes under a test clock: nobody outside this machine must be asked or told then."""
    if not reading.values["test_clock"]:
        return
    outside = [key for key, url in _outside_addresses(reading, destinations, hooks) if not is_loopback(url)]
    if outside:
        _complain(
            reading,
            "test_clock",
            f"is refused, because these are not on this machine: {', '.join(outside)}",
            "Unset DIGEST_TEST_CLOCK, or point all of them at 127.0.0.1.",
        )


def _outside_addresses(
    reading: Reading, destinations: Sequence[Destination], hooks: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield key and address of all that may be reached; Slack only where something could be posted there."""
    for key in ("test_clock", *_ARXIV_KEYS, "mail.smtp", "web.base_url", "alarms.ping_url"):
        yield key, reading.values[key]
    if reading.values["slack.token"] or any(one.kind is DestinationKind.SLACK for one in destinations):
        yield "slack.url", reading.values["slack.url"]
    yield from hooks.items()


def _complain(reading: Reading, key: str, what: str, hint: str) -> None:
    place = reading.places.get(key, Place())
    if place == Place():
        place = reading.document.place(*key.split("."))
    reading.problems.add(place, "" if place.variable else key, what, hint)
