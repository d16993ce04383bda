from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from digest.model.papers import ArxivId, Author, Paper

MakePaper = Callable[..., Paper]


def build_paper(
    *,
    authors: Sequence[str] = (),
    id: str = "2603.10026",  # noqa: A002 - as in Paper
    **fields: object,
) -> Paper:
    moment = datetime(2026, 3, 2, 9, 30, 15, tzinfo=UTC)
    values: dict[str, Any] = {
        "id": ArxivId.parse(id),
        "version": 1,
        "title": "Untitled",
        "abstract": "",
        "authors": tuple(Author(name) for name in authors),
        "categories": ("cs.PF",),
        "published": moment,
        "updated": moment,
    }
    values |= fields
    return Paper(**values)


@pytest.fixture(scope="session")
def make_paper() -> MakePaper:
    """Return a function that makes up a paper from the fields a test cares for."""
    return build_paper
