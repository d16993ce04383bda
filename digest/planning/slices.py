"""arXiv's daily listing in slices: every category, in few requests, each far below the length arXiv cuts at.

One request takes archives and categories joined by `+`. arXiv cuts its answer at 2,000 lines and drops the new
papers first (https://github.com/arXiv/arxiv-feed), so computer science alone needs three on a Tuesday, the
fullest day. Categories that share most of their papers stand together: a paper takes one line of a slice.
"""

from __future__ import annotations

from dataclasses import dataclass

from digest.taxonomy import ARCHIVES, CATEGORIES, RETIRED, archive_of, names_of

_CS_LEARNING = ("cs.CL", "cs.IR", "cs.LG", "cs.NE", "cs.SD")
_CS_REASONING = (
    *("cs.AI", "cs.CC", "cs.CG", "cs.CY", "cs.DM", "cs.DS", "cs.FL", "cs.GT"),
    *("cs.HC", "cs.IT", "cs.LO", "cs.MA", "cs.MS", "cs.NA", "cs.SC", "cs.SY"),
)
_PHYSICS_LARGE_AND_SMALL = (
    *("astro-ph", "gr-qc", "hep-ex", "hep-lat", "hep-ph", "hep-th"),
    *("nucl-ex", "nucl-th"),
)
_PHYSICS_BETWEEN = ("cond-mat", "math-ph", "nlin", "physics", "quant-ph")
_IN_PARTS = frozenset({"cs", "math", *_PHYSICS_LARGE_AND_SMALL, *_PHYSICS_BETWEEN})


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of arXiv that one listing shows.

    Attributes:
        name: what people call it.
        subjects: archives and categories, as arXiv is asked for them.
    """

    name: str
    subjects: tuple[str, ...]

    @property
    def key(self) -> str:
        """Its subjects as one text, which tells it from every other slice."""
        return "+".join(self.subjects)

    def covers(self, category: str) -> bool:
        """Whether it lists the papers of a category; under whichever of its names, arXiv lists it under all."""
        return any(name in self.subjects or archive_of(name) in self.subjects for name in names_of(category))


def slice_of(key: str) -> Slice:
    """Return the slice of that key; one of an earlier release, cut otherwise, goes by its subjects."""
    known = next((one for one in SLICES if one.key == key), None)
    return known or Slice(key, tuple(key.split("+")))


def _cut_slices() -> tuple[Slice, ...]:
    cs = [name for name in CATEGORIES if archive_of(name) == "cs" and name not in RETIRED]
    rest_of_cs = tuple(name for name in cs if name not in (*_CS_LEARNING, *_CS_REASONING))
    others = tuple(name for name in ARCHIVES if name not in _IN_PARTS)
    return (
        Slice("cs 1 of 3", _CS_LEARNING),
        Slice("cs 2 of 3", _CS_REASONING),
        Slice("cs 3 of 3", rest_of_cs),
        Slice("physics 1 of 2", _PHYSICS_LARGE_AND_SMALL),
        Slice("physics 2 of 2", _PHYSICS_BETWEEN),
        Slice("math", ("math",)),
        Slice(", ".join(others), others),
    )


SLICES = _cut_slices()
"""Together they show a whole mailing."""
