import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.demo.faults import Faults
from digest.demo.mailscript import Script, Step
from digest.errors import UsageError


@settings(deadline=None)
@given(st.integers(0, 5), st.integers(1, 5), st.integers(0, 12))
def test_a_fault_strikes_after_as_many_as_it_skips_and_as_often_as_ordered(
    skip: int, times: int, asked: int
) -> None:
    faults = Faults(("reset",))
    faults.add("reset", skip=skip, times=times)
    struck = [faults.take("/oai") is not None for _ in range(asked)]
    assert struck == [skip <= number < skip + times for number in range(asked)]


@settings(deadline=None)
@given(st.integers(0, 5), st.integers(1, 5), st.integers(0, 12))
def test_a_cue_comes_after_as_many_as_it_skips_and_as_often_as_ordered(skip: int, times: int, asked: int) -> None:
    script = Script()
    script.reply("RCPT", "451 busy", skip=skip, times=times)
    came = [script.take(Step.RCPT, "<a@made.example>") is not None for _ in range(asked)]
    assert came == [skip <= number < skip + times for number in range(asked)]


def test_a_fault_strikes_only_where_its_path_is_asked_for() -> None:
    faults = Faults(("429",))
    faults.add("429", path="/oai", retry_after=60)
    assert faults.take("/api/query") is None
    fault = faults.take("/oai")
    assert fault is not None
    assert fault.retry_after == "60"
    assert faults.waiting == 0


def test_the_first_that_applies_is_taken() -> None:
    faults = Faults(("reset", "hang"))
    faults.add("reset", skip=1)
    faults.add("hang")
    assert [fault.kind for _ in range(2) if (fault := faults.take("/"))] == ["hang", "reset"]


def test_faults_can_be_called_off() -> None:
    faults = Faults(("reset",))
    faults.add("reset", times=9)
    faults.clear()
    assert faults.take("/") is None


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'flood'") as raised:
        Faults(("hang", "reset")).add("flood")
    assert raised.value.hint == "There are hang, reset."


def test_a_cue_waits_for_its_step_and_its_words() -> None:
    script = Script()
    script.reply("RCPT", "550 gone", match="old@")
    assert script.take(Step.MAIL, "old@made.example") is None
    assert script.take(Step.RCPT, "new@made.example") is None
    assert script.take(Step.RCPT, "old@made.example") is not None
