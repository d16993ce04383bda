"""What a docstring or comment names is there, and names are as and where somebody looks for them."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted((ROOT / "digest").rglob("*.py"))
SOURCES = [*OURS, *sorted((ROOT / "tests").rglob("*.py"))]
TEMPLATES = sorted((ROOT / "templates").rglob("*.*"))
GUIDES = [ROOT / "digest/README.md", *(ROOT / ".github").glob("*.md")]
TEXTS = [*TEMPLATES, *(ROOT / "digest/manual").glob("*.md"), ROOT / "README.md"]
FILES = [*SOURCES, *TEXTS, *GUIDES, *(ROOT / ".github").rglob("*.yml")]

QUOTED = re.compile(
    r"Bauer|CET|DIGEST_WEB_PORT|DocumentMapping.json|III|IN|INTEGER|Lindquell_K|M_ARENA_MAX|Piani|Páez|Schr[oö]dinger|Xue"
    r"|YYMM.number|YYYYMM|ben|beta_s|controllers/\S+|cdm|cs.(LG|PL|PX|lg)|CS.pf|digest.toml|english|gener|generative|h0|jp"
    r"|getrusage|holes|lambda|lambdacdm|music|musr|nbody|oper|(demo/)?papers.xml|postgresql_where|pyproject.toml|ruff|serre"
    r"|services/\S+|smith_j|standard|uvx|x_a|xiao|xiaoming|xᵅ|xᵋ|Λ|₂"
)
"""What docstrings quote as an example, and what is arXiv's, a database's or a machine's."""

_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_WORD = r"[^\W\d]\w*"
_NAME = re.compile(rf"{_WORD}(?:\.{_WORD})*(?:\(\))?")
_FILE = re.compile(r"[\w/]+\.(?:py|md|html|txt|toml|xml|yml)")
_PAIR = re.compile(rf"\b({_WORD})\.(?=({_WORD}))")
_TAG = re.compile(r"\{[{%].*?[%}]\}|<[^>]+>", re.DOTALL)
_DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef


@cache
def read_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def list_parts(path: Path) -> tuple[str, ...]:
    return path.relative_to(ROOT).with_suffix("").parts


@cache
def list_nodes(path: Path) -> list[ast.AST]:
    return [*ast.walk(read_tree(path))]


@cache
def find_strings(path: Path) -> list[tuple[bool, int, str]]:
    """Return the strings of a file.

    Whether each is a docstring, also one below a constant, its line and text.
    """
    prose = {id(node.value) for node in list_nodes(path) if isinstance(node, ast.Expr)}
    found = [one for one in list_nodes(path) if isinstance(one, ast.Constant)]
    return [
        (id(one) in prose, one.lineno, one.value) for one in found if isinstance(one.value, str)
    ]


def find_prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the docstrings and comments of a file, or the comments of a template, each with its line."""
    text = path.read_text()
    if path in GUIDES:
        yield from enumerate(text.split("\n"), 1)
    elif path in TEMPLATES:
        found = re.finditer(r"\{#.*?#\}", text, re.DOTALL)
        yield from ((text[: one.start()].count("\n") + 1, one[0]) for one in found)
    else:
        yield from ((line, text) for is_doc, line, text in find_strings(path) if is_doc)
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        yield from ((one.start[0], one.string) for one in tokens if one.type == tokenize.COMMENT)


def find_owned(node: ast.AST) -> Iterator[str]:
    """Yield what a module or a class holds, and the attributes that its methods set."""
    for one in getattr(node, "body", ()):
        yield getattr(one, "name", "")
        inside = (
            ast.walk(one)
            if not isinstance(one, _DEFINITIONS) or isinstance(node, ast.ClassDef)
            else ()
        )
        yield from (str(getattr(part, "id", getattr(part, "attr", ""))) for part in inside)


@cache
def list_names(*, with_tests: bool) -> tuple[set[str], set[tuple[str, str]]]:
    """Return each name in code, short strings, templates and the manual, and what is written after which point."""
    names, pairs = {*dir(builtins), *sys.stdlib_module_names, "self"}, set[tuple[str, str]]()
    for path in SOURCES if with_tests else OURS:
        parts = [part for part in list_parts(path) if part != "__init__"]
        names.update(parts)
        pairs.update(pairwise(parts))
        for text in (text for is_doc, _, text in find_strings(path) if not is_doc):
            names.update(re.findall(_WORD, text) if " " not in text else ())
            pairs.update(_PAIR.findall(text))
        for node in list_nodes(path):
            found = [
                getattr(node, part, None)
                for part in ("id", "attr", "arg", "name", "asname", "module")
            ]
            names.update(word for one in found if isinstance(one, str) for word in one.split("."))
            if isinstance(node, ast.Attribute):
                before = node.value.func if isinstance(node.value, ast.Call) else node.value
                pairs.add((getattr(before, "id", "") or getattr(before, "attr", ""), node.attr))
            elif isinstance(node, (ast.ClassDef, ast.Module)):
                pairs.update((getattr(node, "name", parts[-1]), name) for name in find_owned(node))
    for path in TEXTS:
        code = "\n".join((_TAG if path in TEMPLATES else _SPAN).findall(path.read_text()))
        names.update((path.stem, *re.findall(_WORD, code)))
        pairs.update(_PAIR.findall(code))
    return names, pairs


def is_known(span: str, *, with_tests: bool) -> bool:
    """Whether what stands between backticks is no name, or one that exists."""
    if QUOTED.fullmatch(span) or _FILE.fullmatch(span):
        return QUOTED.fullmatch(span) is not None or any(
            str(path).endswith(f"/{span}") for path in FILES
        )
    names, pairs = list_names(with_tests=with_tests)
    parts = span.removesuffix("()").split(".")
    if not _NAME.fullmatch(span) or pairs.issuperset(pairwise(parts)):
        return not _NAME.fullmatch(span) or parts[0] in names
    return (
        parts[0] not in {path.stem for path in OURS}
        and importlib.util.find_spec(parts[0]) is not None
    )


@pytest.mark.parametrize(
    "paths", [OURS, SOURCES[len(OURS) :], TEMPLATES, GUIDES], ids=lambda paths: paths[0].name
)
def test_what_a_docstring_a_comment_or_a_guide_names_is_there(paths: list[Path]) -> None:
    lines = [(f"{path}:{line}", text) for path in paths for line, text in find_prose(path)]
    spans = [(place, span) for place, text in lines for span in _SPAN.findall(text)]
    assert [found for found in spans if not is_known(found[1], with_tests=paths is not OURS)] == []


def test_no_module_goes_by_another_name_where_it_is_imported() -> None:
    modules = {".".join(list_parts(path)).removesuffix(".__init__") for path in SOURCES}
    nodes = [(path, node) for path in SOURCES for node in list_nodes(path)]
    imports = [
        (path, node) for path, node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    renamed = [(path, node, one) for path, node in imports for one in node.names if one.asname]
    names = [
        (path, f"{getattr(node, 'module', '')}.{one.name}".lstrip("."))
        for path, node, one in renamed
    ]
    assert [(path, name) for path, name in names if name in modules] == []


def test_modules_are_named_by_nouns_not_by_what_is_done_in_them() -> None:
    assert [path for path in OURS if any(part.endswith("ing") for part in list_parts(path))] == []


def test_constants_come_before_the_first_function_or_class_unless_they_need_it() -> None:
    for path in OURS:
        body = read_tree(path).body
        needed = {node.name for node in body if isinstance(node, _DEFINITIONS)}
        first = next(
            (place for place, node in enumerate(body) if isinstance(node, _DEFINITIONS)), len(body)
        )
        for node in (one for one in body[first:] if isinstance(one, (ast.Assign, ast.AnnAssign))):
            found = {one.id: one.ctx for one in ast.walk(node) if isinstance(one, ast.Name)}
            names = [name for name, context in found.items() if isinstance(context, ast.Store)]
            assert needed & {*found} or not names[0].strip("_")[:1].isupper(), (
                f"{path}:{node.lineno}: {names}"
            )
            needed.update(names)
