"""`digest init`: a commented digest.toml to start from, as ready to run as what was said allows."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from digest.cli.program import name_command
from digest.config import find_config, load_config, read_environment, starter_text
from digest.model.errors import ConfigurationError, UsageError, count
from digest.query import parse_query

if TYPE_CHECKING:
    from digest.config import Config


@click.command()
@click.option("--query", "queries", metavar="[NAME=]QUERY", multiple=True, help="A saved query; repeatable.")
@click.option(
    "--mail", "mails", metavar="ADDRESS", multiple=True, help="Who gets the digests by mail; repeatable."
)
@click.option("--slack", "channels", metavar="CHANNEL", multiple=True, help="A Slack channel; repeatable.")
@click.option(
    "--contact", metavar="ADDRESS", help="How arXiv can reach you; the first --mail where none is given."
)
@click.option(
    "--smtp", metavar="URL", help="Your mail server, as smtp+starttls://name@host; localhost by default."
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.argument("path", metavar="[FILE]", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.pass_context
def command(
    ctx: click.Context,
    *,
    queries: tuple[str, ...],
    mails: tuple[str, ...],
    channels: tuple[str, ...],
    contact: str | None,
    smtp: str | None,
    path: Path | None,
    force: bool,
) -> None:
    """Write a commented FILE to start from: digest.toml where none is named. Never writes over one.

    \b
    digest init --query "cat:cs.PF AND abs:GPU" --mail you@example.org
    digest init --query 'gpu=abs:GPU' --query 'perf=cat:cs.PF' --slack papers --contact you@example.org

    Without --mail and --slack, digests are printed where `digest run` runs.
    """  # noqa: D301 - click reads the backspace, which must be one
    target = path or find_config(ctx.obj["config_path"], read_environment())
    text = starter_text(
        contact=contact or "",
        queries=queries,
        mail=mails,
        slack=channels,
        smtp=smtp or "",
        name=_choose_name(target),
    )
    _check_queries(text)
    _write(target, text, force=force)
    _report(target)


def _choose_name(target: Path) -> str:
    """Return what a file's database is called after; "" for the usual one.

    Two files with one database would end each other's subscriptions in turn.
    """
    is_usual = target.name == "digest.toml" or not target.stem.replace("-", "").replace("_", "").isalnum()
    return "" if is_usual else target.stem


def _check_queries(text: str) -> None:
    """Read every query before anything is written.

    Raises:
        QueryError: one can't be read.
    """
    for query in tomllib.loads(text)["queries"].values():
        for note in parse_query(query).notes:
            click.echo(f"note: {query}: {note.message}", err=True)


def _write(target: Path, text: str, *, force: bool) -> None:
    """Write the file.

    Raises:
        UsageError: it is there already, or can't be written.
    """
    try:
        with target.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(
            f"{target} is there already, and was left as it is",
            hint="Edit it, name another file, or write over it with --force.",
        ) from error
    except OSError as error:
        raise UsageError(
            f"{target} can't be written: {error.strerror}", hint="Check the folder and its permissions."
        ) from error


def _report(target: Path) -> None:
    """Say what was written, what is still to be filled in, and what to do next."""
    environ = read_environment()
    try:
        config, missing = load_config(target, environ), []
    except ConfigurationError as error:
        config, missing = None, [f"{error.message.rstrip('.')}. {error.hint}"]
    if config is not None:
        missing = list(config.warnings)
    click.echo(_describe(target, config))
    for line in missing:
        click.echo(f"  to do  {line}")
    option = "" if find_config(None, environ) == target else f" --config {target}"
    name = name_command()
    click.echo(f"  then   {name}{option} doctor          is all well?")
    click.echo(f"         {name}{option} run             look at arXiv, and send the first digest")


def _describe(target: Path, config: Config | None) -> str:
    if config is None:
        return f"Wrote {target}. It lacks something yet:"

    (subscription,) = config.subscriptions
    queries = count(len(config.queries), "saved query", "saved queries")
    places = ", ".join("this terminal" if str(to) == "console" else str(to) for to in subscription.destinations)
    return f"Wrote {target}: {queries}, to {places}, {subscription.cadence}."
