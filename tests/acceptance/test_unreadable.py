"""A query that can't be read for a while, or that the file misses for a while, loses nothing.

Each story is lived through a week in March: a paper comes out each day, the file is spoilt on
Wednesday and Thursday, and is on Friday as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from digest.model.clock import ManualClock
from digest.model.errors import ConfigurationError
from digest.model.messages import Digest, Occasion
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.harness.installation import Installation
from tests.harness.papers import START, later, made_up

FOLLOW = 'follow = ["cat:cs.PF", "dc"]'
EXCLUDE = 'exclude = "ti:boring"'
NAMED = "dc = 'cat:cs.DC'"
MAIN = f"""
[[subscriptions]]
name = "main"
{FOLLOW}
{EXCLUDE}
to = "mailto:reader@example.org"
"""
OTHER = """
[[subscriptions]]
name = "other"
follow = "cat:math.CO"
to = "mailto:other@example.org"
"""
WEEK = range(3, 10)
READABLE = {
    "a typo in a text": (FOLLOW, 'follow = ["cat:cs.PF AND", "dc"]'),
    "another typo each day": (FOLLOW, 'follow = ["cat:cs.PF AND DAY", "dc"]'),
    "a typo, and the other query is gone": (FOLLOW, 'follow = ["cat:cs.PF AND"]'),
    "a typo under a name": (NAMED, "dc = 'cat:cs.DC AND'"),
    "nothing under a name": (NAMED, "dc = '()'"),
    "a typo beside a new query": (FOLLOW, 'follow = ["cat:cs.PF AND", "dc", "cat:math.NT"]'),
}
"""What is spoilt in a file that is used all the same: what was there before stays in use."""

REFUSED = {
    "an empty text": (FOLLOW, 'follow = ""'),
    "an empty list": (FOLLOW, "follow = []"),
    "the name is gone": (NAMED, ""),
    "the name is mistyped": (FOLLOW, 'follow = ["cat:cs.PF", "dcc"]'),
    "the file breaks off in a line": (
        f'{EXCLUDE}\nto = "mailto:reader@example.org"\n',
        'exclude = "ti:bo',
    ),
    "the file breaks off before what is needed": (
        f'{EXCLUDE}\nto = "mailto:reader@example.org"\n',
        "",
    ),
}
"""What is spoilt in a file that is not used at all."""

MISSING = {
    "the subscription is commented out": (MAIN, ""),
    "it is commented out, and its query's name, too": (MAIN, "", NAMED, ""),
}
"""What the file misses."""


@dataclass
class World:
    """An installation, its arXiv, and what came of its days."""

    here: Installation
    arxiv: DemoArxiv
    clock: ManualClock
    text: str
    spoilt_days: tuple[int, ...] = (4, 5)
    digests: list[Digest] = field(default_factory=list)

    def live(self, day: int, *changes: str) -> None:
        """Live the noon of a day, on which the file is changed.

        A paper comes out in the evening.
        """
        text = self.text
        for before, after in zip(changes[::2], changes[1::2], strict=True):
            assert before in text
            text = text.replace(before, after.replace("DAY", f"({day}"))
        (self.here.folder / "digest.toml").write_text(text)
        later(self.clock, day)
        try:
            self.digests += self.here.run().plan.digests
        except ConfigurationError:
            assert day in self.spoilt_days
        category = "cs.PF" if day % 2 else "cs.DC"
        submitted = self.clock.now() + timedelta(hours=1)
        self.arxiv.add(made_up(100 + day, submitted, categories=(category,)))
        self.arxiv.add(
            made_up(200 + day, submitted, categories=(category,), title="A boring paper")
        )

    def list_papers(self, name: str = "main") -> Counter[int]:
        """Count how often each paper came with the digests that were sent in their turns."""
        return Counter(
            entry.paper.id.number
            for digest in self.digests
            if digest.subscription == name and digest.occasion is Occasion.SCHEDULED
            for entry in digest.entries
        )

    def count_first_digests(self) -> int:
        return sum(
            one.subscription == "main" and one.occasion is Occasion.FIRST_DIGEST
            for one in self.digests
        )


@pytest.fixture
def old_papers() -> list[DemoPaper]:
    return [made_up(number, START - timedelta(days=4, minutes=number)) for number in range(1, 4)]


@pytest.fixture(params=["harvest", "query"])
def world(
    request: pytest.FixtureRequest,
    arxiv: DemoArxiv,
    clock: ManualClock,
    install: Callable[..., Installation],
) -> World:
    made = install(arxiv, source=request.param)
    around, _, _ = (made.folder / "digest.toml").read_text().partition("[queries]")
    return World(made, arxiv, clock, f"{around}[queries]\n{NAMED}\n{OTHER}{MAIN}")


def live_a_week(world: World, changes: tuple[str, ...]) -> dict[int, Counter[int]]:
    """Live a week with a spoilt file in its middle; return by day what had come by then."""
    came = {}
    for day in (2, *WEEK):
        world.live(day, *(changes if day in world.spoilt_days else ()))
        came[day] = world.list_papers()
    return came


EVERY = Counter([102, 103, 104, 105, 106])
"""What has come out by the last noon."""


@pytest.mark.parametrize("spoilt", READABLE)
def test_what_was_there_before_stays_in_use_while_a_text_cannot_be_read(
    spoilt: str, world: World
) -> None:
    came = live_a_week(world, READABLE[spoilt])
    assert world.count_first_digests() == 1
    assert came[5] == Counter([102, 103, 104]), "nothing is late"
    assert came[9] == EVERY


@pytest.mark.parametrize("spoilt", REFUSED)
def test_a_file_that_is_refused_for_a_while_loses_nothing(spoilt: str, world: World) -> None:
    came = live_a_week(world, REFUSED[spoilt])
    assert world.count_first_digests() == 1
    assert came[5] == Counter([102])
    assert came[9] == EVERY


@pytest.mark.parametrize("missing", MISSING)
def test_a_subscription_that_the_file_misses_for_a_while_loses_nothing(
    missing: str, world: World
) -> None:
    came = live_a_week(world, MISSING[missing])
    assert world.count_first_digests() == 1
    assert came[5] == Counter([102]), "nothing is sent while it is missing"
    assert came[6] == Counter([102, 103, 104, 105]), "all of it comes at once when it returns"
    assert came[9] == EVERY


EDITED = {
    "a text gets a name": (FOLLOW, 'follow = ["pf", "dc"]', NAMED, f"{NAMED}\npf = 'cat:cs.PF'"),
    "a query gets another name": (
        FOLLOW,
        'follow = ["cat:cs.PF", "crowds"]',
        NAMED,
        "crowds = 'cat:cs.DC'",
    ),
    "a text is narrowed": (FOLLOW, 'follow = ["cat:cs.PF AND abs:latency", "dc"]'),
    "a text under a name is narrowed": (NAMED, "dc = 'cat:cs.DC AND abs:latency'"),
    "a query is added": (FOLLOW, 'follow = ["cat:cs.PF", "dc", "cat:math.NT"]'),
}
"""What somebody edits on purpose, and means the same papers by."""


@pytest.mark.parametrize("edited", EDITED)
def test_an_edit_brings_no_second_first_digest_and_loses_nothing(edited: str, world: World) -> None:
    world.spoilt_days = tuple(range(4, 10))
    came = live_a_week(world, EDITED[edited])
    assert world.count_first_digests() == 1
    assert came[5] == Counter([102, 103, 104])
    assert came[9] == EVERY


@pytest.mark.parametrize("spoilt_days", [(4, 5), (9,)])
@pytest.mark.parametrize("change", [READABLE["a typo in a text"], *MISSING.values()])
def test_a_weekly_digest_has_all_of_its_week_whatever_was_spoilt_in_it(
    change: tuple[str, ...], spoilt_days: tuple[int, ...], world: World
) -> None:
    world.text = world.text.replace("daily at 06:00 UTC", "mondays at 06:00 UTC")
    world.spoilt_days = spoilt_days
    live_a_week(world, change)
    world.live(10)
    assert world.count_first_digests() == 1
    is_late = spoilt_days == (9,) and change in MISSING.values()
    assert world.list_papers() == (EVERY if not is_late else EVERY + Counter([107, 108, 109]))


def test_what_is_not_liked_stays_so_while_its_file_is_mistyped(world: World) -> None:
    (world.here.folder / "bores.bib").write_text("@misc{a, title = {A boring paper, and another}}")
    world.text = world.text.replace(EXCLUDE, 'not_like = "bores.bib"')
    live_a_week(world, ('"bores.bib"', '"bores.bb"'))
    titles = [
        entry.paper.title
        for digest in world.digests
        if digest.subscription == "main" and digest.occasion is Occasion.SCHEDULED
        for entry in digest.entries
    ]
    assert [title == "A boring paper" for title in titles] == [False, True] * 5
    (said,) = world.here.reports[2].libraries.troubles
    assert "bores.bb can't be read" in said


@pytest.mark.parametrize("key", ["exclude", "read_first", "read_last"])
def test_what_is_excluded_or_comes_first_stays_so_while_a_text_cannot_be_read(
    key: str, world: World
) -> None:
    world.text = world.text.replace(EXCLUDE, f'{key} = "ti:boring"')
    changes = (f'{key} = "ti:boring"', f'{key} = ["ti:boring AND", "ti:never"]')
    live_a_week(world, changes)
    order = [
        entry.paper.id.number
        for digest in world.digests
        if digest.subscription == "main" and digest.occasion is Occasion.SCHEDULED
        for entry in digest.entries
    ]
    plain = [102, 103, 104, 105, 106]
    expected = {
        "exclude": plain,
        "read_first": [number for one in plain for number in (one + 100, one)],
        "read_last": [number for one in plain for number in (one, one + 100)],
    }
    assert order == expected[key]
    ((what, problem),) = world.here.reports[3].config.unread
    assert what.startswith("what main ")
    assert "AND has nothing after it" in problem
