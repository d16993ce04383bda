"""Queries as people write them.

Read as they are meant, noted if that is not sure, or refused with what works.
"""

import pytest

from digest.cli.context import read_followed
from digest.model.errors import QueryError
from digest.query import parse_query

ANY = "any of several categories"
OPENED = "a query in other signs"
PF_DC = "cat:cs.DC OR cat:cs.PF"
GPU_PF = "abs:gpu AND cat:cs.PF"

READ = [
    # text, what it is read as, what is noted: "" for nothing
    # a row of categories means any, whatever parts them
    ("cs.PF,cs.DC", PF_DC, ANY),
    ("cs.PF|cs.DC", PF_DC, ANY),
    ("cs.PF ; cs.DC", PF_DC, ANY),
    ("cs.PF/cs.DC", PF_DC, ANY),
    ("cs.PF & cs.DC", PF_DC, ANY),
    ("cs.PF\uff0ccs.DC", PF_DC, ANY),
    ("cs.PF、cs.DC", PF_DC, ANY),
    ("cs.PF and/or cs.DC", PF_DC, ANY),
    ("cs.PF\n\tcs.DC\n", PF_DC, ANY),
    ("CS.PF cs.dc", PF_DC, ANY),
    ("cs.PF, cs.DC.", PF_DC, ANY),
    ("- cs.PF\n- cs.DC", PF_DC, ANY),
    ('"cs.PF", "cs.DC"', PF_DC, ANY),
    ('["cs.PF", "cs.DC"]', PF_DC, ANY),
    ('"cs.PF, cs.DC"', PF_DC, ANY),
    ("cat:cs.PF, cs.DC", PF_DC, "read as cat:(cs.PF OR cs.DC)"),
    ("cat:cs.PF|cat:cs.DC", PF_DC, ANY),
    ("cat:(cs.PF, cs.DC)", PF_DC, "read as cat:(cs.PF OR cs.DC)"),
    ("math.OC\\math.ST", "cat:math.OC OR cat:math.ST", ANY),
    ("hep-th, math", "cat:hep-th OR cat:math", ANY),
    ("cat:math, physics", "cat:math OR cat:physics", ANY),
    ("cs.AI, cs.*, and q-bio", "cat:cs OR cat:cs.AI OR cat:q-bio", ANY),
    ("cs.PF, cs.XX", "cat:cs.PF OR cat:cs.XX", "'cs.XX' is not a category"),
    (
        "cs.PF, cs.DC AND abs:GPU",
        f"abs:gpu AND ({PF_DC})",
        "read as cat:(cs.PF OR cs.DC) AND abs:GPU",
    ),
    ("abs:GPU AND cs.PF, cs.DC", f"abs:gpu AND ({PF_DC})", ANY),
    ("cs.PF,cs.DC,latency", f"all:latency AND ({PF_DC})", ANY),
    ("-cs.PF, cs.DC", f"NOT ({PF_DC})", "read as -cat:(cs.PF OR cs.DC)"),
    ("x1 -cs.PF cs.DC", "all:cs.DC AND all:x1 ANDNOT all:cs.PF", "all parts must match"),
    ("cs.PF AND cs.DC", "all:cs.DC AND all:cs.PF", "cat:cs.PF finds it alone"),
    ('ti:"cs.PF, cs.DC"', 'ti:"cs.pf cs.dc"', ""),
    ("cs.PF・cs.DC。", PF_DC, ANY),
    # one as arXiv prints it, or with another sign after cat
    ("Subjects: Performance (cs.PF); Machine Learning (cs.LG)", "cat:cs.LG OR cat:cs.PF", ANY),
    ("cs.PF (Performance) AND abs:GPU", GPU_PF, "read as cat:cs.PF AND abs:GPU"),
    ("High Energy Physics - Theory (hep-th)", "cat:hep-th", "read as cat:hep-th"),
    ("cat.cs.PF", "cat:cs.PF", "read as cat:cs.PF"),
    ("category = cs.PF", "cat:cs.PF", "read as cat:cs.PF"),
    ("cat:cs.P* ANDNOT x1", "cat:cs.P* ANDNOT all:x1", ""),
    ("cat:zz*", "cat:zz*", "no category of arXiv begins with zz"),
    # a prefix of ours is read as one
    ("cat\uff1acs.PF", "cat:cs.PF", ""),
    ("\uff43\uff41\uff54\uff1a\uff43\uff53.PF", "cat:cs.PF", ""),
    ("cat\u2236cs.PF", "cat:cs.PF", ""),
    ("\u200b\u200fc\u00adat:\ufeffcs.PF", "cat:cs.PF", ""),
    ('"cat:cs.PF"', "cat:cs.PF", OPENED),
    ("'cat:cs.PF'", "cat:cs.PF", OPENED),
    ("“cat:cs.PF AND abs:GPU”", GPU_PF, "read as (cat:cs.PF AND abs:GPU)"),
    ('"cat:cs.PF" AND "abs:GPU"', GPU_PF, OPENED),
    ("Abs: GPU AND cat :cs.PF", GPU_PF, ""),
    ("cat:cs.PF AND abs:&quot;GPU&quot;", GPU_PF, ""),
    ("cat:hep\u2010th OR abs:\u300cspin glass\u300d", 'abs:"spin glass" OR cat:hep-th', ""),
    ("abs:\uff08GPU OR CUDA\uff09", "abs:cuda OR abs:gpu", ""),
    ('"Ti:sapphire laser"', 'all:"ti:sapphire laser"', "Ti: is a word to search for here"),
    ("Ti:sapphire", "ti:sapphire", "Ti: is read as ti:, not as an element"),
    # NOT has signs
    ("x1 !abs:GPU", "all:x1 ANDNOT abs:gpu", ""),
    ("x1 AND !(abs:a1 OR abs:b1)", "all:x1 ANDNOT (abs:a1 OR abs:b1)", ""),
    ("x1 ! y1", "all:x1 ANDNOT all:y1", ""),
    ("x1 \u2013abs:GPU", "all:x1 ANDNOT abs:gpu", ""),
    ("Attention!", "all:attention", ""),
    ("x1 \u2014abs:GPU", "all:x1 ANDNOT abs:gpu", ""),
    ("x1 \u00acabs:GPU", "all:x1 ANDNOT abs:gpu", ""),
    ("x1 NOT a survey", "all:x1 ANDNOT all:survey", "'a' is too common"),
    ("x1 --y1", "all:x1 AND all:y1", '-- is left out, as at arXiv: of --y1 only "y1"'),
    ("x1 -> y1", "all:x1 AND all:y1", "'->' contains no word"),
    # what counts for nothing
    (
        'abs:"vitamin A"',
        "abs:vitamin",
        'only "vitamin" is searched for; abs:="vitamin A" finds all',
    ),
    (
        'abs:"Sgr A*"',
        "abs:sgr",
        'A, * are left out, as at arXiv: of Sgr A* only "sgr" is searched for; without quotes a *',
    ),
    (
        "abs:end-to-end",
        "abs:end-end",
        'to is left out, as at arXiv: of end-to-end only "end end" is searched for; in quotes,',
    ),
    ("abs:in-context", "abs:context", "in is left out"),
    ('abs:"2+1 dimensions"', 'abs:"2 1 dimensions"', ""),
    ("C#", "all:c", '# is left out, as at arXiv: of C# only "c"'),
    ("abs:C++", "abs:c", "+ is left out"),
    ('"tail latency"|GPU | x1', 'all:"tail latency" OR all:gpu OR all:x1', 'latency" OR GPU OR x1'),
    ("A+B", "all:b", "A, + are left out"),
    (".NET", "all:net", '. is left out, as at arXiv: of .NET only "net"'),
    ('abs:"H→ZZ"', 'abs:"h zz"', '→ is left out, as at arXiv: of H→ZZ only "h zz"'),
    (r"abs:$H\rightarrow{}ZZ$", "abs:h-zz", "→ is left out"),
    ("the AND gpu", "all:gpu", "'the' is too common"),
    ('abs:"the graph neural networks."', 'abs:"graph neural networks"', ""),
    ('abs:"(self-supervised) learning, a priori"', 'abs:"self supervised learning a priori"', ""),
    (r"abs:$\Lambda$CDM", "abs:λcdm", ""),
    # OR and AND without parentheses, commas, and a +
    (
        "cat:cs.CL OR cat:cs.LG AND abs:a1",
        "(abs:a1 AND cat:cs.LG) OR cat:cs.CL",
        "write (cat:cs.CL OR cat:cs.LG) AND abs:a1",
    ),
    (
        "abs:a1 cat:cs.CL OR cs.LG",
        "(abs:a1 AND cat:cs.CL) OR all:cs.LG",
        "abs:a1 AND (cat:cs.CL OR all:cs.LG) if",
    ),
    (
        "cs.CL, cs.LG ANDNOT ti:a1 OR ti:b1",
        "((cat:cs.CL OR cat:cs.LG) ANDNOT ti:a1) OR ti:b1",
        "goes before OR",
    ),
    ("(cat:cs.CL OR cat:cs.LG) AND abs:a1", "abs:a1 AND (cat:cs.CL OR cat:cs.LG)", ""),
    ('=abs:"a1 b1"', 'abs:="a1 b1"', ""),
    ("au:Lindquell, K", "all:k AND au:lindquell", 'au:"Lindquell, K" finds'),
    ("gpu,", "all:gpu", ""),
    (
        "prompt+defense+agents",
        "all:agents AND all:defense AND all:prompt",
        '"prompt defense agents" finds',
    ),
    ("GPU/CUDA AND x1&y1", "all:cuda AND all:gpu AND all:x1-y1", '"GPU CUDA" finds'),
    ("cat:cs.PF, AND x1", "all:x1 AND cat:cs.PF", ""),
    ("tail latency.", "all:latency AND all:tail", 'in quotes, "tail latency" finds'),
    # names and lone categories
    ("cs.PX OR gpu", "all:cs.px OR all:gpu", "perhaps cs.PF or cs.PL is meant"),
    ('au:"hlavacek ws"', 'au:"hlavacek ws"', 'write au:"hlavacek, w"'),
    ("au:Smith_J au:lin;", 'au:"smith, j" AND au:lin', "all parts must match"),
    ('au:"King, Jr., M"', 'au:"king, m"', ""),
    ("au:Jr.", "au:jr", ""),
    ("au:Smith_JA", 'au:"smith ja"', 'write au:"Smith, J"'),
    ('author:"Hlavacek WS"', 'author:"hlavacek ws"', 'write au:"Hlavacek, W"'),
    (
        'au:"Andy Ng" OR au:"Wei Xu" OR au:"Sam Davis Jr"',
        'au:"andy ng" OR au:"sam davis jr" OR au:"wei xu"',
        "",
    ),
]

ONCE = [
    ("cs.PF OR cs.DC OR cs.OS", "in every field"),
    ("cat:cs.PF AND a1 OR b1 AND (c1 OR cat:cs.DC AND d1)", "goes before"),
]

REFUSED = [
    # text, where, why, the form that works
    ("id=2603.10026", "id=", "A field is written before a colon", "Write id:2603.10026."),
    ('cat="cs.PF"', "cat=", "A field is written before a colon", "Write cat:cs.PF."),
    ("author=lindquell", "author=", "A field is written before a colon", "Write au:lindquell."),
    (
        '"Hall", "Faith", "Fact"',
        '"Hall"',
        "This list does not say",
        'Write "Hall" OR "Faith" OR "Fact".',
    ),
    ("hall,faith;fact", "hall", "This list does not say", "Write hall OR faith OR fact."),
    (
        "cat:cs.CL AND hall, faith",
        "hall",
        "This list does not say",
        "Write cat:cs.CL AND (hall OR faith).",
    ),
    ("gpu, latency, 1,000", "gpu", "This list does not say", 'Write gpu OR latency OR "1,000".'),
    ("abs:=news,cms", "abs:", "This list does not say", "Write abs:(=news OR cms)."),
    ("-video\n-anime", "-video", "A - before each entry", "Write video OR anime."),
    ("=au:lindquell", "=au", "au: is never stemmed", "Write au:lindquell."),
    (
        "abs:GPU|abs:CPU",
        "abs:GPU",
        "A | is an operator only between",
        "Write (abs:GPU OR abs:CPU).",
    ),
    ("au:Lin|Ng", "au:", "A | is an operator only between blanks", "Write (au:Lin OR au:Ng)."),
    (
        "TITLE-ABS-KEY ( gpu )",
        "TITLE",
        "A field is written before a colon",
        "Write (ti:gpu OR abs:gpu).",
    ),
    ("x1 AND TI=(gpu)", "TI=", "A field is written before a colon", "Write x1 AND ti:gpu."),
    ("Authors: Lin, Ng", "Authors:", "This field has another name here", "Write au:Lin."),
    ("C*-algebra", "*-", "cannot be used here", 'Write for example all:"C*-algebra".'),
    ('au:"Lin and Ng"', "Lin and", "is more than one name", 'Write (au:"Lin" AND au:"Ng").'),
    ('au:"Lin, Ng, Wu"', "Lin, Ng", "is more than one name", 'Write (au:"Lin").'),
    ('au:"Lin et al."', "Lin et", "is more than one name", 'Write (au:"Lin").'),
    ('au:"Lin :and Ng"', "Lin :and", "is more than one name", 'Write (au:"lin" AND au:"ng").'),
    ("cat:cs.PF,abs:GPU", "cat:", "This list does not say", "Write cat:cs.PF AND abs:GPU."),
    ("abs:ti:GPU", "abs:", "One word has one prefix", "Write ti:GPU."),
    (
        'abs="tail latency"',
        "abs=",
        "A field is written before a colon",
        'Write abs:"tail latency".',
    ),
    ("\u0441at:cs.PF", "\u0441at:", "is not a known prefix", "Did you mean cat:?"),
    ("abs:-GPU", "-GPU", "- means NOT only before a prefix", "Write NOT abs:GPU."),
    ("GPU|CUDA", "GPU", "A | is an operator only between blanks", "Write (GPU OR CUDA)."),
]


@pytest.mark.parametrize(("text", "canonical", "noted"), READ)
def test_what_people_write_is_read_as_it_is_meant(text: str, canonical: str, noted: str) -> None:
    query = parse_query(text)
    messages = [note.message for note in query.notes]
    assert query.canonical == canonical
    assert any(noted in message for message in messages) if noted else messages == []


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("cs.PF,cs.DC", PF_DC),
        ("cs.PF/cs.DC", PF_DC),
        *(
            ("!gpu", "NOT all:gpu"),
            ("cs.PF", "cat:cs.PF"),
            ("C++", "all:c"),
            ("cs.PF.", "cat:cs.PF"),
        ),
        *(("cat.cs.PF", "cat:cs.PF"), ("te*", "all:te*")),
    ],
)
def test_only_a_word_alone_gets_a_prefix_at_the_command_line(text: str, canonical: str) -> None:
    assert read_followed(text).canonical == canonical


@pytest.mark.parametrize(("text", "noted"), ONCE)
def test_the_same_is_noted_once(text: str, noted: str) -> None:
    assert sum(noted in note.message for note in parse_query(text).notes) == 1


@pytest.mark.parametrize(("text", "there", "message", "hint"), REFUSED)
def test_what_cannot_be_meant_is_refused_with_the_form_that_works(
    text: str, there: str, message: str, hint: str
) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert text[caught.value.position :].startswith(there)
    assert message in caught.value.message
    assert hint in caught.value.hint
