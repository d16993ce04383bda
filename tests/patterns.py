"""Finds the regular expressions of the house, and texts that make a bad one slow.

A pattern is found where the source calls `re`. The texts for it are made of its own parse tree:
what it repeats, after what must come before, and then something that does not fit.
"""

from __future__ import annotations

import ast
import gc
import importlib
import pkgutil
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from re import _compiler as compiler  # type: ignore[attr-defined]  # no public name
from re import _constants as codes  # type: ignore[attr-defined]  # the same
from re import _parser as parser  # type: ignore[attr-defined]  # the same
from time import thread_time
from types import FrameType, ModuleType
from typing import Any

import digest

AnyPattern = re.Pattern[str] | re.Pattern[bytes]

SCANS = ("finditer", "findall", "split", "sub", "subn")
"""What tries a pattern at each place of a text, until its end."""

WAYS = ("finditer", "scan", "fullmatch")
"""How a pattern is tried that is handed on, so that its use is not to be seen.

"scan" is `match(text, place)`: what calls that does so again and again, from one place to the next.
"""

PIECES = (
    *" \t\n\r\\{}()[]<>\"'`,;:.!?*+-_=/|&#$%^~@0aAé漢\x00\x0b\u200b",
    *(
        "a.",
        "a ",
        "a, ",
        "1.",
        "{}",
        "{a}",
        "\\a",
        "\\a{",
        "$a",
        '"a',
        "a@",
        "a\n",
        "\n ",
        "\r\n",
        "a-",
        "ab:",
    ),
    *("(a", "[a", "<a", "&a;", "//a", "and ", "AND ", "a=", "\\\\", "''", "a_", "http://a"),
)
"""What is repeated for each pattern, whatever is in it."""

NO_END = "\x01"
"""After a repetition: what hardly any pattern goes on with."""

SAMPLED = "a 0\n.-\"'{(A_,\\$:/&<é漢\x01\x10"
"""Letters that may stand for a class."""

LARGE = 4_000
"""Letters of the first text of a kind."""

QUICK = 0.001
"""Seconds for `LARGE` letters below which a pattern is linear.

A quadratic one takes several times more.
"""

PATIENCE = 0.1
"""Seconds of processor time after which one try is given up."""

GROWTH = 3.0
"""A text twice as long takes a linear pattern twice the time, and a quadratic one four times."""

TRIES = 3
"""The quickest of so many counts: what slows a machine down slows few of them."""

MANY = 9
"""What may be repeated so often is tried with growing texts; less is no repetition."""

_STEP: dict[type, AnyPattern] = {
    str: re.compile(r"\w+|\s+|[^\w\s]+"),
    bytes: re.compile(rb"\w+|\s+|[^\w\s]+"),
}


@dataclass(frozen=True)
class Made:
    """Patterns that only a run of the code makes, and how they are used once compiled."""

    patterns: Iterable[AnyPattern]
    use: str = ""


@dataclass
class Found:
    """A pattern, where it is, and how it is used."""

    pattern: AnyPattern
    place: str
    uses: set[str] = field(default_factory=set)

    @property
    def room(self) -> str:
        """The room of the house that it is in."""
        return self.place.split(".")[1].partition(":")[0]

    def list_ways(self) -> list[str]:
        """Return the ways in which it is to be tried, each kind once."""
        return sorted({"finditer" if use in SCANS else use for use in self.uses} or WAYS)


@dataclass(frozen=True)
class Slow:
    """A text with which a pattern takes more than twice as long if it is twice as long."""

    found: Found
    way: str
    text: str
    growth: float

    def __str__(self) -> str:
        return f"{self.found.place}: {self.way} takes {self.growth:.1f} times for twice {self.text}"


def find_patterns(modules: Iterable[ModuleType], made: Mapping[str, Made]) -> list[Found]:
    """Find all patterns of some modules.

    `made` has those that only a run of the code makes, by module and source: `digest.wire:
    pattern`.

    Raises:
        LookupError: a pattern can't be found: `made` does not know it, or `re` has another name.
    """
    found: dict[tuple[str | bytes, int], Found] = {}
    read = list(modules)
    for module in read:
        for call, use in _list_calls(module):
            read_here = _read_patterns(module, call, made)
            for pattern in read_here.patterns:
                one = Found(pattern, f"{module.__name__}:{call.lineno}")
                uses = {use, read_here.use} - {"compile", ""}
                found.setdefault((pattern.pattern, pattern.flags), one).uses.update(uses)
    for module in read:
        for pattern, named in _list_uses(module):
            if known := found.get((pattern.pattern, pattern.flags)):
                known.uses.update(named)
    return list(found.values())


def list_modules() -> Iterator[ModuleType]:
    """Yield each module of the house but the migrations, which read nothing of strangers."""
    for info in pkgutil.walk_packages(digest.__path__, "digest."):
        if ".migrations" not in info.name:
            yield importlib.import_module(info.name)


@cache
def _parse(module: ModuleType) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(Path(str(module.__file__)).read_text("utf-8"))))


def _list_calls(module: ModuleType) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls of `re` that take a pattern, each with the function's name."""
    for node in _parse(module):
        if isinstance(node, ast.ImportFrom) and node.module == "re":
            raise LookupError(
                f"{module.__name__}:{node.lineno}: write `import re`: its patterns are found then"
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            held = _look_up(node.func.value, module)
            if held is re and name not in ("escape", "purge"):
                yield node, name


def _list_called_at_a_place(nodes: Iterable[ast.AST]) -> set[int]:
    """Return the ids of the functions that are called with more than a text."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return {id(call.func) for call in calls if len(call.args) > 1}


def _list_compared(nodes: Iterable[ast.AST]) -> set[int]:
    """Return the ids of what is only compared with something."""
    compared = set()
    for node in nodes:
        if isinstance(node, ast.Compare):
            compared |= {id(side) for side in (node.left, *node.comparators)}
    return compared


def _read_patterns(module: ModuleType, call: ast.Call, made: Mapping[str, Made]) -> Made:
    """Return the pattern of a call, or those that are `made` if nothing but a run knows it."""
    by_name = {word.arg: word.value for word in call.keywords}
    written = by_name.get("pattern") or call.args[0]
    source = f"{module.__name__}: {ast.unparse(written)}"
    if source in made:
        return made[source]
    arguments = (*call.args, *by_name.values())
    flags = [one for one in arguments if re.search(r"\bre\.[A-Z]", ast.unparse(one))]
    try:
        values = [_evaluate(one, module) for one in (written, *flags)]
    except NameError as error:
        raise LookupError(
            f"line {call.lineno}: {source!r} is not among the patterns that are made"
        ) from error
    return Made([re.compile(*values)])


def _evaluate(node: ast.expr, module: ModuleType) -> Any:  # noqa: ANN401 - a pattern or a flag
    code = compile(ast.Expression(node), module.__name__, "eval")
    return eval(code, vars(module))  # noqa: S307 - our own source


def _list_uses(module: ModuleType) -> Iterator[tuple[AnyPattern, Iterable[str]]]:
    """Yield each pattern that a module names, and how it is called there.

    It is `WAYS` if it is handed on.
    """
    nodes = _parse(module)
    at_a_place = _list_called_at_a_place(nodes)
    settled = _list_compared(nodes)
    for node in nodes:  # what is around a name comes before it
        if isinstance(node, ast.Attribute):
            held = _look_up(node.value, module)
            if isinstance(held, re.Pattern):
                settled.add(id(node.value))
                if node.attr in ("match", "fullmatch") and id(node) in at_a_place:
                    yield held, ["scan"]
                elif node.attr in ("search", "match", "fullmatch", *SCANS):
                    yield held, [node.attr]
        if _is_read(node) and id(node) not in settled:
            held = _look_up(node, module)
            if isinstance(held, re.Pattern):
                yield held, WAYS


def _look_up(node: ast.AST, module: ModuleType) -> object:
    if isinstance(node, ast.Name):
        return vars(module).get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return getattr(vars(module).get(node.value.id), node.attr, None)
    return None


def find_slow(found: Found) -> Slow | None:
    """Try a pattern in each way it is used on texts that grow.

    Return the first that makes it too slow.
    """
    texts = list(dict.fromkeys(list_texts(found.pattern)))
    for way in found.list_ways():
        run = make_run(found.pattern, way)
        for text in texts:
            growth = measure_growth(text, run)
            if growth > GROWTH:
                before, repeated, end = text
                return Slow(found, way, f"{before!r} + {repeated!r}… + {end!r}", growth)
    return None


def fill(text: tuple[str, str, str], size: int) -> str:
    """Return a text of a kind, of about `size` letters."""
    before, repeated, end = text
    return before + repeated * (size // len(repeated)) + end


def make_run(pattern: Any, way: str) -> Callable[[str], object]:  # noqa: ANN401 - text or bytes
    """Return what uses a pattern on a text in one way."""
    kind = type(pattern.pattern)
    encode = (lambda text: text.encode("utf-8", "replace")) if kind is bytes else str
    if way == "scan":
        return lambda text: _scan(pattern, encode(text), _STEP[kind])
    if way == "finditer":
        return lambda text: [None for _ in pattern.finditer(encode(text))]
    return lambda text: getattr(pattern, way)(encode(text))


def _scan(pattern: Any, text: Any, step: Any) -> None:  # noqa: ANN401 - the same
    """Match at one place after the other, as a tokeniser does.

    After no match it goes on behind the word.
    """
    place = 0
    while place < len(text):
        met = pattern.match(text, place) or step.match(text, place)
        place = max(met.end(), place + 1)


def _is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)


def measure_growth(text: tuple[str, str, str], run: Callable[[str], object]) -> float:
    """Return how many times longer a text twice as long takes; 0 if it is quick."""
    if time_run(run, fill(text, LARGE)) < QUICK:
        return 0.0
    size = LARGE
    while time_run(run, fill(text, size)) >= PATIENCE:
        size //= 2
    growth = GROWTH + 1
    for _ in range(TRIES):
        short = _time_best(run, fill(text, size // 2))
        long = _time_best(run, fill(text, size))
        growth = min(growth, long / short)
        if growth <= GROWTH:
            break
    return growth


class _Overdue(BaseException):
    """A try takes too long."""


def time_run(run: Callable[[str], object], text: str) -> float:
    """Return the seconds of processor time that a run takes, `PATIENCE` at most.

    A load changes nothing.
    """
    gc.disable()  # in a process of many tests it takes longer than what is measured
    began = thread_time()
    try:
        with _ending_after(PATIENCE):
            run(text)
    except _Overdue:
        return PATIENCE
    finally:
        gc.enable()
    return thread_time() - began


@contextmanager
def _ending_after(seconds: float) -> Iterator[None]:
    def end(*_: int | FrameType | None) -> None:
        raise _Overdue

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _time_best(run: Callable[[str], object], text: str) -> float:
    return min(time_run(run, text) for _ in range(TRIES))


def list_texts(pattern: AnyPattern) -> Iterator[tuple[str, str, str]]:
    """Yield what comes before, what is repeated, and what comes after."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    for before, repeated in dict.fromkeys(_list_repeated(tree, "")):
        for end in (NO_END, ""):
            yield before, repeated, end
            if before:
                yield "", before + repeated, end
                yield "", before, end
    for piece in PIECES:
        yield "", piece, NO_END


def _list_repeated(tree: Any, before: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - of `re`
    """Yield what the part of a pattern before a repetition takes, and each thing repeated there."""
    for code, given in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            _, most, inner = given
            samples = _list_samples(inner) if most > MANY else []
            yield from ((before, sample) for sample in samples if sample)
        for inner in _list_inner(code, given):
            yield from _list_repeated(inner, before)
        before += _list_choices(code, given)[0]


def _list_inner(code: Any, given: Any) -> Iterable[Any]:  # noqa: ANN401 - nodes of `re`
    if code in (codes.SUBPATTERN, codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [given[-1]]
    if code is codes.BRANCH:
        return list(given[1])
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [given[1]]
    if code is codes.GROUPREF_EXISTS:
        return filter(None, given[1:])
    return [given] if code is codes.ATOMIC_GROUP else []


def _list_samples(tree: Any) -> list[str]:  # noqa: ANN401 - a tree of `re`
    """Return some texts that a part of a pattern takes."""
    samples = [""]
    for code, given in tree:
        choices = _list_choices(code, given)[:6]
        samples = [begun + choice for begun, choice in product(samples[:3], choices)]
    return samples


def _list_choices(code: Any, given: Any) -> list[str]:  # noqa: ANN401 - a node of `re`
    if code is codes.LITERAL:
        return [chr(given)]
    if code in (codes.NOT_LITERAL, codes.IN, codes.ANY, codes.CATEGORY):
        return _list_letters(code, given)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, inner = given
        few = [one * max(least, 1) for one in _list_samples(inner)] if most else []
        return few if least else ["", *few]
    choices = []
    if code is codes.BRANCH:
        _, branches = given
        for branch in branches:
            choices += _list_samples(branch)[:2]
        return choices
    if code in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
        for inner in _list_inner(code, given):
            choices += _list_samples(inner)
        return choices
    return [""]


def _list_letters(code: Any, given: Any) -> list[str]:  # noqa: ANN401 - a node of `re`
    """Return letters that a class takes: of `SAMPLED`, then those it names."""
    one = compiler.compile(parser.SubPattern(parser.State(), [(code, given)]))
    letters = [letter for letter in SAMPLED if one.fullmatch(letter)]
    if code is codes.IN:
        letters += [chr(inner) for kind, inner in given if kind is codes.LITERAL]
        letters += [chr(inner[0]) for kind, inner in given if kind is codes.RANGE]
    return letters[:8] or ["a"]
