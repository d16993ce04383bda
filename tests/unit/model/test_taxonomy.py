import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model import taxonomy

ANY_NAME = st.sampled_from([*taxonomy.CATEGORIES, *taxonomy.ARCHIVES])


def test_there_are_155_categories_in_use_and_21_retired() -> None:
    assert len(taxonomy.CATEGORIES) == 176
    assert len(taxonomy.RETIRED) == 21
    assert taxonomy.CATEGORIES.keys() > taxonomy.RETIRED


def test_there_are_20_archives_and_18_merged_ones() -> None:
    assert len(taxonomy.ARCHIVES) == 20
    assert len(taxonomy.MERGED) == 18


@pytest.mark.parametrize(
    ("category", "name"),
    [
        ("cs.PF", "Performance"),
        ("hep-th", "High Energy Physics - Theory"),
        ("cond-mat.mtrl-sci", "Materials Science"),
        ("cmp-lg", "Computation and Language"),
        ("astro-ph", "Astrophysics"),
    ],
)
def test_a_category_has_arxivs_name(category: str, name: str) -> None:
    assert taxonomy.CATEGORIES[category] == name


@pytest.mark.parametrize(
    ("archive", "count"), [("cs", 40), ("math", 32), ("eess", 4), ("stat", 6), ("q-fin", 9)]
)
def test_an_archive_holds_as_many_categories_as_arxiv_lists(archive: str, count: int) -> None:
    assert (
        sum(taxonomy.archive_of(category) == archive for category in taxonomy.CATEGORIES) == count
    )


def test_an_archive_with_categories_below_it_is_no_category() -> None:
    assert taxonomy.is_archive("cs")
    assert not taxonomy.is_category("cs")


def test_an_archive_without_categories_below_it_is_one_itself() -> None:
    assert taxonomy.is_archive("quant-ph")
    assert taxonomy.is_category("quant-ph")


def test_a_bare_archive_of_old_papers_is_a_retired_category() -> None:
    assert taxonomy.is_category("astro-ph")
    assert "astro-ph" in taxonomy.RETIRED


@pytest.mark.parametrize(
    ("alias", "canonical"),
    [
        *(
            ("cs.NA", "math.NA"),
            ("math.MP", "math-ph"),
            ("stat.TH", "math.ST"),
            ("math.IT", "cs.IT"),
        ),
        *(
            ("q-fin.EC", "econ.GN"),
            ("cs.SY", "eess.SY"),
            ("cmp-lg", "cs.CL"),
            ("supr-con", "cond-mat.supr-con"),
        ),
    ],
)
def test_two_names_of_one_category_lead_to_each_other(alias: str, canonical: str) -> None:
    assert taxonomy.canonical_category(alias) == canonical
    assert taxonomy.names_of(alias)[0] == canonical
    assert alias in taxonomy.names_of(canonical)


@given(ANY_NAME)
def test_all_names_of_a_category_share_one_canonical_id(name: str) -> None:
    group = taxonomy.names_of(name)
    assert name in group
    assert {taxonomy.canonical_category(other) for other in group} == {group[0]}


@given(ANY_NAME)
def test_names_are_read_in_any_letter_case(name: str) -> None:
    assert taxonomy.spell_name(name.upper()) == name
    assert taxonomy.canonical_category(name.lower()) == taxonomy.canonical_category(name)


def test_an_unknown_name_stays_as_it_is_and_has_no_aliases() -> None:
    assert not taxonomy.is_category("cs.ZZ")
    assert taxonomy.canonical_category("cs.ZZ") == "cs.ZZ"
    assert taxonomy.names_of("cs.ZZ") == ("cs.ZZ",)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *(
            ("cs.PFF", "cs.PF"),
            ("csPF", "cs.PF"),
            ("cs.FP", "cs.PF"),
            ("math.GA", "math.AG"),
            ("hepth", "hep-th"),
        ),
        ("cond-mat.superconductivity", "cond-mat.supr-con"),
        *(("Performance", "cs.PF"), ("machine learning", "cs.LG"), ("Computer Science", "cs")),
        ("stat-mech", "cond-mat.stat-mech"),
        ("mtrl-sci", "cond-mat.mtrl-sci"),
    ],
)
def test_the_nearest_category_is_found_by_id_or_by_name(typed: str, meant: str) -> None:
    assert taxonomy.nearest_category(typed) == meant


@pytest.mark.parametrize("typed", ["xyzzy?!", "cs.XX", "astro-ph.QQ"])
def test_nothing_is_nearest_to_a_name_unlike_all(typed: str) -> None:
    assert taxonomy.nearest_category(typed) is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("cs.PX", ("cs.PF", "cs.PL")),
        ("CS.px", ("cs.PF", "cs.PL")),
        ("cs.XX", ()),
        ("cs", ()),
        ("zz.PF", ()),
    ],
)
def test_subjects_of_an_archive_that_begin_alike_can_be_offered(
    typed: str, meant: tuple[str, ...]
) -> None:
    assert taxonomy.list_subjects(typed) == meant


@given(st.text(max_size=30))
def test_any_text_can_be_looked_up(text: str) -> None:
    assert taxonomy.names_of(text)[0] == taxonomy.canonical_category(text)
    assert isinstance(taxonomy.is_category(text), bool)
    assert taxonomy.nearest_category(text) in {None, *taxonomy.CATEGORIES, *taxonomy.ARCHIVES}
