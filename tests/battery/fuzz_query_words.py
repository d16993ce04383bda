"""What queries are made of when they are made to be refused.

Each list is a few lines of pieces parted by bars.
"""

from __future__ import annotations

from typing import Final


def _split(*lines: str) -> tuple[str, ...]:
    return tuple(piece for line in lines for piece in line.split("|"))


PREFIXES: Final = _split(
    "ti:|abs:||all:|co:|jr:|rn:|au:|author:",
    "cat:|id:|doi:|submittedDate:|lastUpdatedDate:|title:|arXiv:|TI:",
    "Abs:|CAT:|foo:|authors:|date:|:|ti::|ti:au:|submittedDate:[|x-y:|http:|orcid:",
)
WORDS: Final = _split(
    "gpu|GPUs|tail|latency|the|of|and|generative|transf*|self-superv*|self-supervised",
    "C++|k-means|3.14|10:30|e.g.|don't|cs.PF|hep-th|x|y1|z2|a|A|_|__|snake_case|*|?|gr*ph|&c",
    "Newton's|Schrödinger|größe|ﬁnite|机器学习|हिन्दी|ω|İstanbul|ß|e\u0301tale|soft\u00adhyphen",
    r"why?|++|&|…|$k$|$\mu$path|\'e|\"{o}|{x}|\textbf{x}|$|\|~|^|`|''|#|%|@|<b>|&amp;|-|--|-x|—",
    "\x00|−x|or-gate|AND-gate",
    "🙂|\u200b|\u202e|\ufeff|\ud800|\U000e0001|\u2028",
)
NAMES: Final = _split(
    "smith|Smith,J|smith_j|del_maestro|J.-P. Serre|Keiko Lindquell|Lindquell, Keiko M.|O'Neill",
    "van der Berg, Jan|李 明|K.",
    'Pınar Tözün|de|Jr.|Smith, J., Jr.|NASA|H1 Collaboration|x_|_x|,|,,|a,b,c|Müller|M{\\"u}ller',
    "Sm*|*|smit*, j|et al|ʼ|ʼ Smith|Igorʼ Tyutin|`Ali Jose´|H. -W. Braun|Joseʼ Carlos N. de Araujo",
)
CATEGORIES: Final = _split(
    "cs.PF|CS.pf|cs.NA|math.NA|math.MP|cs|cs.*|cs.|cs.c*|hep-th|astro-ph",
    "astro-ph*|cmp-lg|zz.zz|I.2.6|*|*.PF|q-bio.|.|-|c*",
)
IDS: Final = _split(
    "2603.10026|2603.10026v2|hep-th/9901001|math.GT/0309136|2613.10026|26.1",
    "arXiv:2603.10026v0|2603.10026v999999999999",
    "https://arxiv.org/abs/2603.10026|10.1103/PhysRevLett.116.061102|10.1016/0370-2693(93)90001-T",
    "10.1/(|10./x|10.1000/x*",
)
DATES: Final = _split(
    "[2024 TO 2025]|[202401 TO 20240131]|[* TO 2024]|[2024 TO *]|[* TO *]|[2025 TO 2024]",
    "[20240230 TO 2025]|[2024]|[|[]",
    "[2024-01-01 TO 2024-02-01]|[1985 TO 1990]|[0000 TO 9999]|[9999 TO 9999]|[2024 TO 2025",
    "20240101*|[202401012460 TO 2025]",
    "[٢٠٢٤ TO 2025]|[2024 to 2025]|[2024  TO  2025]|[2024 TO 2025]]",
    "[20240101000000 TO 20250101000000]",
)
OPERATORS: Final = _split(
    " AND | OR | ANDNOT | NOT | and | or | Not | | |\n|\r\n|\t",
    " AND NOT | OR NOT | AND AND | || | && |, ",
)
SIGNS: Final = _split(
    "(|)|\"|'|[|]|*|?|:|-|,|;|.|/|\\|$",
    '{|}|+|%|&|=|#|\x00|\x7f|\u00a0|\u2003|\n|\ud83d|((|))|""|()|NOT ',
)

ADDRESSES: Final = (
    "https://export.arxiv.org/api/query?search_query=cat:cs.PF+AND+abs:%22tail%20latency%22&start=0&max_results=10",
    "http://export.arxiv.org/api/query?search_query=au:del_maestro&id_list=2603.10026,hep-th/9901001v2",
    "export.arxiv.org/api/query?id_list=2603.10026,2603.10027&sortBy=lastUpdatedDate",
    "https://arxiv.org/search/?query=graph+%22neural+network%22&searchtype=title&source=header",
    "https://arxiv.org/search/cs?query=Smith%2C+J%3B+T%C3%B6z%C3%BCn&searchtype=author&order=-announced_date_first",
    (
        "https://arxiv.org/search/advanced?"
        "advanced=&terms-0-operator=AND&terms-0-term=tail+latency&terms-0-field=title"
        "&terms-1-operator=OR&terms-1-term=GPU&terms-1-field=abstract"
        "&terms-2-operator=NOT&terms-2-term=cloud"
        "&terms-2-field=all&classification-computer_science=y&classification-physics=y"
        "&classification-physics_archives=hep-th"
        "&classification-include_cross_list=exclude&date-year=2024"
        "&date-filter_by=date_range&date-from_date=2024-01-01&date-to_date="
        "&date-date_type=submitted_date"
    ),
    "https://arxiv.org/a/warner_s_1",
    "arxiv.org/a/0000-0002-7970-7855.atom",
    "https://arxiv.org/list/cs.PF/new",
    "https://rss.arxiv.org/rss/cs.PF+cs.DC",
    "<https://arxiv.org/abs/2603.10026v2>",
    "https://arxiv.org/pdf/hep-th/9901001.pdf",
    "https://arxiv.org/help",
    "search_query=cat:cs.PF+AND+abs:%22tail%20latency%22&id_list=&start=0&max_results=10",
    "(au:Lindquell+OR+au:%22Percy%2520Smith%22)+ANDNOT+cat:cs.PF",
    "cs.PF+cs.DC, math.NA AND ti: C%2B%2B",
)
LISTS: Final = (
    "Keiko Lindquell\nSmith, J.\nK. M. van Foo",
    "John Smith\nJane Doe\n\nDai, Dong,\r\n",
    "Graph Neural\nNetwork Performance",
    "cat:cs.PF\nAND abs:gpu",
    "\n".join(
        f"Lindquell, K{'abcdefghij'[number % 10] * (1 + number // 10)}" for number in range(505)
    ),
)
