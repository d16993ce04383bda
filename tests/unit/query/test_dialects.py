"""Forms of other tools, as people of three fields write them.

Refused with ours, read as ours, or remarked on.

Rows of `REFUSED` are what is typed, and the hint's query; "" if the only advice is to leave it out.
"""

import pytest

from digest.model.errors import QueryError
from digest.query import parse_query

REFUSED = [
    # PubMed
    ('"dark matter"[Title/Abstract]', '(ti:"dark matter" OR abs:"dark matter")'),
    ('"Alzheimer Disease"[Mesh]', '(ti:"Alzheimer Disease" OR abs:"Alzheimer Disease")'),
    ('"breast neoplasms"[MeSH Terms]', '(ti:"breast neoplasms" OR abs:"breast neoplasms")'),
    ("asthma[ti]", "ti:asthma"),
    ("asthma[title]", "ti:asthma"),
    ("asthma[Title]", "ti:asthma"),
    ("crispr[tiab] AND cas9[tiab]", "(ti:crispr OR abs:crispr) AND (ti:cas9 OR abs:cas9)"),
    ("gene therapy[tw]", '(ti:"gene therapy" OR abs:"gene therapy")'),
    ('"COVID-19"[All Fields]', "COVID-19"),
    ("Smith JA[au]", 'au:"Smith, J"'),
    ('"Smith J"[Author]', 'au:"Smith, J"'),
    ("Watson[1au]", "au:Watson"),
    ('"Nature"[journal]', "jr:Nature"),
    ("nature[ta]", "jr:nature"),
    ("2016[dp]", "submittedDate:[2016 TO 2016]"),
    ("2016:2020[pdat]", "submittedDate:[2016 TO 2020]"),
    (
        '"2016/01/01"[Date - Publication] : "2018/12/31"[Date - Publication]',
        "submittedDate:[20160101 TO 20181231]",
    ),
    ("sepsis[ti] NOT review[pt]", "ti:sepsis"),
    ("sepsis[ti] AND english[la]", "ti:sepsis"),
    ("sepsis[ti] AND humans[mh]", "ti:sepsis AND (ti:humans OR abs:humans)"),
    ("(sepsis OR septic)[tiab]", "(ti:(sepsis OR septic) OR abs:(sepsis OR septic))"),
    ("neural net*[tiab]", "(ti:(neural AND net*) OR abs:(neural AND net*))"),
    ('"neural network*"[tiab]', "(ti:(neural AND network*) OR abs:(neural AND network*))"),
    ("EEG [tiab]", "(ti:EEG OR abs:EEG)"),
    ("10.1038/nature14539[doi]", 'doi:"10.1038/nature14539"'),
    # Ovid
    ("asthma.ti.", "ti:asthma"),
    ("asthma.ti,ab.", "(ti:asthma OR abs:asthma)"),
    ('"heart failure".ab.', 'abs:"heart failure"'),
    ("(stroke or infarction).ti,ab.", "(ti:(stroke or infarction) OR abs:(stroke or infarction))"),
    ("exp Neoplasms/", "(ti:Neoplasms OR abs:Neoplasms)"),
    ("Diabetes Mellitus/", '(ti:"Diabetes Mellitus" OR abs:"Diabetes Mellitus")'),
    ("exp *Stroke/", "(ti:Stroke OR abs:Stroke)"),
    ("insulin.mp.", "(ti:insulin OR abs:insulin)"),
    ("smith j.au.", 'au:"smith, j"'),
    ("(brain adj3 tumo*).ti,ab.", "(ti:((brain AND tumo*)) OR abs:((brain AND tumo*)))"),
    ("brain adj tumor", "(brain AND tumor)"),
    ("brain adj5 tumor", "(brain AND tumor)"),
    (
        "metformin.tw. and insulin.tw.",
        "(ti:metformin OR abs:metformin) and (ti:insulin OR abs:insulin)",
    ),
    # Embase, Cochrane
    ("'heart failure'/exp", '(ti:"heart failure" OR abs:"heart failure")'),
    ("'heart failure'/de", '(ti:"heart failure" OR abs:"heart failure")'),
    ("'heart failure':ti,ab", '(ti:"heart failure" OR abs:"heart failure")'),
    ("'heart failure':ti,ab,kw", '(ti:"heart failure" OR abs:"heart failure")'),
    ("heart:ti", "ti:heart"),
    ("(heart NEAR/3 failure):ti,ab", "(ti:((heart AND failure)) OR abs:((heart AND failure)))"),
    ("brain NEXT/2 injury", "(brain AND injury)"),
    ("brain NEXT injury", "(brain AND injury)"),
    ("mri:ti,ab,kw", "(ti:mri OR abs:mri)"),
    # WoS
    ("TS=(graphene)", "(ti:graphene OR abs:graphene)"),
    ("TS=graphene", "(ti:graphene OR abs:graphene)"),
    (
        'TS=("dark matter" OR axion)',
        '(ti:("dark matter" OR axion) OR abs:("dark matter" OR axion))',
    ),
    ("TI=(quantum AND walk*)", "ti:(quantum AND walk*)"),
    ("AU=(Witten E)", 'au:"Witten, E"'),
    ("AU=Witten", "au:Witten"),
    ("AB=entanglement", "abs:entanglement"),
    ("PY=2020", "submittedDate:[2020 TO 2020]"),
    ("PY=2018-2020", "submittedDate:[2018 TO 2020]"),
    ("SO=nature", "jr:nature"),
    ("TS=(brain NEAR/5 cancer)", "(ti:((brain AND cancer)) OR abs:((brain AND cancer)))"),
    (
        "TS=graphene AND PY=(2019-2021)",
        "(ti:graphene OR abs:graphene) AND submittedDate:[2019 TO 2021]",
    ),
    ("TI=perovskite NOT TI=solar", "ti:perovskite NOT ti:solar"),
    ("WC=(Physics)", "cat:Physics"),
    # Scopus
    ("TITLE-ABS-KEY(graphene)", "(ti:graphene OR abs:graphene)"),
    (
        'TITLE-ABS-KEY("deep learning" AND mri)',
        '(ti:("deep learning" AND mri) OR abs:("deep learning" AND mri))',
    ),
    ("TITLE(graphene) AND PUBYEAR > 2018", "ti:graphene AND submittedDate:[2019 TO *]"),
    ("TITLE(graphene) AND PUBYEAR AFT 2018", "ti:graphene AND submittedDate:[2019 TO *]"),
    ("AUTH(smith)", "au:smith"),
    ("ABS(crispr)", "abs:crispr"),
    ("KEY(robotics)", "(ti:robotics OR abs:robotics)"),
    ("graphene W/3 sensor", "(graphene AND sensor)"),
    ("graphene PRE/2 sensor", "(graphene AND sensor)"),
    ("SRCTITLE(nature)", "jr:nature"),
    ("{heart attack}", '"heart attack"'),
    # ProQuest, EBSCO
    ("ti(sepsis)", "ti:sepsis"),
    ("ab(sepsis) AND ti(shock)", "abs:sepsis AND ti:shock"),
    ("noft(sepsis)", "sepsis"),
    ("su(sepsis)", "(ti:sepsis OR abs:sepsis)"),
    ("TI sepsis", "ti:sepsis"),
    ('TI "septic shock"', 'ti:"septic shock"'),
    ("TI sepsis AND AB shock", "ti:sepsis AND abs:shock"),
    ("TI (sepsis OR shock)", "ti:(sepsis OR shock)"),
    ('AB "heart failure" OR TI "heart failure"', 'abs:"heart failure" OR ti:"heart failure"'),
    ("AU Witten", "au:Witten"),
    ('MH "Heart Failure"', '(ti:"Heart Failure" OR abs:"Heart Failure")'),
    ("SU graphene", "(ti:graphene OR abs:graphene)"),
    ("heart N5 failure", "(heart AND failure)"),
    ("heart W4 failure", "(heart AND failure)"),
    # IEEE, ACM
    ('"Document Title":radar', "ti:radar"),
    ('"Abstract":"signal processing"', 'abs:"signal processing"'),
    ('("Document Title":radar AND "Abstract":sonar)', "(ti:radar AND abs:sonar)"),
    ('"Author":"Y. LeCun"', 'au:"Y. LeCun"'),
    ("[Title: federated] AND [Abstract: privacy]", "ti:federated AND abs:privacy"),
    ('[All: "machine learning"]', '"machine learning"'),
    ("[Publication Title: graph]", "jr:graph"),
    ("acmdlTitle:(federated)", "ti:federated"),
    # INSPIRE
    ("find a witten", "au:witten"),
    ("find a witten and t strings", "au:witten AND ti:strings"),
    ("fin a weinberg, s", 'au:"weinberg, s"'),
    ("f a maldacena", "au:maldacena"),
    ("find t supersymmetry and d 2010", "ti:supersymmetry AND submittedDate:[2010 TO 2010]"),
    ("find t higgs and date > 2012", "ti:higgs and submittedDate:[2013 TO *]"),
    ("find k dark matter not a smith", '(ti:"dark matter" OR abs:"dark matter") NOT au:smith'),
    ("find eprint 1207.7214", "id:1207.7214"),
    ("(t higgs)", "(ti:higgs)"),
    ("collaboration:ATLAS", "au:ATLAS"),
    ("cn:ATLAS", "au:ATLAS"),
    ("primarch:hep-th", "cat:hep-th"),
    ('author:"^Weinberg, S"', 'au:"Weinberg, S"'),
    ("refersto:recid:1234", ""),
    ("topcite:50+", ""),
    # ADS
    ('au:"^Solanki"', "au:Solanki"),
    ('author:"^Riess, A"', 'au:"Riess, A"'),
    ('first_author:"Riess, A"', 'au:"Riess, A"'),
    ("au:^Solanki", "au:Solanki"),
    ('abs:"fast radio burst" year:2016-2020', "submittedDate:[2016 TO 2020]"),
    (
        'title:"gravitational waves" AND year:2015',
        'title:"gravitational waves" AND submittedDate:[2015 TO 2015]',
    ),
    ("pubdate:[2015-09 TO 2016-03]", "submittedDate:[201509 TO 201603]"),
    ("bibstem:ApJ", "jr:ApJ"),
    ('full:"dark energy"', '"dark energy"'),
    ("arxiv_class:astro-ph.CO", "cat:astro-ph.CO"),
    ('citations(abs:"H0")', ""),
    ("property:refereed", ""),
    # Lucene
    ("ti:quantum^4", "ti:quantum"),
    ('"quantum walk"^2', '"quantum walk"'),
    ("(graph OR network)^3", "(graph OR network)"),
    ('"quantum walk"~5', '"quantum walk"'),
    ("quantum~", "quantum"),
    ("quantum~1", "quantum"),
    ("~transformer", "transformer"),
    ("title.search:transformer", "ti:transformer"),
    ("abs.en:transformer", "abs:transformer"),
    ("cat.primary:cs.LG", "cat:cs.LG"),
    ("cat.keyword:cs.LG", "cat:cs.LG"),
    ("title_and_abstract.search:transformer", "(ti:transformer OR abs:transformer)"),
    ("display_name:transformer", "ti:transformer"),
    ("year:[2018 TO 2020]", "submittedDate:[2018 TO 2020]"),
    ("date:>2020", "submittedDate:[2021 TO *]"),
    ("published:2020", "submittedDate:[2020 TO 2020]"),
    ("publication_year:2021", "submittedDate:[2021 TO 2021]"),
    # Google
    ("allintitle: diffusion models", 'ti:"diffusion models"'),
    ("intitle:diffusion", "ti:diffusion"),
    ("site:arxiv.org diffusion", "diffusion"),
    ("filetype:pdf diffusion", "diffusion"),
    ("after:2020", "submittedDate:[2020 TO *]"),
    ("before:2015-06-30", "submittedDate:[* TO 20150630]"),
    ("diffusion AROUND(3) policy", "(diffusion AND policy)"),
    ("source:nature", "jr:nature"),
    # GitHub, Gmail
    ("from:hinton", "au:hinton"),
    ("subject:diffusion", "(ti:diffusion OR abs:diffusion)"),
    ('subject:"world models"', '(ti:"world models" OR abs:"world models")'),
    ("language:en", ""),
    ("topic:rl", "(ti:rl OR abs:rl)"),
    ("topic: dark matter", '(ti:"dark matter" OR abs:"dark matter")'),
    ("keyword:robot", "(ti:robot OR abs:robot)"),
    ("keywords: robot", "(ti:robot OR abs:robot)"),
    ("label:ml", ""),
    # settings and code
    ("q: cat:cs.LG", "cat:cs.LG"),
    ('query = "cat:cs.LG AND abs:llm"', "(cat:cs.LG AND abs:llm)"),
    ('gpu = "cat:cs.LG AND abs:llm"', "(cat:cs.LG AND abs:llm)"),
    ("NAME=cat:cs.LG", "cat:cs.LG"),
    ('NAME="cat:cs.LG"', "cat:cs.LG"),
    ('follow = "cat:cs.LG"', "(cat:cs.LG)"),
    ('arxiv_query: "dark matter"', '"dark matter"'),
    ("arxiv_query: dark matter", '"dark matter"'),
    ("search_query: all:electron", "all:electron"),
    ('{"query": "cat:cs.LG"}', "(cat:cs.LG)"),
    ('{"search_query": "all:electron", "start": 0}', "(all:electron)"),
    ('arxiv.Search(query="cat:cs.LG", max_results=10)', "cat:cs.LG"),
    ('curl "http://export.arxiv.org/api/query?search_query=all:electron&start=0"', "all:electron"),
    ("curl -s http://export.arxiv.org/api/query?search_query=cat:cs.LG", "cat:cs.LG"),
    ("wget 'https://export.arxiv.org/api/query?search_query=cat:cs.LG&start=0'", "cat:cs.LG"),
    ("GET /api/query?search_query=all:electron", "all:electron"),
    # OAI
    ("physics:astro-ph", "cat:astro-ph"),
    ("physics:hep-th", "cat:hep-th"),
    ("physics:cond-mat:supr-con", "cat:cond-mat.supr-con"),
    ("cs:SE", "cat:cs.SE"),
    ("cs:cs:SE", "cat:cs.SE"),
    ("math:math:NT", "cat:math.NT"),
    ("math:NT", "cat:math.NT"),
    ("stat:ML", "cat:stat.ML"),
    ("q-bio:q-bio:NC", "cat:q-bio.NC"),
    ("set=cs:cs:LG", "cat:cs.LG"),
    ("set=physics:hep-ex", "cat:hep-ex"),
    # years
    ("year: 2016", "submittedDate:[2016 TO 2016]"),
    ("year:2016", "submittedDate:[2016 TO 2016]"),
    ("year = 2016", "submittedDate:[2016 TO 2016]"),
    ("year > 2016", "submittedDate:[2017 TO *]"),
    ("PUBYEAR > 2015", "submittedDate:[2016 TO *]"),
    ("date:2016-05-01", "submittedDate:[20160501 TO 20160501]"),
    ("since:2020", "submittedDate:[2020 TO *]"),
    # operators
    ("higgs XOR axion", "((higgs ANDNOT axion) OR (axion ANDNOT higgs))"),
    ("higgs EXCEPT axion", "(higgs ANDNOT axion)"),
    ("higgs BUT NOT axion", "(higgs ANDNOT axion)"),
    ("higgs NEAR axion", "(higgs AND axion)"),
    ("llm NEAR/10 safety", "(llm AND safety)"),
    ("llm near/10 safety", "(llm AND safety)"),
    ("llm w/5 safety", "(llm AND safety)"),
    ("llm|safety", "(llm OR safety)"),
    # brackets, quotes
    ("[dark matter]", '"dark matter"'),
    ("{dark matter}", '"dark matter"'),
    ("ti:[dark matter]", 'ti:"dark matter"'),
    ("ti:{dark matter}", 'ti:"dark matter"'),
    ("[dark OR matter]", "(dark OR matter)"),
    # lists
    ("dark matter\naxion\nneutrino", '"dark matter" OR axion OR neutrino'),
    ("-video\n-anime", "video OR anime"),
    ("* llm\n* agents", "llm OR agents"),
    ("- llm\n- agents", "llm OR agents"),
    ("• llm\n• agents", "llm OR agents"),
    ("1. llm\n2. agents", "llm OR agents"),
    ("1) llm\n2) agents", "llm OR agents"),
    ("a) llm\nb) agents", "llm OR agents"),
    ("(1) llm\n(2) agents", "llm OR agents"),
    ("llm; agents", "llm OR agents"),
    ("llm, agents, rag", "llm OR agents OR rag"),
    ("llm,agents", "llm OR agents"),
    ('"world model", "model-based rl"', '"world model" OR "model-based rl"'),
    ("llm\tagents", "llm OR agents"),
    ("llm / agents", "llm OR agents"),
    ("llm • agents", "llm OR agents"),
    ("ti:llm, agents", "ti:(llm OR agents)"),
    ("ti:llm, ti:agents", "ti:llm OR ti:agents"),
    ("abs:(llm, agents)", "abs:(llm OR agents)"),
    ("cat:cs.LG AND llm, agents", "cat:cs.LG AND (llm OR agents)"),
    ("llm, agents, and rag", "llm OR agents OR rag"),
    ("llm, agents or rag", "(llm OR agents) or rag"),
    ("cat:cs.LG\nabs:llm", "cat:cs.LG AND abs:llm"),
    ("cat:cs.LG; abs:llm", "cat:cs.LG AND abs:llm"),
    ("protein folding, cryo-EM (2024)", '("protein folding" OR cryo-EM)'),
    # titles
    ("[Fe/H]", '"Fe/H"'),
    # as typed before anybody read the manual
    ("latency[x]", "latency"),
    ("RNA-seq NOT review[ptyp]", "RNA-seq"),
    ("mRNA vaccine*[tiab]", "(ti:(mRNA AND vaccine*) OR abs:(mRNA AND vaccine*))"),
    ("(epilep* OR seizure*) .ti.", "ti:(epilep* OR seizure*)"),
    ('title contains "dark energy"', 'ti:"dark energy"'),
    ('"higgs boson" near "top quark"', '("higgs boson" AND "top quark")'),
    ("cosmology AND since 2020", "cosmology AND submittedDate:[2020 TO *]"),
    ("cs.LG: diffusion models", 'cat:cs.LG AND "diffusion models"'),
    ("t:supersymmetry", "ti:supersymmetry"),
    ("tags:nlp", "(ti:nlp OR abs:nlp)"),
    ("in:title", ""),
]

QUOTED = [
    *(
        "``dark matter''",
        "`dark matter`",
        "`dark matter'",
        "'dark matter'",
        "‚dark matter‘",
        "‘dark matter’",
    ),
    *(
        "〈dark matter〉",
        "⟨dark matter⟩",
        "«dark matter»",
        "‹dark matter›",
        "「dark matter」",
        "【dark matter】",
    ),
    *("“dark matter”", "〝dark matter〞"),
]

REMARKED = [
    # text, what is read, a part of the remark
    ("10:30", "all:10-30", ': is left out, as at arXiv: of 10:30 only "10 30"'),
    ("N=4", "all:n-4", '= is left out, as at arXiv: of N=4 only "n 4"'),
    ("z~6", "all:z-6", '~ is left out, as at arXiv: of z~6 only "z 6"'),
    ("10^15", "all:10-15", '^ is left out, as at arXiv: of 10^15 only "10 15"'),
    ("E=mc^2", "all:e-mc-2", '=, ^ are left out, as at arXiv: of E=mc^2 only "e mc 2"'),
    ("abs:TCP/IP", "abs:tcp-ip", '/ is left out, as at arXiv: of TCP/IP only "tcp ip"'),
    ("A/B testing", "all:b AND all:testing", 'A, / are left out, as at arXiv: of A/B only "b"'),
    ("ti:foo:bar", "ti:foo-bar", ': is left out, as at arXiv: of foo:bar only "foo bar"'),
    ("R&D", "all:r-d", '& is left out, as at arXiv: of R&D only "r d"'),
    ("llm&&safety", "all:llm-safety", "& is left out"),
    ("llm && safety", "all:llm AND all:safety", "read as llm AND safety"),
    ("llm || safety", "all:llm OR all:safety", "read as llm OR safety"),
    ("SO(10) unification", "all:10 AND all:so AND all:unification", '"SO(10)" finds it as one'),
    # names that look like categories
    ("cs.ML", "all:cs.ml", "'cs.ml' is not a category of arXiv; perhaps cs.MA"),
    ("(cs.ML OR llm)", "all:cs.ml OR all:llm", "'cs.ml' is not a category"),
    ("all:cs.ML", "all:cs.ml", "'cs.ml' is not a category"),
    ("cat:cs.ML", "cat:cs.ML", "'cs.ML' is not a category"),
    ("astro-ph.EPP", "all:astro-ph.epp", "perhaps astro-ph.EP is meant"),
    ("math.XX", "all:math.xx", "'math.xx' is not a category"),
    ("cs.lgg", "all:cs.lgg", "perhaps cs.LG is meant"),
    ("quant-phd", "all:quant-phd", "perhaps quant-ph is meant"),
    # OR beside other operators, without parentheses
    (
        "higgs OR top AND mass",
        "all:higgs OR (all:mass AND all:top)",
        "write (all:higgs OR all:top) AND all:mass",
    ),
    (
        "a1 OR b1 ANDNOT c1",
        "all:a1 OR (all:b1 ANDNOT all:c1)",
        "write (all:a1 OR all:b1) ANDNOT all:c1 if",
    ),
    (
        "graph net OR gnn",
        "all:gnn OR (all:graph AND all:net)",
        "write all:graph AND (all:net OR all:gnn) if",
    ),
    (
        "NOT a1 OR b1",
        "all:b1 OR (NOT all:a1)",
        "NOT goes before OR: read as (NOT all:a1) OR all:b1; write NOT (",
    ),
    ("a1 OR NOT b1", "all:a1 OR (NOT all:b1)", "write all:a1 ANDNOT all:b1 if that is meant"),
    ("a1 OR -b1", "all:a1 OR (NOT all:b1)", "write all:a1 ANDNOT all:b1 if that is meant"),
]

UNKNOWN = [
    # a name that nobody knows before a colon, with a blank after it or without, and the text that
    # can be quoted
    ("BERT: Pre-training of Deep Transformers", '"BERT: Pre-training of Deep Transformers"'),
    ("object:M31", '"object:M31"'),
    ("gripper: robot AND cat:cs.RO", '"gripper: robot"'),
    ("my.thing-2:robot", '"my.thing-2:robot"'),
]


def refuse(text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    return caught.value


@pytest.mark.parametrize(("text", "ours"), REFUSED)
def test_a_form_of_another_tool_is_refused_with_ours_which_needs_no_remark(
    text: str, ours: str
) -> None:
    assert refuse(text).hint == (f"Write {ours}." if ours else "Leave it out.")
    assert not ours or parse_query(ours).notes == ()


@pytest.mark.parametrize("text", QUOTED)
def test_quotation_marks_of_others_keep_the_prefix_for_all_words(text: str) -> None:
    assert parse_query(text).canonical == 'all:"dark matter"'
    query = parse_query(f"ti:{text} AND a1")
    assert query.canonical == 'all:a1 AND ti:"dark matter"'
    assert query.notes == ()


@pytest.mark.parametrize(("text", "canonical", "noted"), REMARKED)
def test_what_a_sign_or_an_order_was_read_as_is_said(text: str, canonical: str, noted: str) -> None:
    query = parse_query(text)
    assert query.canonical == canonical
    assert any(noted in note.message for note in query.notes)


@pytest.mark.parametrize(("text", "quoted"), UNKNOWN)
def test_a_name_before_a_colon_that_nobody_knows_is_refused_with_the_text_in_quotes(
    text: str, quoted: str
) -> None:
    error = refuse(text)
    assert "is not a known prefix" in error.message
    assert error.hint.endswith(f"As words of a text, write {quoted}.")
    assert parse_query(quoted).notes == ()


@pytest.mark.parametrize(
    "text", ["(NOT a1) OR b1", "a1 OR (NOT b1)", "a1 OR (b1 AND c1)", "(a1 OR b1) AND c1"]
)
def test_parentheses_leave_no_question_of_order(text: str) -> None:
    assert parse_query(text).notes == ()


@pytest.mark.parametrize(
    "text",
    [
        "rock 'n' roll",
        "Newton's law",
        "'t Hooft loops",
        r"Erd\'os AND P\'alya",
        "abs:$f'$ AND a1",
        'abs:"a ‘b"',
    ],
)
def test_an_apostrophe_is_no_quotation_mark(text: str) -> None:
    assert '"' not in parse_query(text).canonical.replace('abs:"', "")


def test_a_form_between_quotes_or_in_a_formula_is_a_text() -> None:
    for text in (
        '"x1 NEAR/3 y1 [tiab]"',
        r"abs:$x=y^2$",
        'doi:"10.1000/a=b"',
        "doi:10.1000/(a)b~5",
        "abs:$[x, y]$",
    ):
        parse_query(text)


@pytest.mark.parametrize(
    "text",
    [
        'TI ("(x1" OR y1)',
        "ti:a1 && TI (b1)",
        "=abs:\n3.14-;",
        'x1[ti] "(" && {y1}',
        "a1, (b1, c1), d1;",
    ],
)
def test_forms_within_forms_are_refused_and_never_taken_apart_for_ever(text: str) -> None:
    assert refuse(text).message
