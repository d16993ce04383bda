"""`digest help`: the manual, one page a topic, and the help of any command."""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path

import click

from digest.config.values import suggest
from digest.model.errors import UsageError

_PAGES = Path(__file__).parents[1] / "manual"

TOPICS = (
    "starting",
    "queries",
    "cadence",
    "digest",
    "mail",
    "slack",
    "feeds",
    "people",
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

_WIDEST = 100
"""Columns; longer lines are hard to read."""

_EMPTY_LINE = re.compile(r"(?m)^(?:\x1b\[[\d;]*m| )+$")
"""A line of nothing but colours and blanks."""


@click.command()
@click.argument("words", metavar="[TOPIC|COMMAND]", nargs=-1)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Read the manual: TOPIC is one of its pages. Without TOPIC, list the pages.

    \b
    digest help queries
    digest help subscription pause
    """  # noqa: D301 - click reads the backspace, which must be one
    if not words:
        _list_topics()
    elif len(words) == 1 and words[0].lower() in TOPICS:
        _show(read_page(words[0].lower()))
    else:
        click.echo(_find_command(ctx, words).get_help())


def read_page(topic: str) -> str:
    """Return a page of the manual, in Markdown."""
    return (_PAGES / f"{topic}.md").read_text(encoding="utf-8")


def _list_topics() -> None:
    width = max(map(len, TOPICS)) + 2
    click.echo("The manual. `digest help TOPIC` shows a page, `digest help COMMAND` a command.\n")
    for topic in TOPICS:
        title = read_page(topic).partition("\n")[0].removeprefix("# ")
        click.echo(f"  {topic:<{width}}{title}")


def _find_command(ctx: click.Context, words: tuple[str, ...]) -> click.Context:
    """Return the context of the command that these words call.

    Raises:
        UsageError: they name neither a topic nor a command.
    """
    found = ctx.find_root()
    for number, word in enumerate(words):
        group = found.command
        known = group.list_commands(found) if isinstance(group, click.Group) else []
        child = group.get_command(found, word) if isinstance(group, click.Group) else None
        if child is None:
            said, topics = " ".join(words[: number + 1]), () if number else TOPICS
            raise UsageError(
                f'The manual has no page "{said}", and there is no such command.',
                hint=suggest(word, (*topics, *known), "") or "`digest help` lists the pages.",
            )
        found = click.Context(child, info_name=word, parent=found)
    return found


def _show(page: str) -> None:
    """Print a page: set for a terminal, and through a pager where it is longer than that; else as it is."""
    if not sys.stdout.isatty():
        click.echo(page, nl=False)
        return
    columns, lines = shutil.get_terminal_size()
    text = _set_page(page, min(columns, _WIDEST))
    if text.count("\n") < lines:
        click.echo(text, nl=False)
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
