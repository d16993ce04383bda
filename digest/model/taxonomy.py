"""arXiv's subjects: category ids and names, archives, aliases, and the archives of the 1990s.

Facts as of June 2026 (https://arxiv.org/category_taxonomy): 155 categories in use, in 20 archives.
Nine archives are categories themselves (hep-th, quant-ph …). Six pairs of ids name one category
(cs.NA and math.NA …), and the 18 archives that were merged into others live on in old papers: all
names of one category are interchangeable here. Ids are read in any letter case and given back in
arXiv's spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType

_TABLE = """
astro-ph Astrophysics
.CO Cosmology and Nongalactic Astrophysics
.EP Earth and Planetary Astrophysics
.GA Astrophysics of Galaxies
.HE High Energy Astrophysical Phenomena
.IM Instrumentation and Methods for Astrophysics
.SR Solar and Stellar Astrophysics
cond-mat Condensed Matter
.dis-nn Disordered Systems and Neural Networks
.mes-hall Mesoscale and Nanoscale Physics
.mtrl-sci Materials Science
.other Other Condensed Matter
.quant-gas Quantum Gases
.soft Soft Condensed Matter
.stat-mech Statistical Mechanics
.str-el Strongly Correlated Electrons
.supr-con Superconductivity
cs Computer Science
.AI Artificial Intelligence
.AR Hardware Architecture
.CC Computational Complexity
.CE Computational Engineering, Finance, and Science
.CG Computational Geometry
.CL Computation and Language
.CR Cryptography and Security
.CV Computer Vision and Pattern Recognition
.CY Computers and Society
.DB Databases
.DC Distributed, Parallel, and Cluster Computing
.DL Digital Libraries
.DM Discrete Mathematics
.DS Data Structures and Algorithms
.ET Emerging Technologies
.FL Formal Languages and Automata Theory
.GL General Literature
.GR Graphics
.GT Computer Science and Game Theory
.HC Human-Computer Interaction
.IR Information Retrieval
.IT Information Theory
.LG Machine Learning
.LO Logic in Computer Science
.MA Multiagent Systems
.MM Multimedia
.MS Mathematical Software
.NA Numerical Analysis
.NE Neural and Evolutionary Computing
.NI Networking and Internet Architecture
.OH Other Computer Science
.OS Operating Systems
.PF Performance
.PL Programming Languages
.RO Robotics
.SC Symbolic Computation
.SD Sound
.SE Software Engineering
.SI Social and Information Networks
.SY Systems and Control
econ Economics
.EM Econometrics
.GN General Economics
.TH Theoretical Economics
eess Electrical Engineering and Systems Science
.AS Audio and Speech Processing
.IV Image and Video Processing
.SP Signal Processing
.SY Systems and Control
gr-qc General Relativity and Quantum Cosmology
hep-ex High Energy Physics - Experiment
hep-lat High Energy Physics - Lattice
hep-ph High Energy Physics - Phenomenology
hep-th High Energy Physics - Theory
math Mathematics
.AC Commutative Algebra
.AG Algebraic Geometry
.AP Analysis of PDEs
.AT Algebraic Topology
.CA Classical Analysis and ODEs
.CO Combinatorics
.CT Category Theory
.CV Complex Variables
.DG Differential Geometry
.DS Dynamical Systems
.FA Functional Analysis
.GM General Mathematics
.GN General Topology
.GR Group Theory
.GT Geometric Topology
.HO History and Overview
.IT Information Theory
.KT K-Theory and Homology
.LO Logic
.MG Metric Geometry
.MP Mathematical Physics
.NA Numerical Analysis
.NT Number Theory
.OA Operator Algebras
.OC Optimization and Control
.PR Probability
.QA Quantum Algebra
.RA Rings and Algebras
.RT Representation Theory
.SG Symplectic Geometry
.SP Spectral Theory
.ST Statistics Theory
math-ph Mathematical Physics
nlin Nonlinear Sciences
.AO Adaptation and Self-Organizing Systems
.CD Chaotic Dynamics
.CG Cellular Automata and Lattice Gases
.PS Pattern Formation and Solitons
.SI Exactly Solvable and Integrable Systems
nucl-ex Nuclear Experiment
nucl-th Nuclear Theory
physics Physics
.acc-ph Accelerator Physics
.ao-ph Atmospheric and Oceanic Physics
.app-ph Applied Physics
.atm-clus Atomic and Molecular Clusters
.atom-ph Atomic Physics
.bio-ph Biological Physics
.chem-ph Chemical Physics
.class-ph Classical Physics
.comp-ph Computational Physics
.data-an Data Analysis, Statistics and Probability
.ed-ph Physics Education
.flu-dyn Fluid Dynamics
.gen-ph General Physics
.geo-ph Geophysics
.hist-ph History and Philosophy of Physics
.ins-det Instrumentation and Detectors
.med-ph Medical Physics
.optics Optics
.plasm-ph Plasma Physics
.pop-ph Popular Physics
.soc-ph Physics and Society
.space-ph Space Physics
q-bio Quantitative Biology
.BM Biomolecules
.CB Cell Behavior
.GN Genomics
.MN Molecular Networks
.NC Neurons and Cognition
.OT Other Quantitative Biology
.PE Populations and Evolution
.QM Quantitative Methods
.SC Subcellular Processes
.TO Tissues and Organs
q-fin Quantitative Finance
.CP Computational Finance
.EC Economics
.GN General Finance
.MF Mathematical Finance
.PM Portfolio Management
.PR Pricing of Securities
.RM Risk Management
.ST Statistical Finance
.TR Trading and Market Microstructure
quant-ph Quantum Physics
stat Statistics
.AP Applications
.CO Computation
.ME Methodology
.ML Machine Learning
.OT Other Statistics
.TH Statistics Theory
"""
"""An archive to a line, its categories below it, each beginning with a dot."""

_MERGED_TABLE = """
acc-phys physics.acc-ph Accelerator Physics
adap-org nlin.AO Adaptation, Noise, and Self-Organizing Systems
alg-geom math.AG Algebraic Geometry
ao-sci physics.ao-ph Atmospheric-Oceanic Sciences
atom-ph physics.atom-ph Atomic, Molecular and Optical Physics
bayes-an physics.data-an Bayesian Analysis
chao-dyn nlin.CD Chaotic Dynamics
chem-ph physics.chem-ph Chemical Physics
cmp-lg cs.CL Computation and Language
comp-gas nlin.CG Cellular Automata and Lattice Gases
dg-ga math.DG Differential Geometry
funct-an math.FA Functional Analysis
mtrl-th cond-mat.mtrl-sci Materials Theory
patt-sol nlin.PS Pattern Formation and Solitons
plasm-ph physics.plasm-ph Plasma Physics
q-alg math.QA Quantum Algebra and Topology
solv-int nlin.SI Exactly Solvable and Integrable Systems
supr-con cond-mat.supr-con Superconductivity
"""
"""Archives of old papers: id, the category each was merged into, name."""

_MERGED_ROWS = [line.split(" ", 2) for line in _MERGED_TABLE.strip().splitlines()]

_ARCHIVES_ALSO_CATEGORIES = frozenset(
    ("gr-qc", "hep-ex", "hep-lat", "hep-ph", "hep-th", "math-ph", "nucl-ex", "nucl-th", "quant-ph")
)
_ARCHIVES_ONCE_CATEGORIES = frozenset(("astro-ph", "cond-mat", "q-bio"))

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "math.MP": "math-ph",
        "stat.TH": "math.ST",
        "math.IT": "cs.IT",
        "q-fin.EC": "econ.GN",
        "cs.SY": "eess.SY",
        "cs.NA": "math.NA",
    }
)
"""Second names of a category in use: alias -> arXiv's canonical id."""

MERGED: Mapping[str, str] = MappingProxyType({id_: successor for id_, successor, _ in _MERGED_ROWS})
"""Archives no longer in use: id -> the category that took them in."""

RETIRED = _ARCHIVES_ONCE_CATEGORIES | MERGED.keys()
"""Categories that only old papers carry."""

_CANONICAL = {**ALIASES, **MERGED}


def _group_names() -> dict[str, tuple[str, ...]]:
    """Return canonical id -> all names of the category, that id first."""
    groups: dict[str, tuple[str, ...]] = {}
    for name, canonical in _CANONICAL.items():
        groups[canonical] = (*groups.get(canonical, (canonical,)), name)
    return groups


_GROUPS = _group_names()


def _read_table() -> Iterator[tuple[str, str]]:
    """Yield each id with its name; a subject's id begins with the archive above it."""
    archive = ""
    for line in _TABLE.strip().splitlines():
        id_, _, name = line.partition(" ")
        if id_.startswith("."):
            yield f"{archive}{id_}", name
        else:
            archive = id_
            yield id_, name


ARCHIVES: Mapping[str, str] = MappingProxyType(
    {id_: name for id_, name in _read_table() if "." not in id_}
)
"""The 20 archives in use: id -> name."""

CATEGORIES: Mapping[str, str] = MappingProxyType(
    {
        id_: name
        for id_, name in _read_table()
        if "." in id_ or id_ in _ARCHIVES_ALSO_CATEGORIES | _ARCHIVES_ONCE_CATEGORIES
    }
    | {id_: name for id_, _, name in _MERGED_ROWS}
)
"""Every category a paper can carry, the retired ones too: id -> name."""


_SPELLINGS = {id_.casefold(): id_ for id_ in (*ARCHIVES, *CATEGORIES)}


def is_category(name: str) -> bool:
    """Tell whether a paper can have this category; retired ones count, archives (`cs`) do not."""
    return spell_name(name) in CATEGORIES


def is_archive(name: str) -> bool:
    """Tell whether the name is an archive in use, such as `cs` or `hep-th`."""
    return spell_name(name) in ARCHIVES


def spell_name(name: str) -> str:
    """Return a category or archive in arXiv's spelling (`CS.pf` -> `cs.PF`), others as they are."""
    return _SPELLINGS.get(name.casefold(), name)


def canonical_category(name: str) -> str:
    """Return the one id for all names of a category (`cs.NA` -> `math.NA`), others as they are."""
    spelled = spell_name(name)
    return _CANONICAL.get(spelled, spelled)


def names_of(name: str) -> tuple[str, ...]:
    """Return every name of the category, canonical first; an unknown name is its own only name."""
    canonical = canonical_category(name)
    return _GROUPS.get(canonical, (canonical,))


def archive_of(name: str) -> str:
    """Return the archive a category belongs to: the part before the dot, or the name itself."""
    return spell_name(name).partition(".")[0]


def list_subjects(name: str) -> tuple[str, ...]:
    """Return what a misspelt id may mean of its archive: `cs.PF`, `cs.PL` for `cs.PX`; or ()."""
    archive, _, subject = name.casefold().partition(".")
    if not subject:
        return ()
    beginning = f"{archive}.{subject[0]}"
    within = [id_ for id_ in CATEGORIES if id_.casefold().startswith(beginning)]
    as_long = [id_ for id_ in within if len(id_) == len(name)]
    return tuple(as_long or within)


def nearest_category(name: str) -> str | None:
    """Return what a misspelt id or a name in words most likely means; None for nothing."""
    wanted = name.casefold().strip()
    archive, dot, subject = wanted.partition(".")
    if not dot:
        of_subject = [id_ for id_ in CATEGORIES if id_.casefold().partition(".")[2] == wanted]
        if len(of_subject) == 1:
            return of_subject[0]
    prefix = f"{archive}." if dot else ""
    within = [id_ for id_ in _SPELLINGS.values() if dot and id_.casefold().startswith(prefix)]
    if within:  # a known archive by itself makes no two ids alike
        subjects = {id_.casefold().removeprefix(prefix): id_ for id_ in within}
        return _find_by_title(subject, within) or _find_similar(subject, subjects)
    titled = _find_by_title(wanted, (*CATEGORIES, *ARCHIVES))
    return titled or _find_similar(wanted, _SPELLINGS)


def _find_by_title(title: str, ids: Iterable[str]) -> str | None:
    """Return the first of these ids that stands for a name in words, in small letters."""
    for id_ in ids:
        known = CATEGORIES.get(id_) or ARCHIVES[id_]
        if known.casefold() == title:
            return canonical_category(id_)
    return None


def _find_similar(sought: str, ids: Mapping[str, str]) -> str | None:
    """Return what is written almost so, its letters in another order or some of them wrong."""
    letters = sorted(sought)
    swapped = [id_ for known, id_ in ids.items() if sorted(known) == letters]
    if len(swapped) == 1:
        return swapped[0]
    close = get_close_matches(sought, ids, n=1, cutoff=0.6)
    return ids[close[0]] if close else None
