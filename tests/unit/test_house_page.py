"""The page of a maintainer says what there is: rooms, states, files, names, tests."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from digest.model.messages import DeliveryState
from tests.contract.store.test_outbox_invariants import ARROWS

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "digest"
PAGE = (HOUSE / "README.md").read_text(encoding="utf-8")
PAPERS = [
    HOUSE / "README.md",
    *sorted((ROOT / ".github").glob("[SC][EO]*.md")),
    *(ROOT / ".github").rglob("*.yml"),
]
TEXT, LIST = PAGE.split("## Every file")
PROSE = re.sub(r"(?ms)^```.*?^```$", "", PAGE)
SPANS = [span for span in re.findall(r"`([^`\n]+)`", PROSE) if " " not in span]
FAR = {("dead", "held"), ("sending", "suppressed")}
"""Arrows of a whole pass of mails, and of a database that was restored.

No event of one delivery.
"""


def read_layers() -> list[str]:
    """Return the layers that import-linter holds the rooms to."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers: list[str] = contracts[0]["layers"]
    return layers


def test_the_rooms_are_the_layers_that_the_imports_keep_to() -> None:
    first_block = re.findall(r"(?ms)^```text\n(.*?)^```$", PAGE)[0]
    shown = re.findall(r"(?m)^([a-z]+(?: [|:] [a-z]+)*)  ", first_block)
    assert shown == read_layers()


def test_the_diagram_has_the_states_and_the_arrows_of_a_delivery() -> None:
    shown = set(re.findall(r"(?m)^    (\w+) --> (\w+)", PAGE))
    states = set()
    for arrow in shown:
        states |= set(arrow)
    assert states == set(DeliveryState)
    arrows = set(FAR)
    for state, followers in ARROWS.items():
        arrows |= {(str(state), str(follower)) for follower in followers}
    assert shown == arrows


def read_first_sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    docstring = ast.get_docstring(module) or ""
    return docstring.partition(".")[0]


def write_list() -> str:
    """Return the list of files.

    Known lines as they are, a new module's from its docstring, none that is gone.
    """
    said = dict(re.findall(r"(?m)^- `(\S+)`: (.*)$", LIST))
    lines = defaultdict[str, list[str]](list)
    for path in sorted(HOUSE.rglob("*.py")):
        if path.name == "__init__.py":
            continue
        place = path.relative_to(HOUSE)
        name = str(place)
        sentence = said.get(name, read_first_sentence(path))
        heading = "Alone" if path.parent == HOUSE else place.parts[0]
        lines[heading].append(f"- `{name}`: {sentence}\n")
    headings = set(re.findall(r"(?m)^### (\w+)$", LIST))
    assert {*lines, "Alone"} == headings

    def fill(found: re.Match[str]) -> str:
        return found[1] + "".join(lines[found[2]])

    return re.sub(r"(?m)(^### (\w+)\n\n)(?:- .*\n)*", fill, LIST)


def test_every_module_has_a_line_and_every_line_a_module(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        (HOUSE / "README.md").write_text(PAGE.replace(LIST, write_list()), encoding="utf-8")
    else:
        assert write_list() == LIST, "look, then run with --update-golden"


def is_there(path: str) -> bool:
    places = (ROOT, HOUSE, HOUSE / "deliver/transports", ROOT / "templates/web")
    return any((place / path).exists() for place in places)


def test_every_path_that_it_names_is_there() -> None:
    paths = {span for span in SPANS if "/" in span or span.endswith((".py", ".md", ".html"))}
    gone = {path for path in paths if not is_there(path)}
    assert gone == {"rules.py", "step.py"}


def test_every_name_that_it_names_is_somewhere_in_the_house() -> None:
    sources = [*HOUSE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    dotted = [span for span in SPANS if re.fullmatch(r"[\w.]+", span)]
    named = {span for span in dotted if "_" in span or span[:1].isupper()}
    names = {name.rpartition(".")[2] for name in named}
    assert len(names) > 30
    gone = {name for name in names if not re.search(rf"\b{name}\b", code)}
    assert gone == set()


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.name)
def test_what_a_newcomer_is_told_to_run_or_to_read_is_there(paper: Path) -> None:
    text = paper.read_text(encoding="utf-8")
    named = re.findall(r"(?<![\w/.-])((?:\.ci|\.github|digest|tests|templates)/[\w./-]*\w)", text)
    gone = {name for name in named if not (ROOT / name).exists()}
    assert gone == set()
    links = re.findall(r"\]\(([^):]+)\)", text)
    broken = [link for link in links if not (paper.parent / link).exists()]
    assert broken == []
