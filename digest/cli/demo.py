"""`digest demo`: the whole pipeline on a made-up arXiv, as a story of two evenings."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from digest.cli.output import Lines
from digest.cli.program import name_command
from digest.demo.story import tell_story
from digest.model.errors import DigestError


@click.command()
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Where page, mail, Slack message and feed are left.",
)
def command(folder: Path) -> None:
    """See the whole pipeline at work on a made-up arXiv; nothing leaves this machine.

    Real configuration, real SQLite, real sockets on 127.0.0.1. Polls twice to show that nothing is sent
    twice, and gives one paper a new version to show that only it is reported.
    """
    click.echo(
        "A made-up arXiv on 127.0.0.1: 3 saved queries, 1 mailbox, 1 Slack channel, 1 feed. "
        "Nothing leaves this machine."
    )
    width = min(shutil.get_terminal_size((100, 24)).columns, 110)
    outcome = tell_story(
        folder,
        Lines(to_stderr=False),
        lambda text: click.echo(f"\n{text.rstrip()}\n"),
        width,
        color=sys.stdout.isatty(),
    )
    click.echo(
        f" polled again: nothing new, nothing sent {_tick(outcome.was_quiet)}   "
        f"one paper gets a v2: only that one, as a replacement {_tick(outcome.was_only_replacement)}"
    )
    name = name_command()
    click.echo(f" Look:  {'  '.join(map(str, outcome.files))}")
    click.echo(f' Next:  {name} try "cat:cs.PF AND abs:GPU"   the real arXiv, sends nothing')
    click.echo(f"        {name} init   your own")
    if not (outcome.was_quiet and outcome.was_only_replacement):
        raise DigestError("the demo did not go as it should", hint="Please report this: it is a bug.")


def _tick(holds: bool) -> str:  # noqa: FBT001 - a predicate's value
    return click.style("✓", fg="green") if holds else click.style("✗", fg="red")
