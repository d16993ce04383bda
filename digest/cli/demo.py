"""`digest demo`: the whole pipeline on a made-up arXiv, as a story of two evenings."""

from __future__ import annotations

import sys
import threading
import webbrowser
from pathlib import Path

import click

from digest.cli.commands import name_command
from digest.cli.output import MARKS, ProgressLines, echo, find_width, shows_colors
from digest.demo.story import StoryOutcome, run_story
from digest.model.errors import DigestError
from digest.model.messages import Digest
from digest.render.renderer import Renderer


@click.command()
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Where page, mail, Slack message and feed are left.",
)
@click.option(
    "--stay/--once",
    "stays",
    default=None,
    help="Serve the pages until a key is pressed, or end at once. On a terminal it stays.",
)
def command(folder: Path, *, stays: bool | None) -> None:
    """See it work on a made-up arXiv, with no network and no keys.

    All is real but arXiv, the mail server and Slack, which are small servers on 127.0.0.1. It shows
    that nothing is sent twice, and that a new version of a paper is reported alone. On a terminal
    it then opens the mail, if you like, and serves its pages.
    """
    echo(
        "A made-up arXiv on this machine: 3 saved queries, a mailbox, a Slack channel, a feed.\n"
        "Nothing leaves this machine."
    )
    if stays is None:
        stays = _is_on_terminal()
    outcome = run_story(folder, ProgressLines(to_stderr=False), _show, _stay if stays else None)
    if not stays:
        _sum_up(outcome)
    if not (outcome.was_quiet and outcome.was_only_replacement):
        raise DigestError(
            "the demo did not go as it should", hint="Please report this: it is a bug."
        )


def _is_on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _show(digest: Digest, renderer: Renderer) -> None:
    text = renderer.render_terminal(digest, width=find_width(), color=shows_colors(), limit=None)
    echo(f"\n{text.rstrip()}\n")


def _sum_up(outcome: StoryOutcome) -> None:
    quiet = MARKS[outcome.was_quiet]
    echo(f" {quiet} checked again: nothing new, so nothing was sent")
    alone = MARKS[outcome.was_only_replacement]
    echo(f" {alone} one paper got a second version: only that one was sent")
    name = name_command()
    files = " ".join(file.name for file in outcome.files)
    echo(f"\n Files  {outcome.files[0].parent}/: {files}")
    echo(f' Next   {name} try "cat:cs.PF AND abs:GPU"   the real arXiv, sends nothing')
    echo(f"        {name} init   your own")


def _stay(outcome: StoryOutcome) -> None:
    """Keep the pages until a key is pressed; without a terminal, until the process is ended."""
    _sum_up(outcome)
    mail = outcome.mail.resolve().as_uri()
    echo(f" Mail   {mail}\n Pages  {outcome.home}/\n        {outcome.page}")
    try:
        if not _is_on_terminal():
            echo("\nThe pages stay until this is stopped (Ctrl-C).")
            threading.Event().wait()
        echo("\nm opens the mail in your browser, p the page. Any other key ends the demo.")
        places = {"m": mail, "p": outcome.page}
        key = click.getchar().lower()
        while key in places:
            if not webbrowser.open(places[key]):
                echo("No browser was found here. Open the address above in yours.")
            key = click.getchar().lower()
    except KeyboardInterrupt:
        echo()
