import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from digest.model.errors import QueryError
from digest.model.messages import Digest, DigestEntry, Feed, FeedEntry, Links
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
def test_mails_are_unchanged(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, golden: Golden, name: str
) -> None:
    delivery = deliver("mailto:reader@example.org")
    message = renderer.render(DIGESTS[name], delivery, SAMPLE_LINKS, identity)
    plain, html = read_parts(message.body)
    head, _, _ = message.body.partition(b"\r\n\r\n")
    head_lines = head.decode("ascii").replace("\r\n", "\n")
    golden(f"{name}.mail.head.txt", f"{head_lines}\n")
    golden(f"{name}.mail.txt", plain)
    golden(f"{name}.mail.html", html)


@pytest.mark.parametrize("name", DIGESTS)
def test_slack_messages_are_unchanged(
    renderer: Renderer, deliver: MakeDelivery, golden: Golden, name: str
) -> None:
    payloads = read_posts(renderer, deliver, DIGESTS[name])
    golden(f"{name}.slack.json", _write_json(payloads))


def _write_json(payload: object) -> str:
    text = json.dumps(payload, indent=1, ensure_ascii=False)
    return f"{text}\n"


@pytest.mark.parametrize("name", ["ordinary", "merged", "near-list"])
def test_what_other_programs_get_is_unchanged(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity, golden: Golden, name: str
) -> None:
    delivery = deliver("webhook:lab")
    message = renderer.render(DIGESTS[name], delivery, SAMPLE_LINKS, identity)
    payload = json.loads(message.body)
    golden(f"{name}.webhook.json", _write_json(payload))


def test_a_lab_rebrands_mail_and_slack_with_three_files(
    deliver: MakeDelivery, identity: MailIdentity, golden: Golden
) -> None:
    templates = Path(__file__).with_name("theme")
    own = Renderer([templates])
    assert check_templates(own) == ()
    to_reader = deliver("mailto:reader@example.org")
    mail = own.render(sample_digest(), to_reader, SAMPLE_LINKS, identity)
    _, html = read_parts(mail.body)
    golden("theme.mail.html", html)
    to_channel = deliver("slack:#papers")
    post = own.render(sample_digest(), to_channel, SAMPLE_LINKS, identity)
    payload = json.loads(post.body)
    golden("theme.slack.json", _write_json(payload))


@pytest.mark.parametrize("name", DIGESTS)
def test_pages_are_unchanged(renderer: Renderer, golden: Golden, name: str) -> None:
    links = Links(
        feed=SAMPLE_LINKS.feed, refs=SAMPLE_LINKS.refs, archive="../a/x", earlier="x", later="y"
    )
    page = renderer.render_page(DIGESTS[name], links)
    golden(f"{name}.page.html", _shorten(page))


@pytest.mark.parametrize("name", DIGESTS)
def test_the_terminal_is_unchanged(renderer: Renderer, golden: Golden, name: str) -> None:
    plain = renderer.render_terminal(DIGESTS[name], width=107, color=False, limit=4)
    colored = renderer.render_terminal(DIGESTS[name], width=60, color=True, limit=None)
    readable = colored.replace("\x1b", "ESC")
    golden(f"{name}.terminal.txt", f"{plain}\n{readable}")


def _make_feed(name: str) -> Feed:
    entries = []
    for number, entry in enumerate(_list_short_entries(name)):
        uri = feed_uri("golden", "arxiv", str(entry.paper.id))
        published = EVENING - timedelta(hours=number + 1)
        updated = EVENING - timedelta(hours=number)
        entries.append(FeedEntry(uri, entry, published, updated))
    notice = ""
    if not entries:
        notice = "Nothing has matched yet. This feed fills from the next announcement on."
    return Feed(
        id=feed_uri("golden", "subscription", "1"),
        title="demo-team",
        updated=EVENING,
        self_url=SAMPLE_LINKS.feed,
        home_url=SAMPLE_LINKS.home,
        entries=tuple(entries),
        notice=notice,
        refs_url=SAMPLE_LINKS.refs,
    )


def _list_short_entries(name: str) -> list[DigestEntry]:
    """Return the entries without a crowd of authors."""
    return [entry for entry in DIGESTS[name].entries if len(entry.paper.authors) < 100]


@pytest.mark.parametrize("name", ["ordinary", "odd", "quiet"])
def test_feeds_are_unchanged(renderer: Renderer, golden: Golden, name: str) -> None:
    feed = _make_feed(name)
    atom = renderer.render_feed(feed, "atom")
    as_json = renderer.render_feed(feed, "json")
    golden(f"{name}.feed.atom", atom.decode("utf-8"))
    golden(f"{name}.feed.json", as_json.decode("utf-8"))


@pytest.mark.parametrize("name", ["ordinary", "odd"])
def test_references_are_unchanged(golden: Golden, name: str) -> None:
    papers = [entry.paper for entry in _list_short_entries(name)]
    bibtex = write_bibtex(papers, with_abstracts=name == "odd")
    ris = write_ris(papers)
    golden(f"{name}.bib", bibtex)
    golden(f"{name}.ris", ris.replace("\r\n", "\n"))


@pytest.mark.parametrize("ask", RequestKind)
def test_letters_are_unchanged(
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
    delivery = deliver("mailto:reader@example.org")
    message = renderer.render_letter(letter, delivery, identity)
    text = message.body.decode("ascii")
    golden(f"{ask}.letter.txt", text.replace("\r\n", "\n"))


def make_web_contexts() -> dict[str, Any]:
    """Return what each page of the web shell is made of, by the names of their golden files."""
    gpu = QueryView("gpu", "abs:GPU")
    home = SAMPLE_LINKS.home
    papers = view_papers(sample_digest())
    past = _show_past(9)
    past_in_full = _show_past(0)
    mistake = _read_mistake("gpu (")
    trial = sample_trials()[0]
    contexts: dict[str, Any] = {}
    contexts["unsubscribe"] = UnsubscribeContext(
        "demo-team", "r…@example.org", action=SAMPLE_LINKS.unsubscribe, token="sample"
    )
    contexts["unsubscribe-back"] = UnsubscribeContext(
        "demo-team", "r…@example.org", is_back=True, action="x", token="sample"
    )
    contexts["unsubscribed"] = UnsubscribeContext(
        "demo-team", undo_until="Fri 27 Nov", action="x", token="sample"
    )
    contexts["unsubscribed-before"] = UnsubscribeContext(
        "demo-team", is_earlier=True, contact="ops@example.org", home=home
    )
    contexts["subscribe"] = SubscribeContext(
        "it breaks off",
        "ti:(gpu OR\n        ^",
        GIVEN,
        DAYS,
        KINDS,
        {"demo-team": "Demo team"},
        token="sample",
        home="/",
    )
    contexts["link"] = LinkContext("", SENDER, token="sample", home=home)
    contexts["sent"] = LinkContext("ada@example.org", SENDER, is_link=False, home=home)
    contexts["confirm"] = CONFIRM
    contexts["confirmed"] = CONFIRM
    contexts["refused"] = CONFIRM
    contexts["archive"] = ArchiveContext("demo-team", (gpu,), past_in_full, go_on="?before=7")
    contexts["archive-search"] = ArchiveContext("demo-team", (), past, "gpu", home=home)
    contexts["archive-mistake"] = ArchiveContext("demo-team", (), (), "gpu (", mistake)
    contexts["site"] = ArchiveContext("demo-team, gpu", (), past, is_shared=True)
    contexts["feed"] = FeedContext("demo-team", papers, "x.atom", "x.json", home=home)
    contexts["stored"] = StoredContext(STORED, contact="ops@example.org")
    contexts["error"] = ErrorContext(
        404, "There is no such page", "Check that you copied the whole address."
    )
    contexts["start"] = sample_start(trial)
    return contexts


def test_pages_of_the_web_shell_are_unchanged(renderer: Renderer, golden: Golden) -> None:
    for name, context in make_web_contexts().items():
        template, _, _ = name.partition("-")
        page = renderer.render_web(f"{template}.html", context)
        golden(f"{name}.web.html", _shorten(page))


def _show_past(left_out: int) -> tuple[PastView, ...]:
    digests = (merged_digest(), sample_digest(), quiet_digests()["quiet"])
    months = ("November 2026", "November 2026", "October 2026")
    past = []
    for digest, month in zip(digests, months, strict=True):
        shown = view_digest(digest)
        papers = view_papers(digest)[:3]
        past.append(PastView(shown, month, f"../d/{month[0]}", papers, left_out))
    return tuple(past)


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
    if not first:
        return page
    _, _, after = rest.rpartition("<bdi>Given3300 Family3300</bdi>,\n")
    return f"{before}{first}{after}"


def test_a_crowd_is_left_out_of_the_golden_page_only(renderer: Renderer) -> None:
    authors = [Author(f"Given{n} Family{n}") for n in range(3_303)]
    entry = make_entry(1, authors=tuple(authors))
    crowd = make_digest((entry,))
    page = renderer.render_page(crowd, Links())
    assert page.count("<bdi>Given") == 3_303
    assert _shorten(page).count("<bdi>Given") == 13
