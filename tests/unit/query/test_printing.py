import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from digest.model.errors import QueryError
from digest.query import And, Condition, Node, Not, Or, Prefix, Shape, parse_query
from digest.query.canonical import (
    canonicalise,
    measure_nesting,
    print_canonical,
    print_outline,
    print_tree,
)

LEAVES = st.sampled_from(
    [
        Condition(Prefix.TITLE, Shape.WORD, "gpu"),
        Condition(Prefix.ABSTRACT, Shape.PHRASE, "tail latency"),
        Condition(Prefix.ABSTRACT, Shape.WORD, "self-supervised"),
        Condition(Prefix.ALL, Shape.BEGINNING, "transf"),
        Condition(Prefix.ALL, Shape.WORD, "hep-th"),
        Condition(Prefix.ALL, Shape.PHRASE, "tail latency"),
        Condition(Prefix.ABSTRACT, Shape.EXACT, "news"),
        Condition(Prefix.TITLE, Shape.EXACT, "the no go"),
        Condition(Prefix.ALL, Shape.EXACT, "and"),
        Condition(Prefix.AUTHOR, Shape.WORD, "or"),
        Condition(Prefix.AUTHOR, Shape.PHRASE, "smith, j"),
        Condition(Prefix.AUTHOR, Shape.BEGINNING, "smi"),
        Condition(Prefix.PERSON, Shape.PHRASE, "keiko m lindquell"),
        Condition(Prefix.ID, Shape.WORD, "hep-th/9901001v2"),
        Condition(Prefix.PERSON, Shape.PHRASE, "keiko m lindquell"),
        Condition(Prefix.PERSON, Shape.PHRASE, "garcía márquez, gabriel"),
        Condition(Prefix.CATEGORY, Shape.WORD, "cs.PF"),
        Condition(Prefix.CATEGORY, Shape.BEGINNING, "physics.a"),
        Condition(Prefix.SUBMITTED, Shape.RANGE, "202401010000 TO *"),
        Condition(Prefix.DOI, Shape.WORD, "10.1016/0370-2693(93)90001-T"),
    ]
)


def _join(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    operands = st.lists(children, min_size=2, max_size=4).map(tuple)
    return st.one_of(operands.map(And), operands.map(Or), children.map(Not))


TREES: st.SearchStrategy[Node] = st.recursive(LEAVES, _join, max_leaves=12)


@given(TREES)
def test_a_printed_tree_reads_as_the_same_tree(tree: Node) -> None:
    assert parse_query(print_tree(tree)).tree == tree


@given(TREES)
def test_a_canonical_text_is_its_own_canonical_text(tree: Node) -> None:
    canonical = print_canonical(tree)
    assert parse_query(canonical).canonical == canonical
    assert parse_query(canonical).tree == canonicalise(tree)


ATOMS = st.sampled_from(
    (
        *(
            "ʼ",
            "'",
            "’",
            "`",
            ".",
            "-",
            "\u2011",
            ",",
            " ",
            "_",
            "é",
            "e\u0301",
            "\u200d",
            "\u00ad",
            "ß",
        ),
        *("İ", "·"),
        *(
            "\x7f",
            "\u2028",
            "smith",
            "O",
            "Igor",
            "J",
            "van",
            "Jr",
            "王",
            "10.1/x",
            "2603.10026",
            "cs.LG",
        ),
        *("(b)", "$x$", "{", "\\'", "and", "1", "$H_0$", "$k_BT$", "\\Lambda ", "ΛCDM", "₀", "ᵅ"),
    )
)


@given(
    st.sampled_from(("au:", "author:", "all:", "ti:", "doi:", "all:=", "ti:=")),
    st.lists(ATOMS, min_size=1, max_size=5).map("".join),
)
@example("author:", "ʼ Smith")
@example("author:", "Igorʼ Tyutin")
@example("all:", "2603.10026 ,")
@example("doi:", "10.1/x\x7f")
def test_whatever_text_is_accepted_is_kept_in_a_form_that_reads_the_same(
    prefix: str, text: str
) -> None:
    with contextlib.suppress(QueryError):
        query = parse_query(f'{prefix}"{text}"')
        assert parse_query(query.canonical).tree == query.tree == canonicalise(query.tree)


@given(TREES, st.randoms())
def test_order_grouping_and_repetition_do_not_change_the_canonical_text(
    tree: Node, random: object
) -> None:
    shuffled = _shuffle(tree, random)
    assert print_canonical(shuffled) == print_canonical(tree)


def _shuffle(node: Node, random: object) -> Node:
    match node:
        case Condition():
            return node
        case Not(operand):
            return Not(Not(Not(_shuffle(operand, random))))
        case And(operands) | Or(operands):
            kind = type(node)
            mixed = [_shuffle(operand, random) for operand in operands]
            random.shuffle(mixed)  # type: ignore[attr-defined]  # a random.Random
            return kind((kind((mixed[0], mixed[0])), *mixed))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("cat:cs.PF AND abs:GPU", "abs:gpu AND cat:cs.PF"),
        ("b1 OR (a1 OR c1) OR b1", "all:a1 OR all:b1 OR all:c1"),
        ("(a1 AND a1)", "all:a1"),
        ("NOT c1 AND b1 AND a1", "all:a1 AND all:b1 ANDNOT all:c1"),
        ("NOT b1 AND NOT a1", "(NOT all:a1) ANDNOT all:b1"),
        ("a1 OR NOT (NOT (b1 AND (c1 AND d1)))", "all:a1 OR (all:b1 AND all:c1 AND all:d1)"),
        ("cat:cs.NA OR cat:math.NA", "cat:math.NA"),
        ("cat:cs.* AND cat:CS", "cat:cs"),
        ("cat:cs.PF abs:GPU", "abs:gpu AND cat:cs.PF"),
        (r"abs:$\Lambda$CDM", "abs:λcdm"),
        (r'abs:"$N$body of $H_0$"', 'abs:"n_body of h₀"'),
    ],
)
def test_the_canonical_text_of(text: str, canonical: str) -> None:
    assert parse_query(text).canonical == canonical


@given(TREES)
def test_nesting_is_how_many_parentheses_are_open_at_once(tree: Node) -> None:
    outside_quotes = "".join(part for part in print_tree(tree).split('"')[::2])
    depth = deepest = 0
    for char in outside_quotes:
        depth += (char == "(") - (char == ")")
        deepest = max(deepest, depth)
    assert measure_nesting(print_tree(tree)) == deepest


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("ti:gpu", ["ti:gpu"]),
        ("NOT ti:gpu", ["not ti:gpu"]),
        (
            'cat:cs.PF AND (ti:gpu OR abs:"tail latency") ANDNOT co:withdrawn',
            [
                "all of",
                "  cat:cs.PF",
                "  any of",
                "    ti:gpu",
                '    abs:"tail latency"',
                "  not co:withdrawn",
            ],
        ),
        (
            "a1 OR NOT (b1 AND c1)",
            ["any of", "  all:a1", "  not all of", "    all:b1", "    all:c1"],
        ),
    ],
)
def test_the_outline_of_a_query_shows_groups_by_their_indent(text: str, lines: list[str]) -> None:
    assert print_outline(parse_query(text).tree) == lines
