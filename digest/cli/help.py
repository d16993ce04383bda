"""`digest help`: the manual, one page a topic, and the help of any command."""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path

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
        group = found.command
        known = group.list_commands(found) if isinstance(group, click.Group) else []
        raise UsageError(
            f'The manual does not have "{" ".join(words)}", and there is no such command.',
            hint=suggest(unknown, (*(() if found.parent else TOPICS), *known), "")
            or "`digest help` lists the pages.",
        )


def read_page(topic: str) -> str:
    """Return a page of the manual, in Markdown."""
    return (Path(__file__).parents[1] / "manual" / f"{topic}.md").read_text(encoding="utf-8")


def _list_topics() -> None:
    width = max(map(len, TOPICS)) + 2
    echo("The manual. `digest help TOPIC` shows a page, `digest help COMMAND` a command.\n")
    for topic in TOPICS:
        title = read_page(topic).partition("\n")[0].removeprefix("# ")
        echo(f"  {topic:<{width}}{title}")


def _find_command(ctx: click.Context, words: tuple[str, ...]) -> tuple[click.Context, str | None]:
    """Return the context of the command that these words call, and the first word that calls none."""
    found = ctx.find_root()
    for word in words:
        group = found.command
        child = group.get_command(found, word) if isinstance(group, click.Group) else None
        if child is None:
            return found, word
        found = click.Context(child, info_name=word, parent=found)
    return found, None


def _list_sections(words: tuple[str, ...]) -> bool:
    """Print where the manual has all these words, each with the first line that has one; say if any has."""
    found = []
    for topic in TOPICS:
        for section in re.split(r"(?m)^#+ ", read_page(topic)):
            if all(word.casefold() in section.casefold() for word in words):
                title, *lines = section.splitlines()
                lines = [
                    line
                    for line in lines
                    if words[0].casefold() in line.casefold() and line[:3] != "```"
                ]
                found.append((topic, title, (lines or [""])[0].strip("| ")))
    if not found:
        return False
    width, room = max(map(len, TOPICS)) + 2, find_width()
    echo(f'The manual has "{" ".join(words)}" here. `digest help TOPIC` shows a page.\n')
    for topic, title, line in found:
        echo(f"  {topic:<{width}}{title}")
        if line:
            echo(f"  {'':<{width}}  {cut(line, room - width - 4)}")
    return True


def _show(page: str) -> None:
    """Print a page: set for a terminal, and through a pager where it is longer than that; else as it is."""
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
    text = _EMPTY_LINE.sub("", "\n".join(line.rstrip() for line in out.getvalue().splitlines()))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"
