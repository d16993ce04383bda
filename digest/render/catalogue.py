"""The catalogue of templates: what each is for, what it sees, whose it is, and which are there in vain."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from digest.render.contexts import CONTEXTS
from digest.render.environments import SHIPPED_PREFIX

if TYPE_CHECKING:
    from pathlib import Path

    from digest.render.environments import Templates
    from digest.render.extending import StrayBlock

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


def find_unused(templates: Templates) -> tuple[str, ...]:
    """Return the operator's templates that replace none and that no other takes in: mistyped names, as a rule.

    Raises:
        TemplateError: a template cannot be read.
    """
    names = templates.names()
    taken_in = {other for name in names for other in templates.find_references(name)}
    if None in taken_in:  # an address that is put together while rendering may be any of them
        return ()
    shipped = set(templates.shipped_names())
    return tuple(name for name in names if name not in shipped | taken_in)


def find_unfilled(templates: Templates) -> tuple[tuple[str, StrayBlock], ...]:
    """Return the shipped templates that extend one of the operator's, with each block that it does not have.

    Raises:
        TemplateError: a template cannot be read.
    """
    shipped = [name for name in templates.names() if not templates.is_own(templates.find_file(name))]
    return tuple((name, stray) for name in shipped for stray in templates.find_stray_blocks(name))


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
