"""A configuration put to work: the store opened, the gate before the client, the ways out at hand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from digest import __version__
from digest.arxiv.client import ArxivAddresses, ArxivClient
from digest.pipeline.site import Silent, Site
from digest.store import open_store
from digest.store import pages as page_store
from digest.store.gate import Gate
from digest.subscriptions import DestinationKind
from digest.transports.registry import open_transport

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.arxiv.trials import RequestLog
    from digest.clock import Clock
    from digest.config import Config
    from digest.pace import Gate as GateLike
    from digest.pipeline.site import Progress
    from digest.render import Renderer
    from digest.store import Store
    from digest.transports import Transport


def open_site(
    config: Config,
    clock: Clock,
    *,
    owner: str,
    jitter: Callable[[], float],
    progress: Progress | None = None,
    create: bool = True,
) -> Site:
    """Open an installation for work. Close the site when done.

    Args:
        config: what the operator configured.
        clock: the time.
        owner: a name no other process has, for claims and leases.
        jitter: a number from 0 up to 1, for back-off.
        progress: is told what happens.
        create: make the database where there is none.

    Raises:
        StoreError: the database cannot be used as it is.
        ConfigurationError: something configured cannot work.
    """
    store = open_store(config.store.url, create=create)
    gate = Gate(store, clock, owner, jitter=lambda seconds: seconds * (0.5 + jitter() / 2))
    return Site(
        config=config,
        store=store,
        clock=clock,
        open_renderer=partial(_open_renderer, config),
        client=open_client(config, gate, clock, on_request=partial(_log_request, store)),
        open_transport=partial(_open_transport, config, clock),
        owner=owner,
        jitter=jitter,
        progress=progress or Silent(),
    )


def open_client(
    config: Config, gate: GateLike, clock: Clock, *, on_request: Callable[[RequestLog], None] | None = None
) -> ArxivClient:
    """Return the client for the configured addresses; it says who asks and how to reach them."""
    arxiv = config.arxiv
    home = f"+{config.web.base_url}" if config.web.base_url else ""
    contact = f"mailto:{arxiv.contact}" if "@" in arxiv.contact else arxiv.contact
    who = "; ".join(filter(None, (home, contact))) or "no contact given"
    return ArxivClient(
        ArxivAddresses(arxiv.api_url, arxiv.oai_url),
        f"preprint-digest/{__version__} ({who})",
        gate,
        clock,
        on_request=on_request,
    )


def _log_request(store: Store, request: RequestLog) -> None:
    with store.begin() as conn:
        page_store.log_request(conn, request)


def _open_renderer(config: Config) -> Renderer:
    from digest.render import Renderer  # noqa: PLC0415 - a tenth of the start of a process that renders nothing

    return Renderer([config.templates] if config.templates else [])


def _open_transport(config: Config, clock: Clock, kind: DestinationKind) -> Transport:
    mail, slack = config.mail, config.slack
    settings: dict[DestinationKind, dict[str, object]] = {
        DestinationKind.MAIL: {
            "url": mail.smtp,
            "from_address": mail.from_address,
            "password": mail.password,
            "ca_file": mail.ca_file,
        },
        DestinationKind.SLACK: {"token": slack.token, "url": slack.url},
        DestinationKind.SLACK_WEBHOOK: {"urls": slack.webhooks},
        DestinationKind.WEBHOOK: {
            "hooks": {name: (hook.url, hook.secret) for name, hook in config.webhooks.items()},
            "now": clock.now,
        },
        DestinationKind.FILE: {"root": config.folder},
        DestinationKind.CONSOLE: {},
    }
    return open_transport(kind, settings.get(kind, {}))
