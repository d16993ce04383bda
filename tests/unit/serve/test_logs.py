import io
import logging

from digest.serve.telemetry import Verb, configure_logging


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
