"""Finds templates and renders them with Jinja, each escaped as its medium needs.

A template's folder and suffix decide how it is escaped, by explicit lists: Jinja's own choice
leaves `*.html.j2` and `*.atom` unescaped. A name that means nothing is an error. The operator's
files come before the shipped ones, one by one. `default:email/digest.html` is always the shipped
file, so a template can extend the one it replaces.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import css_inline
import jinja2
from jinja2 import nodes
from jinja2.utils import missing
from markupsafe import Markup

from digest import __version__
from digest.model.errors import TemplateError
from digest.model.numbers import count
from digest.render.contexts import Context
from digest.render.papers import mark_parts, star_parts, style_parts, write_mrkdwn
from digest.render.terminal import cut_line
from digest.render.text import (
    Markdown,
    Mrkdwn,
    link,
    markdown_escape,
    markdown_link,
    open_sentence,
    slack_escape,
    styled,
    styled_link,
)

ESCAPED_SUFFIXES = (".html", ".xml", ".css", ".svg")
TEXT_SUFFIXES = (".txt", ".js", ".yml", ".env")
MARKDOWN_SUFFIXES = (".md",)
_SUFFIXES = ESCAPED_SUFFIXES + TEXT_SUFFIXES + MARKDOWN_SUFFIXES
SLACK_FOLDER = "slack/"
SHIPPED_PREFIX = "default"
_PACKAGE = Path(__file__).resolve().parent.parent

_OWN_NAMES = frozenset({"links", "self", "super"})
"""Names of what holds a reader's own addresses, or text in which they may be."""

_OWN_PARTS = ("unsubscribe", "preferences", "likes", "previtem", "nextitem")
"""What of `links`, and of the `loop` through some of them, is a reader's own."""

_CARRIES = (
    nodes.List,
    nodes.Tuple,
    nodes.CondExpr,
    nodes.And,
    nodes.Or,
    nodes.Concat,
)
"""An address in one of these is still whole in what comes of it."""

_ALLOWED = (*_CARRIES, nodes.Not, nodes.Output, nodes.If, nodes.For)
"""What prints an address, hands it on, or asks whether it is there."""

_KEEPS_TEXT = (nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.AssignBlock)
"""What is printed in these may be changed before anybody sees it."""


class Templates:
    """Every template by name, from the operator's folders and the shipped one."""

    def __init__(self, folders: Sequence[Path], shipped: Path) -> None:
        own = (folder for folder in folders if folder != shipped)
        self.folders = (*own, shipped)
        self._shipped = shipped
        shipped_loader = jinja2.FileSystemLoader(shipped)
        by_prefix = jinja2.PrefixLoader({SHIPPED_PREFIX: shipped_loader}, delimiter=":")
        self._loader = jinja2.ChoiceLoader([jinja2.FileSystemLoader(self.folders), by_prefix])
        build = partial(_build_environment, self._loader)
        self._slack = build(finalize=slack_escape, link=link, Mrkdwn=Mrkdwn)
        embed = self._read_embedded
        escaped = build(autoescape=True, read_style=embed, read_script=embed)
        text = build(styled=styled, link=styled_link, cut_line=cut_line)
        markdown = build(finalize=markdown_escape, link=markdown_link, Markdown=Markdown)
        self._by_suffixes = {
            ESCAPED_SUFFIXES: escaped,
            TEXT_SUFFIXES: text,
            MARKDOWN_SUFFIXES: markdown,
        }

    def names(self) -> list[str]:
        """Return the names of all templates, sorted."""
        return _list_names(self.folders)

    def shipped_names(self) -> list[str]:
        """Return the names of the templates that came with the installation, sorted."""
        return _list_names([self._shipped])

    def find_file(self, name: str) -> Path:
        """Return the file in force of a template."""
        for folder in self.folders:
            if (folder / name).is_file():
                return folder / name
        raise self._report_missing(name)

    def is_own(self, path: Path) -> bool:
        """Whether a template's file is the operator's."""
        return not path.is_relative_to(self._shipped)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the release and of all templates.

        It changes when what they render may change.
        """
        sources = [self.find_file(name).read_text("utf-8", "replace") for name in self.names()]
        all_sources = "".join(sources)
        return hashlib.sha256(f"{__version__} {all_sources}".encode()).hexdigest()

    @cached_property
    def personal_uses(self) -> tuple[str, ...]:
        """Where the operator's do more with a reader's own addresses: files and lines.

        A mail to many readers is rendered once, and each reader's addresses are put in. That is
        right as long as templates print these addresses, or ask whether they are there: the shipped
        ones do no more.
        """
        uses: dict[str, None] = {}
        for name in self.names():
            with suppress(TemplateError):  # rendering says what is wrong with it
                if self.is_own(self.find_file(name)) and not name.startswith("web/"):
                    lines = _find_uses(self.parse(name), _OWN_NAMES)
                    uses |= dict.fromkeys(f"{name}, line {line}" for line in lines)
        return tuple(uses)

    def find_blocks(self, name: str) -> tuple[str, ...]:
        """Return the names of a template's blocks, in order."""
        blocks = self.parse(name).find_all(nodes.Block)
        return tuple(dict.fromkeys(block.name for block in blocks))

    def render(self, name: str, context: Context) -> str:
        """Render a template with the fields of a context dataclass as its names."""
        seen = {field.name: getattr(context, field.name) for field in fields(context)}
        return self._run(name, seen)

    def read_source(self, name: str) -> str:
        """Return what a template without a context gives, such as a style sheet."""
        return self._run(name, {})

    def inline_styles(self, html: str) -> str:
        """Write the mail's style sheet into the elements of a mail.

        Its `<style>` elements stay: they hold what cannot be inlined, such as media queries.
        """
        try:
            return self._inliner.inline(html)
        except css_inline.InlineError as error:
            raise TemplateError(f"email/digest.html makes no document: {error}") from error

    @cached_property
    def _inliner(self) -> css_inline.CSSInliner:
        return css_inline.CSSInliner(
            inline_style_tags=False,
            keep_style_tags=True,
            minify_css=True,
            load_remote_stylesheets=False,
            extra_css=self.read_source("email/style.css"),
        )

    def _read_embedded(self, name: str) -> Markup:
        """Return a style sheet, a script or a picture, for a page that holds it."""
        text = self.read_source(name)
        is_picture = name.endswith(".svg")  # encoded in a `data:` address, where </ ends nothing
        if "</" in text and not is_picture:
            raise TemplateError(
                f"{name}: a style sheet or script cannot hold </", hint="Write it as \\3c / there."
            )
        return Markup(text)  # noqa: S704 - the operator's own file, and it cannot end its element

    def parse(self, name: str) -> nodes.Template:
        """Return the syntax tree of a template."""
        environment = self._choose_environment(name.removeprefix(f"{SHIPPED_PREFIX}:"))
        with self._blaming(name, ()):
            source, file, _ = self._loader.get_source(environment, name)
            return environment.parse(source, name, file)

    def _run(self, name: str, seen: dict[str, Any]) -> str:
        environment = self._choose_environment(name)
        with self._blaming(name, seen):
            return environment.get_template(name).render(seen)

    @contextmanager
    def _blaming(self, name: str, seen: Iterable[str]) -> Iterator[None]:
        """Turn any failure within into one of the template, with file and line."""
        try:
            yield
        except TemplateError:
            raise
        except jinja2.TemplateNotFound as error:
            raise self._report_missing(str(error)) from error
        except jinja2.TemplateSyntaxError as error:
            file = error.filename or error.name or name
            raise TemplateError(
                f"{file}, line {error.lineno}: {error.message}",
                hint="The syntax is Jinja's: https://jinja.palletsprojects.com/templates/",
            ) from error
        except Exception as error:  # an expression in a template may raise anything
            hint = f"It sees {', '.join(sorted(seen))}." if seen else ""
            place = self._find_place(error) or name
            raise TemplateError(f"{place}: {error}", hint=hint) from error

    def _choose_environment(self, name: str) -> jinja2.Environment:
        if name.startswith(SLACK_FOLDER):
            return self._slack
        for suffixes, environment in self._by_suffixes.items():
            if name.endswith(suffixes):
                return environment
        raise TemplateError(
            f"{name}: a template's suffix decides how it is escaped, and this one is unknown",
            hint=f"Use one of {' '.join(_SUFFIXES)}.",
        )

    def _report_missing(self, name: str) -> TemplateError:
        """Return the error that says where a template was looked for."""
        looked = ", ".join(str(folder) for folder in self.folders)
        existing = ", ".join(self.names())
        return TemplateError(
            f"there is no template {name}",
            hint=f"Looked in {looked}. Existing ones: {existing}.",
        )

    def _find_place(self, error: Exception) -> str:
        """Return file and line of the template that an error comes from; "" if from none."""
        folders = tuple(str(folder) for folder in self.folders)
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename.startswith(folders):
                return f"{frame.filename}, line {frame.lineno}"
        return ""


def _list_names(folders: Sequence[Path]) -> list[str]:
    names = jinja2.FileSystemLoader(folders).list_templates()
    return [name for name in names if name.endswith(_SUFFIXES)]


class _Unknown(jinja2.StrictUndefined):
    """A name in a template that means nothing.

    It is an error, which offers the nearest name that means something.
    """

    @property
    def _undefined_message(self) -> str:
        is_global = self._undefined_obj is missing  # it is a name alone, no attribute of a value
        known = () if is_global else dir(self._undefined_obj)
        near = get_close_matches(str(self._undefined_name), known, n=1)
        offer = f" (did you mean {near[0]!r}?)" if near else ""
        return f"there is no {self._undefined_name!r} here{offer}"


def _build_environment(
    loader: jinja2.BaseLoader,
    *,
    autoescape: bool = False,
    finalize: Callable[[object], str] | None = None,
    **known: object,
) -> jinja2.Environment:
    """Return how templates of one kind are rendered; each of them may use the names `known`."""
    environment = jinja2.Environment(
        loader=loader,
        autoescape=autoescape,  # noqa: S701 - each of them says whether it escapes
        finalize=finalize,
        undefined=_Unknown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals.update(known)
    environment.filters.update(
        count_papers=partial(count, one="paper"),
        open_sentence=open_sentence,
        starred=star_parts,
        marked=mark_parts,
        styled=style_parts,
        mrkdwn=write_mrkdwn,
    )
    return environment


def find_shipped_templates(package: Path = _PACKAGE) -> Path:
    """Return the folder of the templates that came with this installation.

    A wheel carries them inside the package. An editable install has them one level up, beside its
    `pyproject.toml`; without that file, a folder of this name is somebody else's.
    """
    inside = package / "templates"
    if inside.is_dir():
        return inside
    beside = package.parent / "templates"
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    raise TemplateError(
        f"the templates that belong to {package} are missing", hint="Install the package again."
    )


def _find_uses(node: nodes.Node, own: frozenset[str]) -> Iterator[int]:
    """Yield the lines of what is done below a node; `own` are names of a reader's own."""
    if isinstance(node, nodes.For) and _is_own(node.iter, own):
        own |= {one.name for one in node.find_all(nodes.Name) if one.ctx == "store"}
    if isinstance(node, _KEEPS_TEXT):
        for one in node.find_all(nodes.Node):
            if isinstance(one, nodes.Include | nodes.Block) or _is_own(one, own):
                yield one.lineno
    for child in node.iter_child_nodes():
        if _is_own(child, own) and not _is_harmless(node, child):
            yield child.lineno
        yield from _find_uses(child, own)


def _is_harmless(node: nodes.Node, own: nodes.Node) -> bool:
    """Whether a node takes what is a reader's own as it is.

    A loop takes it apart, if that is no list of addresses.
    """
    if isinstance(own, nodes.Name) and own.name in _OWN_NAMES:
        return isinstance(node, nodes.Getattr | nodes.Call) and own is node.node
    if isinstance(node, nodes.For) and own is node.iter:
        return isinstance(own, nodes.List)
    return isinstance(node, _ALLOWED)


def _is_own(node: nodes.Node, own: frozenset[str]) -> bool:
    """Whether a value is a reader's own, or holds one."""
    match node:
        case nodes.Getattr(node=nodes.Name(name="links" | "loop"), attr=part):
            return part in _OWN_PARTS or part.startswith("_")
        case (
            nodes.Getattr(node=nodes.Name(name="self")) | nodes.Call(node=nodes.Name(name="super"))
        ):
            return True
        case nodes.Name(name=name, ctx="load"):
            return name in own
        case _:
            parts = node.iter_child_nodes()
            return isinstance(node, _CARRIES) and any(_is_own(part, own) for part in parts)
