from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.query.names import NamePattern, spell_name, split_name


def parts(name: str) -> tuple[str, ...]:
    return tuple(part.text for part in split_name(name))


def is_meant(query: str, name: str) -> bool:
    return bool(NamePattern.parse(spell_name(query)).find_parts(parts(name)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Pınar Tözün", ("pinar", "tozun")),
        ("J.-P. Serre", ("j-p", "serre")),
        ("J.P. Morgan", ("j", "p", "morgan")),
        ("Ehsan Yousefzadeh-Asl-Miandoab", ("ehsan", "yousefzadeh-asl-miandoab")),
        ("Robin Blume\u2010Kohout", ("robin", "blume-kohout")),
        ("Shane O’Neill", ("shane", "o'neill")),
        ("Smith, John, Jr.", ("smith", "john", "jr")),
        ("H1 Collaboration", ("h1", "collaboration")),
        *(("李 明", ("李", "明")), ("???", ())),
    ],
)
def test_a_name_is_cut_into_folded_parts(name: str, expected: tuple[str, ...]) -> None:
    assert parts(name) == expected


@pytest.mark.parametrize(
    ("query", "name"),
    [
        *(
            ("smith", "John Smith"),
            ("Tozun", "Pınar Tözün"),
            ("Tözün", "Pinar Tozun"),
            ("bin liu", "Bin Liu"),
        ),
        *(("bin liu", "Liu Bin"), ("bin liu", "Bin Xu Liu")),
        ("del_maestro", "Adrian Del Maestro"),
        *(("yi-bin liu", "Yi-Bin Liu"), ("J.-P. Serre", "J.-P. Serre"), ("Smith, J", "John Smith")),
        *(("Smith, J.", "J. Smith"), ("Smith,J", "John A. Smith"), ("smith_j", "John Smith Jr.")),
        ("Smith, John", "John A. Smith III"),
        ("Smith, J A", "John Albert Smith"),
        ("de la Cruz, M", "María de la Cruz"),
        ("del_maestro_a", "Adrian Del Maestro"),
        *(("smit*", "John Smithers"), ("liu b*", "Bin Liu"), ("Smit*, J", "Jane Smith")),
        *(("Böhm, J", "Joerg Boehm"), ("Boehm, Jörg", "Jorg Bohm"), ("Mull*", "D. Mueller")),
        *(("Mue*", "D. Mueller"), ("Muell*", "D. Müller"), ("Xue*", "Xuefeng Li")),
    ],
)
def test_a_name_is_meant(query: str, name: str) -> None:
    assert is_meant(query, name)


@pytest.mark.parametrize(
    "spellings",
    [
        ("Mueller", "Müller", "Muller"),
        ("Soeren", "Sören", "Søren", "Soren"),
        *(
            ("Jaeger", "Jäger", "Jager"),
            ("Kjaer", "Kjær", "Kjar"),
            ("Haeusler", "Häusler", "Hausler"),
        ),
        *(("Oezdemir", "Özdemir", "Ozdemir"), ("Strauss", "Strauß")),
    ],
)
def test_a_name_is_met_however_its_umlaut_is_spelled(spellings: tuple[str, ...]) -> None:
    for query, name in product(spellings, spellings):
        assert is_meant(query, f"D. {name}")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        *(("smith", "John Smithers"), ("smith", "John Smith-Jones"), ("bin liu", "Yi-Bin Liu")),
        *(("bin liu", "Bin Xu"), ("J. Smith", "John Smith"), ("Smith, J", "Adam J. Smith")),
        *(("Smith, J", "Smith Jones"), ("Smith, J", "Smith"), ("Smith, John", "Johnathan Smith")),
        *(
            ("smith_k", "John Smith"),
            ("de la Cruz, M", "Maria Cruz"),
            ("Mull", "D. Muller"),
            ("Mue*", "D. Munoz"),
        ),
        *(
            ("Michal", "Michael Li"),
            ("Xu", "Wei Xue"),
            ("Bur", "Tim Bauer"),
            ("Xufeng", "Xuefeng Li"),
        ),
    ],
)
def test_another_name_is_not(query: str, name: str) -> None:
    assert not is_meant(query, name)


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        *(
            ("Smith", "smith"),
            ("  Bin   LIU ", "bin liu"),
            ("Smith,J", "smith, j"),
            ("smith_j", "smith, j"),
        ),
        *(("Smith, J., Jr.", "smith, j"), ("Smith,", "smith"), ("Tözün", "tözün"), ("...", "")),
    ],
)
def test_a_name_in_a_query_has_one_spelling(written: str, spelled: str) -> None:
    assert spell_name(written) == spelled


@given(st.text())
def test_spelling_a_spelled_name_changes_nothing(text: str) -> None:
    assert spell_name(spell_name(text)) == spell_name(text)


@given(st.text())
def test_the_parts_of_a_name_stand_where_they_say(name: str) -> None:
    end = 0
    for part in split_name(name):
        assert end <= part.start < part.end <= len(name)
        end = part.end


@given(
    st.lists(st.sampled_from(["bin", "liu", "yi-bin", "j", "smith"]), min_size=1, max_size=4),
    st.randoms(),
)
def test_the_order_of_whole_names_does_not_matter(names: list[str], random: object) -> None:
    shuffled = sorted(names, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert is_meant(" ".join(names), " ".join(shuffled))
