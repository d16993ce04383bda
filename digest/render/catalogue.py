"""The catalogue of templates: what each is for, what it sees and whose it is."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from digest.render.contexts import CONTEXTS
from digest.render.environments import SHIPPED_PREFIX

if TYPE_CHECKING:
    from pathlib import Path

    from digest.render.environments import Templates

_PARTS = {
    "email/style.css": "the mail's styles, written into each element",
    "email/media.css": "the mail's styles for dark mode and narrow screens",
    "web/style.css": "the pages' styles",
    "web/frame.html": "what all pages share",
}
"""Templates that others take in. They see what those see, style sheets nothing."""


@dataclass(frozen=True, slots=True)
class TemplateEntry:
    """A template.

    Attributes:
        name: its path below the folder, such as `email/digest.html`.
        purpose: what it is for, in a few words; "" for one of the operator's that Digest does not know.
        sees: the names it may use.
        blocks: the names of its blocks, which a template that extends it can replace one by one.
        path: its file.
        is_own: it is the operator's, in place of a shipped one or beside them.
    """

    name: str
    purpose: str
    sees: tuple[str, ...]
    blocks: tuple[str, ...]
    path: Path
    is_own: bool


def list_templates(templates: Templates) -> tuple[TemplateEntry, ...]:
    """Return every template that is in force, by name.

    Raises:
        TemplateError: one cannot be read.
    """
    return tuple(_describe(templates, name) for name in templates.names())


def write_extension(templates: Templates, name: str) -> str:
    """Return a template that extends the shipped one of its name, to start from; "" where that has no blocks.

    Raises:
        TemplateError: there is no such template.
    """
    blocks = templates.find_blocks(f"{SHIPPED_PREFIX}:{name}")
    if not blocks:
        return ""
    return (
        f'{{% extends "{SHIPPED_PREFIX}:{name}" %}}\n'
        f"{{# Write anew what you want otherwise, as {{% block {blocks[0]} %}}…{{% endblock %}};\n"
        "   {{ super() }} is what stood there.\n"
        f"   Blocks: {', '.join(blocks)}.\n"
        f"   They see: {', '.join(_find_names(name))}. #}}\n"
    )


def _describe(templates: Templates, name: str) -> TemplateEntry:
    path = templates.find_file(name)
    return TemplateEntry(
        name, _find_purpose(name), _find_names(name), templates.find_blocks(name), path, templates.is_own(path)
    )


def _find_purpose(name: str) -> str:
    if name in CONTEXTS:
        first, _, _ = (CONTEXTS[name].__doc__ or "").partition("\n")
        return first.partition(": ")[2].removesuffix(".")
    return _PARTS.get(name, "")


def _find_names(name: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(CONTEXTS[name])) if name in CONTEXTS else ()
