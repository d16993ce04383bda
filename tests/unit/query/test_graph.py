"""Equal conditions and expressions are one node, in whatever order they come."""

from __future__ import annotations

from digest.query import parse_query
from digest.query.index.lexicon import ALWAYS, Graph, Indexer, LeafKind, Lexicon, negate


def test_the_same_operands_in_any_order_are_one_node() -> None:
    graph = Graph()
    one, two = graph.add_leaf() << 1, graph.add_leaf() << 1
    assert graph.join(LeafKind.AND, (one, two)) == graph.join(LeafKind.AND, (two, one, two))
    assert graph.join(LeafKind.AND, (one, two)) != graph.join(LeafKind.OR, (one, two))
    assert graph.join(LeafKind.AND, (one, negate(two))) != graph.join(LeafKind.AND, (one, two))


def test_a_single_operand_needs_no_node() -> None:
    graph = Graph()
    leaf = graph.add_leaf() << 1
    size = len(graph)
    assert graph.join(LeafKind.OR, (leaf, leaf)) == graph.join(LeafKind.AND, (leaf, ALWAYS)) == leaf
    assert len(graph) == size


def test_nothing_to_require_is_always_met_and_nothing_to_choose_from_never() -> None:
    graph = Graph()
    assert graph.join(LeafKind.AND, ()) == ALWAYS
    assert graph.join(LeafKind.OR, ()) == negate(ALWAYS)


def find_all(*texts: str) -> list[int]:
    indexer = Indexer(Lexicon())
    return [indexer.find(parse_query(text).tree) for text in texts]


def test_queries_with_one_canonical_form_are_one_node() -> None:
    spellings = (
        "ti:gpu AND abs:cpu AND cat:cs.PF",
        "cat:cs.pf abs:cpu ti:gpu",
        "(abs:cpu AND ti:gpu) AND (cat:cs.PF AND ti:gpu)",
        "NOT (NOT (ti:gpu AND abs:cpu)) AND cat:cs.PF",
    )
    assert len({parse_query(text).canonical for text in spellings}) == 1
    assert len(set(find_all(*spellings))) == 1


def test_what_is_excluded_is_the_same_node_as_what_is_wanted() -> None:
    wanted, excluded = find_all("ti:gpu", "NOT ti:gpu")
    assert excluded == negate(wanted)


def test_words_of_one_stem_are_one_leaf_in_stemmed_fields_only() -> None:
    assert len(set(find_all("ti:GPU", "ti:GPUs"))) == 1
    assert len(set(find_all("co:GPU", "co:GPUs"))) == 2


def test_a_second_query_about_the_same_things_adds_only_what_joins_them() -> None:
    lexicon = Lexicon()
    indexer = Indexer(lexicon)
    indexer.find(parse_query('latency AND au:"Ada Example" AND ti:"tail latency" AND cat:cs.PF').tree)
    size = len(lexicon.graph)
    indexer.find(parse_query('latency OR au:"Example Ada" OR ti:"tail latencies" OR cat:CS.PF').tree)
    assert len(lexicon.graph) == size + 1
