import json
import re
from dataclasses import replace
from itertools import groupby, pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from digest.model.destinations import Destination
from digest.model.errors import TemplateError
from digest.model.messages import Form, Links, Share
from digest.model.subscriptions import Abstracts
from digest.render import check
from digest.render.contexts import SlackPageContext
from digest.render.digests import group_papers, view_digest, view_papers
from digest.render.renderer import Renderer
from digest.render.samples import SAMPLE_LINKS, SAMPLES, make_digest, make_entry
from digest.render.slack import Compiled, compile_blocks, list_texts, make_payload
from digest.render.templates import find_shipped_templates
from digest.render.text import slack_escape
from tests.conftest import IS_NIGHTLY
from tests.fakes.blocks import check_blocks, measure_text
from tests.samples import odd_entries, revised_entry, sample_digest
from tests.unit.render.conftest import IDENTITY, MakeDelivery, plan_digest, read_posts

CHANNEL = Destination.parse("slack:#papers")


def _texts(payload: dict[str, Any]) -> str:
    blocks = payload["blocks"]
    objects = [
        one for block in blocks for one in [block.get("text"), *block.get("elements", [])] if one
    ]
    return "\n".join(str(one["text"]) for one in objects)


def _ids(payload: dict[str, Any]) -> list[str]:
    found = re.findall(r"<https://arxiv\.org/abs/([\d.]+)v\d+\|", _texts(payload))
    return [id_ for id_, _ in groupby(found)]  # a title may be several links


@pytest.mark.parametrize("links", [SAMPLE_LINKS, Links()], ids=["links", "no-links"])
def test_the_channel_gets_ten_titles_and_the_thread_every_paper_once(
    renderer: Renderer, deliver: MakeDelivery, links: Links
) -> None:
    digest = make_digest([make_entry(number) for number in range(1, 16)], shown=14)
    parent, *thread = read_posts(renderer, deliver, digest, links)
    titled = _ids(parent)
    told = [id_ for payload in thread for id_ in _ids(payload)]
    every = [str(entry.paper.id) for entry in digest.entries]
    assert told == every[:14]
    assert titled == every[:10] + ([] if links.web_view else every[14:])
    assert "*4 more* in the thread, and more on each paper." in _texts(parent)
    assert _texts(parent).count("1 more") == 1


@pytest.mark.parametrize(("to", "behind"), [("slack:#x", 0), ("slack-webhook:team", 15)])
def test_a_webhook_has_no_thread_so_its_one_message_counts_and_links_what_it_does_not_list(
    renderer: Renderer, deliver: MakeDelivery, to: str, behind: int
) -> None:
    digest = make_digest([make_entry(number) for number in range(1, 16)])
    assert renderer.divide(digest, Destination.parse(to))[0] == Share(0, behind, 10)
    for shown in (10, 5, 0):  # fewer if Slack refused it for its size
        delivery = deliver(to, share=Share(0, behind, shown))
        payload = json.loads(renderer.render(digest, delivery, SAMPLE_LINKS, IDENTITY).body)
        assert len(_ids(payload)) == shown
        assert re.search(rf"\b{15 - shown} (more|papers)", _texts(payload))
        assert ("in the thread" in _texts(payload)) is (behind == 0)
        assert ("metadata" in payload) is (behind == 0)


@pytest.mark.parametrize("amount", ["none", "short", "full"])
@pytest.mark.parametrize(
    "abstract", ["We show it. It is so. We stop.", "<&" * 5_000, "🦄 & " * 2_000]
)
def test_as_much_of_an_abstract_is_shown_as_is_asked_for_and_a_section_holds(
    renderer: Renderer, amount: str, abstract: str
) -> None:
    digest = make_digest([make_entry(1, abstract=abstract, found=())])
    view = replace(view_digest(digest), abstracts=Abstracts(amount))
    form = Form.ABSTRACT if amount == "full" else Form.SENTENCE
    groups = group_papers(digest, view_papers(digest))
    context = SlackPageContext(digest=view, groups=groups, form=form, first=1, last=1, pages=1)
    compiled = compile_blocks(renderer.templates.render("slack/thread.txt", context))
    assert check_blocks(list(compiled.blocks)) == []
    text = "\n".join(text for block in compiled.blocks for text in list_texts(block))
    assert ("We show it. It is so. We stop." in text) is (amount == "full" and "so" in abstract)
    assert ("We show" in text) is (amount != "none" and "show" in abstract)


def _theme(folder: Path, **sources: str) -> Renderer:
    (folder / "slack").mkdir()
    for name, source in sources.items():
        (folder / f"slack/{name}.txt").write_text(source)
    return Renderer([folder])


def test_a_thread_template_without_room_for_a_paper_is_an_error(
    tmp_path: Path, deliver: MakeDelivery
) -> None:
    renderer = _theme(tmp_path, thread="fallback: x\n\n" + f"{'y' * 2_500}\n\n" * 4)
    with pytest.raises(TemplateError, match="paper 1 alone takes more"):
        read_posts(renderer, deliver, sample_digest())


def test_a_part_that_was_too_large_shows_fewer_papers_and_counts_and_links_the_others(
    renderer: Renderer, deliver: MakeDelivery
) -> None:
    digest = make_digest(odd_entries())
    ids = [str(entry.paper.id) for entry in digest.entries]
    count = len(digest.entries)
    for shown in (count, 3, 1, 0):
        for links in (SAMPLE_LINKS, Links()):
            share = Share(0, count, shown, Form.SENTENCE)
            delivery = deliver("slack:#x", part=1, parts=2, share=share)
            payload = json.loads(renderer.render(digest, delivery, links, IDENTITY).body)
            assert check_blocks(payload["blocks"]) == []
            assert _ids(payload) == (ids[:shown] if links.web_view else ids)
            assert (f"{count - shown} more" in _texts(payload)) is (shown < count)


@pytest.mark.parametrize(
    ("count", "abstracts", "form", "messages"),
    [
        (1, "short", Form.SENTENCE, 1),
        (25, "short", Form.SENTENCE, 2),
        (26, "short", Form.TITLE, 1),
        (26, "none", Form.TITLE, 1),
        (63, "short", Form.TITLE, 2),
        (10, "full", Form.ABSTRACT, 3),
        (40, "full", Form.SENTENCE, 3),
        (80, "full", Form.TITLE, 2),
        (300, "full", Form.TITLE, 3),
    ],
)
def test_a_thread_has_three_messages_at_most_and_says_as_much_of_all_papers_as_there_is_room_for(
    renderer: Renderer, count: int, abstracts: str, form: Form, messages: int
) -> None:
    found = renderer.divide(plan_digest(count, Abstracts(abstracts)), CHANNEL)
    top, *thread = (share for share in found if share is not None)
    assert [share.form for share in thread] == [form] * messages
    assert (top.first, top.end) == (0, 10 if form is Form.TITLE else 0)
    assert [share.first for share in thread] == [top.end, *(share.end for share in thread[:-1])]
    assert thread[-1].end == count
    assert all(share.shown == share.count for share in thread) is (count < 300)
    assert tuple(Share.parse(str(share)) for share in found) == found
    assert Share.parse("") is None


@pytest.mark.parametrize("links", [SAMPLE_LINKS, Links()], ids=["links", "no-links"])
def test_on_a_day_of_titles_the_thread_goes_on_where_the_post_ends_and_counts_what_has_no_room(
    renderer: Renderer, deliver: MakeDelivery, links: Links
) -> None:
    digest = plan_digest(300)
    texts = [_texts(payload) for payload in read_posts(renderer, deliver, digest, links)]
    listed = [int(number) for text in texts for number in re.findall(r"(?m)^(\d+)\. ", text)]
    assert listed == list(range(1, len(listed) + 1))
    headings = [re.findall(r"(?m)^\*(.*)\*$", text) for text in texts]
    assert headings[0] == ["Read first", headings[1][0]]
    assert all(after[0] in before for before, after in pairwise(headings))
    assert (
        texts[0].count("_in two of your queries_\nWe measure where")
        == texts[0].count("We measure")
        == 2
    )
    assert "\n*290 more* in the thread.\n" in texts[0]
    assert not any("We measure" in text for text in texts[1:])
    left = 300 - len(listed) + (0 if links.web_view else 20)
    assert f"{left} more" in texts[3]
    assert re.search(r" more.* \(cs\.\wA \d+ · .*\)", texts[3])
    halved = json.loads(
        renderer.render(digest, deliver("slack:#x", share=Share(0, 10, 5)), links, IDENTITY).body
    )
    assert "5 more" in _texts(halved)
    assert "*290 more* in the thread" in _texts(halved)


@pytest.mark.parametrize(("count", "messages"), [(10, 1), (12, 2)])
def test_changes_are_told_once_and_whole(
    renderer: Renderer, deliver: MakeDelivery, count: int, messages: int
) -> None:
    digest = make_digest([revised_entry(n) for n in range(count)], abstracts=Abstracts.FULL)
    texts = [_texts(payload) for payload in read_posts(renderer, deliver, digest)]
    assert len(texts) == messages
    assert "".join(texts).count("abstract: 8 words changed") == count
    assert ("the thread" in texts[0]) is (messages > 1)


def _paragraphs(source: str) -> list[str]:
    """Divide a template where it may be divided.

    Between its blocks, each with its own conditions and loops.
    """
    pieces = []
    depth = 0
    lines = list[str]()
    for line in source.split("\n"):
        lines.append(line)
        depth += len(re.findall(r"{%-? *(?:if|for|block) ", line)) - len(
            re.findall(r"{%-? *end(?:if|for|block)", line)
        )
        if depth == 0 and not line.strip():
            pieces.append("\n".join(lines))
            lines = []
    return [piece for piece in [*pieces, "\n".join(lines)] if piece.strip()]


@pytest.mark.parametrize("name", ["digest", "thread"])
def test_each_part_of_a_shipped_template_can_be_dropped_and_all_be_turned_round(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "slack"
    folder.mkdir()
    source = (find_shipped_templates() / f"slack/{name}.txt").read_text()
    head, *pieces = _paragraphs(source)
    assert "fallback:" in head
    assert len(pieces) >= 2
    variants = [[*pieces[:n], *pieces[n + 1 :]] for n in range(len(pieces))] + [pieces[::-1]]
    for variant in variants:
        (folder / f"{name}.txt").write_text("\n\n".join([head, "> kept", *variant]))
        templates = Renderer([tmp_path]).templates
        for digest, links in product(SAMPLES[:: 1 if IS_NIGHTLY else 5], (SAMPLE_LINKS, Links())):
            check._try_slack(templates, digest, links)


def _types(compiled: Compiled) -> list[str]:
    return [block["type"] for block in compiled.blocks]


def _text(block: dict[str, Any]) -> str:
    return str(block["text"]["text"])


def test_a_readable_text_becomes_blocks() -> None:
    compiled = compile_blocks(
        "fallback: 9 papers\n\n# Nine papers\n\none\ntwo\n\n---\n\n> small\n> print\n"
    )
    assert compiled.fallback == "9 papers"
    assert compiled.blocks == (
        {"type": "header", "text": {"type": "plain_text", "text": "Nine papers", "emoji": False}},
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "one\ntwo", "verbatim": True},
            "expand": True,
        },
        {"type": "divider"},
        {
            "type": "context",
            "elements": [{"type": "mrkdwn", "text": "small\nprint", "verbatim": True}],
        },
    )


def test_parts_need_no_blank_line_between_different_kinds() -> None:
    assert _types(compile_blocks("# a\n# b\ntext\n---\n---\n> c")) == [
        *("header", "header", "section", "divider", "divider", "context")
    ]


def test_a_value_never_becomes_structure_however_it_starts() -> None:
    for value in ("# one", "---", "> two", "fallback: three"):
        compiled = compile_blocks(slack_escape(value))
        assert _types(compiled) == ["section"]
        assert compiled.fallback == ""


def test_lines_and_blocks_that_came_out_empty_leave_nothing_behind() -> None:
    empty = slack_escape("")
    compiled = compile_blocks(f"# {empty}\n\none\n{empty}\n{empty}two\n\n{empty}\n\n> {empty}\n")
    assert [_text(block) for block in compiled.blocks] == ["one\ntwo"]


def test_a_header_is_cut_at_150_characters() -> None:
    (header,) = compile_blocks("# " + "x" * 400).blocks
    assert len(_text(header)) == 150


def test_a_long_section_is_divided_between_lines_only() -> None:
    compiled = compile_blocks("\n".join(["a" * 1_400, "b" * 1_400, "c" * 1_400]))
    assert [len(_text(block)) for block in compiled.blocks] == [2_801, 1_400]


def test_the_size_of_a_message_is_that_of_all_its_text_in_utf8() -> None:
    assert compile_blocks("# é\n\nab\n\n> ñ\n\n---").text_bytes == 6


LINES = st.lists(
    st.tuples(
        st.sampled_from(["# ", "> ", "", "---", "fallback: ", "#", ">"]),
        st.sampled_from([0, 1, 149, 151, 2_999, 3_001]),
    ).map(lambda line: line[0] + "\u00e9" * line[1]),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(LINES, st.sampled_from(["\n", "\n\n"]))
def test_what_is_not_refused_passes_slacks_own_kit_and_the_fake_slack(
    lines: list[str], separator: str
) -> None:
    try:
        payload = make_payload("x.txt", compile_blocks(separator.join(lines)))
    except TemplateError:
        return
    assert check_blocks(payload["blocks"]) == []
    assert measure_text(payload["blocks"]) <= 9_000
    for block in payload["blocks"]:
        parsed = Block.parse(block)
        assert parsed is not None
        parsed.validate_json()


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        *(("# only a header", "no fallback"), ("fallback: x", "0 blocks")),
        ("fallback: x\n" + "\n\nx" * 46, "46 blocks"),
        ("fallback: x\n\n" + "x" * 3_001, "3,001 characters"),
        ("fallback: x\n\n" + "\u00e9" * 2_900 + "\n\n" + "\u00e9" * 2_900, "11,600 bytes"),
        ("fallback: x\n\nhi <!here>", "a mention"),
        ("fallback: <@U1>\n\nhi", "a mention"),
    ],
)
def test_every_limit_is_told(source: str, problem: str) -> None:
    with pytest.raises(TemplateError, match=problem):
        make_payload("x.txt", compile_blocks(source))
