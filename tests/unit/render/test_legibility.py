"""Every piece of text of a mail can be read.

In light, in dark, and where a mail reader turns our colours round.

Contrast is WCAG 2.2's ratio of relative luminances
(https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio); AA asks for 4.5 and lets large text have less,
of which no use is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import html as html_reader

from digest.model.papers import Field
from digest.render.mail import MailIdentity
from digest.render.renderer import Renderer
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry, quiet_digests
from tests.samples import merged_digest, odd_entries, sample_digest
from tests.unit.render.conftest import MakeDelivery, Write, read_parts

Color = tuple[float, float, float]
Styles = dict[str, str]
Text = tuple[str, Color, Color]
"""A piece of text, its colour and what is behind it."""

AA = 4.5

DIGESTS = {
    "sample": sample_digest(),
    "odd": make_digest(odd_entries()),
    "merged": merged_digest(),
    "titles": make_digest(
        [make_entry(number, found=((Field.TITLE, "GPU"),)) for number in range(1, 30)]
    ),
    "capped": make_digest([make_entry(number) for number in range(1, 5)], shown=2),
    **quiet_digests(),
}


def read_color(text: str) -> Color:
    assert re.fullmatch("#[0-9a-f]{6}", text), text
    red, green, blue = (int(text[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def to_linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)


def to_channel(linear: float) -> float:
    clipped = min(1.0, max(0.0, linear))
    return 12.92 * clipped if clipped <= 0.0031308 else float(1.055 * clipped ** (1 / 2.4) - 0.055)


def measure_luminance(color: Color) -> float:
    red, green, blue = map(to_linear, color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def measure_contrast(one: Color, other: Color) -> float:
    darker, lighter = sorted((measure_luminance(one), measure_luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def keep(color: Color) -> Color:
    return color


def turn_channels(color: Color) -> Color:
    """Turn a colour round and its hue back, as `filter: invert(1) hue-rotate(180deg)` does."""
    red, green, blue = (1 - channel for channel in color)
    luma = 0.213 * red + 0.715 * green + 0.072 * blue
    turned = (2 * luma - red, 2 * luma - green, 2 * luma - blue)
    one, two, three = (min(1.0, max(0.0, channel)) for channel in turned)
    return one, two, three


def turn_lightness(color: Color) -> Color:
    """Turn a colour's lightness round (L* of CIELAB), as Outlook and Gmail do.

    Hue and saturation about stay.
    """
    luminance = measure_luminance(color)
    lightness = 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance
    wanted = ((116 - lightness) / 116) ** 3 if lightness < 92 else (100 - lightness) / 903.3
    factor = wanted / luminance if luminance else 0
    red, green, blue = (
        to_channel(to_linear(channel) * factor if luminance else wanted) for channel in color
    )
    return red, green, blue


def read_declarations(text: str) -> Styles:
    pairs = (one.partition(":") for one in text.replace("!important", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs if value}


def read_rules(css: str) -> dict[str, Styles]:
    """Return what a part of a style sheet says of each selector."""
    rules: dict[str, Styles] = {}
    for selectors, declarations in re.findall(r"([^{}]+)\{([^{}]*)\}", css):
        for selector in selectors.split(","):
            rules.setdefault(selector.strip(), {}).update(read_declarations(declarations))
    return rules


def read_dark_rules(css: str) -> dict[str, Styles]:
    """Return what dark mode says of each selector.

    Every declaration there beats those in elements.
    """
    block = re.search(r"@media \(prefers-color-scheme: dark\) \{\n(.*?)\n\}", css, re.DOTALL)
    assert block
    assert block[1].count("!important") == block[1].count(";")
    return read_rules(block[1])


def find_texts(html: str, rules: dict[str, Styles]) -> Iterator[Text]:
    """Yield every piece of text that is shown, with the colours its element has or inherits."""
    light = read_rules(html.partition("<style>")[2].partition("@media")[0])

    def walk(
        element: html_reader.HtmlElement, color: Color, behind: Color, row: str = ""
    ) -> Iterator[Text]:
        if not isinstance(element.tag, str):  # a comment
            return
        row = element.get("class", row) if element.tag == "tr" else row
        names = [
            element.tag,
            *(f".{one}" for one in element.get("class", "").split()),
            f".{row} {element.tag}",
        ]
        styles = {name: value for one in names for name, value in light.get(one, {}).items()}
        styles |= read_declarations(element.get("style", ""))
        if styles.get("display") == "none":
            return
        for name in names:
            styles |= rules.get(name, {})
        if styles.get("color", "inherit") != "inherit":
            color = read_color(styles["color"])
        if "background" in styles:
            behind = read_color(styles["background"])
        if (element.text or "").strip():
            yield str(element.text), color, behind
        for child in element:
            yield from walk(child, color, behind, row)
            if (child.tail or "").strip():
                yield str(child.tail), color, behind

    body = html_reader.document_fromstring(html).find("body")
    assert body is not None
    black = (0.0, 0.0, 0.0)
    white = (1.0, 1.0, 1.0)
    yield from walk(body, black, white)


@pytest.mark.parametrize("name", DIGESTS)
def test_every_text_of_a_mail_has_contrast_enough_in_light_dark_and_turned_round(
    write: Write, renderer: Renderer, name: str
) -> None:
    html = read_parts(write(DIGESTS[name]))[1]
    dark = read_dark_rules(renderer.templates.read_source("email/media.css"))
    count = 0
    for rules in ({}, dark):
        for text, color, behind in find_texts(html, rules):
            for turn in (keep, turn_channels, turn_lightness):
                ratio = measure_contrast(turn(color), turn(behind))
                assert ratio >= AA, (
                    turn.__name__,
                    "dark" if rules else "light",
                    round(ratio, 2),
                    text,
                )
                count += 1
    assert count > 60


def test_a_grey_that_is_too_pale_is_found(
    tmp_path: Path, deliver: MakeDelivery, identity: MailIdentity
) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/style.css").write_text(".meta { color: #9a9a9a }")
    raw = Renderer([tmp_path]).render(
        sample_digest(), deliver("mailto:a@b.example"), SAMPLE_LINKS, identity
    )
    ratios = [measure_contrast(*colors) for _, *colors in find_texts(read_parts(raw.body)[1], {})]
    assert min(ratios) < AA
