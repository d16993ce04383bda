from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.cli.output import cut
from digest.config import load_config
from digest.config.settings import Config
from digest.model.clock import name_zone, write_moment, write_with_zone
from digest.model.numbers import count

MOMENT = datetime(2026, 11, 20, 8, 5, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def configure(tmp_path_factory: pytest.TempPathFactory, default: str, *whens: str) -> Config:
    lines = [
        *("[arxiv]", 'contact = "ops@example.org"', "[defaults]"),
        f'when = "{default}"',
        *("[queries]", 'q = "cat:cs.PF"'),
    ]
    for number, when in enumerate(whens):
        lines += [
            "[[subscriptions]]",
            f'name = "s{number}"',
            'follow = ["q"]',
            'to = "feed"',
            f'when = "{when}"',
        ]
    path = tmp_path_factory.mktemp("config") / "digest.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return load_config(path, {})


@pytest.mark.parametrize(
    ("default", "whens", "zone"),
    [
        ("daily at 09:00 Europe/Berlin", ["daily at 09:00 Asia/Tokyo"], "Europe/Berlin"),
        (
            "on announcement",
            ["daily at 09:00 Asia/Tokyo", "at once", "mondays at 09:00 Asia/Tokyo"],
            "Asia/Tokyo",
        ),
        ("at once", ["daily at 09:00 Asia/Tokyo", "daily at 09:00 UTC"], ""),
        ("on announcement", [], ""),
    ],
)
def test_a_screen_shows_the_zone_of_the_defaults_or_the_one_all_subscriptions_share_or_the_machines(
    tmp_path_factory: pytest.TempPathFactory, default: str, whens: list[str], zone: str
) -> None:
    chosen = configure(tmp_path_factory, default, *whens).zone
    assert chosen == (ZoneInfo(zone) if zone else None)


def test_a_screen_shows_the_zone_of_quiet_hours_where_the_cadence_has_none(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    quiet = 'on announcement"\nquiet_hours = "22:00-07:00 Europe/Berlin'
    assert configure(tmp_path_factory, quiet).zone == BERLIN
    assert configure(tmp_path_factory, "on announcement", quiet, "at once").zone == BERLIN
    assert configure(tmp_path_factory, "on announcement", quiet, "daily at 09:00 UTC").zone is None


def test_a_moment_is_written_in_the_zone_asked_for_and_with_its_year_if_that_is_another() -> None:
    assert write_moment(MOMENT, BERLIN, MOMENT) == "Fri 20 Nov 09:05"
    assert write_moment(MOMENT, ZoneInfo("America/Sao_Paulo"), MOMENT) == "Fri 20 Nov 05:05"
    before = datetime(2016, 9, 1, tzinfo=UTC)
    assert write_with_zone(MOMENT, BERLIN, before) == "Fri 20 Nov 2026 09:05 Berlin"


def test_a_zone_goes_by_its_place_and_the_machines_by_what_it_calls_itself() -> None:
    assert name_zone(BERLIN, MOMENT) == "Berlin"
    assert name_zone(ZoneInfo("America/Argentina/Buenos_Aires"), MOMENT) == "Buenos Aires"
    assert name_zone(None, MOMENT) == MOMENT.astimezone().tzname()


def test_one_is_singular() -> None:
    assert [count(0, "paper"), count(1, "paper"), count(1_200, "paper")] == [
        "0 papers",
        "1 paper",
        "1,200 papers",
    ]
    assert count(2, "saved query", "saved queries") == "2 saved queries"


@given(st.text(max_size=80), st.integers(5, 60))
def test_a_cut_text_is_never_wider_and_shows_that_it_was_cut(text: str, width: int) -> None:
    shown = cut(text, width)
    folded = " ".join(text.split())
    assert len(shown) <= width
    assert shown == folded or (shown.endswith("…") and folded.startswith(shown[:-1]))


def test_a_text_is_cut_between_words_where_one_ends_near() -> None:
    assert cut("no such user here at all", 17) == "no such user…"
    assert cut("no such user here at all", 18) == "no such user here…"
    assert cut("incomprehensibilities", 10) == "incompreh…"
