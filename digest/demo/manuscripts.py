r"""Papers written by hand, for the demo's readers: the ones its saved queries find.

Nothing here exists: neither the people nor the results. Titles and abstracts are as long as real ones.
Texts are raw TeX, as arXiv keeps them.
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
    r"Tail latency below $10^{-3}$ s on shared GPUs: which kernels to keep waiting",
    "Interactive services share accelerators with batch work to save money, and they pay for it in the tail "
    "of their response times. Earlier schedulers treat every kernel of the batch work alike, although most "
    "kernels end long before anybody could notice them. We trace 41 million kernel launches on a cluster of "
    r"96 machines, and follow each one to the request that waited for it. We show that fewer than 2\% of all "
    "kernels cause most of the 99.9th percentile of a shared GPU. These few can be named before they start, "
    "from the size of their grid and the memory they touched last time. A queue that lets only them wait "
    r"keeps the tail below $10^{-3}$ s at 83\% load. The batch work loses less than 3\% of its throughput, "
    r"and the best earlier scheduler needs a load below 51\% for the same tail. Our scheduler is 400 lines "
    "long, runs in user space and asks nothing of the driver. It survived a month on the same cluster, where "
    r"the operators saw 70\% fewer violations of their targets. We discuss two workloads on which it does not "
    "help, and make the traces available.",
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
    "Held 13 days by moderators, found all the same: completeness of alerts over a delayed archive",
    "Alert services usually ask an archive for everything that was submitted since they last asked. A "
    "submission that waited for a moderator has an old date by the time it appears, so such a service never "
    "sees it. Readers do not notice, because a missing alert looks like a quiet day. We model the archive as "
    "a queue in which one customer in twenty-five is set aside for a week or more. From the public records "
    r"of 1.2 million papers we find that 3.8\% of them are announced at least seven days late. A reader who "
    "asks by date of submission loses nearly all of these, and a wider window of dates only trades losses "
    "for repetitions. We prove that a reader who follows the order of announcement loses nothing, and that "
    "no reader can do better with fewer requests. The proof covers replacements, cross-lists and papers that "
    "are withdrawn while they wait. In a simulation of ten years, a service of 20,000 readers missed no "
    "paper and repeated none. We also give a repair for services that stored dates only. The paper is its "
    "own first example: it was handed in on 6 November.",
    sign("Perpetua Kestrelmoor (Institute for Patient Computing at Marrowby)", r"Enno B\"ulterkamp"),
    ("cs.PF", "cs.DL"),
    "9 pages; see Section 5 for the irony",
)

MU_PATH = Manuscript(
    r"$\mu$path: following one request through eleven caches without disturbing the others",
    r"A request that takes 40 $\mu$s passes eleven caches on its way, three of them on the GPU. Sampling "
    "profilers are too coarse to follow it, and instrumented programs change the very behaviour that one "
    r"would like to understand. We present $\mu$path, which marks a single request in hardware and follows it "
    "through all caches while the others run undisturbed. It uses address bits that current processors leave "
    "free, so programs need neither new instructions nor a new compiler. The cost is 6 ns for a marked "
    r"request and nothing for the rest, on both processors that we tried. On four services, $\mu$path "
    "explains nine tenths of the variance in response time, where the best profiler explains a quarter. The "
    r"slowest 0.1\% of requests share one cause: a table of pages that two caches evict in turn. Two lines of "
    "code remove it and lower the 99.9th percentile by a factor of 2.3. The same cause explains an outage "
    "that one operator had attributed to its network. We discuss what the method cannot see, and make code, "
    "traces and the patch for the kernel available.",
    sign("Mairi Dunwhistle", r"J\'ozsef Ka\v{s}melt", "Keiko Lindquell", "Tarek Cintarello", "Ulla Fallowmeer"),
    ("cs.PF", "cs.OS"),
    "15 pages, 7 figures, code available",
)

NOTHING = Manuscript(
    "The cost of doing nothing: empty calls, empty transactions and empty requests on six machines",
    "Models of performance usually add up the work that is done and take the frame around it as free. We "
    "measure the price of an empty function call, an empty transaction and an empty request on six machines, "
    "from a watch to a mainframe. Each measurement is repeated under five loads and corrected for the cost "
    "of the measurement itself. Together they took seven months, in which the machines were not asked to do "
    "anything else. We find that the price of nothing is never 0, and that it grew over the last twelve "
    "years while that of work fell. In one database an empty transaction takes longer than the median "
    r"transaction of its own benchmark. An empty request spends 71\% of its time in code that handles errors "
    "which cannot occur. A model with a single term for nothing predicts the response time of nine services "
    r"to within 8\%. Models without it are wrong by up to 40\%. We show that three habits of programmers "
    "account for most of the growth: wrappers, retries and logs that nobody reads. Removing one layer of "
    r"each makes the slowest of our services 22\% faster.",
    sign("Quirin Hexelbrandt"),
    ("cs.PF",),
    "4 pages",
)

INEQUALITIES = Manuscript(
    r"Why 100\% accuracy misleads: $p < q$ \& other inequalities of caching with predictions",
    "Caches with a learned predictor are compared by its accuracy, as if a better prediction always meant a "
    r"faster cache. A predictor that is right 100\% of the time on the trace it was tuned for may still make "
    "the cache slower. If the prediction costs $p$ and a miss costs $q$, then $p < q$ is necessary but by no "
    r"means sufficient. In this paper we collect seven such inequalities, prove them \& give a worked example "
    "for each. They relate the cost of a prediction, the cost of a miss, the size of the cache and the age of "
    "its entries. Three of them are new, and one corrects a bound that has been cited for thirty years. We "
    "then put 22 published predictors to the test on the traces of their own papers. Only 9 of them satisfy "
    "all seven inequalities, and the other 13 lose to a cache that evicts at random. Accuracy and speed are "
    "even negatively correlated among those 13 ($r = -0.41$). The reason is that an accurate predictor is "
    "often late, and a late prediction evicts what is needed next. We suggest to report the price of a "
    "prediction next to its accuracy, and provide a script of 60 lines that computes both.",
    sign(r"L\'ea Mar\'onvez (Universit\'e de Clairmarais)", r"\v{S}\'arka Fen\v{c}ikar"),
    ("cs.PF", "cs.AR"),
)

STOPWATCH = Manuscript(
    r"Counting \emph{cache misses} with a stopwatch where performance counters are forbidden",
    "Cloud providers forbid their customers the performance counters of the processor, for good reasons of "
    "security. A user who tunes a program there has nothing but time itself. We infer the number of cache "
    "misses from response times alone, by asking the same question twice in two different orders. The "
    "difference of the two times depends on misses only, as everything else cancels to first order. A "
    "correction of second order is needed only if the data exceed the cache by a factor of more than forty. "
    "On three generations of processors the estimate is within 3 in 1,000 of what the counters say. It needs "
    "200 repetitions, which take less than a second for most functions of interest. Noise from neighbours on "
    "the same machine widens the interval but does not shift it. It may even be estimated, since the two "
    "orders see the same neighbours on average. We demonstrate that the method finds the same hot spots as a "
    "profiler with full access in 17 of 18 programs. For the remaining one it names the right function and "
    "the wrong loop. A library for four languages hides the details, so that a measurement is a single call. "
    "It reveals nothing about other customers, and we explain why.",
    sign("Sunniva Corvanedis", r"\.Zaneta \'Sredwicz-T\"orvalen", "Oskar Umbrecht-Sole"),
    ("cs.PF", "cs.CR"),
    "11 pages, 3 tables",
)

SPARSE_ATTENTION = Manuscript(
    "Compiling sparse attention for one small GPU: block shapes from a model of two lines",
    "Most compilers for attention assume a rack of accelerators with more memory than a model needs. We "
    "assume a single GPU with 6 GB of memory, bought second-hand, and ask how sparse attention should be laid "
    "out for it. The layout is governed by the shape of its blocks: small blocks waste lanes, and large ones "
    "waste memory. The best shape depends on the mask, on the length of the text and on what else must fit. "
    "Autotuners try hundreds of shapes for each new sequence length, which takes a night on such a machine. "
    "We propose a model of two lines that predicts the best shape from the bandwidth and the density of the "
    r"mask. Over 1,150 masks its choice is within 4\% of an exhaustive search and takes 20 ms. We show why: "
    "two terms of the cost dominate all others as soon as memory is scarce. The model carries over to two "
    "other cards without new measurements. Together with a planner for spilled rows it lets a model of seven "
    "billion parameters read 32,000 tokens on that one card. Throughput is 2.7 times that of the best open "
    "library, at the same accuracy. The compiler is available under a free licence, with all measurements.",
    sign(
        "Rashid Yarrowdale (Polytechnic of Vell)",
        "Wen Mistralund (Halden Bay College)",
        r"Zo\"e Abrelund (Halden Bay College)",
    ),
    ("cs.LG", "cs.PL"),
    "10 pages, 5 figures",
)

SCHEDULING = Manuscript(
    r"Scheduling in $\mathcal{O}(n^2)$: jobs with deadlines on one machine that is slow to preempt",
    r"Placing $n$ jobs with deadlines on one GPU was known to take $\mathcal{O}(n^3)$ steps if preemption "
    "costs time. The cubic bound goes back to a dynamic programme over pairs of jobs and moments, of which "
    r"most entries are never used. We give an algorithm that takes $\mathcal{O}(n^2)$ steps and linear memory. "
    "Neither the weights nor the deadlines need to be integers, and preemption may cost a different time for "
    "each job. The key is an exchange argument: among the optimal schedules there is one whose preemptions "
    "are nested. Such schedules correspond to walks in a tree, and the best walk can be found greedily from "
    "the last deadline backwards. We prove that the bound is optimal among all algorithms that compare pairs "
    r"of jobs. For jobs of equal weight it drops to $\mathcal{O}(n \log n)$, which settles a question of long "
    r"standing. The algorithm also accepts jobs that arrive later, at a cost of $\mathcal{O}(n)$ for each of "
    "them. In experiments with traces of three clusters the new algorithm is also the faster one in practice, "
    "from $n = 60$ on. With 10,000 jobs it answers in 90 ms, where the old one needs eleven minutes.",
    sign(r"Niccol\`o Lorimandu (University of Lower Fenwick)", "Dalia Brackvane (Polytechnic of Vell)"),
    ("cs.DS", "cs.DC"),
    "18 pages",
)
SCHEDULING_ACCEPTED = "Accepted at the Symposium on Unhurried Systems; 20 pages, proof of Lemma 3 simplified"

FOLLOWED = "Ingrith Solvane"
"""The author one of the demo's saved queries follows."""

ARCHIPELAGOS = Manuscript(
    "Colouring maps of archipelagos: empires of islands that can all see the sea",
    "A country may consist of several islands, and four colours then no longer suffice for a map. For "
    "countries of at most $m$ islands each, Heawood showed in 1890 that $6m$ colours are enough. Examples "
    r"that need all of them are known for every $m \geq 2$, but they contain islands that are surrounded by "
    "others on all sides. We study archipelagos, in which every island can see the sea. The graphs behind "
    "them are unions of outerplanar pieces whose vertices are identified in groups of $m$. We show that "
    "archipelagos need no more than $4m$ colours, and that $4m - 1$ are needed infinitely often. A greedy "
    "algorithm finds such a colouring in linear time, once the coasts are given. The proof of the upper bound "
    "counts edges, while the lower bound uses a decomposition of complete graphs into outerplanar ones. "
    "For $m = 2$ a computer search over 9 million archipelagos closes the gap. It also finds the first "
    "archipelago of five countries that can't be drawn with straight coasts. If each country may ask for the "
    "colour of one island, a single further colour suffices. We end with a map of a real coast on which seven "
    "colours are needed, and with four open questions.",
    sign("Ingrith Solvane (Academy of Sciences of Tarnia)", "Kalle Hallowick"),
    ("math.CO", "cs.DM"),
    "23 pages, 11 figures in colour",
)

EARLIER_BENCHMARKS = Manuscript(
    "Benchmarks that age well: what thirty long-lived test suites have in common",
    "A benchmark is useful for about four years, and then programs are tuned to it rather than to their "
    "users. Results improve year by year, and nobody outside the benchmark notices anything. Some last much "
    "longer, and it has not been asked why. We study thirty suites that stayed in use for at least twelve "
    "years, beside sixty that did not. For each we read its papers, its code and its lists of results, and we "
    "interview one of its keepers. We find that the survivors have three habits in common. They print their "
    "inputs, they fit on a page, and somebody is allowed to retire parts of them. Size, funding and the fame "
    r"of the authors explain almost nothing. A score of the three habits at birth predicts survival in 84\% of "
    "cases. We repeated the analysis with suites from two other fields, robotics and speech, and the same "
    "three habits came first. A simple simulation of authors who compete for a table reproduces the effect. "
    "It also shows how a suite may die young: by a winner that everybody copies. We apply it to forty current "
    "suites and name eleven that we expect to meet again in ten years.",
    sign("Beatriz Wintergleam", "Chidi Okonvere"),
    ("cs.PF", "cs.SE"),
    "8 pages",
)

EARLIER_CLOCKS = Manuscript(
    "Two clocks and a counter: intervals with proven errors on machines that have no single time",
    "No machine has one time: each core, each card and each socket keeps its own. Intervals that begin on one "
    "clock and end on another are therefore wrong, often by more than what is measured. Common libraries hide "
    "the difference behind a single function and return whichever clock is near. Synchronising the clocks "
    "disturbs the programme and helps for seconds only. We describe how to compare intervals on two clocks "
    "that drift apart, with the help of a counter that never runs backwards. The counter need not be regular, "
    "as long as both sides can read it in bounded time. We derive a bound on the error from what can be seen "
    "from inside, without any assumption on the drift. If the drift is known to be slow, the same argument "
    "gives a bound four times smaller. On eight machines the bound is below 90 ns over a whole day. It stays "
    "below a microsecond if one of the sockets sleeps, which is the worst case we could provoke. The method "
    "takes 130 lines and no rights of an administrator. Applied to published traces, it shows that one in six "
    "reported speedups is smaller than its own error of measurement.",
    sign(
        "Viggo Embrisson",
    ),
    ("cs.PF", "cs.AR"),
)

SHORT_QUEUES = Manuscript(
    "A proof that every queue is short: stationary lengths under arbitrary arrivals",
    "We prove that the stationary length of every queue is at most three. The result holds for any number of "
    "servers, for arbitrary arrivals and for service times without a mean. It has been overlooked so far "
    "because the classical analysis starts from exponential times, which hide the relevant cancellation. Our "
    "proof needs no more than the strong law of large numbers and a new lemma on alternating sums. The lemma "
    "may be of interest in its own right: it replaces a limit by a maximum of three terms. Earlier proofs of "
    "weaker statements fit into the same frame. As a corollary, admission control is never useful. We compare "
    "the bound with traces of a post office, in which 211 people were seen to wait. No other trace was "
    "available to us at the time of writing. The difference is explained by a transient phase, which has "
    "lasted since 1974. Extensions to networks of queues are immediate, and are left to the reader.",
    sign("Rashid Mistralund"),
    ("math.PR",),
    "6 pages",
)
SHORT_QUEUES_WITHDRAWN = "This paper has been withdrawn by the author: Lemma 3 is false, and so is the title"


def write_plain(title: str, category: str) -> Manuscript:
    """Return a paper of which no saved query of the demo's means anything."""
    abstract = (
        f"{title}: much has been written about this, and rather little about what happens under noise. Earlier "
        "work assumes that the noise is known, independent and small, which is seldom true of observations. We "
        "drop the first two assumptions, weaken the third, and derive a bound that is tight up to a factor of "
        r"$\log n$. The argument uses a monotone quantity that had been overlooked, and gives an estimator that "
        "takes one pass over the data. Its memory does not depend on their number, and it does without the "
        r"truncation that made earlier estimators slow. On three sets of public data its error is 18\% lower on "
        "average than that of the best known method, and never higher. Two of the three had been thought free of "
        "noise, and we explain what was taken for a signal there. We discuss what remains open, most of all the "
        "case of dependent groups, and collect numerical evidence for a conjecture on them. All data and the "
        "code of the experiments are available with the paper."
    )
    return Manuscript(title, abstract, sign("Odalys Pellwright", r"H\'ector N\~usquez"), (category,), "12 pages")
