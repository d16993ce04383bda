from dataclasses import replace

from digest.model.papers import Field
from digest.render.papers import describe_reasons, find_matched_authors
from digest.render.samples import make_entry


def test_a_reason_quotes_what_was_met_and_where() -> None:
    assert describe_reasons(make_entry(found=((Field.TITLE, "GPU"),))) == ('"GPU" in title',)


def test_a_word_met_in_the_title_is_not_told_again_for_the_abstract() -> None:
    assert describe_reasons(make_entry(found=((Field.ABSTRACT, "GPU"), (Field.TITLE, "GPU")))) == (
        '"GPU" in title',
    )


def test_a_phrase_met_with_two_endings_is_told_once() -> None:
    found = ((Field.ABSTRACT, "means"), (Field.ABSTRACT, "mean"))
    entry = make_entry(abstract="The means, or the mean, of a transfer by transformers.", found=found)
    assert describe_reasons(entry) == ('"means" in abstract',)
    found = ((Field.ABSTRACT, "transfer"), (Field.ABSTRACT, "transformers"))
    assert (
        len(
            describe_reasons(
                replace(entry, reasons=make_entry(abstract=entry.paper.abstract, found=found).reasons)
            )
        )
        == 2
    )


def test_what_was_met_within_a_formula_is_quoted_as_it_shows() -> None:
    entry = make_entry(
        title=r"Below $10^{-3}$ s and \'Etienne's $\mathcal{O}(n^2)$",
        found=((Field.TITLE, "10^{-3}"), (Field.TITLE, "Etienne"), (Field.TITLE, "n^2")),
    )
    assert describe_reasons(entry) == ('"10⁻³" in title', '"Étienne" in title', '"n²" in title')


def test_authors_come_first_and_by_their_whole_name() -> None:
    entry = make_entry(found=((Field.TITLE, "latency"), (Field.AUTHORS, "Solheim")))
    assert describe_reasons(entry) == ("author Marit Solheim", '"latency" in title')
    assert find_matched_authors(entry) == {0}


def test_a_category_is_named_only_where_nothing_else_was_met() -> None:
    assert describe_reasons(make_entry(found=((Field.CATEGORIES, "cs.DC"),))) == ("in cs.DC",)
    assert describe_reasons(make_entry(found=((Field.CATEGORIES, "cs.DC"), (Field.TITLE, "GPU")))) == (
        '"GPU" in title',
    )
