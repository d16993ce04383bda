"""XML as arXiv writes it: elements by namespace, texts without what XML forbids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from datetime import datetime

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document may hold (https://www.w3.org/TR/xml/#charsets)."""


def open_element(
    name: str, default: str, prefixes: dict[str, str], parent: etree._Element | None = None
) -> etree._Element:
    """Return an element that declares a default namespace and prefixes, at the top or below a parent."""
    names: dict[str | None, str] = {None: default}
    names.update(prefixes.items())
    if parent is None:
        return etree.Element(name, nsmap=names)  # type: ignore[arg-type]  # the stubs know no default namespace
    return etree.SubElement(parent, name, nsmap=names)  # type: ignore[arg-type]  # the stubs know no default namespace


def add_element(
    parent: etree._Element, name: str, text: str | None = None, attributes: dict[str, str] | None = None
) -> etree._Element:
    """Append an element to its parent; `name` may be in Clark notation, `{namespace}local`."""
    child = etree.SubElement(parent, name, attributes or {})
    if text is not None:
        child.text = clean_text(text)
    return child


def clean_text(text: str) -> str:
    """Return the text without the characters no XML document may hold."""
    return _FORBIDDEN.sub("", text)


def write_xml(root: etree._Element) -> bytes:
    """Return the document, indented, with its declaration."""
    written: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return written


def format_moment(moment: datetime) -> str:
    """Return a moment as `2026-11-20T01:00:00Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
