r"""Draws made-up papers from word lists: the hundreds that no saved query of the demo finds.

Families and things are invented, every thing is a plural, every setting follows a noun; texts are
raw TeX.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from digest.model.papers import Author

GIVEN = r"""
    Adaeze Anselm Ayumi Beatriz Caspar Chidi \c{C}i\u{g}dem Dalia Davit Enno Farah Fran\c{c}oise
    Gideon Giulia Hana H\'ector Imke Ismail J\'ozsef Kalle Keiko Lwazi Mairi Nadira Odalys Quirin
    Rashid \v{S}\'arka Thuy Viggo Zo\"e
""".split()  # noqa: SIM905 - one name a line says no more
FAMILY = r"""
    Abrelund Ashgrovel B\"ulterkamp Brackvane Cintarello Dromsaal Elv{\aa}kerud Embrisson
    Fen\v{c}ikar Gantelay Hallowick Ipsenhove Jorundsey Ka\v{s}melt Lorimandu Mar\'onvez N\~usquez
    Okonvere Pellwright Rosenmo{\ss}er \'Sredwicz T\"orvalen Umbrecht-Sole Vr\^andau Wexcombe
    Xantovar Yarrowdale \.Zukrowel
""".split()  # noqa: SIM905 - the same
_PLACES = (
    "Polytechnic of Vell",
    "Halden Bay College",
    r"Universit\'e de Clairmarais",
    "Academy of Tarnia",
)

_SUBJECTS = (
    ("cs.LG", "small language models", "mixtures of experts", "gradient-free optimisers"),
    ("cs.CV", "event cameras", "depth estimators", "diffusion priors"),
    ("cs.CL", "tokenisers", "dialogue summarisers", "low-resource parsers"),
    ("cs.CR", "password vaults", "anonymous credentials", "key exchanges"),
    ("cs.SE", "flaky tests", "dependency updates", "code review bots"),
    ("math.NT", "elliptic curves", "sums of digits", "exponential sums"),
    ("math.PR", "random walks", "branching processes", "percolation clusters"),
    ("math.OC", "interior-point methods", "stochastic games", "proximal steps"),
    ("stat.ME", "partial rankings", "survival curves", "synthetic controls"),
    ("quant-ph", "surface codes", "cat states", "noisy channels"),
    ("hep-ph", "axion windows", "flavour anomalies", "jet shapes"),
    ("hep-th", "brane webs", "conformal blocks", "higher-spin fields"),
    ("astro-ph.GA", "dwarf galaxies", "stellar streams", "bar instabilities"),
    ("astro-ph.CO", "void catalogues", "lensing maps", "recombination lines"),
    ("cond-mat.mtrl-sci", "twisted bilayers", "grain boundaries", "perovskite films"),
    ("cond-mat.stat-mech", "spin glasses", "active fluids", "sandpiles"),
    ("physics.optics", "microcombs", "hollow-core fibres", "metasurfaces"),
    ("gr-qc", "black-hole shadows", "echo searches", "wormhole throats"),
    ("eess.SP", "radar waveforms", "sparse arrays", "graph filters"),
    ("q-bio.PE", "tick populations", "phylogenetic nets", "seed banks"),
    ("econ.GN", "ferry subsidies", "repair markets", "apprenticeship contracts"),
)
"""Categories with things that papers of each are about; the first are drawn most often."""

_NEAR = ("stat.ML", "cs.DS", "math.ST", "physics.data-an", "cs.HC", "math-ph")
_SETTINGS = (
    "under drift",
    "with few samples",
    "near criticality",
    "at large scale",
    "revisited",
    "in the dark",
)
_TITLES = (
    "{Things} {setting}",
    "On {things} {setting}",
    "{Things}: a note {setting}",
    "Why {things} {setting}?",
)
_SENTENCES = (
    "Much has been written about {things}, and rather little about what happens to them {setting}.",
    "We study {things} {setting}, where earlier work had to assume that the noise is known.",
    r"Our approach needs no more than $n = {number}$ samples and one pass over the data.",
    (
        r"We derive a bound that is tight up to a factor of $\log n$, "
        r"and give an example that attains it."
    ),
    r"Against a strong baseline, the error falls by {number}\% on average and never grows.",
    "The argument rests on a monotone quantity that had been overlooked, and takes {number} lines.",
    "All data and code are available with the paper.",
)
_COMMENTS = (
    "{pages} pages",
    "",
    "{pages} pages, comments welcome",
    "To appear in Unhurried Research",
)
_SHARE_CROSS_LISTED = 0.35
_SHARE_WITH_PLACE = 0.3


class Manuscript(NamedTuple):
    """What authors hand in."""

    title: str
    abstract: str
    authors: tuple[Author, ...]
    categories: tuple[str, ...]
    comment: str = ""
    journal_ref: str = ""
    doi: str = ""
    report_no: str = ""


class Writer:
    """Writes one manuscript after the other, no title twice.

    The same generator gives the same papers.
    """

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._titles: set[str] = set()
        self._weights = [2 + len(_SUBJECTS) - place for place in range(len(_SUBJECTS))]

    def write(self) -> Manuscript:
        """Return a paper about something."""
        while True:
            category, *things = self._draw.choices(_SUBJECTS, self._weights)[0]
            thing = self._draw.choice(things)
            words = {
                "things": thing,
                "Things": thing[0].upper() + thing[1:],
                "setting": self._draw.choice(_SETTINGS),
            }
            title = self._draw.choice(_TITLES).format(**words)
            if title not in self._titles:
                break
        self._titles.add(title)
        categories: tuple[str, ...] = (category,)
        if self._draw.random() < _SHARE_CROSS_LISTED:
            categories += (self.pick_category(categories),)
        sentences = " ".join(self._draw.sample(_SENTENCES, 4))
        comment = self._draw.choice(_COMMENTS).format(pages=self._draw.randint(6, 44))
        abstract = sentences.format(number=self._draw.randint(3, 48), **words)
        return Manuscript(title, abstract, self._sign(), categories, comment)

    def pick_category(self, taken: tuple[str, ...]) -> str:
        """Return a category that papers are cross-listed into, and not among these."""
        return self._draw.choice([category for category in _NEAR if category not in taken])

    def _sign(self) -> tuple[Author, ...]:
        count = self._draw.choice((1, 1, 2, 2, 3, 3, 4, 5, 8))
        place = (self._draw.choice(_PLACES),) if self._draw.random() < _SHARE_WITH_PLACE else ()
        names = zip(self._draw.sample(GIVEN, count), self._draw.sample(FAMILY, count), strict=True)
        return tuple(Author(f"{given} {family}", place) for given, family in names)
