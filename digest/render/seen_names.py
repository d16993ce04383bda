"""What a template sees, name by name with its meaning: read from the contexts and views themselves."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from digest.messages import Links
from digest.render.contexts import CONTEXTS, AlarmView
from digest.render.coverage import CoverageView
from digest.render.digest_view import DigestView, GroupView, QueryView, RestView
from digest.render.presentation import PaperView
from digest.render.weekly import DayView, MatchView, ShareView, WeekView

if TYPE_CHECKING:
    from collections.abc import Iterator

_VIEWS = {
    kind.__name__: kind
    for kind in (
        *(AlarmView, CoverageView, DayView, DigestView, GroupView, Links),
        *(MatchView, PaperView, QueryView, RestView, ShareView, WeekView),
    )
}
"""Values with parts of their own that templates meet."""

_FIELD = re.compile(r"^ {4}(\w+): (.*)$")


@dataclass(frozen=True, slots=True)
class SeenName:
    """A name that a template may use.

    Attributes:
        name: as it is written.
        meaning: what it stands for, in a sentence; "" where its name says it.
        kind: what kind of value has parts (`digest`, `paper`, …); "" for a plain one.
        is_many: there are several of that kind, to be gone through.
    """

    name: str
    meaning: str
    kind: str = ""
    is_many: bool = False


def list_seen(template: str) -> dict[str, tuple[SeenName, ...]]:
    """Return what a template sees, below ""; and the parts of each kind of value it meets there, by kind.

    Nothing for a template that is not rendered by its own name: it sees what the one sees that takes it in.
    """
    if template not in CONTEXTS:
        return {}
    found: dict[str, tuple[SeenName, ...]] = {}
    waiting: list[tuple[str, type]] = [("", CONTEXTS[template])]
    while waiting:
        kind, view = waiting.pop(0)
        if kind in found:
            continue
        found[kind] = tuple(_list_parts(view))
        waiting += [(part.kind, _find_view(part.kind)) for part in found[kind] if part.kind]
    return found


def _list_parts(view: type) -> Iterator[SeenName]:
    """Yield fields and properties of a class, with what its documentation says of each."""
    meanings = _read_meanings(view)
    if is_dataclass(view):
        for field in fields(view):
            kind, is_many = _judge_type(str(field.type))
            yield SeenName(field.name, meanings.get(field.name, ""), kind, is_many)
    for name in dict.fromkeys(name for one in reversed(view.__mro__) for name in vars(one)):
        found = inspect.getattr_static(view, name)
        getter = found.fget if isinstance(found, property) else getattr(found, "func", None)
        if not name.startswith("_") and isinstance(found, property | cached_property) and getter is not None:
            kind, is_many = _judge_type(str(getter.__annotations__.get("return", "")))
            yield SeenName(name, " ".join((getter.__doc__ or "").partition("\n\n")[0].split()), kind, is_many)


def _judge_type(annotation: str) -> tuple[str, bool]:
    """Return which kind of value a type names, "" for a plain one, and whether there are several."""
    named = next((word for word in re.findall(r"\w+", annotation) if word in _VIEWS), "")
    return _name_kind(named), bool(named) and annotation.startswith(("tuple[", "Mapping["))


def _name_kind(view: str) -> str:
    return view.removesuffix("View").lower()


def _find_view(kind: str) -> type:
    return next(view for name, view in _VIEWS.items() if _name_kind(name) == kind)


def _read_meanings(view: type) -> dict[str, str]:
    """Return what the documentation of a class and of those it is made from says of each field."""
    meanings: dict[str, str] = {}
    for one in reversed(view.__mro__):
        _, _, told = inspect.cleandoc(one.__doc__ or "").partition("Attributes:\n")
        name = ""
        for line in told.split("\n"):
            if match := _FIELD.match(line):
                name = match[1]
                meanings[name] = match[2]
            elif name and line.strip():
                meanings[name] += f" {line.strip()}"
            else:
                name = ""
    return meanings
