"""`digest config`: what counts and where it comes from, and whether it is sound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest import config as configuration
from digest.cli.commands import CommandGroup
from digest.cli.output import cut, json_option, print_json, print_table
from digest.cli.subscription import check_exclusions, list_remarks
from digest.config import find_config, open_config, read_environment
from digest.config.draft import Mistakes
from digest.model.errors import ConfigurationError, DigestError, QueryError, count
from digest.query import NoteKind, parse_query
from digest.render import Renderer
from digest.render.check import check_templates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.config import Config

_WIDEST_VALUE = 80


@click.group(cls=CommandGroup)
def command() -> None:
    """Show and check the configuration."""


@command.command()
@json_option
@click.pass_context
def show(ctx: click.Context, *, as_json: bool) -> None:
    """Show every setting, and where its value comes from.

    That is the default, the file, or a variable. Secrets are never shown, only whether they
    are set. Without a file, defaults and environment count.
    """
    config = configuration.open_config_or_defaults(ctx.obj["config_path"])
    if as_json:
        print_json({"path": config.path, "settings": configuration.show(config), "warnings": config.warnings})
        return
    rows = [[row.key, cut(row.value, _WIDEST_VALUE) or '""', row.origin] for row in configuration.show(config)]
    print_table(["SETTING", "VALUE", "FROM"], rows, empty="")
    for warning in config.warnings:
        click.echo(f"warning: {warning}", err=True)


@command.command()
@json_option
@click.pass_context
def check(ctx: click.Context, *, as_json: bool) -> None:
    """Check everything: settings, saved queries, your own templates.

    Every problem is told at once. Exit code 3 where there is one, else 0.
    """
    config_path = find_config(ctx.obj["config_path"], read_environment())
    config, problems, warnings = None, list[str](), list[str]()
    try:
        config = open_config(ctx.obj["config_path"])
        problems = [*_check_queries(config), *_check_templates(config)]
        warnings = [*config.warnings, *_find_oddities(config)]
    except Mistakes as error:
        problems = list(error.each)
    except ConfigurationError as error:
        problems = [f"{error.message}\n      {error.hint}" if error.hint else error.message]
    if as_json:
        print_json({"path": str(config_path), "problems": problems, "warnings": warnings})
    else:
        _print(config, problems, warnings)
    if problems:
        ctx.exit(ConfigurationError.exit_code)


def _check_queries(config: Config) -> Iterator[str]:
    for query in config.queries:
        try:
            parse_query(query.text)
        except QueryError as error:
            yield _describe_problem(f"queries.{query.name}", error)
    for place, trouble in check_exclusions(config):
        yield _describe_problem(place, trouble)


def _describe_problem(place: str, error: QueryError) -> str:
    pointer = "\n".join(f"      {line}" for line in error.pointer().splitlines())
    return f"{place}: {error.message}\n{pointer}" + (f"\n      {error.hint}" if error.hint else "")


def _find_oddities(config: Config) -> Iterator[str]:
    """Yield what is allowed and still looks like a slip: remarks on queries, and queries nobody follows."""
    followed = {name for subscription in config.subscriptions for name in subscription.queries}
    for query in config.queries:
        key = f"queries.{query.name}"
        if query.name not in followed:
            yield f"{key}: no subscription follows it"
        try:
            for note in parse_query(query.text).notes:
                if note.kind is not NoteKind.LICENCE or config.arxiv.source == "query":
                    yield f"{key}: {note.message}"
        except QueryError:
            continue  # an error, and told as one
    yield from list_remarks(config)


def _check_templates(config: Config) -> Iterator[str]:
    """Render the operator's own templates with everything they may meet."""
    if config.templates is None:
        return
    try:
        problems = check_templates(Renderer([config.templates]).templates)
    except DigestError as error:
        yield error.message
        return
    for problem in problems:
        yield problem.message + (f"\n      {problem.hint}" if problem.hint else "")


def _print(config: Config | None, problems: list[str], warnings: list[str]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    for problem in problems:
        click.echo(f"{click.style('error:', fg='red', bold=True)} {problem}", err=True)
    if len(problems) > 1:
        click.echo(f"{len(problems)} things to correct.", err=True)
    if config is not None and not problems:
        parts = [
            count(len(config.queries), "saved query", "saved queries"),
            count(len(config.subscriptions), "subscription"),
        ]
        but = f", but for {count(len(warnings), 'warning')}" if warnings else ""
        click.echo(f"{config.path} is sound{but}: {', '.join(parts)}.")
