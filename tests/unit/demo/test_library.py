import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

from digest.announcements import has_mailing, latest_mailing, mailing_moment
from digest.demo.archive import Archive, DemoPaper, plan_mailing
from digest.demo.library import CROSS_LISTED, MAILING, NEW, REPLACED, WITHDRAWN, Library, make_library
from digest.demo.people import CAMPAIGNS, FAMILY, GIVEN
from digest.demo.topics import NEIGHBOURS, TOPICS
from digest.query import matches, parse_query
from digest.taxonomy import ARCHIVES, aliases_of, canonical_category, is_category

EVENING = mailing_moment(MAILING)


@cache
def library() -> Library:
    return make_library()


def mailing() -> list[tuple[DemoPaper, DemoPaper | None]]:
    archive = Archive(library().papers)
    changed = [paper for paper in library().papers if paper.announced == EVENING]
    before = {paper.id: archive.states(paper.id, EVENING - timedelta(hours=1)) for paper in changed}
    return [(paper, before[paper.id][-1] if before[paper.id] else None) for paper in changed]


def find_matches(name: str) -> set[str]:
    query = parse_query(library().queries[name])
    return {paper.id for paper, _ in mailing() if matches(query, paper.to_paper())}


def find_by_title(title: str) -> DemoPaper:
    (paper,) = {paper.id: paper for paper in library().papers if paper.title == title}.values()
    return paper


def test_every_call_makes_the_same_papers() -> None:
    assert make_library() == library()


def test_the_mailing_holds_as_many_changes_of_each_kind_as_the_demo_tells() -> None:
    kinds = Counter(
        "new"
        if before is None
        else "withdrawn"
        if paper.is_withdrawn
        else "replaced"
        if paper.version > before.version
        else "cross-listed"
        for paper, before in mailing()
    )
    assert kinds == {"new": NEW, "cross-listed": CROSS_LISTED, "replaced": REPLACED, "withdrawn": WITHDRAWN}
    assert kinds.total() == 412


def test_the_saved_queries_find_nine_papers_two_of_them_twice() -> None:
    found = {name: find_matches(name) for name in library().queries}
    assert {name: len(ids) for name, ids in found.items()} == {"perf": 6, "gpu": 4, "follow": 1}
    assert len(set().union(*found.values())) == 9
    assert len(found["perf"] & found["gpu"]) == 2


def test_what_is_found_includes_one_replacement_and_one_held_paper() -> None:
    found = set().union(*map(find_matches, library().queries))
    replaced = [paper.title for paper, before in mailing() if before and paper.id in found]
    held = [
        paper.title
        for paper, before in mailing()
        if before is None and paper.id in found and EVENING - paper.submitted[0] > timedelta(days=13)
    ]
    assert replaced == [r"Scheduling in $\mathcal{O}(n^2)$"]
    assert held == ["Held 13 days by moderators, found all the same"]


def test_everything_the_mailing_changes_was_announced_within_ten_days_before() -> None:
    assert all(
        before.announced >= datetime(2026, 11, 9, tzinfo=UTC) for _, before in mailing() if before is not None
    )


def test_a_changed_paper_keeps_what_is_not_changed() -> None:
    for paper, before in mailing():
        if before is not None:
            assert (paper.title, paper.submitted[0], paper.authors) == (
                before.title,
                before.submitted[0],
                before.authors,
            )
            assert paper.version in (before.version, before.version + 1)
            assert paper.categories[: len(before.categories)] == before.categories


def test_ids_are_given_out_in_order_of_announcement_without_gaps() -> None:
    first: dict[str, datetime] = {}
    for paper in library().papers:
        first.setdefault(paper.id, paper.announced)
    numbers = [int(name.partition(".")[2]) for name in first]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert all(earlier <= later for earlier, later in pairwise(first.values()))


def test_papers_are_announced_on_evenings_with_a_mailing_only() -> None:
    for moment in {paper.announced for paper in library().papers}:
        assert mailing_moment(latest_mailing(moment)) == moment
        assert has_mailing(latest_mailing(moment))


def test_nothing_is_announced_before_arxiv_could_have() -> None:
    for paper in library().papers:
        assert list(paper.submitted) == sorted(paper.submitted)
        assert plan_mailing(paper.submitted[-1]) <= paper.announced


def test_about_one_new_paper_in_twenty_five_was_held_a_week_or_more() -> None:
    new = [paper for paper, before in mailing() if before is None]
    held = [paper for paper in new if paper.announced - paper.submitted[0] > timedelta(days=7)]
    assert 0.02 < len(held) / len(new) < 0.08


def test_every_archive_has_papers_and_every_category_exists() -> None:
    categories = {category for paper in library().papers for category in paper.categories}
    assert all(map(is_category, categories))
    archives = {category.partition(".")[0] for category in categories}
    assert {"cs", "math", "physics", "quant-ph", "econ", "hep-lat"} <= archives <= set(ARCHIVES)
    assert len(archives) == 20


def test_neighbours_are_known_for_every_archive_that_is_drawn() -> None:
    assert {topic.categories[0].partition(".")[0] for topic in TOPICS} <= NEIGHBOURS.keys()
    assert all(is_category(category) for near in NEIGHBOURS.values() for category in near)


def test_no_category_stands_twice_on_a_paper() -> None:
    for paper in library().papers:
        assert len(set(paper.categories)) == len(paper.categories)


def test_titles_are_unique_and_one_of_them_is_a_zero() -> None:
    titles = Counter({(paper.title, paper.id) for paper in library().papers})
    assert len({title for title, _ in titles}) == len(titles)
    assert find_by_title("0").categories == ("cs.PF",)


def test_three_papers_are_withdrawn_in_all() -> None:
    assert len({paper.id for paper in library().papers if paper.is_withdrawn}) == 3


def test_the_paper_the_demo_revises_is_the_first_of_its_digest() -> None:
    paper = find_by_title(r"Tail latency below $10^{-3}$ s on shared GPUs")
    assert library().revised == paper.id == "2611.15012"
    assert find_matches("perf") & find_matches("gpu") >= {paper.id}


def test_the_look_after_the_mailing_takes_three_pages() -> None:
    since = datetime(2026, 11, 16, tzinfo=UTC)
    listed = [p for p in Archive(library().papers).list_public(EVENING) if p.announced >= since]
    assert -(-len(listed) // library().page_size) == 3


def test_everybody_is_made_up_of_invented_family_names() -> None:
    surnames = {family.lower() for family in FAMILY} | {"solvane", r"\'sredwicz-t\"orvalen"}
    for paper in library().papers:
        for author in paper.authors:
            given, _, family = author.name.partition(" ")
            is_crew = family == "Collaboration" and given in CAMPAIGNS
            named = any(author.name.lower().endswith(surname) for surname in surnames)
            assert is_crew or named, author.name


def test_no_name_is_that_of_somebody_known() -> None:
    known = {"Einstein", "Turing", "Tao", "Knuth", "Hinton", "Hawking", "Noether", "Curie", "Dijkstra", "Lamport"}
    assert not {name.split()[-1] for name in FAMILY} & known
    assert len(set(FAMILY)) == len(FAMILY)
    assert len(set(GIVEN)) == len(GIVEN)


def test_names_and_titles_hold_accents_in_tex_and_formulae() -> None:
    text = " ".join(
        f"{paper.title} {' '.join(author.name for author in paper.authors)}" for paper in library().papers
    )
    for sign in (r"\"", r"\'", r"\v{", r"\c{", r"\u{", r"\o ", "$", r"\mathcal", r"\mu$path"):
        assert sign in text


def test_texts_with_words_other_programs_obey_are_among_the_papers() -> None:
    texts = "\n".join(f"{paper.title}\n{paper.abstract}\n{paper.comment}" for paper in library().papers)
    assert re.search(r"<script>.*@channel", texts, re.DOTALL)
    assert "&amp;amp;" in texts


def test_aliases_stand_beside_the_category_they_stand_for() -> None:
    for paper in library().papers:
        for category in paper.categories[:1]:
            canonical = canonical_category(category)
            if category == canonical and category in {"cs.IT", "math-ph"}:
                assert set(aliases_of(category)) & set(paper.categories)
