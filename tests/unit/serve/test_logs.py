import io
import json
import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from digest.model.errors import ConfigurationError
from digest.serve.telemetry import Verb, configure_logging, log_event

LIBRARIES = ["slack_sdk", "slack_bolt", "httpx", "aiosmtpd", "mail.log"]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Leave logging as it was found."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in (*LIBRARIES, "httpcore", "mail.debug", "asyncio", "python_multipart", "apscheduler"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def test_a_line_has_time_level_logger_event_and_fields() -> None:
    stream = io.StringIO()
    configure_logging("INFO", stream=stream)
    log_event(Verb.POLL, "complete", papers=412, source="harvest", note="a b", empty="", nothing=None)
    time, rest = stream.getvalue().split(" ", 1)
    assert time.startswith("time=20")
    assert time.endswith("Z")
    assert rest == (
        "level=info logger=digest.poll event=poll.complete papers=412 source=harvest "
        'note="a b" empty="" nothing=null\n'
    )


def test_the_same_line_can_be_had_as_json() -> None:
    stream = io.StringIO()
    configure_logging("INFO", json=True, stream=stream)
    log_event(Verb.DELIVER, "dead", level=logging.ERROR, delivery=381, to="mailto:reader@example.org")
    line = json.loads(stream.getvalue())
    assert line.pop("time")
    assert line == {
        "level": "error",
        "logger": "digest.deliver",
        "event": "deliver.dead",
        "delivery": 381,
        "to": "mailto:***@***",
    }


def test_beside_a_commands_own_words_a_warning_is_words_too_and_nothing_is_said_twice() -> None:
    stream = io.StringIO()
    configure_logging("WARNING", plain=True, stream=stream)
    logging.getLogger("digest.worker").warning("the database takes no sign of life: %s", "it is away")
    logging.getLogger("digest.outbox").error(
        "no mark was taken", exc_info=OSError("disk I/O error of a@b.example")
    )
    logging.getLogger("digest.outbox").info("all is well")
    logging.getLogger("digest.restore").warning("nothing is sent")
    assert stream.getvalue().splitlines() == [
        "warning: the database takes no sign of life: it is away",
        "error: no mark was taken: disk I/O error of ***@***",
    ]


def test_the_verbs_are_the_seven_a_paper_travels_by() -> None:
    assert " | ".join(Verb) == "poll | parse | compare | match | plan | render | deliver"


def test_no_field_can_pass_itself_off_as_the_lines_own() -> None:
    with pytest.raises(ValueError, match="its own time"):
        log_event(Verb.POLL, "complete", time="yesterday")


def fail() -> None:
    raise OSError("xoxb-1-2-hush\nand reader@example.org")


@pytest.mark.parametrize("as_json", [False, True])
def test_an_exception_is_part_of_the_one_line_and_masked(*, as_json: bool) -> None:
    stream = io.StringIO()
    configure_logging("INFO", json=as_json, stream=stream)
    try:
        fail()
    except OSError:
        logging.getLogger("digest.deliver").exception("the network failed", stack_info=True)
    assert stream.getvalue().count("\n") == 1
    assert "hush" not in stream.getvalue()
    assert "reader" not in stream.getvalue()
    assert "Traceback" in stream.getvalue()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(), st.booleans())
def test_no_text_breaks_out_of_its_line(text: str, as_json: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
    stream = io.StringIO()
    configure_logging("INFO", json=as_json, stream=stream)
    log_event(Verb.MATCH, "done", text=text)
    lines = stream.getvalue().split("\n")
    assert len(lines) == 2
    assert lines[1] == ""
    if as_json:
        assert json.loads(lines[0])["event"] == "match.done"
    else:
        assert stream.getvalue()[:-1].isprintable()


def test_nothing_below_the_level_is_written() -> None:
    stream = io.StringIO()
    configure_logging("warning", stream=stream)
    log_event(Verb.POLL, "begun")
    assert stream.getvalue() == ""
    log_event(Verb.POLL, "failed", level=logging.WARNING)
    assert "poll.failed" in stream.getvalue()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_that_logs_bodies_at_debug_is_never_let_down_to_it(library: str) -> None:
    stream = io.StringIO()
    configure_logging("DEBUG", stream=stream)
    logging.getLogger(library).debug("the whole body")
    logging.getLogger(f"{library}.inner").debug("the whole body")
    assert stream.getvalue() == ""
    configure_logging("ERROR", stream=stream)
    logging.getLogger(library).warning("not so bad")
    assert stream.getvalue() == ""


def test_what_a_library_logs_is_masked_too() -> None:
    stream = io.StringIO()
    configure_logging("INFO", stream=stream)
    logging.getLogger("httpx").warning("HTTP Request: POST %s", "https://hooks.slack.com/services/T1/B2/hush")
    assert "hush" not in stream.getvalue()
    assert "hooks.slack.com/services/***" in stream.getvalue()


def test_configuring_again_replaces_the_former_place_and_keeps_the_handlers_of_others() -> None:
    others = list(logging.getLogger().handlers)
    first, second = io.StringIO(), io.StringIO()
    configure_logging("INFO", stream=first)
    configure_logging("INFO", stream=second)
    log_event(Verb.PLAN, "done")
    assert first.getvalue() == ""
    assert second.getvalue().count("\n") == 1
    assert set(others) <= set(logging.getLogger().handlers)


def test_handlers_of_others_get_the_exception_itself(caplog: pytest.LogCaptureFixture) -> None:
    stream = io.StringIO()
    configure_logging("INFO", stream=stream)
    failure = OSError("https://hooks.slack.com/services/T1/B2/hush")
    logging.getLogger("digest.deliver").error("failed", exc_info=failure)
    assert "hush" not in stream.getvalue()
    (record,) = caplog.records
    assert record.exc_info
    assert record.exc_info[1] is failure


def test_a_level_that_does_not_exist_is_a_clear_error() -> None:
    with pytest.raises(ConfigurationError, match="no log level 'LOUD'") as caught:
        configure_logging("LOUD")
    assert "WARNING" in caught.value.hint
    configure_logging(logging.WARNING)
    assert logging.getLogger().level == logging.WARNING
