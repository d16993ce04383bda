"""Makes the secret addresses in a message; the store knows them by their hash alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from urllib.parse import quote

from sqlalchemy import Connection

from digest.config import Config
from digest.model import secrets
from digest.model.destinations import Destination
from digest.model.messages import Digest, Links
from digest.model.subscriptions import DueSubscription
from digest.store import tokens
from digest.store.tokens import TokenPurpose


@dataclass(frozen=True)
class LinkMaker:
    """Makes an installation's secret addresses."""

    config: Config
    secret: str

    @property
    def installation(self) -> str:
        """A name no other installation has, which shows nothing of the secret."""
        return secrets.derive_token(self.secret, "installation")

    def unsubscribe_token(self, destination: Destination, subscription: str) -> str:
        """Return the token that ends one destination's part in a subscription."""
        return secrets.derive_token(self.secret, "unsubscribe", str(destination), subscription)

    def feed_token(self, subscription: str, generation: int) -> str:
        """Return the token of a subscription's feed; another generation is another address."""
        return secrets.derive_token(self.secret, "feed", subscription, str(generation))

    def web_token(self, subscription: str, slot: str) -> str:
        """Return the token of a digest's page."""
        return secrets.derive_token(self.secret, "web", subscription, slot)

    def preferences_token(self, destination: Destination, generation: int = 0) -> str:
        """Return the token of the page on which one person changes what comes to them.

        See `find_generation`.
        """
        return secrets.derive_token(self.secret, "preferences", str(destination), str(generation))

    def archive_token(self, subscription: str) -> str:
        """Return the token of the page that lists a subscription's past digests."""
        return secrets.derive_token(self.secret, "archive", subscription)

    def write_feed_url(self, token: str, suffix: str) -> str:
        """Return the address at which a token opens a feed, "" if there is no public address."""
        return f"{self._base}/f/{token}.{suffix}" if self._base else ""

    def links(self, destination: Destination, digest: Digest, generation: int = 0) -> Links:
        """Return what a message that shows a digest to one destination may link to."""
        base = self._base
        page = self.web_token(digest.subscription, digest.slot)
        links = Links(
            web_view=f"{base}/d/{page}" if base else "",
            home=base,
            refs=make_refs_url(self.config),
        )
        if not destination.traits.is_personal:
            return links
        mail = self.config.mail
        back_to = mail.unsubscribe or mail.from_address
        if destination in self._shared:
            return replace(links, ask=back_to)
        if back_to:
            subject = quote(f"leave {digest.subscription}", safe="")
            links = replace(links, unsubscribe_mail=f"mailto:{back_to}?subject={subject}")
        if not base:
            return links
        token = self.unsubscribe_token(destination, digest.subscription)
        preferences = f"{base}/p/{self.preferences_token(destination, generation)}"
        has_several = digest.subscription in self._read_by_several
        likes = "" if has_several else f"{preferences}/d/{page}"
        return replace(links, unsubscribe=f"{base}/u/{token}", preferences=preferences, likes=likes)

    @property
    def _base(self) -> str:
        """The public address without its last slash; "" for none."""
        return self.config.web.base_url.rstrip("/")

    @cached_property
    def _shared(self) -> frozenset[Destination]:
        """Destinations where several people read what comes."""
        places = [one.destinations for one in self.config.subscriptions if one.shared]
        return frozenset().union(*places)

    @cached_property
    def _read_by_several(self) -> frozenset[str]:
        """Subscriptions that more than one person reads, so far as `digest.toml` says."""
        written = self.config.subscriptions
        return frozenset(one.name for one in written if not one.has_one_reader)


def make_refs_url(config: Config) -> str:
    """Return the address below which papers are served as BibTeX and RIS, "" for none.

    It is public, so there is none if arXiv is asked for saved queries alone: what is stored there
    would show anybody what somebody searches for.
    """
    base = config.web.base_url.rstrip("/")
    return f"{base}/refs" if base and config.arxiv.source == "harvest" else ""


def make_links(conn: Connection, config: Config) -> LinkMaker:
    """Return the maker of this installation's addresses, with the secret that the store made."""
    return LinkMaker(config, tokens.load_secret(conn))


def find_generation(conn: Connection, maker: LinkMaker, destination: Destination) -> int:
    """Return the generation of the links to one person's preferences: the first not ended."""
    generation = 0
    while True:
        token = maker.preferences_token(destination, generation)
        stored = tokens.load(conn, secrets.token_hash(token))
        if stored is None or stored.purpose is not TokenPurpose.ENDED:
            return generation
        generation += 1


def remember_preferences(
    conn: Connection, maker: LinkMaker, destination: Destination, *, at: datetime
) -> str:
    """Make the address answer at which one person changes what comes to them; return its token."""
    token = maker.preferences_token(destination, find_generation(conn, maker, destination))
    row = tokens.make_row(secrets.token_hash(token), "preferences", destination=str(destination))
    tokens.save(conn, [row], at=at)
    return token


def remember_tokens(
    conn: Connection,
    maker: LinkMaker,
    digests: Iterable[tuple[DueSubscription, str, int]],
    *,
    at: datetime,
) -> None:
    """Make the addresses of digests answer: pages, archives, and those in mails.

    Each digest is given with its slot and number.
    """
    rows = []
    for due, slot, digest_id in digests:
        subscription = due.subscription
        name = subscription.name
        web = secrets.token_hash(maker.web_token(name, slot))
        rows.append(tokens.make_row(web, "web", subscription=name, digest_id=digest_id))
        archive = secrets.token_hash(maker.archive_token(name))
        rows.append(tokens.make_row(archive, "archive", subscription=name))
        for destination in subscription.destinations:
            if destination.traits.is_personal:
                place = str(destination)
                leave = secrets.token_hash(maker.unsubscribe_token(destination, name))
                row = tokens.make_row(leave, "unsubscribe", destination=place, subscription=name)
                rows.append(row)
                mine = secrets.token_hash(maker.preferences_token(destination))
                rows.append(tokens.make_row(mine, "preferences", destination=place))
    tokens.save(conn, rows, at=at)
