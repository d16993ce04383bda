r"""Papers written by hand: the odd ones, which anything that shows papers has to get right.

Accents, formulae, markup that is none, words that other programs would obey, very short and very
long author lists. Nothing here exists; texts are raw TeX, as arXiv keeps them.
"""

from __future__ import annotations

from digest.model.papers import Author
from tests.fakes.writing import FAMILY, GIVEN, Manuscript


def sign(*names: str) -> tuple[Author, ...]:
    """Read authors written as `Name` or `Name (affiliation)`.

    Those who have an affiliation come first.
    """
    parts = [name.removesuffix(")").partition(" (") for name in names]
    return tuple(Author(name, (place,) if place else ()) for name, _, place in parts)


_CREW = sign(
    *(f"{given} {family}" for given, family in zip(GIVEN[: len(FAMILY)], FAMILY, strict=True))
)

ODD = (
    Manuscript(
        r"A K\"unneth-like lemma of Lo\`eve type, and a \v{C}ech-style proof",
        r"We prove a lemma of K\"unneth type for products of tame spaces by way of a "
        r"\v{C}ech-style covering, and correct a sign in an earlier version by one of us. The "
        r"na{\"\i}ve statement fails already for $S^1 \times S^1$.",
        sign(r"H\'ector N\~usquez", r"Fran\c{c}oise Vr\^andau", r"Em\'ilia \O stervangen"),
        ("math.AT", "math.CT"),
        "14 pages",
    ),
    Manuscript(
        "Search for a second kind of silence with the HUSH detector",
        r"With 4.1 years of data the HUSH collaboration finds no silence beyond the one expected "
        r"from the Standard Model, and sets an upper limit of $2.7 \times 10^{-9}$ at 95\% "
        r"confidence.",
        (*sign("HUSH Collaboration"), *_CREW),
        ("hep-ex", "physics.ins-det"),
        "31 pages, 12 figures, submitted to the Journal of Careful Listening",
        report_no="HUSH-PUB-2026-03",
    ),
    Manuscript(
        r"$|\psi\rangle$ in, $|\psi\rangle$ out: a lazy quantum memory",
        r"We store a photonic state for 11 ms by doing as little as possible to it. Its fidelity, "
        r"$F = 0.993 \pm 0.002$, is limited by the two mirrors; removing one of them is left to "
        r"future work.",
        sign("Ayumi Vasterholm", "Gideon Pellwright"),
        ("quant-ph", "physics.optics"),
        journal_ref="Annals of Quiet Optics 3, 141 (2026)",
        doi="10.55555/aqo.2026.0141; 10.55555/aqo.2026.0142",
    ),
    Manuscript(
        r"A warm sub-Neptune that keeps its clouds: 4.2$\sigma$ at 3~$\mu$m",
        r"Transmission spectra of the made-up planet Fenwick-7\,b show a feature at 3~$\mu$m with "
        r"a significance of 4.2$\sigma$. Clouds at $P \lesssim 10^{-2}$ bar are the plainest "
        r"explanation; haze can't be ruled out.",
        sign("Adaeze Wexcombe (Observatory of the Quiet Coast)", r"J\'ozsef Rosenmo\ss er"),
        ("astro-ph.EP", "astro-ph.IM"),
        "17 pages, 8 figures",
    ),
    Manuscript(
        "Does <br> break a language model? Markup left over in training data",
        "Crawled text is full of markup that nobody meant to keep: <br>, &amp;amp; and "
        "<script>alert(1)</script> among it. We insert such scraps on purpose and find that models "
        "learn to close what they never opened.",
        sign("Thuy Ashgrovel", "Mateo Zephyrine", "Ren Ruthvelli"),
        ("cs.CL", "cs.HC"),
        "9 pages, </html> in the title of Section 3 is intended",
    ),
    Manuscript(
        "@channel and @here: how people shout in shared rooms",
        "We count who writes @channel, @here or <!everyone> in 212 shared rooms, at which hour, "
        "and whether anybody answers. Shouting doubles the number of replies and halves their "
        "length.",
        sign("Farah Gantelay", "Caspar Jorundsey"),
        ("cs.SI", "cs.HC"),
        "See https://survey.example/rooms?id=7&lang=en for the questionnaire",
    ),
    Manuscript(
        "*Emphasis*, _stress_ and `code`: the punctuation of review comments",
        "Reviewers who put *stars* around a word mean it more than those who use _underscores_; "
        "~struck~ words are read most carefully of all. From 18,000 comments we learn what each "
        "mark is worth.",
        sign("Hana Narravaine", "Anselm Ipsenhove"),
        ("cs.SE",),
    ),
    Manuscript(
        r"Primes in $[x, x + x^{0.52}]$ --- an elementary approach",
        r"We show that for all large $x$ the interval $[x, x + x^{0.52}]$ holds "
        r"$\gg x^{0.52}/\log x$ primes, without zero-density estimates."
        "\n  The second part of the paper treats almost all intervals. There the exponent "
        r"can be lowered to $1/20 + \epsilon$.",
        sign(r"Davit G\"ulverdim"),
        ("math.NT",),
        "41 pages, comments very welcome",
    ),
    Manuscript(
        "Reading 漢字 and Ελληνικά at a glance",
        "How long must a character be visible to be read? For 漢字 we find 38 ms, for Greek 29 ms; "
        "readers of both need longer for either.",
        sign("Keiko Xantovar", "Yusuf Yarrowdale"),
        ("q-bio.NC", "cs.HC"),
        "12 pages",
    ),
    Manuscript(
        "Is the cost of keeping a promise sunk?",
        r"A promise that has become expensive is kept more often than theory predicts --- by a "
        r"factor of $1.8$ in the field and $2.3$ in the laboratory. A model with pride explains "
        r"both.",
        sign("Odalys Dromsaal", "Ismail Lindquell"),
        ("econ.GN", "q-fin.EC"),
    ),
    Manuscript(
        "Teleconnections without tears: a first course in reading the sky's correlations",
        "Lecture notes for students who can program but have not met the atmosphere. Each chapter "
        "ends with a data set small enough to print.",
        sign("Nadira Embrisson (University of Lower Fenwick)"),
        ("physics.ao-ph", "physics.ed-ph"),
        "112 pages, lecture notes",
    ),
    Manuscript(
        r"Conformal prediction for those in a hurry: coverage $\geq 1 - \alpha$ in 12 lines",
        r"We state and prove the marginal coverage guarantee in 12 lines, and list the four ways "
        r"in which it is most often misread.",
        sign("Giulia Corvanedis", "Jonna Tarnwater"),
        ("stat.ME", "stat.ML"),
        "5 pages",
    ),
)
