"""arXiv's search in small, from its documentation alone.

What a text brings there, of a few made-up papers.

It shares nothing with `digest.query`: its own reader, from the right and without precedence; its
own words, stemmed in titles and abstracts and never folded there; its own names, categories by
their letters, DOIs by their case. What arXiv knows and its interfaces don't say (owners,
submitters, ORCID) it doesn't know either.
"""

from __future__ import annotations

import re
import unicodedata
from fnmatch import fnmatchcase

import Stemmer  # type: ignore[import-not-found, unused-ignore]  # PyStemmer ships no types

from digest.model.papers import Paper

_TOKEN = re.compile(
    r"""
    (?P<paren> [()] )
    | (?P<name> [A-Za-z]+ ) :
      (?:
        "(?P<phrase> [^"]* )"        # ti:"tail latency"
        | \[ (?P<dates> [^\]]* ) \]  # submittedDate:[2025 TO 2026]
        | (?P<value> [^\s()"]+ )     # cat:cs.PF
      )
    | (?P<bare> [^\s()"]+ )          # AND, or a word
    """,
    re.VERBOSE,
)
_STOP_WORDS = frozenset(("a", "and", "in", "of", "or", "the", "to", "not"))
_porter = Stemmer.Stemmer("porter")

Place = tuple[bool, int]
"""Whether a paper matches, and where the reading goes on."""


def brings(text: str, paper: Paper) -> bool:
    """Tell whether a search brings a paper."""
    tokens = list(_TOKEN.finditer(text))
    found, end = _read_chain(tokens, 0, paper)
    assert end == len(tokens), f"{text!r} closes a parenthesis too many"
    return found


def _read_chain(tokens: list[re.Match[str]], place: int, paper: Paper) -> Place:
    """Read operands up to a closing parenthesis; what stands behind an operator is one operand."""
    left, place = _read_operand(tokens, place, paper)
    if place == len(tokens) or tokens[place]["paren"] == ")":
        return left, place
    operator = tokens[place]["bare"]
    place += operator in ("AND", "OR", "ANDNOT")
    right, place = _read_chain(tokens, place, paper)
    if operator == "AND":
        return left and right, place
    return (left and not right, place) if operator == "ANDNOT" else (left or right, place)


def _read_operand(tokens: list[re.Match[str]], place: int, paper: Paper) -> Place:
    token = tokens[place]
    if token["paren"] == "(":
        found, place = _read_chain(tokens, place + 1, paper)
        assert tokens[place]["paren"] == ")"
        return found, place + 1
    name = token["name"] or "all"
    phrase = token["phrase"]
    if name == "submittedDate":
        start, end = token["dates"].split(" TO ")
        return start <= f"{paper.published:%Y%m%d%H%M}" <= end, place + 1
    is_quoted = phrase is not None
    value = phrase if is_quoted else token["value"] or token["bare"]
    assert is_quoted or not value.startswith(("*", "?")), "HTTP 500"
    if name == "au" and not is_quoted and place == 0:
        value = value.replace("_", " ")
    return _is_met(name, value, paper, is_quoted=is_quoted), place + 1


def _is_met(name: str, value: str, paper: Paper, *, is_quoted: bool) -> bool:
    if name == "all":
        fields = ("ti", "abs", "co", "jr", "rn", "au", "cat", "id", "doi")
        is_in_one = any(_is_met(field, value, paper, is_quoted=is_quoted) for field in fields)
        return is_in_one or _is_in_all(value, paper)
    if name == "au":
        return any(_is_called(author.name, value, is_quoted=is_quoted) for author in paper.authors)
    if name == "cat":
        return any(fnmatchcase(category, value) for category in paper.categories)
    if name == "id":
        return value in (str(paper.id), f"{paper.id}v{paper.version}")
    if name == "doi":
        return value in paper.dois
    texts = {
        "ti": paper.title,
        "abs": paper.abstract,
        "co": paper.comment,
        "jr": paper.journal_ref,
        "rn": paper.report_no,
    }
    return _holds(texts[name], value, is_quoted=is_quoted, is_stemmed=name in ("ti", "abs"))


def _is_in_all(value: str, paper: Paper) -> bool:
    names = [author.name for author in paper.authors]
    texts = (
        paper.title,
        paper.abstract,
        paper.comment,
        *names,
        paper.report_no,
        *paper.categories,
        *paper.dois,
        paper.journal_ref,
    )
    words = " ".join(texts).split()
    combined = {_fold(word) for word in words}
    return all(_fold(word) in combined for word in value.split())


def _holds(text: str, value: str, *, is_quoted: bool, is_stemmed: bool) -> bool:
    there = _index(text, is_stemmed=is_stemmed)
    words = {word for _, word in there}
    if value.endswith("*") and not is_quoted:
        beginning = value[:-1].lower()
        return any(word.startswith(beginning) for word in words)
    sought = _index(value, is_stemmed=is_stemmed)
    if not is_quoted:
        return {word for _, word in sought} <= words
    for shift in range(-99, 99):
        shifted = {(place + shift, word) for place, word in sought}
        if shifted <= there:
            return True
    return False


def _index(text: str, *, is_stemmed: bool) -> set[tuple[int, str]]:
    """Return the words of a text, but for stop words, each with its place."""
    index = set()
    for place, written in enumerate(re.findall(r"[^\W_]+", text)):
        word = written.lower()
        if word in _STOP_WORDS:
            continue
        if is_stemmed and len(word) > 2:
            word = str(_porter.stemWord(word))
        index.add((place, word))
    return index


def _is_called(name: str, value: str, *, is_quoted: bool) -> bool:
    parts = _fold_name(name.replace(".", "")).split()
    if "," in value and not is_quoted:
        last, _, given = value.partition(",")
        return parts[-1] == _fold_name(last) and parts[0].startswith(_fold_name(given))
    asked = value.replace(".", "").replace(",", " ")
    # What has a * is not folded there.
    folded = asked.lower() if "*" in asked else _fold_name(asked)

    def is_there(word: str) -> bool:
        return any(fnmatchcase(part, word) for part in parts)

    return all(is_there(word) for word in folded.split())


def _fold_name(text: str) -> str:
    """Return a name as Lucene's filters for German and then for Scandinavian languages leave it."""
    letters = ""
    state = "N"
    for letter in _fold(text).replace("ø", "o").replace("æ", "ae"):
        if letter != "e" or state != "U":
            letters += letter
        if letter in "ao":
            state = "U"
        elif letter == "u":
            state = "U" if state == "N" else "V"
        else:
            state = "V" if letter in "eiqy" else "N"
    shorter = ""
    while letters:
        shorter += letters[0]
        letters = letters[2:] if letters[:2] in ("aa", "ao", "ae", "oe", "oo") else letters[1:]
    return shorter


def _fold(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.lower().replace("ß", "ss"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
