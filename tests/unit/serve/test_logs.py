import io
import logging

import pytest

from digest.serve.telemetry import Verb, configure_logging, log_event


def test_beside_a_commands_own_words_a_warning_is_words_too() -> None:
    stream = io.StringIO()
    configure_logging(logging.WARNING, plain=True, stream=stream)
    logging.getLogger("digest.worker").warning(
        "the database does not record that this process is alive: %s", "it is away"
    )
    logging.getLogger("digest.outbox").error(
        "no mark was taken", exc_info=OSError("disk I/O error of a@b.example")
    )
    logging.getLogger("digest.outbox").info("all is well")
    assert stream.getvalue().splitlines() == [
        "warning: the database does not record that this process is alive: it is away",
        "error: no mark was taken: disk I/O error of ***@***",
    ]


def test_the_verbs_are_the_seven_a_paper_travels_by() -> None:
    assert " | ".join(Verb) == "poll | parse | compare | match | plan | render | deliver"


HOSTILE = "a\x1b[2J\x1b]0;t\x07\x9b\x7f\u202eb\r\n\u2028é"


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("said", [HOSTILE, [HOSTILE], {"papers": HOSTILE}, None, True])
def test_a_line_of_the_log_is_one_line_without_control_characters(
    *, plain: bool, said: object
) -> None:
    stream = io.StringIO()
    configure_logging(logging.INFO, plain=plain, stream=stream)
    log_event(Verb.POLL, "failed", said=said)
    logging.getLogger("digest.poll").error("it said %s", said, exc_info=OSError(HOSTILE))
    lines = stream.getvalue().split("\n")
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)
