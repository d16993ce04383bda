"""Draws Slack messages as pages that a browser can photograph: `python -m tests.battery.slack_pictures FOLDER`.

Slack is not at hand, so this lays blocks out as its client does, near enough to judge by eye how a digest
reads: a header's size, a context line's grey, links and bold within mrkdwn, a thread beside its message.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from digest.model.messages import Delivery, DeliveryState, Digest
from digest.model.subscriptions import Destination
from digest.render import Renderer
from digest.render.samples import EVENING, SAMPLE_LINKS, make_digest, make_entry, odd_entries, sample_digest

_CHROMIUM = shutil.which("chromium") or "chromium"
_CHANNEL = Destination.parse("slack:#papers")
_STYLE = """
body { font: 15px/1.46 Lato, "DejaVu Sans", sans-serif; color: #1d1c1d; background: #fff }
body { margin: 0; display: flex }
main { width: 620px; padding: 16px 20px } aside { width: 380px; padding: 16px 20px; border-left: 1px solid #ddd }
.name { font-weight: 900 } .app { font-size: 10px; background: #e8e8e8; padding: 1px 3px; border-radius: 2px }
.block { margin: 4px 0 8px } .header { font-size: 18px; font-weight: 900; margin: 8px 0 }
.context { font-size: 13px; color: #616061 } a { color: #1264a3; text-decoration: none }
hr { border: 0; border-top: 1px solid #ddd }
.dark { color: #d1d2d3; background: #1a1d21 } .dark a { color: #1d9bd1 } .dark .context { color: #ababad }
"""
_TOKEN = re.compile(r"<([^|>]+)\|([^>]*)>")
_BOLD = re.compile(r"(^|[\s(])\*(\S(?:.*?\S)?)\*(?=$|[\s,.;:)·])", re.MULTILINE)


def draw_mrkdwn(text: str) -> str:
    """Return mrkdwn as HTML: links and bold, which is bold only between blanks or punctuation."""
    links: list[str] = []

    def keep(found: re.Match[str]) -> str:
        links.append(f'<a href="{html.escape(found[1])}">{found[2]}</a>')
        return f"\x00{len(links) - 1}\x00"

    bare = _BOLD.sub(r"\1<b>\2</b>", _TOKEN.sub(keep, text))
    return re.sub(r"\x00(\d+)\x00", lambda found: links[int(found[1])], bare).replace("\n", "<br>")


def draw_block(block: dict[str, Any]) -> str:
    """Return one block as HTML."""
    match block["type"]:
        case "divider":
            return "<hr>"
        case "header":
            return f'<div class="block header">{html.escape(block["text"]["text"])}</div>'
        case "section":
            return f'<div class="block">{draw_mrkdwn(block["text"]["text"])}</div>'
        case _:
            words = "".join(draw_mrkdwn(element["text"]) for element in block["elements"])
            return f'<div class="block context">{words}</div>'


def draw_digest(renderer: Renderer, digest: Digest, *, theme: str = "") -> str:
    """Return a digest's messages as a page: the channel's, and its thread beside it."""
    shares = renderer.divide(digest, _CHANNEL)
    bodies = []
    for part, share in enumerate(shares):
        delivery = Delivery(
            *(1, 1, _CHANNEL, part, len(shares), DeliveryState.CLAIMED, 0, 1, "picture", EVENING, EVENING),
            parent_remote_id="1.5" if part else "",
            share=share,
        )
        payload = json.loads(renderer.render_slack(digest, delivery, SAMPLE_LINKS).body)
        head = '<div><span class="name">Digest</span> <span class="app">APP</span></div>'
        bodies.append(head + "".join(map(draw_block, payload["blocks"])))
    thread = "".join(f"<div>{body}</div>" for body in bodies[1:])
    return (
        f'<!doctype html><meta charset="utf-8"><style>{_STYLE}</style><body class="{theme}">'
        f"<main>{bodies[0]}</main><aside><b>Thread</b>{thread}</aside>"
    )


def main(folder: Path) -> None:
    """Write the pages, and photograph them with Chromium."""
    folder.mkdir(parents=True, exist_ok=True)
    renderer = Renderer()
    digests = {
        "ordinary": sample_digest(),
        "odd": make_digest(odd_entries()),
        "forty": make_digest([make_entry(number) for number in range(1, 41)]),
    }
    for name, digest in digests.items():
        for theme in ("", "dark"):
            page = folder / f"slack-{name}{theme and '-' + theme}.html"
            page.write_text(draw_digest(renderer, digest, theme=theme), encoding="utf-8")
            subprocess.run(  # noqa: S603 - our own page
                [
                    *(_CHROMIUM, "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1100,1000"),
                    f"--screenshot={page.with_suffix('.png')}",
                    page.as_uri(),
                ],
                check=True,
                capture_output=True,
            )
            print(page.with_suffix(".png"))  # noqa: T201 - a command's answer


if __name__ == "__main__":
    main(Path(sys.argv[1]))
