"""Ending what would never end."""

from __future__ import annotations

import signal
import threading
from itertools import repeat
from pathlib import Path

import pytest

from digest.cli.time_limits import limit_time
from digest.errors import TemplateError
from digest.render.checking import sample_contexts
from digest.render.environments import Templates
from digest.render.folders import find_shipped_templates


def test_what_never_ends_is_stopped_and_what_ends_is_not() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeoutError, match=r"not ended after 0\.05 s"), limit_time(0.05):
        sum(1 for _ in repeat(None))
    with limit_time(60):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_in_another_thread_there_is_no_limit() -> None:
    done: list[bool] = []

    def work() -> None:
        with limit_time(0.01):
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


LOOPS = {
    "{% for i in range(100000000) %}{% endfor %}": "Range too big",
    "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}": "has not ended after 0.1 s",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_template_that_loops_for_ever_is_named_with_its_line(tmp_path: Path, loop: str) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email/subject.txt").write_text("x\n" + loop)
    context = next(sample_contexts("email/subject.txt"))
    with pytest.raises(TemplateError) as raised, limit_time(0.1):
        Templates([tmp_path], find_shipped_templates()).render("email/subject.txt", context)
    assert raised.value.message.startswith(f"{tmp_path}/email/subject.txt, line 2: ")
    assert LOOPS[loop] in raised.value.message
