"""`digest templates`: which there are, a copy to change, and what each of them sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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

    Those in the folder that `templates` names in digest.toml win over the shipped ones, file by
    file.
    """


@dataclass(frozen=True, slots=True)
class TemplateDetail:
    """A template, and what it can use: names, and parts of some, each with its meaning."""

    entry: TemplateEntry
    uses: Mapping[str, Mapping[str, str]]


def _show(listed: tuple[TemplateEntry, ...] | TemplateDetail) -> Iterator[Part]:
    if isinstance(listed, TemplateDetail):
        yield from _show_detail(listed.entry, listed.uses)
        return
    rows = []
    for entry in listed:
        source = _shorten(entry.path) if entry.is_own else "shipped"
        rows.append((entry.name, entry.purpose, source))
    yield table(("TEMPLATE", "WHAT IT IS", "FROM"), rows, empty="")
    if not any(entry.is_own for entry in listed):
        yield "\nTo change one, such as the mail: `digest templates export email/digest.html`."
        yield "With --extend you replace only some blocks of it."


def _show_detail(entry: TemplateEntry, uses: Mapping[str, Mapping[str, str]]) -> Iterator[Part]:
    name = style(f"{entry.name}:", bold=True)
    purpose = entry.purpose or "a template of yours"
    source = _shorten(entry.path) if entry.is_own else "what is shipped"
    yield f"{name} {purpose}"
    yield f"from {source}"
    if entry.blocks:
        yield f"  blocks  {', '.join(entry.blocks)}"
    if not uses:
        yield "It can use all that the template can that includes it."
    for kind, found in uses.items():
        heading = style(kind or "It can use", bold=True)
        yield f"\n{heading}"
        lines = [(f"  {name}", meaning) for name, meaning in found.items()]
        yield labelled(lines, is_bold=False)


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
    config = open_config_or_defaults(ctx.obj["config_path"])
    listed = tuple(list_templates(_open_templates(config)))
    if name is None:
        return listed
    entries = {entry.name: entry for entry in listed}
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

    A file that extends a shipped one takes over what a later release improves; a copy stays
    as it is. The folder is the one that digest.toml names, else `templates` beside it. Without
    --force, no file is replaced.
    """  # noqa: D301 - click reads the backspace, which must be one
    config = open_config_or_defaults(ctx.obj["config_path"])
    target = folder or config.templates or config.folder / "templates"
    shown = _shorten(target)
    files = _gather(_open_templates(None), names, extend=extend)
    if not force:
        _refuse_present(target, files)
    with writing_files():
        for name, text in files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    say(f"Wrote {count(len(files), 'template')} to {shown}.")
    is_named = config.templates is not None and config.templates.resolve() == target.resolve()
    if not is_named:
        line = f'templates = "{shown}"'
        echo(f"  to do  {line} at the top of digest.toml, before the first [table]")
    echo("  then   `digest doctor --quick` says whether they can be used")


def _refuse_present(target: Path, files: Iterable[str]) -> None:
    """Refuse to write over files of a folder."""
    present = [name for name in files if (target / name).exists()]
    if present:
        verb = "is" if len(present) == 1 else "are"
        raise UsageError(
            f"{', '.join(present)} {verb} in {_shorten(target)} already; nothing was written",
            hint="Name others, another folder with --to, or write over them with --force.",
        )


def _open_templates(config: Config | None) -> Templates:
    folders = []
    if config is not None and config.templates is not None:
        folders.append(config.templates)
    return Templates(folders, find_shipped_templates())


def _gather(templates: Templates, names: Sequence[str], *, extend: bool) -> Mapping[str, str]:
    """Return the files to write: copies of templates, or files that extend them."""
    shipped = templates.shipped_names()
    for name in names:
        if name not in shipped:
            raise UsageError(
                f"there is no template {name!r}", hint=suggest(name, shipped, "") or _ALL
            )
    wanted = names or shipped
    if not extend:
        return {name: templates.find_file(name).read_text(encoding="utf-8") for name in wanted}
    files = {name: write_extension(templates, name) for name in wanted}
    bare = [name for name in names if not files[name]]
    if bare:
        verb = "has" if len(bare) == 1 else "have"
        raise UsageError(
            f"{', '.join(bare)} {verb} no blocks that could be replaced one by one",
            hint=f"Copy it whole: `digest templates export {' '.join(bare)}`.",
        )
    return {name: text for name, text in files.items() if text}


def _shorten(path: Path) -> str:
    """Return a path as seen from here, if that is shorter."""
    here = Path.cwd()
    if path.is_relative_to(here):
        return str(path.relative_to(here))
    return str(path)
