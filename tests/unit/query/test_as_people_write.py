"""Queries as people write them: read as they are meant, noted if that is not sure, or refused with what works."""

import pytest

from digest.model.errors import QueryError
from digest.query import parse_query

ANY, OPENED = "any of several categories", "a query between quotes"
PF_DC, GPU_PF = "cat:cs.DC OR cat:cs.PF", "abs:gpu AND cat:cs.PF"

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
    ("hep-th, math", "cat:hep-th OR cat:math", ANY),
    ("cat:math, physics", "cat:math OR cat:physics", ANY),
    ("cs.AI, cs.*, and q-bio", "cat:cs OR cat:cs.AI OR cat:q-bio", ANY),
    ("cs.PF, cs.XX", "cat:cs.PF OR cat:cs.XX", "'cs.XX' is not a category"),
    ("cs.PF, cs.DC AND abs:GPU", f"abs:gpu AND ({PF_DC})", "read as cat:(cs.PF OR cs.DC) AND abs:GPU"),
    ("abs:GPU AND cs.PF, cs.DC", f"abs:gpu AND ({PF_DC})", ANY),
    ("cs.PF,cs.DC,latency", f"all:latency AND ({PF_DC})", ANY),
    ("-cs.PF, cs.DC", f"NOT ({PF_DC})", "read as -cat:(cs.PF OR cs.DC)"),
    ("x1 -cs.PF cs.DC", "all:cs.DC AND all:x1 ANDNOT all:cs.PF", "all parts must match"),
    ("cs.PF AND cs.DC", "all:cs.DC AND all:cs.PF", "cat:cs.PF finds it alone"),
    ("math,physics", "all:math,physics", ""),
    ('ti:"cs.PF, cs.DC"', 'ti:"cs.pf cs.dc"', ""),
    # a prefix of ours is read as one
    ("cat\uff1acs.PF", "cat:cs.PF", ""),
    ("\uff43\uff41\uff54\uff1a\uff43\uff53.PF", "cat:cs.PF", ""),
    ("cat\u2236cs.PF", "cat:cs.PF", ""),
    ("\u200b\u200fc\u00adat:\ufeffcs.PF", "cat:cs.PF", ""),
    ('"cat:cs.PF"', "cat:cs.PF", OPENED),
    ("“cat:cs.PF AND abs:GPU”", GPU_PF, "read as (cat:cs.PF AND abs:GPU)"),
    ('"cat:cs.PF" AND "abs:GPU"', GPU_PF, OPENED),
    ("Abs: GPU AND cat :cs.PF", GPU_PF, ""),
    ("abs:\uff08GPU OR CUDA\uff09", "abs:cuda OR abs:gpu", ""),
    ('"Ti:sapphire laser"', 'all:"ti:sapphire laser"', "between quotes it is no prefix"),
    # NOT has signs
    ("x1 !abs:GPU", "all:x1 ANDNOT abs:gpu", ""),
    ("x1 AND !(abs:a1 OR abs:b1)", "all:x1 ANDNOT (abs:a1 OR abs:b1)", ""),
    ("x1 ! y1", "all:x1 ANDNOT all:y1", ""),
    ("x1 \u2013abs:GPU", "all:x1 ANDNOT abs:gpu", ""),
    ("Attention!", "all:attention", ""),
]

REFUSED = [
    # text, where, why, the form that works
    ("cat=cs.PF", "cat=", "cat= is no prefix here", "Write cat:cs.PF."),
    ("'cat:cs.PF'", "cat:", "cat: is no prefix here", "Write cat:cs.PF."),
    ("cat:cs.PF,abs:GPU", "abs:", "abs: is no prefix here", "Write (cat:cs.PF AND abs:GPU)."),
    ("abs:ti:GPU", "ti:", "ti: is no prefix here", "Write ti:GPU."),
    ('abs="tail latency"', "abs=", "abs= is no prefix here", 'Write abs:"tail latency".'),
    ("\u0441at:cs.PF", "\u0441at:", "is not a known prefix", "Did you mean cat:?"),
    ("abs:-GPU", "-GPU", "- means NOT only before a prefix", "Write NOT abs:GPU."),
    ("GPU|CUDA", "|", "| is not an operator", "Write (GPU OR CUDA)."),
]


@pytest.mark.parametrize(("text", "canonical", "noted"), READ)
def test_what_people_write_is_read_as_it_is_meant(text: str, canonical: str, noted: str) -> None:
    query = parse_query(text)
    messages = [note.message for note in query.notes]
    assert query.canonical == canonical
    assert any(noted in message for message in messages) if noted else messages == []


@pytest.mark.parametrize(("text", "there", "message", "hint"), REFUSED)
def test_what_cannot_be_meant_is_refused_with_the_form_that_works(
    text: str, there: str, message: str, hint: str
) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert text[caught.value.position :].startswith(there)
    assert message in caught.value.message
    assert hint in caught.value.hint
