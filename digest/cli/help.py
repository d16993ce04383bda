"""`digest help`: the manual, one page a topic, and the help of any command."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from digest.cli.output import cut, echo, find_width, put
from digest.config.values import suggest
from digest.model.errors import UsageError

TOPICS = (
    "starting",
    "queries",
    "cadence",
    "digest",
    "libraries",
    "mail",
    "slack",
    "feeds",
    "people",
    "workflow",
    "running",
    "machines",
    "backups",
    "settings",
    "templates",
    "webhook",
    "coverage",
    "trouble",
)
"""The pages of the manual, in the order a newcomer needs them."""

_EMPTY_LINE = re.compile(r"(?m)^(?:\x1b\[[\d;]*m| )+$")
"""A line of nothing but colours and blanks."""


@click.command()
@click.argument("words", metavar="[TOPIC|COMMAND|WORD]", nargs=-1)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Read the manual: TOPIC is one of its pages. Without TOPIC, list the pages.

    Any other WORD is searched for in all pages.

    \b
    digest help queries
    digest help subscription pause
    digest help docker
    """  # noqa: D301 - click reads the backspace, which must be one
    if not words:
        _list_topics()
        return
    if len(words) == 1 and words[0].lower() in TOPICS:
        _show(read_page(words[0].lower()))
        return
    found, unknown = _find_command(ctx, words)
    if unknown is None:
        echo(found.get_help())
    elif not _list_sections(words):
        raise _explain_unknown(words, found, unknown)


def _explain_unknown(words: Sequence[str], found: click.Context, unknown: str) -> UsageError:
    """Return the error for words that neither the manual nor the commands have."""
    group = found.command
    known = group.list_commands(found) if isinstance(group, click.Group) else []
    if found.parent is None:
        known = [*TOPICS, *known]
    said = " ".join(words)
    return UsageError(
        f'The manual does not have "{said}", and there is no such command.',
        hint=suggest(unknown, known, "") or "`digest help` lists the pages.",
    )


def read_page(topic: str) -> str:
    """Return a page of the manual, in Markdown."""
    manual = Path(__file__).parents[1] / "manual"
    return (manual / f"{topic}.md").read_text(encoding="utf-8")


def _list_topics() -> None:
    width = max(map(len, TOPICS)) + 2
    echo("The manual. `digest help TOPIC` shows a page, `digest help COMMAND` a command.\n")
    for topic in TOPICS:
        heading, _, _ = read_page(topic).partition("\n")
        title = heading.removeprefix("# ")
        echo(f"  {topic:<{width}}{title}")


def _find_command(ctx: click.Context, words: tuple[str, ...]) -> tuple[click.Context, str | None]:
    """Return the context of the command that words call, and the first word that calls none."""
    found = ctx.find_root()
    for word in words:
        group = found.command
        child = group.get_command(found, word) if isinstance(group, click.Group) else None
        if child is None:
            return found, word
        found = click.Context(child, info_name=word, parent=found)
    return found, None


class _Section(NamedTuple):
    """A section of the manual in which all words stand, and the first line that has one of them."""

    topic: str
    title: str
    line: str


def _find_sections(words: Sequence[str]) -> Iterator[_Section]:
    """Yield the sections that have all words. The line is that of the first word, "" for none."""
    folded = [word.casefold() for word in words]
    for topic in TOPICS:
        for section in re.split(r"(?m)^#+ ", read_page(topic)):
            if not all(word in section.casefold() for word in folded):
                continue
            title, *lines = section.splitlines()
            shown = ""
            for line in lines:
                if folded[0] in line.casefold() and not line.startswith("```"):
                    shown = line.strip("| ")
                    break
            yield _Section(topic, title, shown)


def _list_sections(words: tuple[str, ...]) -> bool:
    """Print where the manual has all these words; say if any section has."""
    found = list(_find_sections(words))
    if not found:
        return False
    width = max(map(len, TOPICS)) + 2
    room = find_width() - width - 4
    said = " ".join(words)
    echo(f'The manual has "{said}" here. `digest help TOPIC` shows a page.\n')
    for section in found:
        echo(f"  {section.topic:<{width}}{section.title}")
        if section.line:
            echo(f"  {'':<{width}}  {cut(section.line, room)}")
    return True


def _show(page: str) -> None:
    """Print a page: set for a terminal, through a pager where it is longer; else as it is."""
    if not sys.stdout.isatty():
        put(page, nl=False)
        return
    text = _set_page(page, find_width())
    if text.count("\n") < shutil.get_terminal_size().lines:
        put(text, nl=False)
    else:
        click.echo_via_pager(text)


def _set_page(page: str, width: int) -> str:
    """Return a page as a terminal shows it, with its colours as escape sequences."""
    from rich.console import Console  # noqa: PLC0415 - 50 ms that only a terminal needs
    from rich.markdown import Markdown  # noqa: PLC0415 - the same
    from rich.theme import Theme  # noqa: PLC0415 - the same

    theme = Theme({"markdown.code": "bold", "markdown.code_block": "", "markdown.h2": "bold"})
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, theme=theme, legacy_windows=False)
    # A heading of the first degree would stand in the middle of the line.
    console.print(Markdown(f"#{page}", code_theme="ansi_dark", hyperlinks=False))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    text = _EMPTY_LINE.sub("", "\n".join(lines))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"
