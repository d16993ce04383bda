"""What earlier digests of a subscription stand for: the next one neither repeats nor belies them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.messages import Occasion

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from digest.messages import Coverage

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class EarlierDigest:
    """A digest that a subscription had before, without its papers.

    Attributes:
        planned_at: when it was frozen (UTC).
        occasion: why it exists.
        papers: how many it holds.
        coverage: what was looked at before it.
    """

    planned_at: datetime
    occasion: Occasion
    papers: int
    coverage: Coverage


def find_told_until(earlier: Sequence[EarlierDigest]) -> date | None:
    """Return the last mailing that an earlier digest stands for to its end; None where none does.

    A look back tells papers of old, whatever was looked at before it: it stands for no mailing.
    """
    return max(
        (
            one.coverage.mailing
            for one in earlier
            if one.occasion is Occasion.SCHEDULED and one.coverage.is_complete and one.coverage.mailing is not None
        ),
        default=None,
    )


def is_told(coverage: Coverage, earlier: Sequence[EarlierDigest]) -> bool:
    """Whether an earlier digest stands for the last mailing already: then a quiet day is no news."""
    until = find_told_until(earlier)
    return until is not None and coverage.mailing is not None and until >= coverage.mailing


def find_last_papers(coverage: Coverage, earlier: Sequence[EarlierDigest]) -> datetime | None:
    """Return when papers that may be of these mailings were told last (UTC); None where none were.

    Args:
        coverage: what a digest without papers stands for.
        earlier: the digests before it.
    """
    first = coverage.since or coverage.mailing
    if first is None:
        return None
    return max((one.planned_at for one in earlier if one.papers and _has_seen(one.coverage, first)), default=None)


def _has_seen(coverage: Coverage, mailing: date) -> bool:
    """Whether anything of a mailing can have been there; of the one that was not out yet nothing was."""
    if coverage.mailing is None:
        return False
    return coverage.mailing - (_DAY if coverage.is_awaited else timedelta(0)) >= mailing
