"""What a docstring or comment names is there, and names are where somebody looks for them."""

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
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted((ROOT / "digest").rglob("*.py"))
SOURCES = [*OURS, *sorted((ROOT / "tests").rglob("*.py"))]
TEMPLATES = sorted((ROOT / "templates").rglob("*.*"))
GUIDES = [ROOT / "digest/README.md", *(ROOT / ".github").glob("*.md")]
TEXTS = [*TEMPLATES, *(ROOT / "digest/manual").glob("*.md"), ROOT / "README.md"]
FILES = [*SOURCES, *TEXTS, *GUIDES, *(ROOT / ".github").rglob("*.yml")]

_QUOTED = (
    *("Bauer", "CET", "DIGEST_WEB_PORT", "DocumentMapping.json", "III", "IN", "INTEGER", "jp"),
    *("Lindquell_K", "M_ARENA_MAX", "Piani", "Páez", "Schr[oö]dinger", "Xue", "YYMM.number"),
    *("YYYYMM", "ben", "beta_s", r"controllers/\S+", "cdm", "cs.(LG|PL|PX|lg)", "CS.pf", "ruff"),
    *("digest.toml", "english", "gener", "generative", "h0", "getrusage", "holes", "lambda"),
    *("lambdacdm", "music", "musr", "nbody", "oper", "(demo/)?papers.xml", "postgresql_where"),
    *("pyproject.toml", "serre", r"services/\S+", "smith_j", "standard", "uvx", "x_a", "xiao"),
    *("xiaoming", "xᵅ", "xᵋ", "Λ", "₂"),
)
QUOTED = re.compile("|".join(_QUOTED))
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


class Text(NamedTuple):
    """A string in code: its line, and whether it is a docstring, also one below a constant."""

    line: int
    text: str
    is_prose: bool


@cache
def find_strings(path: Path) -> list[Text]:
    """Return the strings of a file."""
    prose = {id(node.value) for node in list_nodes(path) if isinstance(node, ast.Expr)}
    texts = []
    for node in list_nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(Text(node.lineno, node.value, id(node) in prose))
    return texts


def find_prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the docstrings and comments of a file, or the comments of a template, with lines."""
    text = path.read_text()
    if path in GUIDES:
        yield from enumerate(text.split("\n"), 1)
    elif path in TEMPLATES:
        for comment in re.finditer(r"\{#.*?#\}", text, re.DOTALL):
            line = text[: comment.start()].count("\n") + 1
            yield line, comment[0]
    else:
        for found in find_strings(path):
            if found.is_prose:
                yield found.line, found.text
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def find_owned(node: ast.AST) -> Iterator[str]:
    """Yield what a module or a class holds, and the attributes that its methods set."""
    for one in getattr(node, "body", ()):
        yield getattr(one, "name", "")
        if isinstance(one, _DEFINITIONS) and not isinstance(node, ast.ClassDef):
            continue
        for part in ast.walk(one):
            yield str(getattr(part, "id", getattr(part, "attr", "")))


class Names:
    """Each name in code, short strings, templates and the manual, and pairs with a point."""

    def __init__(self) -> None:
        self.words = {*dir(builtins), *sys.stdlib_module_names, "self"}
        self.pairs: set[tuple[str, str]] = set()

    def add_source(self, path: Path) -> None:
        parts = [part for part in list_parts(path) if part != "__init__"]
        self.words.update(parts)
        self.pairs.update(pairwise(parts))
        for found in find_strings(path):
            if not found.is_prose:
                self.add_string(found.text)
        for node in list_nodes(path):
            self.add_node(node, parts[-1])

    def add_string(self, text: str) -> None:
        if " " not in text:
            self.words.update(re.findall(_WORD, text))
        self.pairs.update(_PAIR.findall(text))

    def add_node(self, node: ast.AST, module: str) -> None:
        for part in ("id", "attr", "arg", "name", "asname", "module"):
            found = getattr(node, part, None)
            if isinstance(found, str):
                self.words.update(found.split("."))
        if isinstance(node, ast.Attribute):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            name = getattr(owner, "id", "") or getattr(owner, "attr", "")
            self.pairs.add((name, node.attr))
        elif isinstance(node, (ast.ClassDef, ast.Module)):
            name = getattr(node, "name", module)
            self.pairs.update((name, owned) for owned in find_owned(node))

    def add_text(self, path: Path) -> None:
        pattern = _TAG if path in TEMPLATES else _SPAN
        code = "\n".join(pattern.findall(path.read_text()))
        self.words.update((path.stem, *re.findall(_WORD, code)))
        self.pairs.update(_PAIR.findall(code))


@cache
def list_names(*, with_tests: bool) -> Names:
    names = Names()
    for path in SOURCES if with_tests else OURS:
        names.add_source(path)
    for path in TEXTS:
        names.add_text(path)
    return names


def is_known(span: str, *, with_tests: bool) -> bool:
    """Whether what stands between backticks is no name, or one that exists."""
    if QUOTED.fullmatch(span):
        return True
    if _FILE.fullmatch(span):
        return any(str(path).endswith(f"/{span}") for path in FILES)
    if not _NAME.fullmatch(span):
        return True
    names = list_names(with_tests=with_tests)
    parts = span.removesuffix("()").split(".")
    if names.pairs.issuperset(pairwise(parts)):
        return parts[0] in names.words
    is_ours = parts[0] in {path.stem for path in OURS}
    return not is_ours and importlib.util.find_spec(parts[0]) is not None


@pytest.mark.parametrize(
    "paths", [OURS, SOURCES[len(OURS) :], TEMPLATES, GUIDES], ids=lambda paths: paths[0].name
)
def test_what_a_docstring_a_comment_or_a_guide_names_is_there(paths: list[Path]) -> None:
    with_tests = paths is not OURS
    unknown = []
    for path in paths:
        for line, text in find_prose(path):
            for span in _SPAN.findall(text):
                if not is_known(span, with_tests=with_tests):
                    unknown.append((f"{path}:{line}", span))
    assert unknown == []


def test_no_module_goes_by_another_name_where_it_is_imported() -> None:
    modules = {".".join(list_parts(path)).removesuffix(".__init__") for path in SOURCES}
    renamed = []
    for path in SOURCES:
        for node in list_nodes(path):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            origin = getattr(node, "module", "")
            for one in node.names:
                name = f"{origin}.{one.name}".lstrip(".")
                if one.asname and name in modules:
                    renamed.append((path, name))
    assert renamed == []


def test_modules_are_named_by_nouns_not_by_what_is_done_in_them() -> None:
    assert [path for path in OURS if any(part.endswith("ing") for part in list_parts(path))] == []


def test_constants_come_before_the_first_function_or_class_unless_they_need_it() -> None:
    for path in OURS:
        body = read_tree(path).body
        needed = {node.name for node in body if isinstance(node, _DEFINITIONS)}
        places = [at for at, node in enumerate(body) if isinstance(node, _DEFINITIONS)]
        first = places[0] if places else len(body)
        for node in body[first:]:
            if not isinstance(node, (ast.Assign, ast.AnnAssign)):
                continue
            found = {one.id: one.ctx for one in ast.walk(node) if isinstance(one, ast.Name)}
            names = [name for name, context in found.items() if isinstance(context, ast.Store)]
            is_constant = bool(names) and names[0].strip("_")[:1].isupper()
            assert needed & {*found} or not is_constant, f"{path}:{node.lineno}: {names}"
            needed.update(names)
