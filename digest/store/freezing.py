"""A digest as JSON text and back: papers by the key of their stored text, everything else in full. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from digest.messages import Digest
    from digest.papers import Paper


def freeze(digest: Digest, versions: Mapping[int, int]) -> str:
    """Return a digest as JSON text.

    Args:
        digest: the digest.
        versions: the key of the stored text each of its changes is about, by change id.
    """
    raise NotImplementedError


def frozen_versions(content: str) -> tuple[int, ...]:
    """Return the keys of the stored texts a frozen digest is made of."""
    raise NotImplementedError


def thaw(content: str, papers: Mapping[int, Paper], *, id_: int = 0) -> Digest:
    """Return the digest that was frozen.

    Args:
        content: what `freeze` returned.
        papers: the stored texts by key (see `frozen_versions`).
        id_: the stored digest's number.
    """
    raise NotImplementedError
