"""What messages are made from, read once for all the deliveries that were claimed together.

A digest goes to many destinations, and never changes once it is frozen: reading it for each of them would
cost a transaction a message.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from digest.pipeline.links import make_links
from digest.store import digests as digest_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.messages import Delivery, Digest
    from digest.pipeline.links import LinkMaker
    from digest.pipeline.site import Site

MOST = 32
"""Digests kept at hand at once: the one used least recently goes."""


class Drawer:
    """Keeps digests, and the maker of secret addresses, at hand for several threads while a pass lasts.

    Args:
        site: the installation.
        most: digests kept at once.
    """

    def __init__(self, site: Site, most: int = MOST) -> None:
        self._site, self._most = site, most
        self._lock = threading.Lock()
        self._digests: dict[int, Digest] = {}
        self._maker: LinkMaker | None = None

    def fill(self, claimed: Sequence[Delivery]) -> None:
        """Read what new deliveries need, in one transaction; one that was tried before has its message already.

        What can't be read is left to `take`, which says why to the one delivery that needs it.
        """
        wanted = dict.fromkeys(delivery.digest_id for delivery in claimed if not delivery.attempts)
        with self._lock:
            missing = [id_ for id_ in wanted if id_ not in self._digests]
        if not missing:
            return
        try:
            self._read(missing[: self._most])
        except Exception:  # noqa: BLE001 - `take` raises it again, for one delivery alone
            return

    def take(self, delivery: Delivery) -> tuple[Digest, LinkMaker]:
        """Return a delivery's digest as it was frozen, and what makes its addresses.

        Raises:
            UnknownName: the digest is not there any more.
            StoreError: the database is away.
        """
        with self._lock:
            digest = self._digests.pop(delivery.digest_id, None)
            if digest is not None and self._maker is not None:
                self._digests[delivery.digest_id] = digest
                return digest, self._maker
        (digest,), maker = self._read([delivery.digest_id])
        return digest, maker

    def _read(self, ids: Sequence[int]) -> tuple[list[Digest], LinkMaker]:
        with self._site.store.read() as conn:
            maker = make_links(conn, self._site.config)
            digests = [digest_store.load_digest(conn, id_) for id_ in ids]
        with self._lock:
            self._maker = maker
            for digest in digests:
                self._digests[digest.id] = digest
            while len(self._digests) > self._most:
                del self._digests[next(iter(self._digests))]
        return digests, maker
