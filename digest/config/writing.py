"""Values as TOML text."""

from __future__ import annotations


def write_toml(value: object) -> str:
    """Write text, a whole number, a truth value, or a list of these, as TOML would be typed by hand."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(write_toml, value))}]"
    return write_text(str(value))


def write_text(text: str) -> str:
    """Write text in quotes: in single ones where it holds double ones, so that nothing need be escaped."""
    if '"' in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter.isprintable() else f"\\U{ord(letter):08X}"
