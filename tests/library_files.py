"""Libraries as programs and databases export them, and which papers they hold."""

from __future__ import annotations

import json
from typing import Final

QUEUES = "Queues in the tail: how latency grows"
STARS = "Cold stars near the Sun"
ID = "2101.00001"
DOI = "10.1093/mnras/stz123"

Expected = list[tuple[str, str, str, str]]
"""Of each paper: title, id, DOI, abstract."""

WOS = f"""FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Berg, A
   Stein, B
TI Queues in the tail: how
   latency grows
SO PERFORMANCE EVALUATION
AB Latency grows.
   Queues are why.
C1 [Berg, A] Univ Bern, Bern, Switzerland.
CR Ahn C, 2017, ARXIV, DOI 10.48550/arXiv.1901.11111
   Boe D, 2018, J QUEUES, V1, P2, DOI 10.1000/cited
   Coe E, 2019, arXiv:1905.00005
NR 3
DI {DOI}
UT WOS:000412345600001
ER

PT J
TI {STARS}
CR Doe F, 2011, NATURE, V1, P2, DOI 10.1000/other
ER

EF
"""
NBIB = f"""
PMID- 33333333
OWN - NLM
STAT- MEDLINE
DP  - 2021 Jan 4
TI  - Queues in the tail: how
      latency grows
PG  - 1004-1012
LID - {DOI} [doi]
AB  - Latency grows.
      Queues are why.
FAU - Berg, Anna
CIN - Lancet. 2021 Feb;1(2):3. doi: 10.1000/comment. PMID: 1
AID - S0140-6736(20)1 [pii]
AID - {DOI} [doi]
SO  - Lancet. 2021 Jan 4;1:1004-1012. doi: {DOI}.

PMID- 33333334
TI  - Cold stars near the Sun.
JT  - ArXiv
AID - arXiv:{ID}v2 [pii]
"""
ENW = f"""%0 Journal Article
%A Berg, Anna
%T {QUEUES}
%J arXiv e-prints
%P arXiv:{ID}
%X Latency grows.
Queues are why.
%U https://ui.adsabs.harvard.edu/abs/2021arXiv210100001B

%0 Journal Article
%T {STARS}
%R {DOI}
%Z A reply to arXiv:1901.11111
"""
REFWORKS = f"""RT Journal Article
SR Electronic
A1 Berg, Anna
T1 {QUEUES}
YR 2021
AB Latency grows.
DO {DOI}
UL https://example.org/a

RT Generic
T1 {STARS}
"""
RIS = f"""TY - JOUR
AU - Berg, Anna
TI - {QUEUES}
DO - {DOI}
N2 - Latency grows.
ER -
TI - {STARS}
AB - They are cold.
TY - JOUR
UR - https://arxiv.org/abs/{ID}
ER -
"""
ZOTERO_CSV = f""""Key","Item Type","Publication Year","Author","Title","DOI","Url",\
"Abstract Note","Extra","Notes"
"A1","preprint","2021","Berg, Anna","{QUEUES}","10.48550/arXiv.{ID}","http://arxiv.org/abs/{ID}","Latency
grows, and ""queues"" are why.","arXiv:{ID} [cs]","<p>A reply to arXiv:1901.11111</p>"
"A2","journalArticle","2019","Stein, B","{STARS}","{DOI}","","","",""
"A3","attachment","","","Full Text PDF","","https://arxiv.org/pdf/1901.11111","","",""
"""
SCOPUS = f""""Authors","Author full names","Title","Year","Source title","Art. No.","DOI",\
"Link","Abstract"
"Berg A.","Berg, Anna (1)","{QUEUES}","2021","Queues","12","{DOI}",\
"https://www.scopus.com/x","Latency grows."
"""
SCHOLAR = f"""Authors,Title,Publication,Volume,Number,Pages,Year,Publisher
"Berg, Anna; ","{QUEUES}",arXiv preprint arXiv:{ID},,,,2021,
"Stein, B; ",{STARS},Journal,12,3,4-5,2019,Press
"""
ADS_CSV = (
    "bibcode,author,title,doi\n"
    f"2021arXiv210100001B,Berg,{QUEUES},\n"
    f"2019MNRAS.1S,Stein,{STARS},{DOI}\n"
)
TABS = f"PT\tAU\tTI\tAB\tDI\nJ\tBerg, A\t{QUEUES}\tLatency grows.\t{DOI}\n"
EXCEL = f"sep=;\nTitel;Title;DOI\n1;{QUEUES};https://doi.org/{DOI}\n"

CROSSREF = {
    "status": "ok",
    "message": {
        "facets": {},
        "items": [
            {
                "DOI": DOI,
                "title": ["Queues in the tail"],
                "subtitle": ["how latency grows"],
                "abstract": "<jats:p>Latency grows.</jats:p>",
                "reference": [{"DOI": "10.1000/cited", "article-title": "Cited"}],
            }
        ],
    },
}
INSPIRE = {
    "hits": {
        "hits": [
            {
                "id": "1234567",
                "metadata": {
                    "titles": [{"source": "arXiv", "title": QUEUES}, {"title": "Other"}],
                    "abstracts": [{"source": "arXiv", "value": "Latency grows."}],
                    "arxiv_eprints": [{"categories": ["cs.PF"], "value": ID}],
                    "dois": [{"value": DOI}],
                    "references": [{"reference": {"arxiv_eprint": "1901.11111"}}],
                },
            }
        ],
        "total": 1,
    },
    "links": {"self": "https://inspirehep.net/api/literature/?q=a"},
}
SEMANTIC = {
    "total": 1,
    "data": [
        {
            "paperId": "a1",
            "externalIds": {"DBLP": "journals/corr/1", "ArXiv": ID, "DOI": DOI, "CorpusId": 1},
            "title": QUEUES,
            "abstract": "Latency grows.",
            "references": [{"title": "Cited", "externalIds": {"ArXiv": "1901.11111"}}],
        }
    ],
}
OPENALEX = {
    "meta": {"count": 1},
    "results": [
        {
            "id": "https://openalex.org/W1",
            "doi": f"https://doi.org/{DOI}",
            "display_name": QUEUES,
            "abstract_inverted_index": {"Latency": [0], "grows.": [1]},
            "locations": [
                {"landing_page_url": f"http://arxiv.org/abs/{ID}", "source": {"id": "x"}}
            ],
            "related_works": ["https://openalex.org/W2"],
        }
    ],
    "group_by": [],
}
ZOTERO_API = [
    {
        "key": "A",
        "library": {
            "type": "user",
            "id": 1,
            "name": "me",
            "links": {"alternate": {"href": "https://z"}},
        },
        "meta": {"numChildren": 1},
        "data": {
            "key": "A",
            "itemType": "preprint",
            "title": QUEUES,
            "archiveID": f"arXiv:{ID}",
            "DOI": DOI,
        },
    },
    {
        "key": "B",
        "data": {
            "itemType": "attachment",
            "title": "Full Text PDF",
            "url": "https://arxiv.org/abs/1",
        },
    },
]
ADS_JSON = {
    "responseHeader": {"status": 0},
    "response": {
        "docs": [{"title": [QUEUES], "identifier": [f"arXiv:{ID}", "2021arXiv1"], "doi": [DOI]}]
    },
}
DATACITE = {
    "data": [
        {"id": "x", "attributes": {"doi": DOI, "titles": [{"title": QUEUES}], "descriptions": []}}
    ]
}
EUROPE = {
    "resultList": {
        "result": [{"pmid": "1", "doi": DOI, "title": QUEUES, "abstractText": "Latency grows."}]
    }
}
HUGGING = [{"paper": {"id": ID, "title": QUEUES, "summary": "Latency grows."}, "title": QUEUES}]
DBLP = {
    "result": {
        "status": {"text": "OK"},
        "hits": {"hit": [{"info": {"title": QUEUES, "ee": f"https://doi.org/{DOI}"}}]},
    }
}
MENDELEY = [
    {"title": QUEUES, "identifiers": {"arxiv": ID, "doi": DOI}, "abstract": "Latency grows."}
]
LINES = (
    f'{{"id": "{ID}", "title": "{QUEUES}", "abstract": "Latency grows."}}\n\n'
    f'{{"title": "{STARS}", "doi": "{DOI}"}}\n'
)

BOTH = [(QUEUES, ID, "", ""), (STARS, "", DOI, "")]
PUBLISHED = [(QUEUES, "", DOI, "Latency grows.")]
ALL = [(QUEUES, ID, DOI, "Latency grows.")]

READ: Final[dict[str, tuple[str, Expected]]] = {
    "Web of Science": (
        WOS,
        [(QUEUES, "", DOI, "Latency grows. Queues are why."), (STARS, "", "", "")],
    ),
    "PubMed": (
        NBIB,
        [(QUEUES, "", DOI, "Latency grows. Queues are why."), (f"{STARS}.", ID, "", "")],
    ),
    "EndNote": (ENW, [(QUEUES, ID, "", "Latency grows. Queues are why."), (STARS, "", DOI, "")]),
    "RefWorks": (REFWORKS, [*PUBLISHED, (STARS, "", "", "")]),
    "RIS with one blank": (RIS, [*PUBLISHED, (STARS, ID, "", "They are cold.")]),
    "Zotero's CSV": (
        ZOTERO_CSV,
        [(QUEUES, ID, "", 'Latency grows, and "queues" are why.'), (STARS, "", DOI, "")],
    ),
    "Scopus' CSV": (SCOPUS, PUBLISHED),
    "Google Scholar's CSV": (SCHOLAR, [(QUEUES, ID, "", ""), (STARS, "", "", "")]),
    "ADS' CSV": (ADS_CSV, BOTH),
    "Web of Science, with tabs": (TABS, PUBLISHED),
    "Excel's semicolons": (EXCEL, [(QUEUES, "", DOI, "")]),
    "Crossref": (json.dumps(CROSSREF), PUBLISHED),
    "INSPIRE": (json.dumps(INSPIRE, indent=1), ALL),
    "Semantic Scholar": (json.dumps(SEMANTIC), ALL),
    "OpenAlex": (json.dumps(OPENALEX), ALL),
    "one work of OpenAlex": (json.dumps(OPENALEX["results"][0]), ALL),  # type: ignore[index]
    "Zotero's Web API": (json.dumps(ZOTERO_API), [(QUEUES, ID, DOI, "")]),
    "ADS' JSON": (json.dumps(ADS_JSON), [(QUEUES, ID, DOI, "")]),
    "DataCite": (json.dumps(DATACITE), [(QUEUES, "", DOI, "")]),
    "Europe PMC": (json.dumps(EUROPE), PUBLISHED),
    "Hugging Face": (json.dumps(HUGGING), [(QUEUES, ID, "", "Latency grows.")]),
    "dblp": (json.dumps(DBLP), [(QUEUES, "", DOI, "")]),
    "Mendeley's API": (json.dumps(MENDELEY), ALL),
    "JSON lines": (LINES, [(QUEUES, ID, "", "Latency grows."), (STARS, "", DOI, "")]),
    "comma first": (
        (
            f"@article{{a\n, title = {{{QUEUES}}}\n,\teprint\t=\t{{{ID}}}\n}}\n"
            f'@misc{{b\n\t, title = "{STARS}"\n, doi={{{DOI}}}}}'
        ),
        BOTH,
    ),
    "a key with a comma": (
        f"@misc{{Berg, A., 2021, title = {{{QUEUES}}}, eprint = {{{ID}}}}}",
        BOTH[:1],
    ),
    "a subtitle": (
        (
            f"@article{{a, title = {{Queues in the tail}}, "
            f"subtitle = {{how latency grows}}, doi = {{{DOI}}}}}"
        ),
        [(QUEUES, "", DOI, "")],
    ),
    "Markdown": (
        f"# Read\n\n- [{QUEUES}](https://arxiv.org/abs/{ID})\n- <https://doi.org/{DOI}>\n",
        [
            ("", ID, "", ""),
            ("", "", DOI, ""),
        ],
    ),
}
