"""Chooses what is shown of an abstract: its best sentence or two.

A long sentence is cut between words.

Each sentence has a score, the sum of the `WEIGHTS` of its signals, such as "we find" or a number.
The weights were fitted on sentences that readers judged: `python -m tests.bench.sentences --fit
FILE` prints them anew. A match is one more signal. Its weight is set by hand, as the readers knew
no query. It is small: in real digests, a sentence chosen for its matched word was wrong more often
than right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby, pairwise
from math import log
from typing import Final, NamedTuple

from digest.query.words import stem
from digest.render.text import Spans, clean_markup, find_cut, show_plain, show_segments
from digest.tex import Segment

LONGEST_SNIPPET = 200
"""How many characters a sentence may have."""

WORDS: Final = {
    "find": "confirm conclude demonstrate detect discover establish find found observe predict "
    "prove reveal show shown",
    "get": "achieve answer argue calculate characterise characterize classify compute constrain "
    "construct deduce derive determine disprove estimate exclude explain extend generalise "
    "generalize given identify imply improve indicate infer measure note obtain quantify "
    "realise realize reduce resolve solve suggest uncover verify",
    "make": "build built create define describe design develop devise formulate implement "
    "introduce present propose",
    "aim": "address aim analyse analyze apply assess attempt compare concern consider deal "
    "discuss employ evaluate examine explore focus investigate look perform review revisit "
    "study survey test treat use",
    "by": "as at by for from in of on to under with",
    "be": "are be been being is was were",
    "result": "algorithm analysis approach data experiment model method result simulation "
    "theorem theory",
}
"""Words by kind, in any of their forms."""

PHRASES: Final = {
    "we find": "we {find}, i {find}",
    "we get": "we {get}, i {get}",
    "we make": "we {make}, i {make}",
    "we aim": "we {aim}, i {aim}",
    "is studied": "{be} {aim}",
    "finds that": "{find} that, {get} that, {find} how, {get} how, turns out",
    "results find": "{result} {find}, {result} {get}",
    "results": "empirical, experiment, experimental, numerical, result, simulation, theorem",
    "that": "that",
    "here": "here",
    "we": "we, i, our",
    "this paper": "the paper, this article, this letter, this note, this paper, this review, "
    "this study, this work",
    "^we": "^we, ^i",
    "^by means of": "^applying, ^based, ^building, ^by, ^combining, ^employing, ^through, "
    "^using, ^via, ^with",
    "^in particular": "^importantly, ^in particular, ^interestingly, ^more specifically, "
    "^notably, ^specifically",
    "^moreover": "^additionally, ^also, ^besides, ^furthermore, ^in addition, ^likewise, "
    "^moreover, ^similarly",
    "^finally": "^at last, ^finally, ^last, ^lastly, ^second, ^secondly, ^third, ^to conclude",
    "^but": "^but, ^conversely, ^however, ^in contrast, ^instead, ^nevertheless, ^on the other, "
    "^yet",
    "^therefore": "^as a consequence, ^as a result, ^consequently, ^hence, ^so, ^then, "
    "^therefore, ^thus",
    "^this": "^such, ^that, ^the former, ^the latter, ^the other, ^the proposed, ^the "
    "resulting, ^the same, ^these, ^this, ^those, ^{by} such, ^{by} that, ^{by} these, ^{by} "
    "this, ^{by} those",
    "such a": "our approach, our method, such a, such an, this approach, this method, this result",
    "that this": "how such, how these, how this, if this, that such, that these {be}, that this "
    "{be}",
    "^it": "^he, ^it, ^its, ^she, ^their, ^they",
    "^it is found": "^it {be} {find}, ^it {be} {get}, ^it {be} known, ^it turns out",
    "also": "additional, also, as well, further, moreover",
    "flourish": "application, avenue, future, hope, implication, insight, interest, open the, "
    "opportunity, pave, perspective, possible, potential, promising, shed, tool, useful",
    "is discussed": "are given, briefly, comment, describe, discuss, example, illustrate, is "
    "given, presented",
    "recently": "attention, conventional, currently, decade, emerging, growing, recent, today, "
    "traditional, years",
    "^recently": "^background, ^context, ^earlier, ^in recent, ^over the past, ^previous, "
    "^recent, ^recently",
    "has been": "had been, has been, have been",
    "open": "conjecture, lack, limited, little, open, poorly, question, remain, unclear, "
    "unknown, unsolved",
    "can": "ability, able, allow, can, capable, enable",
    "better than": "best, better, decrease, enhance, exceed, faster, fewer, greater, higher, "
    "improve, increase, larger, lower, outperform, reduce, reduction, smaller, "
    "state-of-the-art, stronger, superior, than, weaker",
    "agrees": "agree, agreement, compatible, confirm, consistent, evidence, exclude, explain, "
    "match, ruled out",
    "if": "if, then, when, whenever",
    "implies": "conclude, conclusion, consequence, imply, indicate, reveal, showing, suggest, "
    "therefore",
    "method": "algorithm, approach, framework, method, model, procedure, scheme, technique, tool",
    "aims": "aim, explore, focus, goal, interested, investigate, motivated, objective, order "
    "to, purpose, study",
}
"""Signals, and the phrases that give them.

`^` is the start of a sentence, `{find}` any word of that kind.
"""

# fmt: off
WEIGHTS: Final[dict[str, float]] = {
    "we find": 0.50, "we get": 0.10, "we make": 0.46, "we aim": -0.39, "is studied": -0.28,
    "finds that": 0.26, "results find": 0.66, "results": 0.21, "that": 0.26, "here": 0.52,
    "we": 0.22, "this paper": 0.25, "^we": 0.12, "^by means of": 0.47, "^in particular": -0.16,
    "^moreover": -0.40, "^finally": -0.00, "^but": -0.07, "^therefore": 0.01, "^this": -0.02,
    "such a": -0.15, "that this": -0.13, "^it": 0.09, "^it is found": 0.40, "also": -0.31,
    "flourish": -0.06, "is discussed": -0.14, "recently": -0.17, "^recently": -0.50,
    "has been": -0.25, "open": -0.12, "can": 0.21, "better than": 0.23, "agrees": 0.33, "if": 0.28,
    "implies": 0.24, "method": 0.20, "aims": -0.27, "number": 0.23, "formula": 0.23,
    "first": -0.14, "last but one": 0.34, "place": 0.47, "first of many": -0.37, "short": -0.72,
    "length": 0.23, "title": 0.15, "most of title": 0.26, "new words": 0.16, "like others": 0.59,
    "leans": -0.15, "finds first": 0.55, "found before": -0.26, "we first": 0.35,
    "no we yet": -0.27,
}
# fmt: on
"""What each signal adds to a sentence's score.

`measure_sentences` measures those that are no phrases.
"""

_MATCH = 0.3  # what a match adds to a score
_CUT = -0.4  # what a cut at the end adds, if only one sentence is shown
_WORST_SECOND = 2.5  # how far below the best score a second sentence may be
_LEAST_NEW = 0.3  # the share of its words that must be new
_LEAST_NAMED = 2  # how many words of the title a sentence must have if it leans on another one
_LATE = 40  # from this letter on, a long sentence is cut in front
_LEAST_DROPPED = 12  # letters: a cut takes two words at least, as one alone could have stayed
_LEAST_TIDY = 0.7  # a tidy cut keeps this share of what is allowed
_LONGEST_SHORT_FORM = 12
_MOST_READ = 100  # each sentence is compared with all others; no real abstract has this many
_KEPT_ABSTRACTS = 256

_KINDS: Final[dict[str, str]] = {}
for _kind, _words in WORDS.items():
    _KINDS.update((stem(_word), f"{{{_kind}}}") for _word in _words.split())
_SKIPPED = re.compile(
    r"also|both|can|could|even|first|further|had|has|have|here|next|now|then|together|\w+ly"
)
"""What may come between "we" and its verb."""

_WORD_OF_PHRASE = re.compile(r"[a-z][\w'-]*(?!\})\b")
_SIGNALS: Final[dict[str, list[str]]] = {}
for _signal, _phrases in PHRASES.items():
    _stemmed = _WORD_OF_PHRASE.sub(lambda word: stem(word[0]), _phrases)
    for _phrase in _stemmed.split(", "):
        _SIGNALS.setdefault(_phrase, []).append(_signal)

_FINDING_SIGNALS = ("we find", "finds that", "results find")
_OWN_SIGNALS = ("we", "this paper")
_FINDING_KINDS = ("{find}", "{get}")
_FORMULA_SIGNS = frozenset("=<>^≤≥±%")

_LEANING = dict.fromkeys(("^moreover", "^finally", "^but", "^therefore", "that this"), "")
_LEANING |= {"^this": "this paper", "^it": "^it is found"}
"""Signals that a sentence leans on the one before it, and for each the signal that it does not.

"It" leans, "It is found" does not; "This" leans, "This paper" does not.
"""

_TOKEN = re.compile(r"[a-z]+(?:[-'’][a-z]+)*|\d[\d.,]*")
_OTHERS = re.compile(
    r"\b(?:[A-Z][a-zé]+(?<!s)(?<!We)(?<!It)|et al\.?|the authors|who) "
    r"(?:asked|concluded|conjectured|found|gave|introduced|posed|proved|showed|suggested)\b"
)
"""What others did, so no finding of this paper."""

_CONTENT = re.compile(r"[^\W\d_]{4,}|[A-Z]{2,3}")
_EMPTY = re.compile(
    "about|been|between|from|have|into|some|such|tha[nt]|the(?:ir|se|y)|th(?:is|ose|rough)"
    "|using|wh?ere|with"
)
"""Words that say nothing about what a paper is about."""

_ENDING = re.compile(
    r"""
    [.!?…]["'”’)\]]*\s+
    (?!\d+(?:,[ ]|[ ]?\()\d)           # but not within a volume and page: "Rev. 12, 345", "12 (3)"
    (?=
        ["'“\u2018(\[]*
        (?:
            [^\W_a-z]                  # a capital, or a letter without case: "It. We"
          | [a-z]-\w                   # "It. p-wave pairing"
          | [a-z]+[A-Z]                # "It. eV electrons"
        )
      | \(?(?:[a-h]|[ivx]+)\)[ ]       # the number of an entry in a list: "It. (ii) ", "It. b) "
    )
  | (?<=[a-z]{2})[.!?](?=[A-Z][a-z]*[ ])       # a forgotten blank: "It is so.We "
  | [\u3002\uff01\uff1f\u061f\u0964]\s*        # full stops of other scripts: "。", "।"
    """,
    re.VERBOSE,
)
_SHORT_FORM = re.compile(
    r"""
    (?:
        \b(?i:
            a\.k\.a|al|approx|ca|cf|dept|dr|e\.g|i\.e|i\.i\.d|jr|lett|mrs?|phys|prof|resp|rev|st
            |univ|viz|vs|w\.r\.t
        )
      | \b(?:
            Acad|Adv|Amer|Anal|Ann|Appl|Arch|Astron|Astrophys|Bull|Chem|Class|Comm|Commun|Comput
            |Condens|Eur|Funct|Int|Mat|Mater|Math|Mech|Mod|Mon|Ms|Mt|Nat|Natl|Not|Nucl|Proc|Rep|Sci
            |Ser|Soc|Stat|Theor|Trans
        )
      | (?<![\w$])[A-Z]                # an initial: "A. Lindquell", not the end of "class$A."
    )
    \.\Z
    """,
    re.VERBOSE,
)
_BEGINNING = re.compile(
    r"""
    (?:
        A(?=[ ][a-z])|Al(?:l|so)|Among|An|As|Assume|At|Based|Besides|Both|But|By|Consider|Denote
        |Each|Finally|First|For|From|Furthermore|Given|Hence|Here|However|If|In|It|Its|Let|Moreover
        |Next|On|Our|Results|Several|Since|Some|Such|Suppose|The[ny]?|Their|There|Therefore
        |Th[eo]se|This|Thus|To|Two|Under|Using|We|When|With
    )\b
    """,
    re.VERBOSE,
)
_NUMBERED = re.compile(
    r"(?i)\b(?:alg|app|chap|cor|def|dim|eqn?s?|ex|figs?|lem|nos?|pp?|prop|refs?|sect?s?|tab|thm|vol"
    r"|jan|feb|mar|apr|aug|sept|oct|nov|dec)\.\Z"
)
_NUMBER = re.compile(r"[\d(\[]|[B-Z]\b|[IVX]+\b")
_HEADING = re.compile(
    r"(?i)\W{0,9}(?:\d{1,2}|[a-z]|[ivx]+|(?:aim|conclusion|method|objective|result)s?"
    r"|background|context)\W{0,9}"
)
"""Text up to a full stop that ends no sentence: a short form, a heading, or an entry's number.

A short form before a word of `_BEGINNING` ends one; some are short forms only before a number.
"""

_FINDING = re.compile(
    rf"(?i)\b(?:(?:we|i) (?:(?:{_SKIPPED.pattern}) ){{0,3}}(\w+)|(\w+) (?:how|that))\b"
)
_SUBJECT = re.compile(
    r"(?i)\b(?:and |but |here ){0,3}(?:we|i(?!\))|it(?= (?:is|was|turns) )|our)\b"
    r"|\band (?=\w+ (?:how|that)\b)"
)
"""What says that something was found, and by whom: a sentence may be cut before that."""

_UNTIDY = re.compile(
    r"\(?(?:[a-z]{1,3}|been|between|from|have|into|more|such|tha[nt]|their|these|this|were|wh\w+"
    r"|with|\W+|(?:\S*[=<>≤≥±~])?[\d.,]+)"
)
"""A word that belongs to the next one, as a number to its unit: no text breaks off after it."""

_BEFORE = "…\u00a0"
_AFTER = "\u00a0…"
"""A no-break space keeps the ellipsis out of a line of its own."""


class Range(NamedTuple):
    """A part of a plain text, from `start` to `end` (exclusive)."""

    start: int
    end: int


class _Sentence(NamedTuple):
    place: Range
    score: float
    words: frozenset[str]
    leans: bool  # on a sentence that may not be shown


def choose_snippet(
    title: str,
    abstract: str,
    spans_of_reasons: Iterable[Spans] = (),
    *,
    sentences: int = 1,
    limit: int = LONGEST_SNIPPET,
) -> tuple[Segment, ...]:
    """Return the sentences of an abstract that say most, as plain text with marks for what matched.

    Args:
        spans_of_reasons: for each reason to match, its places in the raw abstract.
        sentences: how many may be shown, 1 or 2, in the abstract's order; the second only if it
            adds something.
        limit: how many characters each of them may have, ellipses included.
    """
    spans = sorted(set(chain.from_iterable(spans_of_reasons)))
    plain, marks = _join(show_segments(abstract, tuple(spans)))
    read = _read_sentences(show_plain(title), plain)
    if not read:
        return ()
    cuts = [_cut(plain, one.place, limit) for one in read]
    scores = []
    for sentence, cut in zip(read, cuts, strict=True):
        score = sentence.score
        if _has_mark(sentence.place, marks):
            score += _MATCH
        if sentences == 1 and cut.end < sentence.place.end:
            score += _CUT
        scores.append(score)
    clear = [at for at, one in enumerate(read) if not one.leans]
    best = max(clear or range(len(read)), key=lambda at: scores[at])
    chosen = [best]
    if sentences > 1:
        chosen += _find_second(read, scores, best)
    return _mark(plain, marks, [(read[at].place, cuts[at]) for at in sorted(chosen)])


def _has_mark(place: Range, marks: Sequence[Range]) -> bool:
    return any(mark.start < place.end and place.start < mark.end for mark in marks)


def _find_second(read: Sequence[_Sentence], scores: Sequence[float], best: int) -> list[int]:
    """Return the sentence that adds most to the best one; none if all repeat it or say little."""
    adding = []
    for at, sentence in enumerate(read):
        is_clear = not sentence.leans or at == best + 1
        new = sentence.words - read[best].words
        if is_clear and new and len(new) >= _LEAST_NEW * len(sentence.words):
            adding.append(at)
    if not adding:
        return []
    second = max(adding, key=lambda at: scores[at])
    return [second] if scores[second] >= scores[best] - _WORST_SECOND else []


def split_sentences(plain: str) -> tuple[Range, ...]:
    """Return the place of each sentence of a plain text, without the blanks between them."""
    sentences: list[Range] = []
    start = 0
    for ending in _ENDING.finditer(plain):
        stop = ending.start() + 1
        following = ending.end()
        before = plain[max(start, stop - _LONGEST_SHORT_FORM) : stop]
        is_short = _SHORT_FORM.search(before) and not _BEGINNING.match(plain, following)
        is_numbered = _NUMBERED.search(before) and _NUMBER.match(plain, following)
        if not (is_short or is_numbered or _HEADING.fullmatch(plain, start, stop)):
            sentence = plain[start:following].rstrip()
            sentences.append(Range(start, start + len(sentence)))
            start = following
    end = len(plain.rstrip())
    if start < end:
        sentences.append(Range(start, end))
    return tuple(sentences)


def measure_sentences(title: str, sentences: Sequence[str]) -> list[dict[str, float]]:
    """Return the signals of each sentence of an abstract in plain text.

    A signal's strength is about 0 to 1.
    """
    named = _find_words(title)
    words = [_find_words(sentence) for sentence in sentences]
    shares = [len(named & one) / max(1, len(named)) for one in words]
    largest_share = max(shares, default=0) or 1
    last = len(sentences) - 1
    has_found = False
    has_said_we = False
    measured: list[dict[str, float]] = []
    for at, sentence in enumerate(sentences):
        phrases = _find_phrases(sentence)
        finds = not phrases.isdisjoint(_FINDING_SIGNALS)
        says_we = not phrases.isdisjoint(_OWN_SIGNALS)
        new_words = words[at] - named
        likeness = _measure_likeness(words[at], words)
        signals: dict[str, float] = dict.fromkeys(phrases, 1)
        signals |= _measure_sentence(sentence, at, last)
        signals["title"] = shares[at]
        signals["most of title"] = shares[at] / largest_share
        signals["new words"] = min(1, len(new_words) / 15)
        signals["like others"] = likeness / max(1, last)
        signals["leans"] = _leans(phrases)
        signals["finds first"] = finds and not has_found
        signals["found before"] = has_found
        has_found |= finds
        signals["we first"] = "we" in phrases and not has_said_we
        has_said_we |= says_we
        signals["no we yet"] = not has_said_we
        measured.append({name: float(strength) for name, strength in signals.items()})
    return measured


def _measure_sentence(sentence: str, at: int, last: int) -> dict[str, float]:
    """Return the signals of a sentence's form, place and length; `last` is the last one's place."""
    length = len(sentence)
    has_digit = any(letter.isdigit() for letter in sentence)
    is_first = at == 0
    is_one_of_many = last >= 5  # noqa: PLR2004 - six sentences are many
    return {
        "number": has_digit,
        "formula": not _FORMULA_SIGNS.isdisjoint(sentence),
        "first": is_first,
        "last but one": at == last - 1 and not is_first,
        "place": at / max(1, last),
        "first of many": is_first and is_one_of_many,
        "short": max(0, 1 - length / 90),
        "length": log(max(length, 20) / 150),
    }


def _measure_likeness(words: frozenset[str], all_words: Iterable[frozenset[str]]) -> float:
    """Return how many words a sentence shares with the others, each by the shorter of the two."""
    shares = []
    for other in all_words:
        if other is not words:
            shorter = min(len(words), len(other))
            shares.append(len(words & other) / max(1, shorter))
    return sum(shares)


def _leans(phrases: set[str]) -> bool:
    """Whether a sentence leans on the one before it."""
    return any(start in phrases and clear not in phrases for start, clear in _LEANING.items())


@lru_cache(_KEPT_ABSTRACTS)
def _read_sentences(title: str, plain: str) -> tuple[_Sentence, ...]:
    """Read an abstract; one paper is shown in several media and to many readers."""
    named = _find_words(title)
    places = split_sentences(plain)[:_MOST_READ]
    texts = [plain[place.start : place.end] for place in places]
    read: list[_Sentence] = []
    for place, text, signals in zip(places, texts, measure_sentences(title, texts), strict=True):
        words = _find_words(text)
        score = sum(WEIGHTS.get(name, 0) * strength for name, strength in signals.items())
        has_few_names = len(words & named) < _LEAST_NAMED
        leans = bool(signals["leans"] and has_few_names) or _OTHERS.search(text) is not None
        read.append(_Sentence(place, score, words, leans))
    return tuple(read)


def _find_phrases(sentence: str) -> set[str]:
    tokens = _TOKEN.findall(sentence.lower())
    stems = [stem(token) for token in tokens]
    kinds = []
    for one, token in zip(stems, tokens, strict=True):
        if not _SKIPPED.fullmatch(token):
            kinds.append(_KINDS.get(one, one))
    found: set[str] = set()
    for words in (stems, kinds):
        pairs = map(" ".join, pairwise(words))
        triples = map(" ".join, zip(words, words[1:], words[2:], strict=False))
        starts = ["^" + " ".join(words[:length]) for length in (1, 2, 3)]
        for phrase in (*words, *pairs, *triples, *starts):
            found.update(_SIGNALS.get(phrase, ()))
    return found


def _find_words(text: str) -> frozenset[str]:
    """Return the stems of the words that say what a text is about."""
    words = map(str.lower, _CONTENT.findall(text))
    return frozenset(stem(word) for word in words if not _EMPTY.fullmatch(word))


def _cut(plain: str, sentence: Range, limit: int) -> Range:
    """Return what is shown of a sentence: all of it, or a part that has its finding."""
    begin, end = sentence
    if end - begin <= limit:
        return sentence
    room = limit - len(_AFTER)
    subjects = _find_subjects(plain, sentence)
    if subjects:
        fitting = [start for start in subjects if end - start <= room]
        begin = fitting[0] if fitting else subjects[-1]
        if end - begin <= _LATE:  # too little without what it ends
            begin = plain.find(" ", end - room, begin) + 1 or begin
        if end - begin <= room:
            return Range(begin, end)
        room -= len(_BEFORE)
    shown = _cut_end(plain[begin:end], room)
    return Range(begin, begin + len(shown))


def _find_subjects(plain: str, sentence: Range) -> list[int]:
    """Return the places before its finding where a long sentence may begin."""
    finding = _find_finding(plain, sentence)
    subjects = _SUBJECT.finditer(plain, sentence.start + _LATE, finding + _LATE)
    return [subject.start() for subject in subjects if subject.start() <= finding]


def _find_finding(plain: str, sentence: Range) -> int:
    """Return where a sentence says that something was found: its start if it doesn't."""
    for match in _FINDING.finditer(plain, sentence.start, sentence.end):
        verb: str = match[1] or match[2]
        if _KINDS.get(stem(verb.lower())) in _FINDING_KINDS:
            return match.start()
    return sentence.start


def _cut_end(text: str, room: int) -> str:
    """Return the beginning of a text: cut between words, best where no bracket is open."""
    last = text.rfind(" ", 0, -_LEAST_DROPPED)
    cuts = [at for at in range(room, 0, -1) if text[at] == " " and at < last]
    tidy = [at for at in cuts if at > room * _LEAST_TIDY and _is_tidy(text[:at])]
    whole = [at for at in tidy if not _has_open_bracket(text[:at])]
    best = whole or tidy or cuts
    cut = best[0] if best else find_cut(text, room)
    return text[:cut].rstrip(" ,;:-–—")


def _is_tidy(text: str) -> bool:
    last = text.rpartition(" ")[2]
    return not _UNTIDY.fullmatch(last)


def _has_open_bracket(text: str) -> bool:
    opened = sum(text.count(bracket) for bracket in "([{")
    closed = sum(text.count(bracket) for bracket in ")]}")
    return opened > closed


def _join(segments: Iterable[Segment]) -> tuple[str, list[Range]]:
    plain = ""
    marks: list[Range] = []
    for segment in segments:
        start = len(plain)
        plain += clean_markup(segment.text)
        if segment.is_marked and start < len(plain):
            marks.append(Range(start, len(plain)))
    return plain, marks


def _mark(
    plain: str, marks: Sequence[Range], chosen: Sequence[tuple[Range, Range]]
) -> tuple[Segment, ...]:
    """Return what is shown of each sentence as one run, with an ellipsis for what is missing."""
    parts: list[Segment] = []
    written = 0
    is_cut = False
    for sentence, shown in chosen:
        begins_late = shown.start > sentence.start
        gap = ""
        if parts:
            skips = not is_cut and plain[written : sentence.start].strip() != ""
            gap = f"{_AFTER} " if skips and not begins_late else " "
        if begins_late and not is_cut:
            gap += _BEFORE
        parts.append(Segment(gap, is_marked=False))
        parts += _split_at_marks(plain, shown, marks)
        is_cut = shown.end < sentence.end
        if is_cut:
            parts.append(Segment(_AFTER, is_marked=False))
        written = sentence.end
    return _merge(parts)


def _split_at_marks(plain: str, shown: Range, marks: Sequence[Range]) -> Iterator[Segment]:
    edges = {*shown}
    for mark in marks:
        edges.update(at for at in mark if shown.start < at < shown.end)
    for start, end in pairwise(sorted(edges)):
        is_marked = any(mark.start <= start < mark.end for mark in marks)
        yield Segment(plain[start:end], is_marked)


def _merge(parts: Iterable[Segment]) -> tuple[Segment, ...]:
    """Join neighbours that are both marked, or both not."""
    written = (part for part in parts if part.text)
    merged = []
    for is_marked, run in groupby(written, key=lambda part: part.is_marked):
        text = "".join(part.text for part in run)
        merged.append(Segment(text, is_marked))
    return tuple(merged)
