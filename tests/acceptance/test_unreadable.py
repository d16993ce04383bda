"""A query that can't be read for a while, or that the file misses for a while, loses nothing.

Each story is lived through a week in March: a paper comes out each day, the file is spoilt on
Wednesday and Thursday, and is on Friday as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain

import pytest

from digest.model.clock import ManualClock
from digest.model.errors import ConfigurationError
from digest.model.messages import DigestEntry, Occasion
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
class SpoiltWeek:
    """An installation, its arXiv, and the text of a file that is spoilt on some days."""

    here: Installation
    arxiv: DemoArxiv
    clock: ManualClock
    text: str
    spoilt_days: tuple[int, ...] = (4, 5)

    def live(self, day: int, *changes: str) -> None:
        """Live the noon of a day, on which the file is changed.

        A paper comes out in the evening.
        """
        text = self.text
        for before, after in zip(changes[::2], changes[1::2], strict=True):
            assert before in text
            text = text.replace(before, after.replace("DAY", f"({day}"))
        self.here.write(text)
        later(self.clock, day)
        try:
            self.here.run()
        except ConfigurationError:
            assert day in self.spoilt_days
        category = "cs.PF" if day % 2 else "cs.DC"
        submitted = self.clock.now() + timedelta(hours=1)
        paper = made_up(100 + day, submitted, categories=(category,))
        boring = made_up(200 + day, submitted, categories=(category,), title="A boring paper")
        self.arxiv.add(paper, boring)

    def list_entries(self, name: str = "main") -> list[DigestEntry]:
        """Return what came with the digests that were sent in their turns."""
        entries: list[DigestEntry] = []
        for digest in self.here.digests:
            if digest.subscription == name and digest.occasion is Occasion.SCHEDULED:
                entries += digest.entries
        return entries

    def list_papers(self, name: str = "main") -> Counter[int]:
        """Count how often each paper came with the digests that were sent in their turns."""
        return Counter(entry.paper.id.number for entry in self.list_entries(name))

    def count_first_digests(self) -> int:
        firsts = [one for one in self.here.digests if one.occasion is Occasion.FIRST_DIGEST]
        return sum(one.subscription == "main" for one in firsts)


@pytest.fixture
def old_papers() -> list[DemoPaper]:
    return [made_up(number, START - timedelta(days=4, minutes=number)) for number in range(1, 4)]


@pytest.fixture(params=["harvest", "query"])
def world(
    request: pytest.FixtureRequest,
    arxiv: DemoArxiv,
    clock: ManualClock,
    install: Callable[..., Installation],
) -> SpoiltWeek:
    made = install(arxiv, source=request.param)
    around, _, _ = (made.folder / "digest.toml").read_text().partition("[queries]")
    return SpoiltWeek(made, arxiv, clock, f"{around}[queries]\n{NAMED}\n{OTHER}{MAIN}")


def live_a_week(world: SpoiltWeek, changes: tuple[str, ...]) -> dict[int, Counter[int]]:
    """Live a week with a spoilt file in its middle; return by day what had come by then."""
    came = {}
    for day in (2, *WEEK):
        is_spoilt = day in world.spoilt_days
        world.live(day, *(changes if is_spoilt else ()))
        came[day] = world.list_papers()
    return came


EVERY = Counter([102, 103, 104, 105, 106])
"""What has come out by the last noon."""


@pytest.mark.parametrize("spoilt", READABLE)
def test_what_was_there_before_stays_in_use_while_a_text_cannot_be_read(
    spoilt: str, world: SpoiltWeek
) -> None:
    came = live_a_week(world, READABLE[spoilt])
    assert world.count_first_digests() == 1
    assert came[5] == Counter([102, 103, 104]), "nothing is late"
    assert came[9] == EVERY


@pytest.mark.parametrize("spoilt", REFUSED)
def test_a_file_that_is_refused_for_a_while_loses_nothing(spoilt: str, world: SpoiltWeek) -> None:
    came = live_a_week(world, REFUSED[spoilt])
    assert world.count_first_digests() == 1
    assert came[5] == Counter([102])
    assert came[9] == EVERY


@pytest.mark.parametrize("missing", MISSING)
def test_a_subscription_that_the_file_misses_for_a_while_loses_nothing(
    missing: str, world: SpoiltWeek
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
def test_an_edit_brings_no_second_first_digest_and_loses_nothing(
    edited: str, world: SpoiltWeek
) -> None:
    world.spoilt_days = tuple(range(4, 10))
    came = live_a_week(world, EDITED[edited])
    assert world.count_first_digests() == 1
    assert came[5] == Counter([102, 103, 104])
    assert came[9] == EVERY


@pytest.mark.parametrize("spoilt_days", [(4, 5), (9,)])
@pytest.mark.parametrize("change", [READABLE["a typo in a text"], *MISSING.values()])
def test_a_weekly_digest_has_all_of_its_week_whatever_was_spoilt_in_it(
    change: tuple[str, ...], spoilt_days: tuple[int, ...], world: SpoiltWeek
) -> None:
    world.text = world.text.replace("daily at 06:00 UTC", "mondays at 06:00 UTC")
    world.spoilt_days = spoilt_days
    live_a_week(world, change)
    world.live(10)
    assert world.count_first_digests() == 1
    is_late = spoilt_days == (9,) and change in MISSING.values()
    assert world.list_papers() == (EVERY if not is_late else EVERY + Counter([107, 108, 109]))


def test_what_is_not_liked_stays_so_while_its_file_is_mistyped(world: SpoiltWeek) -> None:
    bores = world.here.folder / "bores.bib"
    bores.write_text("@misc{a, title = {A boring paper, and another}}")
    world.text = world.text.replace(EXCLUDE, 'not_like = "bores.bib"')
    live_a_week(world, ('"bores.bib"', '"bores.bb"'))
    titles = [entry.paper.title for entry in world.list_entries()]
    assert [title == "A boring paper" for title in titles] == [False, True] * 5
    (said,) = world.here.reports[2].libraries.troubles
    assert "bores.bb can't be read" in said


@pytest.mark.parametrize("key", ["exclude", "read_first", "read_last"])
def test_what_is_excluded_or_comes_first_stays_so_while_a_text_cannot_be_read(
    key: str, world: SpoiltWeek
) -> None:
    world.text = world.text.replace(EXCLUDE, f'{key} = "ti:boring"')
    changes = (f'{key} = "ti:boring"', f'{key} = ["ti:boring AND", "ti:never"]')
    live_a_week(world, changes)
    order = [entry.paper.id.number for entry in world.list_entries()]
    plain = [102, 103, 104, 105, 106]
    boring = [number + 100 for number in plain]
    expected = {
        "exclude": plain,
        "read_first": list(chain.from_iterable(zip(boring, plain, strict=True))),
        "read_last": list(chain.from_iterable(zip(plain, boring, strict=True))),
    }
    assert order == expected[key]
    ((what, problem),) = world.here.reports[3].config.unread
    assert what.startswith("what main ")
    assert "AND has nothing after it" in problem
