r"""Papers written by hand, for the demo's readers: the ones its saved queries find.

Nothing here exists: neither the people nor the results. Texts are raw TeX, as arXiv keeps them.
"""

from __future__ import annotations

from typing import NamedTuple

from digest.model.papers import Author


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


def sign(*names: str) -> tuple[Author, ...]:
    """Read authors written as `Name` or `Name (affiliation)`.

    An author without one stands after those who have one: arXiv lends an affiliation to the authors before it.
    """
    authors = []
    for text in names:
        name, _, place = text.partition(" (")
        authors.append(Author(name, (place.removesuffix(")"),) if place else ()))
    return tuple(authors)


TAIL_LATENCY = Manuscript(
    r"Tail latency below $10^{-3}$ s on shared GPUs",
    "Interactive services share accelerators with batch work and pay for it in the tail. We show that most of the "
    r"99.9th percentile of a shared GPU comes from fewer than 2\% of its kernels, that these can be named in "
    r"advance, and that a queue which lets them wait keeps the tail below $10^{-3}$ s at 83\% load. The scheduler "
    r"is 400 lines long and asks nothing of the driver.",
    sign(
        "Imke Tarnwater (Northmere Institute of Technology)",
        r"\c{C}i\u{g}dem G\"ulverdim (Northmere Institute of Technology)",
        r"Bj\o rn Wexcombe (Technical University of Ostrahavn)",
        "Lwazi Sablemont (Polytechnic of Vell)",
    ),
    ("cs.PF", "cs.DC"),
    "12 pages, 4 figures",
)

HELD = Manuscript(
    "Held 13 days by moderators, found all the same",
    "Whoever asks only for what was submitted since yesterday never sees a submission that waited. We model a "
    "queue in which one customer in twenty-five is set aside for a week or more, measure what readers lose when "
    "they look by date of submission, and prove that looking by order of announcement loses nothing. The paper is "
    "its own first example: it was handed in on 6 November.",
    sign("Perpetua Kestrelmoor (Institute for Patient Computing at Marrowby)", r"Enno B\"ulterkamp"),
    ("cs.PF", "cs.DL"),
    "9 pages; see Section 5 for the irony",
)

MU_PATH = Manuscript(
    r"$\mu$path: following one request through eleven caches",
    r"A request that takes 40 $\mu$s passes eleven caches, three of them on the GPU. We present $\mu$path, which "
    r"tags a single request in hardware and follows it without disturbing the others. On four services it "
    r"explains nine tenths of the variance in response time; the slowest 0.1\% share one cause, which two lines "
    r"of code remove.",
    sign("Mairi Dunwhistle", r"J\'ozsef Ka\v{s}melt", "Keiko Lindquell", "Tarek Cintarello", "Ulla Fallowmeer"),
    ("cs.PF", "cs.OS"),
    "15 pages, 7 figures, code available",
)

ZERO = Manuscript(
    "0",
    "How much does it cost to do nothing? We measure the price of an empty function call, an empty transaction "
    "and an empty request on six machines. It is never 0, and in one case it is more than that of the work "
    "itself.",
    sign("Quirin Hexelbrandt"),
    ("cs.PF",),
    "4 pages",
)

INEQUALITIES = Manuscript(
    r"Why 100\% accuracy misleads: $p < q$ \& other inequalities of caching",
    r"A predictor that is right 100\% of the time on the trace it was tuned for may still make a cache slower: if "
    r"the prediction costs $p$ and a miss costs $q$, then $p < q$ is necessary but not sufficient. We collect "
    r"seven such inequalities, prove them \& give a worked example for each.",
    sign(r"L\'ea Mar\'onvez (Universit\'e de Clairmarais)", r"\v{S}\'arka Fen\v{c}ikar"),
    ("cs.PF", "cs.AR"),
)

STOPWATCH = Manuscript(
    r"Counting \emph{cache misses} with a stopwatch",
    "Where performance counters are forbidden, time itself must be the counter. We infer cache misses from "
    "nothing but response times, to within 3 in 1,000, by asking the same question in two orders.",
    sign("Sunniva Corvanedis", r"\.Zaneta \'Sredwicz-T\"orvalen", "Oskar Umbrecht-Sole"),
    ("cs.PF", "cs.CR"),
    "11 pages, 3 tables",
)

SPARSE_ATTENTION = Manuscript(
    "Compiling sparse attention for one small GPU",
    "Most compilers for attention assume a rack. We assume a single GPU with 6 GB of memory, bought second-hand, "
    r"and ask how sparse attention should be laid out for it. Choosing the block shape by a two-line model is "
    r"within 4\% of an exhaustive search, and takes 20 ms instead of a night.",
    sign(
        "Rashid Yarrowdale (Polytechnic of Vell)",
        "Wen Mistralund (Halden Bay College)",
        r"Zo\"e Abrelund (Halden Bay College)",
    ),
    ("cs.LG", "cs.PL"),
    "10 pages, 5 figures",
)

SCHEDULING = Manuscript(
    r"Scheduling in $\mathcal{O}(n^2)$",
    r"Placing $n$ jobs with deadlines on one GPU was known to take $\mathcal{O}(n^3)$ steps if preemption costs "
    r"time. We give an algorithm that takes $\mathcal{O}(n^2)$, which is optimal among those that compare pairs "
    r"of jobs, and show that it is also the faster one in practice from $n = 60$ on.",
    sign(r"Niccol\`o Lorimandu (University of Lower Fenwick)", "Dalia Brackvane (Polytechnic of Vell)"),
    ("cs.DS", "cs.DC"),
    "18 pages",
)
SCHEDULING_ACCEPTED = "Accepted at the Symposium on Unhurried Systems; 20 pages, proof of Lemma 3 simplified"

FOLLOWED = "Ingrith Solvane"
"""The author one of the demo's saved queries follows."""

ARCHIPELAGOS = Manuscript(
    "Colouring maps of archipelagos",
    r"A country may consist of several islands, and four colours then no longer suffice. For countries of at most "
    r"$m$ islands each, Heawood's bound is $6m$; we show that archipelagos in which every island can see the sea "
    r"need no more than $4m + 1$, and that $4m - 1$ are sometimes needed.",
    sign("Ingrith Solvane (Academy of Sciences of Tarnia)", "Kalle Hallowick"),
    ("math.CO", "cs.DM"),
    "23 pages, 11 figures in colour",
)

EARLIER_BENCHMARKS = Manuscript(
    "Benchmarks that age well",
    "A benchmark is useful for about four years. We look at thirty that lasted longer and find that they have "
    "three habits in common: they print their inputs, they fit on a page, and somebody is allowed to retire them.",
    sign("Beatriz Wintergleam", "Chidi Okonvere"),
    ("cs.PF", "cs.SE"),
    "8 pages",
)

EARLIER_CLOCKS = Manuscript(
    "Two clocks and a counter",
    "No machine has one time. We describe how to compare intervals measured by two clocks that drift apart, with "
    "the help of a counter that never runs backwards, and bound the error by what can be seen from inside.",
    sign(
        "Viggo Embrisson",
    ),
    ("cs.PF", "cs.AR"),
)

SHORT_QUEUES = Manuscript(
    "A proof that every queue is short",
    "We prove that the stationary length of every queue is at most three.",
    sign("Rashid Mistralund"),
    ("math.PR",),
    "6 pages",
)
SHORT_QUEUES_WITHDRAWN = "This paper has been withdrawn by the author: Lemma 3 is false, and so is the title"


def write_plain(title: str, category: str) -> Manuscript:
    """Return a paper of which no saved query of the demo's means anything."""
    abstract = (
        f"{title}: much has been written about this, and rather little about what happens under noise. We derive "
        r"a bound that is tight up to a factor of $\log n$, and give an example that attains it."
    )
    return Manuscript(title, abstract, sign("Odalys Pellwright", r"H\'ector N\~usquez"), (category,), "12 pages")
