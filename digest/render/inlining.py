"""Style sheets written into the elements of a mail template: once per template, never per message.

Mail readers drop style sheets in many ways, so every element carries its own `style`. The inliner
works on the template's source, with Jinja's tags held as placeholders, so a message costs no more
than rendering. Selectors should be simple: a source is inlined alone, without the file it extends.
"""

from __future__ import annotations

import re
from functools import partial

import css_inline

from digest.errors import TemplateError

_JINJA_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
_PLACEHOLDER = re.compile(r"<!--jinja-(\d+)-tag-->|jinja-(\d+)-tag")
_OPENINGS = re.compile(r"<!--|<(?:title|style)\b[^>]*>|<[a-zA-Z/!]")
_DOCUMENT = re.compile(r"<html\b", re.IGNORECASE)


def inline_styles(source: str, css: str) -> str:
    """Return a template's source with the declarations of `css` written into its elements.

    `<style>` elements stay as they are: they hold what cannot be inlined, such as media queries.

    Raises:
        TemplateError: a Jinja tag stands where neither text nor an attribute's value is.
    """
    tags = _JINJA_TAG.findall(source)
    held = _hold_tags(source)
    if _DOCUMENT.search(source):
        inlined = css_inline.CSSInliner(
            inline_style_tags=False,
            keep_style_tags=True,
            minify_css=True,
            load_remote_stylesheets=False,
            extra_css=css,
        ).inline(held)
    else:
        inlined = css_inline.inline_fragment(held, css, minify_css=True, load_remote_stylesheets=False)
    return _PLACEHOLDER.sub(partial(_restore_tag, tags), inlined)


def _hold_tags(source: str) -> str:
    held = ""
    end = 0
    for number, tag in enumerate(_JINJA_TAG.finditer(source)):
        held += source[end : tag.start()]
        name = f"jinja-{number}-tag"
        # A comment may stand anywhere between elements, also in a table; inside an attribute's value,
        # a title or a comment only a bare word may.
        held += (
            name if _is_inside_markup(held, tag[0], source.count("\n", 0, tag.start()) + 1) else f"<!--{name}-->"
        )
        end = tag.end()
    return held + source[end:]


def _is_inside_markup(before: str, tag: str, line: int) -> bool:
    position = 0
    lowered = before.lower()
    while opening := _OPENINGS.search(lowered, position):
        closing = _closing_of(opening[0])
        found = lowered.find(closing, opening.end())
        if found < 0:
            if closing == ">" and not _is_quoted(before[opening.start() :]):
                raise TemplateError(
                    f"line {line}: {tag} stands in an element's tag, outside of an attribute's value",
                    hint='In mail templates write dir="{{ direction }}", or the whole element twice.',
                )
            return True
        position = found + len(closing)
    return False


def _is_quoted(opened: str) -> bool:
    quote = ""
    for letter in opened:
        if letter == quote:
            quote = ""
        elif letter in "\"'" and not quote:
            quote = letter
    return bool(quote)


def _closing_of(opening: str) -> str:
    if opening == "<!--":
        return "-->"
    for name in ("title", "style"):
        if opening.startswith(f"<{name}"):
            return f"</{name}"
    return ">"


def _restore_tag(tags: list[str], match: re.Match[str]) -> str:
    return tags[int(match[1] or match[2])]
