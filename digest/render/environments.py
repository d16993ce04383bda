"""Three Jinja environments: escaped (HTML, XML), plain text, and Slack's mrkdwn.

A template's name decides its environment, from explicit lists: Jinja's own choice by suffix leaves
`*.html.j2` and `*.atom` unescaped. Everything undefined is an error in all three. The operator's folder
comes before the shipped one file by file, and `default:email/digest.html` always names the shipped
file, so that an operator's template can extend the one it replaces.
"""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
import jinja2.meta
from jinja2 import nodes
from markupsafe import Markup

from digest.errors import TemplateError
from digest.render.inlining import inline_styles
from digest.render.mrkdwn import Mrkdwn, link, slack_escape
from digest.render.slack_words import link_title, name_authors
from digest.render.terminal_styles import styled
from digest.render.words import count_papers, open_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from _typeshed import DataclassInstance

ESCAPED_SUFFIXES = (".html", ".xml", ".css")
TEXT_SUFFIXES = (".txt",)
SLACK_FOLDER = "slack/"
SHIPPED_PREFIX = "default"

_INLINED_FOLDER = "email/"
_INLINED_STYLES = "email/style.css"


class Templates:
    """Every template by name, from the operator's folders and the shipped one.

    Args:
        folders: the operator's, first come first served.
        shipped: the folder that came with the installation.
    """

    def __init__(self, folders: Sequence[Path], shipped: Path) -> None:
        self.folders = (*(folder for folder in folders if folder != shipped), shipped)
        self._shipped = shipped
        self._plain = self._build_loader()
        self._text = _build_environment(self._plain)
        self._text.globals.update(styled=styled)
        self._slack = _build_environment(self._plain, finalize=slack_escape)
        self._slack.globals.update(link=link, link_title=link_title, name_authors=name_authors, Mrkdwn=Mrkdwn)
        self._escaped = _build_environment(_InliningLoader(self._plain), autoescape=True)
        self._escaped.globals.update(read_style=self._read_style)

    def _build_loader(self) -> jinja2.BaseLoader:
        shipped = jinja2.FileSystemLoader(self._shipped)
        return jinja2.ChoiceLoader(
            [jinja2.FileSystemLoader(self.folders), jinja2.PrefixLoader({SHIPPED_PREFIX: shipped}, delimiter=":")]
        )

    def names(self) -> list[str]:
        """Return the names of all templates, sorted."""
        return sorted({name for folder in self.folders for name in _list_names(folder)})

    def shipped_names(self) -> list[str]:
        """Return the names of the templates that came with the installation, sorted."""
        return sorted(_list_names(self._shipped))

    def find_file(self, name: str) -> Path:
        """Return the file in force of a template.

        Raises:
            TemplateError: there is none.
        """
        for folder in self.folders:
            if (folder / name).is_file():
                return folder / name
        raise self._missing(name)

    def is_own(self, path: Path) -> bool:
        """Whether a template's file is the operator's."""
        return not path.is_relative_to(self._shipped)

    def find_blocks(self, name: str) -> tuple[str, ...]:
        """Return the names of a template's blocks, in the order they stand.

        Raises:
            TemplateError: it is missing or cannot be read.
        """
        return tuple(dict.fromkeys(block.name for block in self._parse(name).find_all(nodes.Block)))

    def is_mentioned(self, word: str, name: str) -> bool:
        """Whether a word stands in a template or in what it takes in; true where that cannot be told.

        Raises:
            TemplateError: one is missing or cannot be read.
        """
        return any(tree is None or word in source for source, tree in self._walk(name))

    @cache  # noqa: B019 - one renderer lives as long as the process; templates are read once
    def is_only_printed(self, word: str, name: str) -> bool:
        """Whether a template, and what it takes in, does nothing with a name's members but print each as it is.

        Raises:
            TemplateError: one is missing or cannot be read.
        """
        return all(tree is not None and _only_prints(tree, word) for _, tree in self._walk(name))

    def _walk(self, name: str) -> Iterator[tuple[str, nodes.Template | None]]:
        """Yield source and tree of a template and of all it takes in; None for what is named while rendering."""
        waiting, seen = {name}, set[str]()
        while waiting:
            seen.add(reading := waiting.pop())
            tree = self._parse(reading)
            yield self._plain.get_source(self._text, reading)[0], tree
            for other in jinja2.meta.find_referenced_templates(tree):
                if other is None:
                    yield "", None
                elif other not in seen:
                    waiting.add(other)

    def render(self, name: str, context: DataclassInstance) -> str:
        """Render a template with the fields of a context dataclass as its names.

        Raises:
            TemplateError: the template is missing, cannot be read, or uses what its context lacks.
        """
        seen = {field.name: getattr(context, field.name) for field in fields(context)}
        return self._run(name, seen)

    def read_source(self, name: str) -> str:
        """Return a static template (a style sheet) as it is shown.

        Raises:
            TemplateError: it is missing or cannot be read.
        """
        return self._run(name, {})

    @cache  # noqa: B019 - one renderer lives as long as the process; three tags are kept
    def inline_tag(self, tag: str) -> str:
        """Return an element's opening tag as the mail's style sheet has it: `<mark style="…">`.

        Papers' own HTML is made by code, so it is not there yet when templates are inlined.
        """
        css = self.read_source(_INLINED_STYLES)
        return inline_styles(f"{tag}</{tag[1:]}", css).partition("</")[0]

    def _read_style(self, name: str) -> Markup:
        style = self.read_source(name)
        if "</" in style:
            raise TemplateError(f"{name}: a style sheet cannot hold </", hint="Write it as \\3c / in CSS strings.")
        return Markup(style)  # noqa: S704 - the operator's own file, and it cannot end its element

    def _parse(self, name: str) -> nodes.Template:
        environment = self._choose_environment(name.removeprefix(f"{SHIPPED_PREFIX}:"))
        with self._blaming(name, ()):
            source, file, _ = self._plain.get_source(environment, name)
            return environment.parse(source, name, file)

    def _run(self, name: str, seen: dict[str, Any]) -> str:
        environment = self._choose_environment(name)
        with self._blaming(name, seen):
            return environment.get_template(name).render(seen)

    @contextmanager
    def _blaming(self, name: str, seen: Iterable[str]) -> Iterator[None]:
        """Let whatever fails within be said of the template, with the line it stands on."""
        try:
            yield
        except TemplateError:
            raise
        except jinja2.TemplateNotFound as error:
            raise self._missing(str(error)) from error
        except jinja2.TemplateSyntaxError as error:
            raise TemplateError(
                f"{error.filename or error.name or name}, line {error.lineno}: {error.message}",
                hint="The syntax is Jinja's: https://jinja.palletsprojects.com/templates/",
            ) from error
        except Exception as error:  # whatever an expression in a template raises is the template's fault
            raise self._blame(error, name, sorted(seen)) from error

    def _blame(self, error: Exception, name: str, seen: list[str]) -> TemplateError:
        """Say of a template what failed in it, where, and what it may name."""
        file, line = self._find_place(error)
        place = f"{file}, line {line}" if file else name
        return TemplateError(f"{place}: {error}", hint=f"It sees {', '.join(seen)}." if seen else "")

    def _choose_environment(self, name: str) -> jinja2.Environment:
        if name.startswith(SLACK_FOLDER):
            return self._slack
        if name.endswith(ESCAPED_SUFFIXES):
            return self._escaped
        if name.endswith(TEXT_SUFFIXES):
            return self._text
        raise TemplateError(
            f"{name}: a template's suffix decides how it is escaped, and this one is unknown",
            hint=f"Use one of {' '.join(ESCAPED_SUFFIXES + TEXT_SUFFIXES)}.",
        )

    def _missing(self, name: str) -> TemplateError:
        looked = ", ".join(str(folder) for folder in self.folders)
        return TemplateError(
            f"there is no template {name}", hint=f"Looked in {looked}. Existing ones: {', '.join(self.names())}."
        )

    def _find_place(self, error: Exception) -> tuple[str, int]:
        """Return file and line of the template that an error comes from; "" and 0 where none is to be seen."""
        folders = tuple(str(folder) for folder in self.folders)
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename.startswith(folders):
                return frame.filename, frame.lineno or 0
        return "", 0


def _only_prints(tree: nodes.Template, word: str) -> bool:
    reshaping = (nodes.FilterBlock, nodes.AssignBlock, nodes.Macro, nodes.CallBlock)
    if next(tree.find_all(reshaping), None) is not None:
        return False
    for one in tree.find_all(nodes.Filter):  # of a block as a whole
        if any(inner.name in ("self", "super") for inner in one.find_all(nodes.Name)):
            return False
    printed = [one for output in tree.find_all(nodes.Output) for one in output.nodes]
    members = [one for one in printed if isinstance(one, nodes.Getitem) and isinstance(one.node, nodes.Name)]
    named = [one for one in tree.find_all(nodes.Name) if one.name == word]
    return len(named) == sum(one.node.name == word for one in members)  # type: ignore[attr-defined]  # seen above


def _list_names(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.suffix in ESCAPED_SUFFIXES + TEXT_SUFFIXES:
            yield path.relative_to(folder).as_posix()


class _InliningLoader(jinja2.BaseLoader):
    """Loads mail templates with their styles already inlined, everything else as it is."""

    def __init__(self, plain: jinja2.BaseLoader) -> None:
        self._plain = plain

    def get_source(
        self, environment: jinja2.Environment, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        """Return a template's source, its file and whether it is still current."""
        source, file, is_current = self._plain.get_source(environment, template)
        bare = template.removeprefix(f"{SHIPPED_PREFIX}:")
        if bare.startswith(_INLINED_FOLDER) and bare.endswith(".html"):
            css, _, _ = self._plain.get_source(environment, _INLINED_STYLES)
            try:
                source = inline_styles(source, css)
            except TemplateError as error:
                raise TemplateError(f"{file or template}, {error.message}", hint=error.hint) from error
        return source, file, is_current


def _build_environment(
    loader: jinja2.BaseLoader, *, autoescape: bool = False, finalize: Callable[[object], str] | None = None
) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=loader,
        autoescape=autoescape,  # noqa: S701 - each of the three says whether it escapes
        finalize=finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(count_papers=count_papers, open_sentence=open_sentence)
    return environment
