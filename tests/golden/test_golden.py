import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from digest.model.errors import QueryError
from digest.model.messages import Digest, Feed, FeedEntry, Links
from digest.model.papers import Author
from digest.model.people import DAYS, KINDS, RequestKind
from digest.model.secrets import feed_uri
from digest.people.letters import SUBJECTS
from digest.people.stored import STORED
from digest.query import parse_query
from digest.render.check import check_templates
from digest.render.contexts import (
    ArchiveContext,
    ErrorContext,
    FeedContext,
    LetterContext,
    PastView,
    StoredContext,
)
from digest.render.digests import QueryView, view_digest, view_papers
from digest.render.mail import MailIdentity
from digest.render.pages import (
    ComingView,
    ConfirmContext,
    LinkContext,
    SubscribeContext,
    UnsubscribeContext,
)
from digest.render.references import write_bibtex, write_ris
from digest.render.renderer import Renderer
from digest.render.samples import EVENING, SAMPLE_LINKS, make_digest, make_entry, quiet_digests
from tests.golden.conftest import Golden
from tests.samples import (
    late_digest,
    merged_digest,
    near_digest,
    near_list_digest,
    odd_entries,
    revised_digest,
    sample_digest,
    sample_start,
    sample_trials,
)
from tests.unit.render.conftest import MakeDelivery, read_parts, read_posts

DIGESTS: dict[str, Digest] = {
    "ordinary": sample_digest(),
    "odd": make_digest(odd_entries()),
    "capped": make_digest(
        [make_entry(number, abstract="Short.") for number in range(1, 31)], shown=8
    ),
    "merged": merged_digest(),
    "revised": revised_digest(),
    "near": near_digest(),
    "near-list": near_list_digest(),
    "late": late_digest(),
    **quiet_digests(),
}


SENDER = "Digest <digest@example.org>"
GIVEN = {
    **dict.fromkeys(("address", "hour", "zone", "feed", "joins"), ()),
    "q": ["ti:(gpu OR"],
    "days": ["daily"],
    "kinds": ["new"],
}
CONFIRM = ConfirmContext(
    "a…@example.org",
    (
        ComingView("Your papers", "daily at 06:00 Europe/Berlin", "Fri 20 Nov 06:00 Berlin"),
        ComingView("Demo team", "on announcement", ""),
    ),
    "/p/sample",
    queries=2,
    token="sample",
    contact="ops@example.org",
    home=SAMPLE_LINKS.home,
)


@pytest.mark.parametrize("name", DIGESTS)
def test_mails_look_as_they_did(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, golden: Golden, name: str
) -> None:
    message = renderer.render(
        DIGESTS[name], deliver("mailto:reader@example.org"), SAMPLE_LINKS, identity
    )
    plain, html = read_parts(message.body)
    head = message.body.partition(b"\r\n\r\n")[0].decode("ascii").replace("\r\n", "\n")
    golden(f"{name}.mail.head.txt", f"{head}\n")
    golden(f"{name}.mail.txt", plain)
    golden(f"{name}.mail.html", html)


@pytest.mark.parametrize("name", DIGESTS)
def test_slack_messages_look_as_they_did(
    renderer: Renderer, deliver: MakeDelivery, golden: Golden, name: str
) -> None:
    payloads = read_posts(renderer, deliver, DIGESTS[name])
    golden(f"{name}.slack.json", json.dumps(payloads, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("name", ["ordinary", "merged", "near-list"])
def test_what_other_programs_get_looks_as_it_did(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, golden: Golden, name: str
) -> None:
    body = renderer.render(DIGESTS[name], deliver("webhook:lab"), SAMPLE_LINKS, identity).body
    golden(
        f"{name}.webhook.json", json.dumps(json.loads(body), indent=1, ensure_ascii=False) + "\n"
    )


def test_a_lab_rebrands_mail_and_slack_with_three_files(
    deliver: MakeDelivery, identity: MailIdentity, golden: Golden
) -> None:
    own = Renderer([Path(__file__).with_name("theme")])
    assert check_templates(own) == ()
    mail = own.render(sample_digest(), deliver("mailto:reader@example.org"), SAMPLE_LINKS, identity)
    golden("theme.mail.html", read_parts(mail.body)[1])
    post = own.render(sample_digest(), deliver("slack:#papers"), SAMPLE_LINKS, identity)
    golden(
        "theme.slack.json", json.dumps(json.loads(post.body), indent=1, ensure_ascii=False) + "\n"
    )


@pytest.mark.parametrize("name", DIGESTS)
def test_pages_look_as_they_did(renderer: Renderer, golden: Golden, name: str) -> None:
    links = Links(
        feed=SAMPLE_LINKS.feed, refs=SAMPLE_LINKS.refs, archive="../a/x", earlier="x", later="y"
    )
    page = renderer.render_page(DIGESTS[name], links)
    golden(f"{name}.page.html", _shorten(page))


@pytest.mark.parametrize("name", DIGESTS)
def test_the_terminal_looks_as_it_did(renderer: Renderer, golden: Golden, name: str) -> None:
    plain = renderer.render_terminal(DIGESTS[name], width=107, color=False, limit=4)
    colored = renderer.render_terminal(DIGESTS[name], width=60, color=True, limit=None)
    golden(f"{name}.terminal.txt", plain + "\n" + colored.replace("\x1b", "ESC"))


def _make_feed(name: str) -> Feed:
    entries = [entry for entry in DIGESTS[name].entries if len(entry.paper.authors) < 100]
    return Feed(
        id=feed_uri("golden", "subscription", "1"),
        title="demo-team",
        updated=EVENING,
        self_url=SAMPLE_LINKS.feed,
        home_url=SAMPLE_LINKS.home,
        entries=tuple(
            FeedEntry(
                feed_uri("golden", "arxiv", str(entry.paper.id)),
                entry,
                EVENING - timedelta(hours=number + 1),
                EVENING - timedelta(hours=number),
            )
            for number, entry in enumerate(entries)
        ),
        notice=""
        if entries
        else "Nothing has matched yet. This feed fills from the next announcement on.",
        refs_url=SAMPLE_LINKS.refs,
    )


@pytest.mark.parametrize("name", ["ordinary", "odd", "quiet"])
def test_feeds_look_as_they_did(renderer: Renderer, golden: Golden, name: str) -> None:
    golden(f"{name}.feed.atom", renderer.render_feed(_make_feed(name), "atom").decode("utf-8"))
    golden(f"{name}.feed.json", renderer.render_feed(_make_feed(name), "json").decode("utf-8"))


@pytest.mark.parametrize("name", ["ordinary", "odd"])
def test_references_look_as_they_did(golden: Golden, name: str) -> None:
    papers = [entry.paper for entry in DIGESTS[name].entries if len(entry.paper.authors) < 100]
    golden(f"{name}.bib", write_bibtex(papers, with_abstracts=name == "odd"))
    golden(f"{name}.ris", write_ris(papers).replace("\r\n", "\n"))


@pytest.mark.parametrize("ask", RequestKind)
def test_letters_look_as_they_did(
    renderer: Renderer,
    deliver: MakeDelivery,
    identity: MailIdentity,
    golden: Golden,
    ask: RequestKind,
) -> None:
    home = "https://digest.example.org"
    link = f"{home}/c/Qm9vdHN0cmFwcGluZzEyMw"
    letter = LetterContext(
        ask, SUBJECTS[ask], link, "digest.example.org", "ops@example.org", "Digest", home
    )
    body = renderer.render_letter(letter, deliver("mailto:reader@example.org"), identity).body
    golden(f"{ask}.letter.txt", body.decode("ascii").replace("\r\n", "\n"))


def test_pages_of_the_web_shell_look_as_they_did(renderer: Renderer, golden: Golden) -> None:
    contexts: dict[str, Any] = {
        "unsubscribe": UnsubscribeContext(
            "demo-team", "r…@example.org", action=SAMPLE_LINKS.unsubscribe, token="sample"
        ),
        "unsubscribe-back": UnsubscribeContext(
            "demo-team", "r…@example.org", is_back=True, action="x", token="sample"
        ),
        "unsubscribed": UnsubscribeContext(
            "demo-team", undo_until="Fri 27 Nov", action="x", token="sample"
        ),
        "unsubscribed-before": UnsubscribeContext(
            "demo-team", is_earlier=True, contact="ops@example.org", home=SAMPLE_LINKS.home
        ),
        "subscribe": SubscribeContext(
            "it breaks off",
            "ti:(gpu OR\n        ^",
            GIVEN,
            DAYS,
            KINDS,
            {"demo-team": "Demo team"},
            token="sample",
            home="/",
        ),
        "link": LinkContext("", SENDER, token="sample", home=SAMPLE_LINKS.home),
        "sent": LinkContext("ada@example.org", SENDER, is_link=False, home=SAMPLE_LINKS.home),
        "confirm": CONFIRM,
        "confirmed": CONFIRM,
        "refused": CONFIRM,
        "archive": ArchiveContext(
            "demo-team", (QueryView("gpu", "abs:GPU"),), _show_past(0), go_on="?before=7"
        ),
        "archive-search": ArchiveContext(
            "demo-team", (), _show_past(9), "gpu", home=SAMPLE_LINKS.home
        ),
        "archive-mistake": ArchiveContext("demo-team", (), (), "gpu (", _read_mistake("gpu (")),
        "site": ArchiveContext("demo-team, gpu", (), _show_past(9), is_shared=True),
        "feed": FeedContext(
            "demo-team", view_papers(sample_digest()), "x.atom", "x.json", home=SAMPLE_LINKS.home
        ),
        "stored": StoredContext(STORED, contact="ops@example.org"),
        "error": ErrorContext(
            404, "There is no such page", "Check that you copied the whole address."
        ),
        "start": sample_start(sample_trials()[0]),
    }
    for name, context in contexts.items():
        golden(
            f"{name}.web.html",
            _shorten(renderer.render_web(f"{name.partition('-')[0]}.html", context)),
        )


def _show_past(left_out: int) -> tuple[PastView, ...]:
    digests = (merged_digest(), sample_digest(), quiet_digests()["quiet"])
    months = ("November 2026", "November 2026", "October 2026")
    return tuple(
        PastView(view_digest(digest), month, f"../d/{month[0]}", view_papers(digest)[:3], left_out)
        for digest, month in zip(digests, months, strict=True)
    )


def _read_mistake(text: str) -> QueryError:
    with pytest.raises(QueryError) as found:
        parse_query(text)
    return found.value


def _shorten(page: str) -> str:
    """Leave out the style and the middle of three thousand made-up names.

    A golden file is there to be read.
    """
    page = re.sub("<(style|script type).*?</(style|script)>\n", "", page, flags=re.DOTALL)
    before, first, rest = page.partition("<bdi>Given10 Family10</bdi>,\n")
    return (
        before + first + rest.rpartition("<bdi>Given3300 Family3300</bdi>,\n")[2] if first else page
    )


def test_a_crowd_is_left_out_of_the_golden_page_only(renderer: Renderer) -> None:
    crowd = make_digest(
        (make_entry(1, authors=tuple(Author(f"Given{n} Family{n}") for n in range(3_303))),)
    )
    page = renderer.render_page(crowd, Links())
    assert page.count("<bdi>Given") == 3_303
    assert _shorten(page).count("<bdi>Given") == 13
