"""Where a paper appears and what it links to, read from its authors' comment, abstract and journal reference.

What may not be the paper's own place is left out: "submitted to", "not accepted", "a short version
appeared in".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from digest.model.papers import Paper

_VERBS = {
    "accepted at": r"accepted|camera[- ]ready",
    "to appear in": r"(?:(?:to|will|shall)\s)?(?:soon\s)?(?:be\spublished|appear)|appearing|in\spr(?:ess|int)"
    "|forthcoming",
    "published in": "published|appears|appeared",
    "presented at": r"(?:(?:to|will)\sbe\s)?presented",
    "proceedings of": r"proceedings?(?=\s(?:volume\s)?(?:of|from|for)\b|\s[A-Z]|\Z)|proc\.?(?=\sof\b)",
}
"""What a reader reads before a place, by how authors say it; what says most comes first."""

_VERB = re.compile(
    rf"(?<![\w-])(?:{'|'.join(f'({verb})' for verb in _VERBS.values())})(?![\w-])", re.IGNORECASE
)
_UNSURE = re.compile(
    r"\b(?:not|never|\w+n't|if|once|when|until|after|before|unless|whether|should|could|may|might|would|hope\w*|be"
    r"|(?:condition|provision)al\w*|expected|submi(?:tted|ssion)(?!\s(?:\w+\s)?and\b)|under\sreview|pending|rejected"
    r"|companion|erratum|corrigendum|codes?|data|datasets?|software|videos?|supplement\w*|appendix|abstract|results?|details)\b[^.;,()]*\Z"
    r"|\b(?:extended|expanded|full|full-length|long(?:er)?|complete|detailed|journal)(?:\sand\s\w+)?\sversions?\sof\b"
    r"|\b(?:short(?:er|ened)?|preliminary|earl(?:y|ier)|previous|prior|abridged|condensed|reduced|brief|partial"
    r"|conference|workshop|related|extended)\b[^;,]*\b(?:version|abstract|work|results?|report)s?\b"
    r"|\b(?:addendum|comment|reply|supplement|extension|parts?|report|based)\s(?:of|to|on)\b",
    re.IGNORECASE,
)
"""What precedes a verb that is not true, not true yet, or true of another paper."""

_LEAD = re.compile(
    r"""(?:[\s:,"'“\u2018`]|(?:[aA](?!\s&)|An|journal|conference|workshop|section|track|volume|book|research)\s"""
    r"|(?i:for|at|in|to|by|on|as|into|with|the|of|from|and|an|our|be|appear|soon|published|publications?|publishing"
    r"|presentation|oral|poster|spotlight|full|short|regular|long|main|papers?|talk|(?:review\s)?article|chapter"
    r"|contribut(?:ion|ed)|inclusion|part|proceedings?|(?:special\s)?(?:issue|edition)|manuscript|version|final|form"
    r"|revised|online|upcoming|forthcoming)\b|[Pp]roc\b\.?(?!\s[A-Z][a-z]*\.)|[(\d][^.;)]{0,20}?\d\)?,?\s(?=(?:for|in|by)\s))*"
)
_MONTH = r"(?:Jan|Feb|Mar(?:ch)?|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)(?:[a-z]*(?:ary|ril|ust|ber))?\b"
_END = re.compile(
    r"""\s?[;()\[\]"“”]|\Z|\s(?:-{1,3}|[–—])\s|(?<!Phys\.)(?<!Physics):\s|\s(?=\d+\s*\+?\s*(?:p[ap]?g|pp|fig|table))"""
    # A full stop ends it, unless a short word precedes it: "Phys. Rev. Lett".
    r"|\.(?=\s*(?:\d|v\d|arXiv|http|doi|DOI|An?\s[a-z]|The\s|This|These|We\s|It\s|In\s|All\s|Our|See|Also|Codes?\s"
    r"|Comments?\s|Version|Updated|Revised|Added|Minor|Inclu|Contain|Supple|Submi|Accepted|Published|Title|Fig|Soft|Source|\Z"
    r"|Copyright|Correct|Extended|Final|Fixed))|(?:(?<=[a-z]{4}s)(?<!phys)(?<!Condens)|(?<=Matter))\.(?!\w)"
    rf"|(?<!\b[A-Z]){''.join(rf'(?<![A-Z][a-z]{{{letters}}})' for letters in range(1, 7))}\.(?!\w)"
    r"|,(?!\s(?:19|20)\d\d\b|\s(?:[A-Z][\w-]+,?\s){0,2}and\s(?:the\s)?[A-Z])"
    rf"|\s(?:on\s|in\s)?(?:\d{{4}}\s)?(?:\d\d?\w*\s)?{_MONTH}|\s(?:on|in)\s(?=\d)|(?<=\d\d\d\d)\sin\s"
    r"|\s(?!(?!(?:as|by|has|is|it|our|pp|see|via|was|we)\b)[a-z]{1,3}\b|from|workshop|conference|proceedings|symposium|track"
    r"|journal|letters?|review|special|issue|section|school|meeting|physics|sciences?|theory|matter|mechanics|systems"
    r"|research|[ld]['’]|f\S*[uü]r|reine|angewandte|[&A-Z\d'’`\\])"
)
_LOOSE = re.compile(r"(?:[\s,:.'’`&+-]|\s(?:[Vv]ol(?:ume)?|[Nn]o|[a-z]{1,4}))+\Z")
_NAME = re.compile(
    rf"(?!{_MONTH})(?!(?i:arxiv|hal\b|zenodo|researchgate|github|biorxiv|eq|fig|ref|v\d|cc\b|doi|is[sb]n|[la]?tex|revtex"
    r"|(?:springer|elsevier|ieee|acm|aip|iop|aps|ams|press|conference|journal|workshop|handbook|letters|published"
    r"|accepted|version|as|i+|v)\Z))"
    r"(?=.*(?:[A-Za-z]{2}|&))(?:[A-Z]|\d+(?:st|nd|rd|th|D)? [A-Z]|npj |[a-z]{1,2}[A-Z])"
)
"""How a place begins: with a capital letter or a number. A publisher alone is none."""

_LETTERS = re.compile(rf"\s*\((?!{_MONTH}|[vV]\d)([A-Z][\w&'’\s-]{{1,23}})\)")
_WORDS_BEFORE = r"(?:[A-Z][\w&.-]*|of|the|and|in|on|for|&)"
_BEFORE = re.compile(
    rf"(?:\A|[\s(])({_WORDS_BEFORE}(?:\s(?:{_WORDS_BEFORE}|\d+))*)(?:,\s|\s\(|(?<=[A-Z]..)\s|(?<=[A-Z].)\s|(?<=[A-Z])\s)"
    r"(?:conference\s)?\Z"
)
"""A place that precedes its verb: "Phys. Rev. B, in press"."""

_BARE = re.compile(
    rf"(?:\A|[.;,(]\s?|\b(?:in|at)\s)(?!{_MONTH})((?:Findings\sof\s)?(?:[A-Z][\w/]*\s)?"
    r"(?!\w*TeX|JPEG|MSC|AMS|PACS|IS[SB]N|PDG|SDSS|LHC|CMS|ATLAS|DOI)"
    r"[A-Z][\w&/-]{0,30}[A-Z][\w&/-]{0,30}[\s–-]?(?:(?:19|20)\d\d|(?:\s?['’]|(?<=[AC]AI)-)\d\d)"
    r"(?:\s(?i:oral|spotlight|highlight|poster|main|findings|workshop|camera[- ]ready)(?:\s[^.;,()]{1,44})?)?)"
    r"(?=\s*(?:\Z|[.;,()]))"
)
"""A conference by its letters and year alone: "ICML 2016"."""

_MARKUP = re.compile(
    r"\\(?:text(?:bf|it|tt)|emph|bf|it|em|tt|url)\b\s*|[{}~]|(?<!\\)\$|(?:[(\[<]\s*)?https?:\S+"
)
_LONGEST_PLACE = 60
_NEAR = 400
"""Letters around a verb that are read: `_UNSURE`, `_END`, `_LOOSE` and `_BEFORE` would be slow with many."""

_HTML_SINCE = 202312  # arXiv shows papers as HTML from the ids of this month on

_HOSTS = {
    "Data": r"zenodo\.org|osf\.io|(?:[\w-]{1,63}\.)?figshare\.com|kaggle\.com|data(?:dryad|verse)[\w.-]*"
    r"|data\.mendeley\.com|(?:dx\.)?doi\.org/10\.(?:5281|6084|17605|5061|7910|17632)|(?:huggingface|hf)\.co/datasets",
    "Code": r"(?:gist\.|raw\.)?github(?:usercontent)?\.com|(?:[\w-]{1,63}\.){0,5}gitlab(?:\.[\w-]+){1,5}"
    r"|bitbucket\.org|sr\.ht|codeberg\.org|(?:[\w-]{1,63}\.)?sourceforge\.(?:net|io)|anonymous\.4open\.science|pypi\.org"
    r"|cran\.r-project\.org|ascl\.net|colab\.research\.google\.com|(?:huggingface|hf)\.co",
    "Project page": r"[\w-]{1,63}\.git(?:hub|lab)\.io|sites\.google\.com|[\w-]{1,63}\.readthedocs\.(?:io|org)",
}
_WORDS = {
    "Code": r"codes?|software|implementations?|packages?|library|toolbox|scripts?|repository|programs?",
    "Data": r"data|data-?sets?|databases?|catalogu?es?|corpus|corpora|benchmarks?",
    "Project page": r"project|home[ -]?page|our web[ -]?(?:page|site)",
}
_WORD = re.compile("|".join(rf"\b({words})\b" for words in _WORDS.values()), re.IGNORECASE)
_HOST = re.compile(
    rf"(?:www\.)?(?:{'|'.join(f'({hosts})' for hosts in _HOSTS.values())})(?![\w.@:-])",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    rf"(?:https?://|(?<![\w./@-])(?=[\w.-]+/)(?={_HOST.pattern}))"
    r"(?:(?!https?://)[^\s<>\"{}|^`\u200b\u3002\uff09\uff0c\uff1a\uff1b]){1,900}",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"(https?)://(?!(?:\w+\.)*(?:arxiv|creativecommons)\.org\b)(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d{1,5})?"
    r"(?P<path>(?:[/?#][\w.~:/?#@!$&'()*+,;=%\[\]-]{0,200})?)",
    re.IGNORECASE | re.ASCII,
)
_TEX = (
    (re.compile(r"\\href\s*\{([^{}]*)\}"), r" \1 "),
    (re.compile(r"\\~(?:\{\})?|\\textasciitilde(?:\{\})?|\$?\\sim\$?"), "~"),
    (re.compile(r"\\([_%#&])"), r"\1"),
    (
        re.compile(r"(https?://(?:(?:www\.)?git(?:hub|lab)\.com/)?)\s+(?=[\w-]+[./]\w)"),
        r"\1",
    ),  # a broken line
)
_LOOSE_SIGNS = (*".,;:!?*$'\"\\]>…’”", "'s", "’s")


def find_place(paper: Paper) -> str:
    """Return where a paper appears, as its journal reference or its comment says: `accepted at PRB`, `ICML 2016`.

    The place has at most 60 characters, with TeX as written; "" if neither says one.
    """
    reference = " ".join(paper.journal_ref.split())
    if reference and not re.search(r"(?i)submi|accept|appear|\bpress|\A\w+, [A-Z]\.", reference):
        whole = f"published in {reference.rstrip(' .;,')}"
        return whole if len(reference) <= _LONGEST_PLACE else _read_place(whole)
    return _read_place(reference) or _read_place(paper.comment)


def _read_place(text: str) -> str:
    text = " ".join(_MARKUP.sub(" ", text.replace("\\&", "&")).split())
    found: dict[str, str] = {}
    for match in _VERB.finditer(text):
        verb = list(_VERBS)[(match.lastindex or 1) - 1]
        before = text[max(match.start() - _NEAR, 0) : match.start()]
        place = _cut_place(text[match.end() : match.end() + _NEAR])
        if not place and verb in ("accepted at", "to appear in"):
            place = _cut_place("".join(_BEFORE.findall(before)))
        if place and _is_sure(before):
            found.setdefault(verb, f"{verb} {place}")
    bare = None if re.search("(?i)submi|review|reject|thesis", text) else _BARE.search(text)
    if not found and bare and _is_sure(text[max(bare.start(1) - _NEAR, 0) : bare.start(1)]):
        return bare[1]
    return next((found[verb] for verb in _VERBS if verb in found), "")


def _is_sure(before: str) -> bool:
    return not _UNSURE.search(re.split(r"[.;]\s", before)[-1])


def _cut_place(text: str) -> str:
    """Return the place that a text begins with, or its letters and year in parentheses; "" for none."""
    start = _LEAD.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too
    end = _END.search(text, start).start()  # type: ignore[union-attr]  # a text has an end
    letters = _LETTERS.match(text, end)
    is_better = letters and (end - start > _LONGEST_PLACE or re.search(r"\d", letters[1]))
    place = _LOOSE.sub("", letters[1] if letters and is_better else text[start:end]).strip(" '’`\"")
    if len(place) > _LONGEST_PLACE:
        place = _LOOSE.sub("", place[: place.rfind(" ", 0, _LONGEST_PLACE - 1)]) + " …"
    return place if _NAME.match(place) else ""


@dataclass(frozen=True, slots=True)
class Link:
    """An address that a paper names: what is there (`HTML`, `Code`, `Data`, `Project page`), and where."""

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
    for _, label, url in sorted(
        _read_links(f"{paper.abstract}\n{paper.comment}"), key=lambda one: one[0]
    ):
        if url not in found.values():
            found.setdefault(label, url)
    return tuple(Link(label, found[label]) for label in ("HTML", *_WORDS) if label in found)


def _read_links(text: str) -> Iterator[tuple[bool, str, str]]:
    """Yield whether only words say what an address is, what it is, and the address."""
    text = unescape(text)
    for pattern, written in _TEX:
        text = pattern.sub(written, text)
    end = 0
    for match in _ADDRESS.finditer(text):
        before, end = text[max(end, match.start() - 80) : match.start()], match.end()
        url = match[0] if "://" in match[0] else f"https://{match[0]}"
        while url.endswith(_LOOSE_SIGNS) or (url.endswith(")") and url.count(")") > url.count("(")):
            url = url[:-1]
        said = [
            list(_WORDS)[(word.lastindex or 1) - 1]
            for word in _WORD.finditer(re.split(r"[.;]\s", before)[-1])
        ]
        if (plain := _PLAIN.fullmatch(url)) is None:
            continue
        host = _HOST.match(url, plain.end(1) + len("://"))
        label = list(_HOSTS)[(host.lastindex or 1) - 1] if host else next(iter(said), "")
        if host and label in ("Code", "Data") and said and label not in said:
            label = said[0] if said[0] in ("Code", "Data") else label
        if label and (plain["path"].strip("/") or not host or label == "Project page"):
            yield host is None, label, url
