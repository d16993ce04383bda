from __future__ import annotations

from dataclasses import fields

from digest.config.settings import SETTINGS, Config
from digest.serve.schedule import EVERY, NEEDS_RESTART, TAKEN_OVER
from digest.serve.telemetry import LONGEST_SILENCE, Pulse


def test_a_reload_takes_over_or_names_each_table_of_settings() -> None:
    tables = {setting.table or setting.field for setting in SETTINGS}
    assert tables | {"queries", "subscriptions", "incoming", "webhooks"} == {
        *NEEDS_RESTART,
        *TAKEN_OVER,
    }
    assert {*TAKEN_OVER} < {one.name for one in fields(Config)}


def test_nothing_is_known_before_the_first_sign_of_life() -> None:
    pulse = Pulse()
    assert pulse.age is None
    assert not pulse.is_store_writable


def test_a_beat_is_a_sign_of_life_and_says_nothing_about_the_database() -> None:
    pulse = Pulse()
    pulse.beat()
    assert pulse.age is not None
    assert pulse.age < 5
    assert not pulse.is_store_writable
    pulse.note_write()
    assert pulse.is_store_writable
    assert pulse.failures == []


def test_a_heartbeat_may_be_late_twice_before_anybody_worries() -> None:
    assert 2 * EVERY["heartbeat"] < LONGEST_SILENCE
