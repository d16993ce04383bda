"""What is said of time zones that were hardly meant."""

import pytest

from digest.config.zones import remark_on_zones
from tests.unit.config.conftest import Load

SUBSCRIPTION = '[[subscriptions]]\nname = "{}"\nqueries = ["perf"]\nto = "console"\n{}'
QUERIES = '[queries]\nperf = "cat:cs.PF"\n'


def test_times_without_a_zone_are_remarked_once_for_all_that_say_them(load: Load) -> None:
    config = load(
        '[defaults]\nwhen = "weekdays at 08:00"\n'
        + QUERIES
        + SUBSCRIPTION.format("a", "")
        + SUBSCRIPTION.format("b", 'when = "daily at 09:00"\n')
        + SUBSCRIPTION.format("c", 'when = "daily at 09:00 UTC"\n')
    )
    (said,) = remark_on_zones(config)
    assert said == (
        "defaults.when, subscriptions.b.when: names no time zone, so it is read as UTC; "
        'write "weekdays at 08:00 UTC" if that is meant, else a place: "weekdays at 08:00 Europe/Berlin"'
    )


@pytest.mark.parametrize(
    "when", ["on announcement", "daily at 08:00 UTC", "daily at 08:00 Etc/GMT+5", "mondays at 08:00 HST"]
)
def test_a_zone_that_is_always_right_is_not_remarked(load: Load, when: str) -> None:
    assert list(remark_on_zones(load(f'[defaults]\nwhen = "{when}"\n'))) == []
