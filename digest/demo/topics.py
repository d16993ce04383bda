"""What made-up papers are about: for each category some things, settings and quantities.

Every thing is a plural, every setting follows a noun, every quantity takes "the". Texts are raw TeX.
"""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """A category (with the alias arXiv lists beside it, if any), how often it is drawn, and its words."""

    categories: tuple[str, ...]
    weight: int
    things: tuple[str, ...]
    settings: tuple[str, ...]
    quantities: tuple[str, ...]


TOPICS = (
    Topic(
        ("cs.LG",),
        9,
        ("small language models", "gradient-free optimisers", "mixtures of experts", "tabular transformers"),
        ("under distribution shift", "with few labels", "on streaming data"),
        ("sample complexity", "calibration error"),
    ),
    Topic(
        ("cs.CV",),
        7,
        ("event cameras", "depth estimators", "point-cloud encoders", "diffusion priors"),
        ("in heavy rain", "without calibration", "at the edge of the frame"),
        ("robustness", "reconstruction error"),
    ),
    Topic(
        ("cs.CL",),
        6,
        ("tokenisers", "retrieval-augmented readers", "dialogue summarisers", "low-resource parsers"),
        ("for agglutinative languages", "over long documents", "without parallel text"),
        ("faithfulness", "perplexity"),
    ),
    Topic(
        ("cs.RO",),
        3,
        ("tactile grippers", "legged robots", "swarm planners"),
        ("on loose gravel", "without a map", "beside people"),
        ("energy per metre", "success rate"),
    ),
    Topic(
        ("cs.DC",),
        3,
        ("consensus protocols", "erasure-coded stores", "serverless workflows"),
        ("across three continents", "under partial failure", "with stale clocks"),
        ("recovery time", "message complexity"),
    ),
    Topic(
        ("cs.CR",),
        3,
        ("password vaults", "side-channel countermeasures", "anonymous credentials"),
        ("on cheap hardware", "against curious servers", "after a key leak"),
        ("leakage", "verification cost"),
    ),
    Topic(
        ("cs.SE",),
        3,
        ("flaky tests", "code review bots", "dependency updates"),
        ("in long-lived projects", "at the scale of one team", "across languages"),
        ("maintenance cost", "time to merge"),
    ),
    Topic(
        ("cs.DS",),
        2,
        ("dynamic matchings", "string indexes", "sketching schemes"),
        ("in sublinear space", "with deletions", "on planar graphs"),
        ("amortised cost", "approximation ratio"),
    ),
    Topic(
        ("cs.IT", "math.IT"),
        2,
        ("polar codes", "feedback channels", "age-optimal samplers"),
        ("at short block lengths", "with noisy feedback", "over fading links"),
        ("error exponent", "decoding delay"),
    ),
    Topic(
        ("cs.HC",),
        2,
        ("reading aids", "haptic sliders", "shared whiteboards"),
        ("for left-handed writers", "in bright sunlight", "over a whole school year"),
        ("perceived effort", "task time"),
    ),
    Topic(
        ("cs.DB",),
        1,
        ("adaptive indexes", "learned join orders", "temporal views"),
        ("over evolving schemas", "under skewed load", "on cold storage"),
        ("estimation error", "update cost"),
    ),
    Topic(
        ("astro-ph.GA",),
        3,
        ("dwarf galaxies", "globular clusters", "cold molecular clouds"),
        ("in the outer halo", "at redshift $z \\approx 2$", "near a quiet black hole"),
        ("metallicity", "velocity dispersion"),
    ),
    Topic(
        ("astro-ph.EP",),
        2,
        ("warm sub-Neptunes", "debris discs", "co-orbital moons"),
        ("around M dwarfs", "in resonant chains", "after a close encounter"),
        ("albedo", "dust-to-gas ratio"),
    ),
    Topic(
        ("astro-ph.CO",),
        2,
        ("weak-lensing maps", "baryon acoustic peaks", "cosmic voids"),
        ("at low resolution", "with massive neutrinos", "across two surveys"),
        ("$S_8$ tension", "covariance"),
    ),
    Topic(
        ("cond-mat.mtrl-sci",),
        3,
        ("layered oxides", "halide perovskites", "high-entropy alloys"),
        ("under uniaxial strain", "at room temperature", "beyond the harmonic limit"),
        ("band gap", "thermal conductivity"),
    ),
    Topic(
        ("cond-mat.stat-mech",),
        2,
        ("driven lattice gases", "ageing spin glasses", "persistent random walks"),
        ("far from equilibrium", "with quenched disorder", "in one dimension"),
        ("entropy production", "large-deviation function"),
    ),
    Topic(
        ("cond-mat.supr-con",),
        1,
        ("twisted bilayers", "kagome superconductors"),
        ("close to a Lifshitz point", "in tilted fields"),
        ("superfluid stiffness", "critical current"),
    ),
    Topic(
        ("gr-qc",),
        2,
        ("rotating black holes", "ringdown modes", "bouncing cosmologies"),
        ("with scalar hair", "in modified gravity", "at second order"),
        ("quasinormal spectrum", "tidal response"),
    ),
    Topic(
        ("hep-ex",),
        2,
        ("rare kaon decays", "displaced vertices", "long-lived neutral particles"),
        ("with the full data set", "in $pp$ collisions at $\\sqrt{s} = 13.6$ TeV", "near threshold"),
        ("branching fraction", "trigger efficiency"),
    ),
    Topic(
        ("hep-lat",),
        1,
        ("staggered fermions", "glueball correlators"),
        ("at physical quark masses", "with open boundaries"),
        ("topological susceptibility", "autocorrelation time"),
    ),
    Topic(
        ("hep-ph",),
        2,
        ("axion-like particles", "leptoquark scenarios", "jet substructure observables"),
        ("at two loops", "in the early universe", "beyond leading power"),
        ("relic abundance", "scale uncertainty"),
    ),
    Topic(
        ("hep-th",),
        2,
        ("conformal defects", "higher-form symmetries", "celestial amplitudes"),
        ("in four dimensions", "at large $N$", "without supersymmetry"),
        ("anomaly", "operator spectrum"),
    ),
    Topic(
        ("math.AP",),
        2,
        ("degenerate parabolic equations", "dispersive estimates", "free boundary problems"),
        ("on rough domains", "with critical growth", "in the half-space"),
        ("regularity", "blow-up rate"),
    ),
    Topic(
        ("math.CO",),
        3,
        ("cubic graphs", "sunflower-free families", "lattice paths"),
        ("of large girth", "with forbidden minors", "in the plane"),
        ("chromatic number", "extremal number"),
    ),
    Topic(
        ("math.NT",),
        2,
        ("Dirichlet $L$-functions", "additive bases", "elliptic curves"),
        ("in short intervals", "over function fields", "of prime conductor"),
        ("zero density", "average rank"),
    ),
    Topic(
        ("math.PR",),
        2,
        ("branching random walks", "coalescing flows", "polymers"),
        ("in random environments", "with heavy tails", "at criticality"),
        ("mixing time", "scaling limit"),
    ),
    Topic(
        ("math.OC",),
        2,
        ("proximal splittings", "robust portfolios", "bilevel programmes"),
        ("with inexact oracles", "over Hadamard spaces", "under chance constraints"),
        ("convergence rate", "duality gap"),
    ),
    Topic(
        ("math-ph", "math.MP"),
        1,
        ('Schr\\"odinger operators', "quantum spin chains"),
        ("with quasi-periodic potentials", "at zero temperature"),
        ("spectral gap", "density of states"),
    ),
    Topic(
        ("nlin.CD",),
        1,
        ("coupled oscillators", "delay maps", "chimera states"),
        ("on sparse networks", "with two time scales"),
        ("Lyapunov spectrum", "basin stability"),
    ),
    Topic(
        ("nucl-ex",),
        1,
        ("neutron-rich isotopes", "fission fragments"),
        ("beyond $N = 50$", "at low spin"),
        ("half-life", "charge radius"),
    ),
    Topic(
        ("nucl-th",),
        1,
        ("chiral interactions", "pairing correlations"),
        ("in medium-mass nuclei", "at next-to-leading order"),
        ("equation of state", "symmetry energy"),
    ),
    Topic(
        ("physics.optics",),
        3,
        ("microcomb sources", "metasurface lenses", "photonic time crystals"),
        ("at telecom wavelengths", "below the diffraction limit", "on thin-film niobate"),
        ("conversion efficiency", "phase noise"),
    ),
    Topic(
        ("physics.flu-dyn",),
        2,
        ("bubbly flows", "riblet surfaces", "bouncing droplets"),
        ("at high Reynolds number", "past a porous plate", "on vibrating baths"),
        ("drag", "energy cascade"),
    ),
    Topic(
        ("physics.ao-ph",),
        1,
        ("marine heatwaves", "orographic clouds", "sea-ice leads"),
        ("in coarse models", "over four decades", "along the polar front"),
        ("predictability", "heat budget"),
    ),
    Topic(
        ("quant-ph",),
        6,
        ("surface codes", "variational circuits", "trapped-ion memories", "bosonic codes"),
        ("with biased noise", "below threshold", "without mid-circuit measurement"),
        ("logical error rate", "gate fidelity"),
    ),
    Topic(
        ("q-bio.NC",),
        2,
        ("place cells", "sleep spindles", "dendritic codes"),
        ("in freely moving voles", "over a whole night", "at single-spike precision"),
        ("information rate", "replay speed"),
    ),
    Topic(
        ("q-bio.PE",),
        1,
        ("pollinator networks", "antigenic landscapes"),
        ("after a cold spring", "with waning immunity"),
        ("resilience", "fixation probability"),
    ),
    Topic(
        ("q-fin.RM",),
        1,
        ("liquidity buffers", "margin calls", "catastrophe bonds"),
        ("in thin markets", "under climate stress"),
        ("expected shortfall", "tail dependence"),
    ),
    Topic(
        ("stat.ME",),
        3,
        ("conformal intervals", "instrumental variables", "spatial point processes"),
        ("with missing covariates", "in clustered trials", "at small sample sizes"),
        ("coverage", "bias"),
    ),
    Topic(
        ("stat.ML",),
        2,
        ("kernel mean embeddings", "Bayesian surrogates", "score matchings"),
        ("in high dimensions", "with correlated noise"),
        ("regret", "posterior width"),
    ),
    Topic(
        ("eess.SP",),
        2,
        ("reconfigurable surfaces", "radar waveforms", "sparse arrays"),
        ("for indoor positioning", "with one-bit converters", "in dense clutter"),
        ("localisation error", "spectral efficiency"),
    ),
    Topic(
        ("eess.AS",),
        1,
        ("hearing-aid front ends", "speaker encoders"),
        ("in reverberant rooms", "for whispered speech"),
        ("intelligibility", "latency budget"),
    ),
    Topic(
        ("econ.GN",),
        2,
        ("ferry subsidies", "apprenticeship contracts", "repair markets"),
        ("in small open economies", "after a housing reform", "across border regions"),
        ("price elasticity", "labour share"),
    ),
    Topic(
        ("econ.TH",),
        1,
        ("matching markets", "auctions"),
        ("with patient bidders", "without transfers"),
        ("welfare loss", "core"),
    ),
)

NEIGHBOURS = {
    "astro-ph": ("gr-qc", "hep-ph", "physics.ao-ph", "astro-ph.GA", "astro-ph.CO"),
    "cond-mat": ("quant-ph", "cond-mat.stat-mech", "cond-mat.mtrl-sci", "math-ph", "physics.optics"),
    "cs": ("cs.LG", "stat.ML", "cs.CL", "cs.CV", "cs.HC", "cs.SE", "cs.CR", "cs.DS", "eess.SP"),
    "econ": ("q-fin.RM", "econ.TH", "stat.ME"),
    "eess": ("cs.LG", "cs.IT", "stat.ME", "cs.CV"),
    "gr-qc": ("hep-th", "astro-ph.CO", "math-ph"),
    "hep-ex": ("hep-ph", "nucl-ex"),
    "hep-lat": ("hep-ph", "hep-th", "nucl-th"),
    "hep-ph": ("hep-ex", "hep-th", "astro-ph.CO", "nucl-th"),
    "hep-th": ("math-ph", "gr-qc", "hep-ph", "quant-ph"),
    "math": ("math.CO", "math.PR", "math.AP", "math.OC", "math.NT", "stat.ML", "cs.DS"),
    "math-ph": ("math.AP", "hep-th", "quant-ph"),
    "nlin": ("cond-mat.stat-mech", "math.PR", "physics.flu-dyn"),
    "nucl-ex": ("nucl-th", "hep-ex"),
    "nucl-th": ("nucl-ex", "hep-ph", "astro-ph.CO"),
    "physics": ("cond-mat.mtrl-sci", "quant-ph", "nlin.CD", "physics.optics", "physics.flu-dyn"),
    "q-bio": ("cs.LG", "stat.ME", "nlin.CD", "cond-mat.stat-mech"),
    "q-fin": ("econ.GN", "math.PR", "stat.ME"),
    "quant-ph": ("cond-mat.stat-mech", "cs.IT", "physics.optics", "math-ph"),
    "stat": ("math.PR", "cs.LG", "econ.GN", "stat.ME", "stat.ML"),
}
"""Where papers of each archive are cross-listed."""
