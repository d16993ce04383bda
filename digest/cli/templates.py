"""`digest templates`: which there are, a copy to change, and what each of them sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from digest.cli.commands import CommandGroup
from digest.cli.output import Part, answers, echo, labelled, say, style, table, writing_files
from digest.config import Config, open_config_or_defaults
from digest.config.values import suggest
from digest.model.errors import UnknownName, UsageError
from digest.model.numbers import count
from digest.render.check import TemplateEntry, list_seen, list_templates, write_extension
from digest.render.templates import Templates, find_shipped_templates

_ALL = "`digest templates list` shows them all."


@click.group(cls=CommandGroup)
def command() -> None:
    """Templates: what every mail, message, page and feed is made from.

    Those in the folder that `templates` names in digest.toml win over the shipped ones, file by file.
    """


@dataclass(frozen=True, slots=True)
class TemplateDetail:
    """A template, and what it can use: names, and the parts of some of these, each with its meaning."""

    entry: TemplateEntry
    uses: Mapping[str, Mapping[str, str]]


def _show(listed: tuple[TemplateEntry, ...] | TemplateDetail) -> Iterator[Part]:
    if isinstance(listed, TemplateDetail):
        yield from _show_detail(listed.entry, listed.uses)
        return
    rows = [
        (entry.name, entry.purpose, _shorten(entry.path) if entry.is_own else "shipped")
        for entry in listed
    ]
    yield table(("TEMPLATE", "WHAT IT IS", "FROM"), rows, empty="")
    if not any(entry.is_own for entry in listed):
        yield "\nTo change one, such as the mail: `digest templates export email/digest.html`."
        yield "With --extend you replace only some blocks of it."


def _show_detail(entry: TemplateEntry, uses: Mapping[str, Mapping[str, str]]) -> Iterator[Part]:
    yield f"{style(f'{entry.name}:', bold=True)} {entry.purpose or 'a template of yours'}"
    yield f"from {_shorten(entry.path) if entry.is_own else 'what is shipped'}"
    if entry.blocks:
        yield f"  blocks  {', '.join(entry.blocks)}"
    if not uses:
        yield "It can use all that the template can that includes it."
    for kind, found in uses.items():
        yield f"\n{style(kind or 'It can use', bold=True)}"
        yield labelled(((f"  {name}", meaning) for name, meaning in found.items()), is_bold=False)


@command.command("list")
@click.argument("name", required=False)
@answers(_show)
@click.pass_context
def list_(ctx: click.Context, *, name: str | None) -> tuple[TemplateEntry, ...] | TemplateDetail:
    """List the templates; with NAME, what this one can use.

    \b
    digest templates list
    digest templates list email/digest.html
    """  # noqa: D301 - click reads the backspace, which must be one
    entries = {
        entry.name: entry
        for entry in list_templates(
            _open_templates(open_config_or_defaults(ctx.obj["config_path"]))
        )
    }
    if name is None:
        return tuple(entries.values())
    if name not in entries:
        raise UnknownName(f"there is no template {name!r}", hint=suggest(name, entries, "") or _ALL)
    return TemplateDetail(entries[name], list_seen(name))


@command.command()
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to.",
)
@click.option(
    "--extend",
    is_flag=True,
    help="Write files that extend the shipped ones, to replace single blocks.",
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.pass_context
def export(
    ctx: click.Context, *, folder: Path | None, extend: bool, force: bool, names: tuple[str, ...]
) -> None:
    """Copy shipped templates into a folder of yours.

    You can change the copies there. Without FILE, all are copied.

    \b
    digest templates export email/style.css slack/digest.txt
    digest templates export --extend email/digest.html

    A file that extends a shipped one takes over what a later release improves; a copy stays as it is.
    The folder is the one that digest.toml names, else `templates` beside it. Without --force, no file is
    replaced.
    """  # noqa: D301 - click reads the backspace, which must be one
    config = open_config_or_defaults(ctx.obj["config_path"])
    target = folder or config.templates or config.folder / "templates"
    files = _gather(_open_templates(None), names, extend=extend)
    if not force and (there := [name for name in files if (target / name).exists()]):
        raise UsageError(
            f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} in {_shorten(target)} already;"
            " nothing was written",
            hint="Name others, another folder with --to, or write over them with --force.",
        )
    with writing_files():
        for name, text in files.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text(text, encoding="utf-8")
    say(f"Wrote {count(len(files), 'template')} to {_shorten(target)}.")
    if config.templates is None or config.templates.resolve() != target.resolve():
        echo(
            f'  to do  templates = "{_shorten(target)}" at the top of digest.toml, before the first [table]'
        )
    echo("  then   `digest doctor --quick` says whether they can be used")


def _open_templates(config: Config | None) -> Templates:
    return Templates(
        [config.templates] if config and config.templates else [], find_shipped_templates()
    )


def _gather(templates: Templates, names: Sequence[str], *, extend: bool) -> Mapping[str, str]:
    shipped = templates.shipped_names()
    for name in names:
        if name not in shipped:
            raise UsageError(
                f"there is no template {name!r}", hint=suggest(name, shipped, "") or _ALL
            )
    if not extend:
        return {
            name: templates.find_file(name).read_text(encoding="utf-8") for name in names or shipped
        }
    files = {name: write_extension(templates, name) for name in names or shipped}
    if names and (bare := [name for name in names if not files[name]]):
        raise UsageError(
            f"{', '.join(bare)} {'has' if len(bare) == 1 else 'have'} no blocks that could be replaced one by one",
            hint=f"Copy it whole: `digest templates export {' '.join(bare)}`.",
        )
    return {name: text for name, text in files.items() if text}


def _shorten(path: Path) -> str:
    """Return a path as seen from here, if that is shorter."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
