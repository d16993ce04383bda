"""Where a paper appears and what it links to: read from comment, abstract and journal reference.

What may not be the paper's own place is left out: "submitted to", "not accepted", "a short version
appeared in". Examples beside the branches of a pattern show what each is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from typing import NamedTuple

from digest.model.papers import Paper

_VERBS = {
    "accepted at": r"accepted|camera[- ]ready",
    "to appear in": r"""
        (?:(?:to|will|shall)\s)?(?:soon\s)?(?:be\spublished|appear)     # will soon be published
        | appearing
        | in\spr(?:ess|int)                                             # in press
        | forthcoming
        """,
    "published in": "published|appears|appeared",
    "presented at": r"(?:(?:to|will)\sbe\s)?presented",
    "proceedings of": r"""
        proceedings?
        (?=
            \s(?:volume\s)?(?:of|from|for)\b                            # Proceedings of PODC
            | \s[A-Z]                                                   # Proceedings GandALF
            | \Z
        )
        | proc\.?(?=\sof\b)                                             # Proc. of PODC
        """,
}
"""What a reader reads before a place, by how authors say it; what says most comes first."""

_VERB = re.compile(
    rf"(?<![\w-])(?:{'|'.join(f'({verb})' for verb in _VERBS.values())})(?![\w-])",
    re.IGNORECASE | re.VERBOSE,
)
_UNSURE = re.compile(
    r"""
    \b
    (?:
        not|never|\w+n't                                            # not accepted
        | if|once|when|until|after|before|unless|whether            # once it is accepted
        | should|could|may|might|would|hope\w*|be
        | (?:condition|provision)al\w*|expected                     # conditionally accepted
        | submi(?:tted|ssion)(?!\s(?:\w+\s)?and\b)                  # but: submitted and accepted
        | under\sreview|pending|rejected
        | companion|erratum|corrigendum                             # an erratum was published
        | codes?|data|datasets?|software|videos?                    # code to appear
        | supplement\w*|appendix|abstract|results?|details
    )
    \b[^.;,()]*\Z
    | \b
      (?:extended|expanded|full|full-length|long(?:er)?|complete|detailed|journal)
      (?:\sand\s\w+)?\sversions?\sof\b                              # full version of a paper
    | \b
      (?:
          short(?:er|ened)?|preliminary|earl(?:y|ier)|previous|prior|abridged|condensed|reduced
          | brief|partial|conference|workshop|related|extended
      )
      \b[^;,]*\b(?:version|abstract|work|results?|report)s?\b       # a short version of this
    | \b
      (?:addendum|comment|reply|supplement|extension|parts?|report|based)\s(?:of|to|on)\b
                                                                    # comment on a paper
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What precedes a verb that is not true, not true yet, or true of another paper."""

_LEAD = re.compile(
    r"""
    (?:
        [\s:,"'“\u2018`]
        | (?:
              [aA](?!\s&)                           # in a journal, but not: A & A
              | An|journal|conference|workshop|section|track|volume|book|research
          )\s
        | (?i:
              for|at|in|to|by|on|as|into|with|the|of|from|and|an|our|be
              | appear|soon|published|publications?|publishing      # for publication in
              | presentation|oral|poster|spotlight                  # as a poster at
              | full|short|regular|long|main|papers?|talk|(?:review\s)?article|chapter
              | contribut(?:ion|ed)|inclusion|part|proceedings?
              | (?:special\s)?(?:issue|edition)                     # for the special issue of
              | manuscript|version|final|form|revised|online|upcoming|forthcoming
          )\b
        | [Pp]roc\b\.?(?!\s[A-Z][a-z]*\.)           # Proc. PODC, but not: Proc. Natl. Acad. Sci.
        | [(\d][^.;)]{0,20}?\d\)?,?\s(?=(?:for|in|by)\s)            # 3 May 2016 in
    )*
    """,
    re.VERBOSE,
)
"""What is between a verb and its place."""

_MONTH = (
    r"(?:Jan|Feb|Mar(?:ch)?|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)"
    r"(?:[a-z]*(?:ary|ril|ust|ber))?\b"
)
_AFTER_NO_SHORT_WORD = "".join(rf"(?<![A-Z][a-z]{{{letters}}})" for letters in range(1, 7))
"""No word of two to seven letters that begins with a capital precedes, as in Phys. Rev. Lett."""

_END = re.compile(
    rf"""
    \s?[;()\[\]"“”]
    | \Z
    | \s(?:-{{1,3}}|[–—])\s                         # ApJ -- 12 pages
    | (?<!Phys\.)(?<!Physics):\s                    # but: J. Phys.: Condens. Matter
    | \s(?=\d+\s*\+?\s*(?:p[ap]?g|pp|fig|table))    # PRD 12 pages

    # A full stop ends it, unless a short word precedes it: "Phys. Rev. Lett".
    | \.
      (?=
        \s*
        (?:
            \d|v\d|arXiv|http|doi|DOI|An?\s[a-z]|The\s|This|These|We\s|It\s|In\s|All\s|Our|See|Also
            | Codes?\s|Comments?\s|Version|Updated|Revised|Added|Minor|Inclu|Contain|Supple|Submi
            | Accepted|Published|Title|Fig|Soft|Source
            | \Z
            | Copyright|Correct|Extended|Final|Fixed
        )
      )
    | (?:
          (?<=[a-z]{{4}}s)(?<!phys)(?<!Condens)     # ApJ Letters. Videos at the end
          | (?<=Matter)
      )
      \.(?!\w)
    | (?<!\b[A-Z]){_AFTER_NO_SHORT_WORD}\.(?!\w)

    | ,
      (?!
        \s(?:19|20)\d\d\b                           # but: SIGMOD, 2016
        | \s(?:[A-Z][\w-]+,?\s){{0,2}}and\s(?:the\s)?[A-Z]          # but: Graphs, Games and Codes
      )
    | \s(?:on\s|in\s)?(?:\d{{4}}\s)?(?:\d\d?\w*\s)?{_MONTH}         # PRD on 3 May
    | \s(?:on|in)\s(?=\d)                           # PRD in 2016
    | (?<=\d\d\d\d)\sin\s                           # ICML 2016 in New York

    # A word in small letters ends it, unless it is short or stands in names of places.
    | \s
      (?!
        (?!(?:as|by|has|is|it|our|pp|see|via|was|we)\b)[a-z]{{1,3}}\b
        | from|workshop|conference|proceedings|symposium|track
        | journal|letters?|review|special|issue|section|school|meeting
        | physics|sciences?|theory|matter|mechanics|systems|research
        | [ld]['’]|f\S*[uü]r|reine|angewandte       # J. für reine und angewandte Math.
        | [&A-Z\d'’`\\]
      )
    """,
    re.VERBOSE,
)
_LOOSE = re.compile(
    r"""
    (?:
        [\s,:.'’`&+-]
        | \s(?:[Vv]ol(?:ume)?|[Nn]o|[a-z]{1,4})     # PRD vol
    )+
    \Z
    """,
    re.VERBOSE,
)
"""What is left at the end of a place and belongs to what follows."""

_NAME = re.compile(
    rf"""
    (?!{_MONTH})
    (?!
      (?i:
        arxiv|hal\b|zenodo|researchgate|github|biorxiv
        | eq|fig|ref|v\d|cc\b|doi|is[sb]n|[la]?tex|revtex
        | (?:
              springer|elsevier|ieee|acm|aip|iop|aps|ams|press
              | conference|journal|workshop|handbook|letters|published|accepted|version|as|i+|v
          )
          \Z
      )
    )
    (?=.*(?:[A-Za-z]{{2}}|&))
    (?:
        [A-Z]
        | \d+(?:st|nd|rd|th|D)?[ ][A-Z]             # 12th Conference, 2D Materials
        | npj[ ]                                    # npj Quantum Information
        | [a-z]{{1,2}}[A-Z]                         # eLife
    )
    """,
    re.VERBOSE,
)
"""How a place begins: with a capital letter or a number. A publisher alone is none."""

_LETTERS = re.compile(rf"\s*\((?!{_MONTH}|[vV]\d)([A-Z][\w&'’\s-]{{1,23}})\)")
"""The letters of a place in parentheses: `(ICML 2016)`."""

_WORDS_BEFORE = r"(?:[A-Z][\w&.-]*|of|the|and|in|on|for|&)"
_BEFORE = re.compile(
    rf"""
    (?:\A|[\s(])
    ({_WORDS_BEFORE}(?:\s(?:{_WORDS_BEFORE}|\d+))*)
    (?:
        ,\s                                         # Phys. Rev. B, in press
        | \s\(                                      # Phys. Rev. B (in press)
        | (?<=[A-Z]..)\s|(?<=[A-Z].)\s|(?<=[A-Z])\s # PRB in press
    )
    (?:conference\s)?\Z
    """,
    re.VERBOSE,
)
"""A place that precedes its verb: "Phys. Rev. B, in press"."""

_BARE = re.compile(
    rf"""
    (?:\A|[.;,(]\s?|\b(?:in|at)\s)
    (?!{_MONTH})
    (
        (?:Findings\sof\s)?
        (?:[A-Z][\w/]*\s)?                          # IEEE ICRA 2016
        (?!\w*TeX|JPEG|MSC|AMS|PACS|IS[SB]N|PDG|SDSS|LHC|CMS|ATLAS|DOI)
        [A-Z][\w&/-]{{0,30}}[A-Z][\w&/-]{{0,30}}    # ICML
        [\s–-]?
        (?:
            (?:19|20)\d\d                           # 2016
            | (?:\s?['’]|(?<=[AC]AI)-)\d\d          # '16, or AAAI-24
        )
        (?:
            \s(?i:oral|spotlight|highlight|poster|main|findings|workshop|camera[- ]ready)
            (?:\s[^.;,()]{{1,44}})?                 # Workshop on Graphs
        )?
    )
    (?=\s*(?:\Z|[.;,()]))
    """,
    re.VERBOSE,
)
"""A conference by its letters and year alone: "ICML 2016"."""

_MARKUP = re.compile(
    r"""
    \\(?:text(?:bf|it|tt)|emph|bf|it|em|tt|url)\b\s*    # \emph{ICML}
    | [{}~]
    | (?<!\\)\$
    | (?:[(\[<]\s*)?https?:\S+                          # (https://x.org
    """,
    re.VERBOSE,
)
_NO_PLACE_IN_REFERENCE = re.compile(r"(?i)submi|accept|appear|\bpress|\A\w+, [A-Z]\.")
"""A journal reference that says what comes, or begins with an author's name."""
_NO_BARE_PLACE = re.compile("(?i)submi|review|reject|thesis")
_SENTENCE_END = re.compile(r"[.;]\s")

_LONGEST_PLACE = 60
_NEAR = 400
"""Letters around a verb that are read.

`_UNSURE`, `_END`, `_LOOSE` and `_BEFORE` would be slow with many.
"""

_HTML_SINCE = 202312  # arXiv shows papers as HTML from the ids of this month on

_HOSTS = {
    "Data": r"""
        zenodo\.org
        | osf\.io
        | (?:[\w-]{1,63}\.)?figshare\.com
        | kaggle\.com
        | data(?:dryad|verse)[\w.-]*                    # datadryad.org, dataverse.harvard.edu
        | data\.mendeley\.com
        | (?:dx\.)?doi\.org/10\.(?:5281|6084|17605|5061|7910|17632)     # doi.org/10.5281/zenodo.1
        | (?:huggingface|hf)\.co/datasets
        """,
    "Code": r"""
        (?:gist\.|raw\.)?github(?:usercontent)?\.com    # gist.github.com
        | (?:[\w-]{1,63}\.){0,5}gitlab(?:\.[\w-]+){1,5} # gitlab.cern.ch
        | bitbucket\.org
        | sr\.ht
        | codeberg\.org
        | (?:[\w-]{1,63}\.)?sourceforge\.(?:net|io)
        | anonymous\.4open\.science
        | pypi\.org
        | cran\.r-project\.org
        | ascl\.net
        | colab\.research\.google\.com
        | (?:huggingface|hf)\.co
        """,
    "Project page": r"""
        [\w-]{1,63}\.git(?:hub|lab)\.io                 # lee.github.io
        | sites\.google\.com
        | [\w-]{1,63}\.readthedocs\.(?:io|org)
        """,
}
"""What is at an address -> the hosts that say so."""

_WORDS = {
    "Code": r"""
        codes?|software|implementations?|packages?|library|toolbox|scripts?|repository|programs?
        """,
    "Data": r"data|data-?sets?|databases?|catalogu?es?|corpus|corpora|benchmarks?",
    "Project page": r"project|home[ -]?page|our[ ]web[ -]?(?:page|site)",
}
"""What is at an address -> the words before it that say so."""

_WORD = re.compile(
    "|".join(rf"\b({words})\b" for words in _WORDS.values()), re.IGNORECASE | re.VERBOSE
)
_HOST = re.compile(
    rf"(?:www\.)?(?:{'|'.join(f'({hosts})' for hosts in _HOSTS.values())})(?![\w.@:-])",
    re.IGNORECASE | re.VERBOSE,
)
_ADDRESS = re.compile(
    rf"""
    (?:
        https?://
        | (?<![\w./@-])(?=[\w.-]+/)(?={_HOST.pattern})      # github.com/lee/fast
    )
    (?:(?!https?://)[^\s<>"{{}}|^`\u200b\u3002\uff09\uff0c\uff1a\uff1b]){{1,900}}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PLAIN = re.compile(
    r"""
    (https?)://
    (?!(?:\w+\.)*(?:arxiv|creativecommons)\.org\b)
    (?:[a-z0-9-]+\.)+[a-z]{2,}                              # github.com
    (?::\d{1,5})?
    (?P<path>(?:[/?#][\w.~:/?#@!$&'()*+,;=%\[\]-]{0,200})?) # /lee/fast
    """,
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)
"""An address that is safe to print, but of arXiv and of licences."""

_TEX = (
    (re.compile(r"\\href\s*\{([^{}]*)\}"), r" \1 "),
    (re.compile(r"\\~(?:\{\})?|\\textasciitilde(?:\{\})?|\$?\\sim\$?"), "~"),
    (re.compile(r"\\([_%#&])"), r"\1"),
    # A broken line.
    (re.compile(r"(https?://(?:(?:www\.)?git(?:hub|lab)\.com/)?)\s+(?=[\w-]+[./]\w)"), r"\1"),
)
"""TeX in addresses, and what it prints."""

_LOOSE_SIGNS = (*".,;:!?*$'\"\\]>…’”", "'s", "’s")
"""What may follow an address and does not belong to it."""


def find_place(paper: Paper) -> str:
    """Return where a paper appears, as its journal reference or its comment says.

    `accepted at PRB`, `ICML 2016`. The place has at most 60 characters, with TeX as written; "" if
    neither says one.
    """
    reference = " ".join(paper.journal_ref.split())
    if reference and not _NO_PLACE_IN_REFERENCE.search(reference):
        whole = f"published in {reference.rstrip(' .;,')}"
        return whole if len(reference) <= _LONGEST_PLACE else _read_place(whole)
    return _read_place(reference) or _read_place(paper.comment)


def _read_place(text: str) -> str:
    text = " ".join(_MARKUP.sub(" ", text.replace("\\&", "&")).split())
    found: dict[str, str] = {}
    for match in _VERB.finditer(text):
        verb = _name_group(_VERBS, match)
        before = _cut_before(text, match.start())
        place = _cut_place(text[match.end() : match.end() + _NEAR])
        if not place and verb in ("accepted at", "to appear in"):
            place = _cut_place("".join(_BEFORE.findall(before)))
        if place and _is_sure(before):
            found.setdefault(verb, f"{verb} {place}")
    for verb in _VERBS:
        if verb in found:
            return found[verb]
    return _read_bare_place(text)


def _read_bare_place(text: str) -> str:
    """Return a conference by its letters and year alone; "" for none."""
    if _NO_BARE_PLACE.search(text):
        return ""
    bare = _BARE.search(text)
    if bare is None or not _is_sure(_cut_before(text, bare.start(1))):
        return ""
    return bare[1]


def _name_group(names: Iterable[str], match: re.Match[str]) -> str:
    """Return which of the names, one for each group of a pattern, was found."""
    return list(names)[(match.lastindex or 1) - 1]


def _cut_before(text: str, place: int) -> str:
    return text[max(place - _NEAR, 0) : place]


def _is_sure(before: str) -> bool:
    return not _UNSURE.search(_cut_last_sentence(before))


def _cut_last_sentence(text: str) -> str:
    return _SENTENCE_END.split(text)[-1]


def _cut_place(text: str) -> str:
    """Return the place that a text begins with, or its letters and year in parentheses."""
    start = _LEAD.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too
    end = _END.search(text, start).start()  # type: ignore[union-attr]  # a text has an end
    written = text[start:end]
    letters = _LETTERS.match(text, end)
    if letters is not None:
        has_figure = re.search(r"\d", letters[1]) is not None
        if has_figure or len(written) > _LONGEST_PLACE:
            written = letters[1]
    place = _LOOSE.sub("", written).strip(" '’`\"")
    if len(place) > _LONGEST_PLACE:
        last_blank = place.rfind(" ", 0, _LONGEST_PLACE - 1)
        place = _LOOSE.sub("", place[:last_blank]) + " …"
    return place if _NAME.match(place) else ""


@dataclass(frozen=True, slots=True)
class Link:
    """An address that a paper names: what is there, and where.

    `label` is `HTML`, `Code`, `Data` or `Project page`.
    """

    label: str
    url: str


def find_links(paper: Paper) -> tuple[Link, ...]:
    """Return what a paper's id, abstract and comment link to beside its PDF, one address of a kind.

    Code and data are known by their host, or by the words before them. Any other address is left
    out.
    """
    found: dict[str, str] = {}
    if not paper.is_withdrawn and not paper.id.archive and paper.id.month >= _HTML_SINCE:
        found["HTML"] = f"https://arxiv.org/html/{paper.id}v{paper.version}"
    named = list(_read_links(f"{paper.abstract}\n{paper.comment}"))
    by_host = [one.link for one in named if one.is_by_host]
    by_words = [one.link for one in named if not one.is_by_host]
    for link in (*by_host, *by_words):
        if link.url not in found.values():
            found.setdefault(link.label, link.url)
    return tuple(Link(label, found[label]) for label in ("HTML", *_WORDS) if label in found)


class _NamedLink(NamedTuple):
    """An address in a text, and whether its host says what it is, or only words do."""

    link: Link
    is_by_host: bool


def _read_links(text: str) -> Iterator[_NamedLink]:
    text = unescape(text)
    for pattern, written in _TEX:
        text = pattern.sub(written, text)
    end = 0
    for match in _ADDRESS.finditer(text):
        before = text[max(end, match.start() - 80) : match.start()]
        end = match.end()
        url = _trim_address(match[0] if "://" in match[0] else f"https://{match[0]}")
        plain = _PLAIN.fullmatch(url)
        if plain is None:
            continue
        host = _HOST.match(url, plain.end(1) + len("://"))
        label = _label_address(host, _cut_last_sentence(before))
        has_path = plain["path"].strip("/") != ""
        if label and (has_path or host is None or label == "Project page"):
            yield _NamedLink(Link(label, url), is_by_host=host is not None)


def _trim_address(url: str) -> str:
    """Return an address without the signs after it that do not belong to it."""
    while True:
        is_unopened = url.endswith(")") and url.count(")") > url.count("(")
        if not is_unopened and not url.endswith(_LOOSE_SIGNS):
            return url
        url = url[:-1]


def _label_address(host: re.Match[str] | None, before: str) -> str:
    """Return what is at an address, by its host and the words before it; "" if nothing says it."""
    said = [_name_group(_WORDS, word) for word in _WORD.finditer(before)]
    if host is None:
        return said[0] if said else ""
    label = _name_group(_HOSTS, host)
    # People keep data where others keep code, and say so.
    if label in ("Code", "Data") and said and label not in said and said[0] in ("Code", "Data"):
        return said[0]
    return label
