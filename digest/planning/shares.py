"""How a digest's message that was refused for its size becomes smaller ones."""

from __future__ import annotations

from dataclasses import replace

from digest.messages import Share


def split_share(share: Share, *, is_first: bool) -> tuple[Share, ...]:
    """Return what comes in place of a message that was too large, in order; () where nothing is smaller.

    Half of its papers each, down to one; that one in the shortest form; then nothing. The first message of a
    digest keeps its place, and gives papers to the one behind it until it has none.

    Args:
        share: which papers it told, and in which form.
        is_first: it is the digest's first message, which says more than its papers.
    """
    if share.is_brief:
        return ()
    if share.count > 1 or (is_first and share.count):
        middle = share.first + share.count // 2
        return Share(share.first, middle), Share(middle, share.behind)
    return (replace(share, is_brief=True),)
