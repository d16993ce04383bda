"""Chooses what is shown of an abstract: its best sentence or two, cut between words if they are long.

Each sentence has a score, the sum of the `WEIGHTS` of its signals, such as "we find" or a number.
The weights were fitted on sentences that readers judged: `python -m tests.bench.sentences --fit
FILE` prints them anew. A match is one more signal. Its weight is set by hand, as the readers knew
no query. It is small: in real digests, a sentence chosen for its matched word was wrong more often
than right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from math import log
from typing import Final, NamedTuple

from digest.query.words import stem
from digest.render.text import Spans, clean_markup, find_cut, show_plain, show_segments
from digest.tex import Segment

LONGEST_SNIPPET = 200
"""How many characters a sentence may have."""

WORDS: Final = {
    "find": "confirm conclude demonstrate detect discover establish find found observe predict prove reveal show "
    "shown",
    "get": "achieve answer argue calculate characterise characterize classify compute constrain construct deduce "
    "derive determine disprove estimate exclude explain extend generalise generalize given identify imply "
    "improve indicate infer measure note obtain quantify realise realize reduce resolve solve suggest uncover "
    "verify",
    "make": "build built create define describe design develop devise formulate implement introduce present "
    "propose",
    "aim": "address aim analyse analyze apply assess attempt compare concern consider deal discuss employ "
    "evaluate examine explore focus investigate look perform review revisit study survey test treat use",
    "by": "as at by for from in of on to under with",
    "be": "are be been being is was were",
    "result": "algorithm analysis approach data experiment model method result simulation theorem theory",
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
    "this paper": "the paper, this article, this letter, this note, this paper, this review, this study, this "
    "work",
    "^we": "^we, ^i",
    "^by means of": "^applying, ^based, ^building, ^by, ^combining, ^employing, ^through, ^using, ^via, ^with",
    "^in particular": "^importantly, ^in particular, ^interestingly, ^more specifically, ^notably, ^specifically",
    "^moreover": "^additionally, ^also, ^besides, ^furthermore, ^in addition, ^likewise, ^moreover, ^similarly",
    "^finally": "^at last, ^finally, ^last, ^lastly, ^second, ^secondly, ^third, ^to conclude",
    "^but": "^but, ^conversely, ^however, ^in contrast, ^instead, ^nevertheless, ^on the other, ^yet",
    "^therefore": "^as a consequence, ^as a result, ^consequently, ^hence, ^so, ^then, ^therefore, ^thus",
    "^this": "^such, ^that, ^the former, ^the latter, ^the other, ^the proposed, ^the resulting, ^the same, "
    "^these, ^this, ^those, ^{by} such, ^{by} that, ^{by} these, ^{by} this, ^{by} those",
    "such a": "our approach, our method, such a, such an, this approach, this method, this result",
    "that this": "how such, how these, how this, if this, that such, that these {be}, that this {be}",
    "^it": "^he, ^it, ^its, ^she, ^their, ^they",
    "^it is found": "^it {be} {find}, ^it {be} {get}, ^it {be} known, ^it turns out",
    "also": "additional, also, as well, further, moreover",
    "flourish": "application, avenue, future, hope, implication, insight, interest, open the, opportunity, pave, "
    "perspective, possible, potential, promising, shed, tool, useful",
    "is discussed": "are given, briefly, comment, describe, discuss, example, illustrate, is given, presented",
    "recently": "attention, conventional, currently, decade, emerging, growing, recent, today, traditional, years",
    "^recently": "^background, ^context, ^earlier, ^in recent, ^over the past, ^previous, ^recent, ^recently",
    "has been": "had been, has been, have been",
    "open": "conjecture, lack, limited, little, open, poorly, question, remain, unclear, unknown, unsolved",
    "can": "ability, able, allow, can, capable, enable",
    "better than": "best, better, decrease, enhance, exceed, faster, fewer, greater, higher, improve, increase, "
    "larger, lower, outperform, reduce, reduction, smaller, state-of-the-art, stronger, superior, than, weaker",
    "agrees": "agree, agreement, compatible, confirm, consistent, evidence, exclude, explain, match, ruled out",
    "if": "if, then, when, whenever",
    "implies": "conclude, conclusion, consequence, imply, indicate, reveal, showing, suggest, therefore",
    "method": "algorithm, approach, framework, method, model, procedure, scheme, technique, tool",
    "aims": "aim, explore, focus, goal, interested, investigate, motivated, objective, order to, purpose, study",
}
"""Signals, and the phrases that give them: `^` is the start of a sentence, `{find}` any word of that kind."""

# fmt: off
WEIGHTS: Final[dict[str, float]] = {
    "we find": 0.50, "we get": 0.10, "we make": 0.46, "we aim": -0.39, "is studied": -0.28,
    "finds that": 0.26, "results find": 0.66, "results": 0.21, "that": 0.26, "here": 0.52,
    "we": 0.22, "this paper": 0.25, "^we": 0.12, "^by means of": 0.47, "^in particular": -0.16,
    "^moreover": -0.40, "^finally": -0.00, "^but": -0.07, "^therefore": 0.01, "^this": -0.02,
    "such a": -0.15, "that this": -0.13, "^it": 0.09, "^it is found": 0.40, "also": -0.31,
    "flourish": -0.06, "is discussed": -0.14, "recently": -0.17, "^recently": -0.50, "has been": -0.25,
    "open": -0.12, "can": 0.21, "better than": 0.23, "agrees": 0.33, "if": 0.28,
    "implies": 0.24, "method": 0.20, "aims": -0.27, "number": 0.23, "formula": 0.23,
    "first": -0.14, "last but one": 0.34, "place": 0.47, "first of many": -0.37, "short": -0.72,
    "length": 0.23, "title": 0.15, "most of title": 0.26, "new words": 0.16, "like others": 0.59,
    "leans": -0.15, "finds first": 0.55, "found before": -0.26, "we first": 0.35, "no we yet": -0.27,
}
# fmt: on
"""What each signal adds to a sentence's score; `measure_sentences` measures those that are no phrases."""

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

_KINDS: Final = {
    stem(word): f"{{{kind}}}" for kind, words in WORDS.items() for word in words.split()
}
_SKIPPED = re.compile(
    r"also|both|can|could|even|first|further|had|has|have|here|next|now|then|together|\w+ly"
)
"""What may come between "we" and its verb."""

_SIGNALS: Final[dict[str, list[str]]] = {}
for _signal, _phrases in PHRASES.items():
    for _phrase in re.sub(r"[a-z][\w'-]*(?!\})\b", lambda word: stem(word[0]), _phrases).split(
        ", "
    ):
        _SIGNALS.setdefault(_phrase, []).append(_signal)

_LEANING = dict.fromkeys(("^moreover", "^finally", "^but", "^therefore", "that this"), "")
_LEANING |= {"^this": "this paper", "^it": "^it is found"}
"""Signals that a sentence leans on the one before it, and those that it does not: "It is found", "This paper"."""

_TOKEN = re.compile(r"[a-z]+(?:[-'’][a-z]+)*|\d[\d.,]*")
_OTHERS = re.compile(
    r"\b(?:[A-Z][a-zé]+(?<!s)(?<!We)(?<!It)|et al\.?|the authors|who) (?:asked|concluded|conjectured|found|gave"
    r"|introduced|posed|proved|showed|suggested)\b"
)
"""What others did, so no finding of this paper."""

_CONTENT = re.compile(r"[^\W\d_]{4,}|[A-Z]{2,3}")
_EMPTY = re.compile(
    "about|been|between|from|have|into|some|such|tha[nt]|the(?:ir|se|y)|th(?:is|ose|rough)|using|wh?ere|with"
)
"""Words that say nothing about what a paper is about."""

_ENDING = re.compile(
    r"[.!?…][\"'”’)\]]*\s+(?!\d+(?:, | ?\()\d)"  # no volume and page
    r"(?=[\"'“\u2018(\[]*(?:[^\W_a-z]|[a-z]-\w|[a-z]+[A-Z])|\(?(?:[a-h]|[ivx]+)\) )"
    r"|(?<=[a-z]{2})[.!?](?=[A-Z][a-z]* )|[\u3002\uff01\uff1f\u061f\u0964]\s*"
)
_SHORT_FORM = re.compile(
    r"(?:\b(?i:a\.k\.a|al|approx|ca|cf|dept|dr|e\.g|i\.e|i\.i\.d|jr|lett|mrs?|phys|prof|resp|rev|st|univ|viz|vs|w\.r\.t)"
    r"|\b(?:Acad|Adv|Amer|Anal|Ann|Appl|Arch|Astron|Astrophys|Bull|Chem|Class|Comm|Commun|Comput|Condens|Eur|Funct|Int"
    r"|Mat|Mater|Math|Mech|Mod|Mon|Ms|Mt|Nat|Natl|Not|Nucl|Proc|Rep|Sci|Ser|Soc|Stat|Theor|Trans)"
    r"|(?<![\w$])[A-Z])\.\Z"
)
_BEGINNING = re.compile(
    r"(?:A(?= [a-z])|Al(?:l|so)|Among|An|As|Assume|At|Based|Besides|Both|But|By|Consider|Denote|Each|Finally"
    r"|First|For|From|Furthermore|Given|Hence|Here|However|If|In|It|Its|Let|Moreover|Next|On|Our|Results"
    r"|Several|Since|Some|Such|Suppose|The[ny]?|Their|There|Therefore|Th[eo]se|This|Thus|To|Two|Under|Using|We"
    r"|When|With)\b"
)
_NUMBERED = re.compile(
    r"(?i)\b(?:alg|app|chap|cor|def|dim|eqn?s?|ex|figs?|lem|nos?|pp?|prop|refs?|sect?s?|tab|thm|vol|jan|feb|mar|apr|aug|sept|oct|nov|dec)\.\Z"
)
_NUMBER = re.compile(r"[\d(\[]|[B-Z]\b|[IVX]+\b")
_HEADING = re.compile(
    r"(?i)\W{0,9}(?:\d{1,2}|[a-z]|[ivx]+|(?:aim|conclusion|method|objective|result)s?|background|context)\W{0,9}"
)
"""Text up to a full stop that ends no sentence: a short form, a heading, or the number of an entry in a list.
A short form before a word of `_BEGINNING` ends one; some are short forms only before a number."""

_FINDING = re.compile(
    rf"(?i)\b(?:(?:we|i) (?:(?:{_SKIPPED.pattern}) ){{0,3}}(\w+)|(\w+) (?:how|that))\b"
)
_SUBJECT = re.compile(
    r"(?i)\b(?:and |but |here ){0,3}(?:we|i(?!\))|it(?= (?:is|was|turns) )|our)\b|\band (?=\w+ (?:how|that)\b)"
)
"""What says that something was found, and by whom: a sentence may be cut before that."""

_UNTIDY = re.compile(
    r"\(?(?:[a-z]{1,3}|been|between|from|have|into|more|such|tha[nt]|their|these|this|were|wh\w+|with|\W+"
    r"|(?:\S*[=<>≤≥±~])?[\d.,]+)"
)
"""A word that belongs to the next one, as a number to its unit: no text breaks off after it."""

_BEFORE, _AFTER = "…\u00a0", "\u00a0…"
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
    """Return the sentences of an abstract that say most, as one run of plain text with marks for what matched.

    Args:
        spans_of_reasons: for each reason to match, its places in the raw abstract.
        sentences: how many may be shown, 1 or 2, in the abstract's order; the second only if it
            adds something.
        limit: how many characters each of them may have, ellipses included.
    """
    spans = tuple(sorted({one for spans in spans_of_reasons for one in spans}))
    plain, marks = _join(show_segments(abstract, spans))
    read = _read_sentences(show_plain(title), plain)
    if not read:
        return ()
    cuts = [_cut(plain, one.place, limit) for one in read]
    scores = [
        score
        + _MATCH * any(mark.start < place.end and place.start < mark.end for mark in marks)
        + _CUT * (sentences == 1 and cut.end < place.end)
        for (place, score, *_), cut in zip(read, cuts, strict=True)
    ]
    best = max(range(len(read)), key=lambda at: (not read[at].leans, scores[at]))
    clear = [at for at, one in enumerate(read) if not one.leans or at == best + 1]
    adding = [
        at
        for at in clear
        if len(read[at].words - read[best].words) >= _LEAST_NEW * len(read[at].words) > 0
    ]
    second = max(adding, key=lambda at: scores[at], default=best)
    chosen = sorted(
        {best, second}
        if sentences > 1 and scores[second] >= scores[best] - _WORST_SECOND
        else {best}
    )
    return _mark(plain, marks, [(read[at].place, cuts[at]) for at in chosen])


def split_sentences(plain: str) -> tuple[Range, ...]:
    """Return the place of each sentence of a plain text, without the blanks between them."""
    sentences: list[Range] = []
    start = 0
    for ending in _ENDING.finditer(plain):
        stop, following = ending.start() + 1, ending.end()
        before = plain[max(start, stop - _LONGEST_SHORT_FORM) : stop]
        is_short = _SHORT_FORM.search(before) and not _BEGINNING.match(plain, following)
        is_numbered = _NUMBERED.search(before) and _NUMBER.match(plain, following)
        if not (is_short or is_numbered or _HEADING.fullmatch(plain, start, stop)):
            sentences.append(Range(start, start + len(plain[start:following].rstrip())))
            start = following
    rest = Range(start, len(plain.rstrip()))
    return (*sentences, rest) if rest.start < rest.end else tuple(sentences)


def measure_sentences(title: str, sentences: Sequence[str]) -> list[dict[str, float]]:
    """Return the signals of each sentence of an abstract, in plain text, and how strong they are, about 0 to 1."""
    named, words = _find_words(title), [_find_words(sentence) for sentence in sentences]
    shares = [len(named & one) / max(1, len(named)) for one in words]
    last, most = len(sentences) - 1, max(shares, default=0) or 1
    found_before = we_before = False
    measured: list[dict[str, float]] = []
    for at, (sentence, own) in enumerate(zip(sentences, words, strict=True)):
        signals = _find_phrases(sentence)
        finds = not signals.isdisjoint(("we find", "finds that", "results find"))
        says_we = not signals.isdisjoint(("we", "this paper"))
        alike = [
            len(own & other) / max(1, min(len(own), len(other)))
            for other in words
            if other is not own
        ]
        strengths: dict[str, float] = {
            "number": any(letter.isdigit() for letter in sentence),
            "formula": not set("=<>^≤≥±%").isdisjoint(sentence),
            "first": at == 0,
            "last but one": at == last - 1 and at > 0,
            "place": at / max(1, last),
            "first of many": at == 0 and last >= 5,  # noqa: PLR2004 - six sentences are many
            "short": max(0, 1 - len(sentence) / 90),
            "length": log(max(len(sentence), 20) / 150),
            "title": shares[at],
            "most of title": shares[at] / most,
            "new words": min(1, len(own - named) / 15),
            "like others": sum(alike) / max(1, last),
            "leans": any(
                start in signals and clear not in signals for start, clear in _LEANING.items()
            ),
            "finds first": finds and not found_before,
            "found before": found_before,
            "we first": "we" in signals and not we_before,
            "no we yet": not (we_before or says_we),
        }
        measured.append(
            {
                name: float(strength)
                for name, strength in (dict.fromkeys(signals, 1) | strengths).items()
            }
        )
        found_before, we_before = found_before or finds, we_before or says_we
    return measured


@lru_cache(_KEPT_ABSTRACTS)
def _read_sentences(title: str, plain: str) -> tuple[_Sentence, ...]:
    """Read an abstract; one paper is shown in several media and to many readers."""
    named, places = _find_words(title), split_sentences(plain)[:_MOST_READ]
    read: list[_Sentence] = []
    texts = [plain[slice(*place)] for place in places]
    for place, text, signals in zip(places, texts, measure_sentences(title, texts), strict=True):
        words = _find_words(text)
        score = sum(WEIGHTS.get(name, 0) * strength for name, strength in signals.items())
        leans = bool(
            (signals["leans"] and len(words & named) < _LEAST_NAMED) or _OTHERS.search(text)
        )
        read.append(_Sentence(place, score, words, leans))
    return tuple(read)


def _find_phrases(sentence: str) -> set[str]:
    tokens = _TOKEN.findall(sentence.lower())
    stems = [stem(token) for token in tokens]
    kinds = [
        _KINDS.get(one, one)
        for one, word in zip(stems, tokens, strict=True)
        if not _SKIPPED.fullmatch(word)
    ]
    found: set[str] = set()
    for words in (stems, kinds):
        starts = ["^" + " ".join(words[:length]) for length in (1, 2, 3)]
        triples = zip(words, words[1:], words[2:], strict=False)
        for phrase in (*words, *map(" ".join, pairwise(words)), *map(" ".join, triples), *starts):
            found.update(_SIGNALS.get(phrase, ()))
    return found


def _find_words(text: str) -> frozenset[str]:
    """Return the stems of the words that say what a text is about."""
    return frozenset(
        stem(word) for word in map(str.lower, _CONTENT.findall(text)) if not _EMPTY.fullmatch(word)
    )


def _cut(plain: str, sentence: Range, limit: int) -> Range:
    """Return what is shown of a sentence: all of it, or a part that has its finding."""
    begin, end = sentence
    if end - begin <= limit:
        return sentence
    room = limit - len(_AFTER)
    verbs = (
        (match.start(), match[1] or match[2]) for match in _FINDING.finditer(plain, begin, end)
    )
    finding = next(
        (at for at, verb in verbs if _KINDS.get(stem(verb.lower())) in {"{find}", "{get}"}), begin
    )
    subjects = [
        subject.start() for subject in _SUBJECT.finditer(plain, begin + _LATE, finding + _LATE)
    ]
    if subjects := [start for start in subjects if start <= finding]:
        begin = next((start for start in subjects if end - start <= room), subjects[-1])
        if end - begin <= _LATE:  # too little without what it ends
            begin = plain.find(" ", end - room, begin) + 1 or begin
        if end - begin <= room:
            return Range(begin, end)
        room -= len(_BEFORE)
    text = plain[begin:end]
    cuts = [
        at for at in range(room, 0, -1) if text[at] == " " and " " in text[at + 1 : -_LEAST_DROPPED]
    ]
    tidy = [
        at
        for at in cuts
        if at > room * _LEAST_TIDY and not _UNTIDY.fullmatch(text[:at].rpartition(" ")[2])
    ]
    whole = [
        at for at in tidy if sum(map(text[:at].count, "([{")) <= sum(map(text[:at].count, ")]}"))
    ]
    cut = next(iter(whole or tidy or cuts), 0) or find_cut(text, room)
    return Range(begin, begin + len(text[:cut].rstrip(" ,;:-–—")))


def _join(segments: Iterable[Segment]) -> tuple[str, list[Range]]:
    plain, marks = "", []
    for segment in segments:
        start, plain = len(plain), plain + clean_markup(segment.text)
        if segment.is_marked and start < len(plain):
            marks.append(Range(start, len(plain)))
    return plain, marks


def _mark(
    plain: str, marks: Sequence[Range], chosen: Sequence[tuple[Range, Range]]
) -> tuple[Segment, ...]:
    """Return what is shown of each sentence as one run, with an ellipsis for what is missing."""
    parts: list[Segment] = []
    written, is_cut = 0, False
    for sentence, shown in chosen:
        begins_late = shown.start > sentence.start
        skips = bool(parts and not is_cut and plain[written : sentence.start].strip())
        gap = f"{_AFTER} " if skips and not begins_late else " " if parts else ""
        parts.append(
            Segment(gap + (_BEFORE if begins_late and not is_cut else ""), is_marked=False)
        )
        written, is_cut = sentence.end, shown.end < sentence.end
        edges = sorted(
            {*shown, *(at for mark in marks for at in mark if shown.start < at < shown.end)}
        )
        parts += [
            Segment(plain[start:end], any(mark.start <= start < mark.end for mark in marks))
            for start, end in pairwise(edges)
        ]
        parts.append(Segment(_AFTER if is_cut else "", is_marked=False))
    runs = groupby((part for part in parts if part.text), key=lambda part: part.is_marked)
    return tuple(Segment("".join(part.text for part in run), is_marked) for is_marked, run in runs)
