from __future__ import annotations

import asyncio
import threading

from digest.web.digest_pages import DigestPages


def test_a_page_that_many_ask_for_at_once_is_rendered_once() -> None:
    rendered: list[int] = []

    def render(digest_id: int) -> bytes:
        threading.Event().wait(0.05)
        rendered.append(digest_id)
        return b"page %d" % digest_id

    async def ask() -> list[bytes]:
        pages = DigestPages(render)
        asked = await asyncio.gather(*(pages.find(number % 2) for number in range(24)))
        return [*asked, await pages.find(1)]

    assert set(asyncio.run(ask())) == {b"page 0", b"page 1"}
    assert rendered == [0, 1]


def test_pages_take_no_more_room_than_there_is_and_the_one_asked_for_last_stays() -> None:
    rendered: list[int] = []

    def render(digest_id: int) -> bytes:
        rendered.append(digest_id)
        return bytes(40)

    async def ask(*digests: int) -> None:
        pages = DigestPages(render, room=100)
        for digest in digests:
            assert len(await pages.find(digest)) == 40

    asyncio.run(ask(1, 2, 1, 3, 1, 2))
    assert rendered == [1, 2, 3, 2]
    rendered.clear()
    asyncio.run(ask(1, 1, 1))
    assert rendered == [1]
