import json
import re
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from digest.model.errors import TemplateError
from digest.model.messages import Links, Share
from digest.model.subscriptions import Abstracts, Destination
from digest.render import MailIdentity, Renderer, check
from digest.render.blocks import compile_blocks, list_texts
from digest.render.check import check_templates
from digest.render.contexts import SlackPageContext
from digest.render.digests import group_papers, view_digest, view_papers, view_rest
from digest.render.environments import find_shipped_templates
from digest.render.samples import SAMPLE_LINKS, SAMPLES, make_digest, make_entry, quiet_digests
from tests.conftest import IS_NIGHTLY
from tests.fakes.blocks import check_blocks
from tests.samples import odd_entries, sample_digest
from tests.unit.render.conftest import IDENTITY, MakeDelivery, read_posts

CHANNEL = Destination.parse("slack:#papers")


def _texts(payload: dict[str, Any]) -> str:
    blocks = payload["blocks"]
    objects = [one for block in blocks for one in [block.get("text"), *block.get("elements", [])] if one]
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
    assert "*4 more*, with authors and why each matched, in the thread" in _texts(parent)
    assert _texts(parent).count("1 more") == 1


def test_a_webhook_has_no_thread_so_its_one_message_counts_and_links_what_it_does_not_list(
    renderer: Renderer, deliver: MakeDelivery
) -> None:
    digest = make_digest([make_entry(number) for number in range(1, 16)], shown=14)
    webhook = Destination.parse("slack-webhook:team")
    assert renderer.divide(digest, webhook) == (Share(0, 14, 10),)
    for links in (SAMPLE_LINKS, Links()):
        payload = json.loads(renderer.render(digest, deliver("slack-webhook:team"), links, IDENTITY).body)
        assert payload.keys() == {"text", "blocks", "unfurl_links", "unfurl_media", "parse"}
        assert len(_ids(payload)) == (10 if links.web_view else 15)
        assert "5 more" in _texts(payload)
        assert "thread" not in _texts(payload)


@pytest.mark.parametrize(("state", "is_on_top"), [("quiet", False), ("incomplete", True), ("failed", True)])
def test_what_was_checked_stands_on_top_only_where_it_was_not_complete(
    renderer: Renderer, deliver: MakeDelivery, state: str, *, is_on_top: bool
) -> None:
    (payload,) = read_posts(renderer, deliver, quiet_digests()[state])
    assert _texts(payload).split("\n")[1].startswith("⚠") is is_on_top


@pytest.mark.parametrize("amount", ["none", "short", "full"])
@pytest.mark.parametrize("abstract", ["We show it. It is so. We stop.", "<&" * 5_000, "🦄 & " * 2_000])
def test_as_much_of_an_abstract_is_shown_as_is_asked_for_and_a_section_holds(
    renderer: Renderer, amount: str, abstract: str
) -> None:
    digest = make_digest([make_entry(1, abstract=abstract, found=())])
    view = replace(view_digest(digest), abstracts=Abstracts(amount))
    context = SlackPageContext(view, group_papers(digest, view_papers(digest)), view_rest((), ""), 1, 1, 1, 1)
    compiled = compile_blocks(renderer.templates.render("slack/thread.txt", context))
    assert check_blocks(list(compiled.blocks)) == []
    text = "\n".join(text for block in compiled.blocks for text in list_texts(block))
    assert ("We show it. It is so. We stop." in text) is (amount == "full" and "so" in abstract)
    assert ("We show" in text) is (amount != "none" and "show" in abstract)


def test_addresses_never_change_what_a_part_holds(renderer: Renderer, deliver: MakeDelivery) -> None:
    digest = make_digest([make_entry(number, title="word " * 50) for number in range(1, 80)])
    with_links = [_ids(payload) for payload in read_posts(renderer, deliver, digest)]
    without = [_ids(payload) for payload in read_posts(renderer, deliver, digest, Links())]
    assert with_links == without


def _theme(folder: Path, **sources: str) -> Renderer:
    (folder / "slack").mkdir()
    for name, source in sources.items():
        (folder / f"slack/{name}.txt").write_text(source)
    return Renderer([folder])


def test_a_thread_template_without_room_for_a_paper_is_an_error(tmp_path: Path, deliver: MakeDelivery) -> None:
    renderer = _theme(tmp_path, thread="fallback: x\n\n" + f"{'y' * 2_500}\n\n" * 4)
    with pytest.raises(TemplateError, match="paper 1 alone takes more"):
        read_posts(renderer, deliver, sample_digest())


def test_a_part_that_was_too_large_shows_fewer_papers_and_counts_and_links_the_others(
    renderer: Renderer, deliver: MakeDelivery
) -> None:
    digest = make_digest(odd_entries())
    ids, count = [str(entry.paper.id) for entry in digest.entries], len(digest.entries)
    for shown in (count, 3, 1, 0):
        for links in (SAMPLE_LINKS, Links()):
            delivery = deliver("slack:#x", part=1, parts=2, share=Share(0, count, shown))
            payload = json.loads(renderer.render(digest, delivery, links, IDENTITY).body)
            assert check_blocks(payload["blocks"]) == []
            assert _ids(payload) == (ids[:shown] if links.web_view else ids)
            assert (f"{count - shown} more" in _texts(payload)) is (shown < count)


def test_a_message_for_the_channel_that_was_too_large_lists_fewer_titles(
    renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity
) -> None:
    digest = make_digest([make_entry(number) for number in range(1, 16)])
    for shown, words in ((10, "*5 more*"), (5, "*10 more*"), (0, "*15 papers*")):
        for to in ("slack:#x", "slack-webhook:x"):
            delivery = deliver(to, share=Share(0, 0, shown))
            payload = json.loads(renderer.render(digest, delivery, SAMPLE_LINKS, identity).body)
            assert len(_ids(payload)) == shown
            assert words in _texts(payload) or "webhook" in to


def test_the_thread_of_forty_papers_is_two_messages_and_of_a_hundred_and_twenty_six(renderer: Renderer) -> None:
    for count, thread in ((0, 0), (1, 1), (20, 1), (40, 2), (120, 6)):
        digest = make_digest([make_entry(number) for number in range(1, count + 1)])
        assert len(renderer.divide(digest, CHANNEL)) == 1 + thread


def _paragraphs(source: str) -> list[str]:
    """Divide a template where it may be divided: between its blocks, each with its own conditions and loops."""
    pieces, depth, lines = [], 0, list[str]()
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if not IS_NIGHTLY:
        monkeypatch.setattr(check, "SAMPLES", SAMPLES[::5])
    folder = tmp_path / "slack"
    folder.mkdir()
    source = (find_shipped_templates() / f"slack/{name}.txt").read_text()
    head, *pieces = _paragraphs(source)
    assert "fallback:" in head
    assert len(pieces) >= 2
    variants = [[*pieces[:n], *pieces[n + 1 :]] for n in range(len(pieces))] + [pieces[::-1]]
    for variant in variants:
        (folder / f"{name}.txt").write_text("\n\n".join([head, "> kept", *variant]))
        assert check_templates(Renderer([tmp_path]).templates) == ()
