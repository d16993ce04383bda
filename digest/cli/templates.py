"""`digest templates`: which there are, a copy to change, and what each of them sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from digest.cli.commands import CommandGroup
from digest.cli.output import as_dict, json_option, print_json, print_table, print_wrapped, say
from digest.config import Config, open_config_or_defaults
from digest.config.values import suggest
from digest.model.errors import UnknownName, UsageError, count
from digest.render.check import TemplateEntry, list_seen, list_templates, write_extension
from digest.render.templates import Templates, find_shipped_templates

_FOLDER = "templates"

_ALL = "`digest templates list` shows them all."


@click.group(cls=CommandGroup)
def command() -> None:
    """Templates: what every mail, message, page and feed is made from.

    Those in the folder that `templates` names in digest.toml win over the shipped ones, file by file.
    """


@command.command("list")
@click.argument("name", required=False)
@json_option
@click.pass_context
def list_(ctx: click.Context, *, name: str | None, as_json: bool) -> None:
    """List the templates; with NAME, what this one can use.

    \b
    digest templates list
    digest templates list email/digest.html
    """  # noqa: D301 - click reads the backspace, which must be one
    entries = list_templates(_open_templates(_load(ctx)))
    if name is not None:
        _show(entries, name, as_json=as_json)
        return
    if as_json:
        print_json(entries)
        return
    rows = [[entry.name, entry.purpose, _shorten(entry.path) if entry.is_own else "shipped"] for entry in entries]
    print_table(["TEMPLATE", "WHAT IT IS", "FROM"], rows, empty="")
    if not any(entry.is_own for entry in entries):
        say("\nTo change one, such as the mail: `digest templates export email/digest.html`.")
        say("With --extend you replace only some blocks of it.")


def _show(listed: Sequence[TemplateEntry], name: str, *, as_json: bool) -> None:
    entries = {entry.name: entry for entry in listed}
    if name not in entries:
        raise UnknownName(f"there is no template {name!r}", hint=suggest(name, entries, "") or _ALL)
    entry, seen = entries[name], list_seen(name)
    if as_json:
        parts = {kind: found for kind, found in seen.items() if kind}
        print_json({**as_dict(entry), "names": seen.get("", {}), "parts": parts})
        return
    print_wrapped(f"{name}: ", entry.purpose or "a template of yours", bold=True)
    click.echo(f"from {_shorten(entry.path) if entry.is_own else 'what is shipped'}")
    if entry.blocks:
        print_wrapped("  blocks", ", ".join(entry.blocks), width=10)
    if not seen:
        click.echo("It can use all that the template can that includes it.")
    for kind, found in seen.items():
        click.echo(f"\n{click.style(kind or 'It can use', bold=True)}")
        for one, meaning in found.items():
            print_wrapped(f"  {one}", meaning, width=max(map(len, found)) + 4)


@command.command()
@click.option(
    "--to", "folder", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path), help="Where to."
)
@click.option("--extend", is_flag=True, help="Write files that extend the shipped ones, to replace single blocks.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.pass_context
def export(ctx: click.Context, *, folder: Path | None, extend: bool, force: bool, names: tuple[str, ...]) -> None:
    """Copy shipped templates into a folder of yours.

    You can change the copies there. Without FILE, all are copied.

    \b
    digest templates export email/style.css slack/digest.txt
    digest templates export --extend email/digest.html

    A file that extends a shipped one takes over what a later release improves; a copy stays as it is.
    The folder is the one that digest.toml names, else `templates` beside it. Without --force, no file is
    replaced.
    """  # noqa: D301 - click reads the backspace, which must be one
    config = _load(ctx)
    target = folder or config.templates or config.folder / _FOLDER
    files = _gather(_open_templates(None), names, extend=extend)
    if not force and (there := [name for name in files if (target / name).exists()]):
        raise UsageError(
            f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} in {_shorten(target)} already;"
            " nothing was written",
            hint="Name others, another folder with --to, or write over them with --force.",
        )
    _write(target, files)

    say(f"Wrote {count(len(files), 'template')} to {_shorten(target)}.")
    if config.templates is None or config.templates.resolve() != target.resolve():
        click.echo(
            f'  to do  templates = "{_shorten(target)}" at the top of digest.toml, before the first [table]'
        )
    click.echo("  then   `digest doctor --quick` says whether they can be used")


def _load(ctx: click.Context) -> Config:
    return open_config_or_defaults(ctx.obj["config_path"])


def _open_templates(config: Config | None) -> Templates:
    return Templates([config.templates] if config and config.templates else [], find_shipped_templates())


def _gather(templates: Templates, names: Sequence[str], *, extend: bool) -> Mapping[str, str]:
    shipped = templates.shipped_names()
    for name in names:
        if name not in shipped:
            raise UsageError(f"there is no template {name!r}", hint=suggest(name, shipped, "") or _ALL)
    if not extend:
        return {name: templates.find_file(name).read_text(encoding="utf-8") for name in names or shipped}
    files = {name: write_extension(templates, name) for name in names or shipped}
    if names and (bare := [name for name in names if not files[name]]):
        raise UsageError(
            f"{', '.join(bare)} {'has' if len(bare) == 1 else 'have'} no blocks that could be replaced one by one",
            hint=f"Copy it whole: `digest templates export {' '.join(bare)}`.",
        )
    return {name: text for name, text in files.items() if text}


def _write(target: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = target / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{path} can't be written: {error.strerror}", hint="Check the folder and its permissions."
            ) from error


def _shorten(path: Path) -> str:
    """Return a path as seen from here, where that is shorter."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
