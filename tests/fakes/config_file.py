"""A `digest.toml` as tests write it.

What stands around an installation, saved queries and subscriptions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

Table = Mapping[str, object]


def write_config(
    url: str, queries: Mapping[str, str], subscriptions: Iterable[Table] = (), /, **tables: Table
) -> str:
    """Return the text of a file.

    The tables `arxiv` and `mail` come on top of the usual lines of these.
    """
    around: dict[str, Table] = {
        "arxiv": {
            "contact": "ops@example.org",
            "api_url": f"{url}/api/query",
            "oai_url": f"{url}/oai",
        },
        "mail": {"from": "digest@example.org"},
    }
    whole = {
        name: {**around.get(name, {}), **tables.get(name, {})} for name in {**around, **tables}
    }
    named = [(f"[{name}]", table) for name, table in (whole | {"queries": dict(queries)}).items()]
    named += [("[[subscriptions]]", dict(one)) for one in subscriptions]
    return "".join(
        "\n".join(
            (
                head,
                *(
                    f"{key} = {json.dumps(value, ensure_ascii=False)}"
                    for key, value in table.items()
                ),
                "",
            )
        )
        for head, table in named
    )
