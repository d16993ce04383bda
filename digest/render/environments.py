"""Opens Jinja for HTML, plain text and Slack, and finds templates.

A template's name decides its environment, from explicit lists: Jinja's own choice by suffix leaves
`*.html.j2` and `*.atom` unescaped. Everything undefined is an error in all three. The operator's folder
comes before the shipped one file by file, and `default:email/digest.html` always names the shipped
file, so that an operator's template can extend the one it replaces.
"""

from __future__ import annotations

import re
import traceback
from contextlib import contextmanager
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import css_inline
import jinja2
import jinja2.meta
from jinja2 import nodes
from markupsafe import Markup

from digest.model.errors import TemplateError
from digest.render.papers import link_title, name_authors
from digest.render.text import Mrkdwn, count_papers, link, open_sentence, slack_escape, styled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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


_PACKAGE = Path(__file__).resolve().parent.parent


def find_shipped_templates(package: Path = _PACKAGE) -> Path:
    """Return the folder of the templates that came with this installation.

    A wheel carries them inside the package. An editable install has them one level up, which counts
    only beside a `pyproject.toml`: a folder that happens to be called `templates` next to an
    installed package is somebody else's.

    Raises:
        TemplateError: neither is there, so the installation is broken.
    """
    inside = package / "templates"
    if inside.is_dir():
        return inside
    beside = package.parent / "templates"
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    raise TemplateError(f"the templates that belong to {package} are missing", hint="Install the package again.")


_JINJA_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
_PLACEHOLDER = re.compile(r"<!--jinja-(\d+)-tag-->|jinja-(\d+)-tag")
_OPENINGS = re.compile(r"<!--|<(?:title|style)\b[^>]*>|<[a-zA-Z/!]")
_DOCUMENT = re.compile(r"<html\b", re.IGNORECASE)


def inline_styles(source: str, css: str) -> str:
    """Return a template's source with the declarations of `css` written into its elements.

    `<style>` elements stay as they are: they hold what cannot be inlined, such as media queries.

    Raises:
        TemplateError: a Jinja tag stands where neither text nor an attribute's value is.
    """
    tags = _JINJA_TAG.findall(source)
    held = _hold_tags(source)
    if _DOCUMENT.search(source):
        inlined = css_inline.CSSInliner(
            inline_style_tags=False,
            keep_style_tags=True,
            minify_css=True,
            load_remote_stylesheets=False,
            extra_css=css,
        ).inline(held)
    else:
        inlined = css_inline.inline_fragment(held, css, minify_css=True, load_remote_stylesheets=False)
    return _PLACEHOLDER.sub(partial(_restore_tag, tags), inlined)


def _hold_tags(source: str) -> str:
    held = ""
    end = 0
    for number, tag in enumerate(_JINJA_TAG.finditer(source)):
        held += source[end : tag.start()]
        name = f"jinja-{number}-tag"
        # A comment may stand anywhere between elements, also in a table; inside an attribute's value,
        # a title or a comment only a bare word may.
        held += (
            name if _is_inside_markup(held, tag[0], source.count("\n", 0, tag.start()) + 1) else f"<!--{name}-->"
        )
        end = tag.end()
    return held + source[end:]


def _is_inside_markup(before: str, tag: str, line: int) -> bool:
    position = 0
    lowered = before.lower()
    while opening := _OPENINGS.search(lowered, position):
        closing = _closing_of(opening[0])
        found = lowered.find(closing, opening.end())
        if found < 0:
            if closing == ">" and not _is_quoted(before[opening.start() :]):
                raise TemplateError(
                    f"line {line}: {tag} stands in an element's tag, outside of an attribute's value",
                    hint='In mail templates write dir="{{ direction }}", or the whole element twice.',
                )
            return True
        position = found + len(closing)
    return False


def _is_quoted(opened: str) -> bool:
    quote = ""
    for letter in opened:
        if letter == quote:
            quote = ""
        elif letter in "\"'" and not quote:
            quote = letter
    return bool(quote)


def _closing_of(opening: str) -> str:
    if opening == "<!--":
        return "-->"
    for name in ("title", "style"):
        if opening.startswith(f"<{name}"):
            return f"</{name}"
    return ">"


def _restore_tag(tags: list[str], match: re.Match[str]) -> str:
    return tags[int(match[1] or match[2])]
