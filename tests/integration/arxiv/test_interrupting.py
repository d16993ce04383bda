"""An operator's Ctrl-C in the middle of a request."""

from __future__ import annotations

import signal
import threading

import pytest

from digest.arxiv.client import ArxivClient
from digest.model.clock import GateOutcome, RequestOutcome, SystemClock
from digest.model.polls import RequestLog
from tests.fakes.loopback import Ending
from tests.integration.arxiv.conftest import WatchedGate
from tests.integration.arxiv.scripted import Reply, ScriptedArxiv


def test_the_gate_is_released_when_the_operator_interrupts(
    arxiv: ScriptedArxiv, client: ArxivClient, gate: WatchedGate, requests: list[RequestLog]
) -> None:
    # A process that was started in the background ignores the signal, and so would this one.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    arxiv.script(Reply(ending=Ending.HANG))
    main = threading.main_thread().ident
    assert main is not None

    def interrupt_once_asked() -> None:
        while not arxiv.seen:
            SystemClock().sleep(0.01)
        SystemClock().sleep(0.2)
        signal.pthread_kill(main, signal.SIGINT)

    interrupt = threading.Thread(target=interrupt_once_asked)
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        client.search("a", size=1)
    interrupt.join()
    signal.signal(signal.SIGINT, before)
    assert gate.open is None
    assert gate.outcomes == [GateOutcome(RequestOutcome.FAILED)]
    assert requests[0].detail == "KeyboardInterrupt"
