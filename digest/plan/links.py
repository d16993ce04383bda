"""Makes the secret addresses in a message; the store knows them by their hash alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from urllib.parse import quote

from sqlalchemy import Connection

from digest.config import Config
from digest.model import secrets
from digest.model.destinations import Destination, DestinationKind
from digest.model.messages import Digest, Links
from digest.model.subscriptions import DueSubscription
from digest.store.tokens import TokenPurpose, load_secret, load_token, make_token_row, save_tokens


@dataclass(frozen=True, slots=True)
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
        """Return the token of the page on which one person changes what comes to them; see `find_generation`."""
        return secrets.derive_token(self.secret, "preferences", str(destination), str(generation))

    def archive_token(self, subscription: str) -> str:
        """Return the token of the page that lists a subscription's past digests."""
        return secrets.derive_token(self.secret, "archive", subscription)

    def write_feed_url(self, token: str, suffix: str) -> str:
        """Return the address at which a token opens a feed, "" if there is no public address."""
        base = self.config.web.base_url.rstrip("/")
        return f"{base}/f/{token}.{suffix}" if base else ""

    def links(self, destination: Destination, digest: Digest, generation: int = 0) -> Links:
        """Return what a message that shows a digest to one destination may link to."""
        base = self.config.web.base_url.rstrip("/")
        is_shared = any(
            one.shared and destination in one.destinations for one in self.config.subscriptions
        )
        is_mail = destination.kind is DestinationKind.MAIL and not is_shared
        token = self.unsubscribe_token(destination, digest.subscription)
        page = self.web_token(digest.subscription, digest.slot)
        preferences = (
            f"{base}/p/{self.preferences_token(destination, generation)}"
            if base and is_mail
            else ""
        )
        written = (one for one in self.config.subscriptions if one.name == digest.subscription)
        is_own = all(one.has_one_reader for one in written)
        back_to = self.config.mail.unsubscribe or self.config.mail.from_address
        subject = quote(f"leave {digest.subscription}", safe="")
        return Links(
            unsubscribe=f"{base}/u/{token}" if base and is_mail else "",
            unsubscribe_mail=f"mailto:{back_to}?subject={subject}" if is_mail and back_to else "",
            web_view=f"{base}/d/{page}" if base else "",
            home=base,
            refs=make_refs_url(self.config),
            preferences=preferences,
            likes=f"{preferences}/d/{page}" if preferences and is_own else "",
            ask=back_to if is_shared and destination.kind is DestinationKind.MAIL else "",
        )


def make_refs_url(config: Config) -> str:
    """Return the address below which papers are served as BibTeX and RIS, "" for none.

    It is public, so there is none if arXiv is asked for saved queries alone: what is stored there would
    show anybody what somebody searches for.
    """
    base = config.web.base_url.rstrip("/")
    return f"{base}/refs" if base and config.arxiv.source == "harvest" else ""


def make_links(conn: Connection, config: Config) -> LinkMaker:
    """Return the maker of this installation's addresses, with the secret that the store made."""
    return LinkMaker(config, load_secret(conn))


def find_generation(conn: Connection, maker: LinkMaker, destination: Destination) -> int:
    """Return the generation of the links to one person's preferences: the first that was not ended."""
    tokens = (maker.preferences_token(destination, number) for number in count())
    stored = (load_token(conn, secrets.token_hash(token)) for token in tokens)
    ended = (found is not None and found.purpose is TokenPurpose.ENDED for found in stored)
    return next(number for number, is_ended in enumerate(ended) if not is_ended)


def remember_preferences(
    conn: Connection, maker: LinkMaker, destination: Destination, *, at: datetime
) -> str:
    """Make the address answer at which one person changes what comes to them; return its token."""
    token = maker.preferences_token(destination, find_generation(conn, maker, destination))
    row = make_token_row(secrets.token_hash(token), "preferences", destination=str(destination))
    save_tokens(conn, [row], at=at)
    return token


def remember_tokens(
    conn: Connection,
    maker: LinkMaker,
    digests: Iterable[tuple[DueSubscription, str, int]],
    *,
    at: datetime,
) -> None:
    """Make the addresses of digests answer, each given with its slot and number: pages, archives, mails."""
    rows, mail = [], DestinationKind.MAIL  # each mention of an enumeration's member is a call
    for due, slot, digest_id in digests:
        subscription = due.subscription
        name = subscription.name
        web = secrets.token_hash(maker.web_token(name, slot))
        rows.append(make_token_row(web, "web", subscription=name, digest_id=digest_id))
        archive = secrets.token_hash(maker.archive_token(name))
        rows.append(make_token_row(archive, "archive", subscription=name))
        for destination in subscription.destinations:
            if destination.kind is mail:
                leave = secrets.token_hash(maker.unsubscribe_token(destination, name))
                place = str(destination)
                rows.append(
                    make_token_row(leave, "unsubscribe", destination=place, subscription=name)
                )
                mine = secrets.token_hash(maker.preferences_token(destination))
                rows.append(make_token_row(mine, "preferences", destination=place))
    save_tokens(conn, rows, at=at)
