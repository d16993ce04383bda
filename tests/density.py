"""Measures how packed code is: what a reader must hold in mind, whatever the breaking of lines."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

WIDTH = 100
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_UNCOUNTED = (*_IMPORTS, ast.alias, ast.expr_context)


@dataclass(frozen=True, slots=True)
class Density:
    """How packed some code is.

    Attributes:
        statements: without docstrings and bare texts.
        acts: statements inside functions, without imports.
        nodes: nodes of the syntax tree inside functions, without imports.
        packed: expressions that hold several things at once: see `is_packed`.
        wide: lines over `WIDTH` columns that hold no address.
    """

    statements: int = 0
    acts: int = 0
    nodes: int = 0
    packed: int = 0
    wide: int = 0

    def __add__(self, other: Density) -> Density:
        return Density(
            self.statements + other.statements,
            self.acts + other.acts,
            self.nodes + other.nodes,
            self.packed + other.packed,
            self.wide + other.wide,
        )

    @property
    def nodes_per_act(self) -> float:
        """Nodes of the syntax tree a statement, inside functions."""
        return self.nodes / max(self.acts, 1)

    @property
    def packed_per_thousand(self) -> float:
        """Packed expressions per 1,000 statements."""
        return 1000 * self.packed / max(self.statements, 1)


def measure_files(paths: Iterable[Path]) -> Density:
    """Measure several files as one."""
    whole = Density()
    for path in paths:
        source = path.read_text(encoding="utf-8")
        whole += measure(source)
    return whole


def measure(source: str) -> Density:
    """Measure the text of one file."""
    tree = ast.parse(source)
    everywhere = list(ast.walk(tree))
    inside = set(_walk_functions(tree))
    counted = [node for node in inside if not isinstance(node, _UNCOUNTED)]
    return Density(
        statements=sum(_is_statement(node) for node in everywhere),
        acts=sum(isinstance(node, ast.stmt) for node in counted),
        nodes=len(counted),
        packed=sum(is_packed(node) for node in everywhere),
        wide=sum(_is_wide(line) for line in source.splitlines()),
    )


def _walk_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what is inside functions, but for their docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            for statement in _without_docstring(node.body):
                yield from ast.walk(statement)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    has_docstring = bool(body) and _is_text(body[0])
    return body[1:] if has_docstring else body


def _is_text(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_statement(node: ast.AST) -> bool:
    """Whether a node is a statement that does something.

    Docstrings, bare texts and `...` do not.
    """
    if not isinstance(node, ast.stmt):
        return False
    is_bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return not is_bare


def is_packed(node: ast.AST) -> bool:
    """Whether an expression packs several things into one.

    Such are tuples on both sides of a `=`, a text times a truth value, a condition in a condition,
    and a comprehension with two `for` or in another comprehension.
    """
    match node:
        case ast.Assign(targets=[ast.Tuple(), *_], value=ast.Tuple()):
            return True
        case ast.BinOp(op=ast.Mult()):
            sides = (node.left, node.right)
            return any(map(_is_string, sides)) and not any(map(_is_number, sides))
        case ast.IfExp():
            return _holds(node, (ast.IfExp,))
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return len(node.generators) > 1 or _holds(node, _COMPREHENSIONS)
        case _:
            return False


def _is_string(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _holds(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> bool:
    parts = [part for part in ast.walk(node) if part is not node]
    return any(isinstance(part, kinds) for part in parts)


def _is_wide(line: str) -> bool:
    return len(line) > WIDTH and "://" not in line
