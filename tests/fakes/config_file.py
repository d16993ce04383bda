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
    whole: dict[str, Table] = {}
    for name in {**around, **tables}:
        usual = around.get(name, {})
        given = tables.get(name, {})
        whole[name] = {**usual, **given}
    whole["queries"] = queries
    parts = [_write_table(f"[{name}]", table) for name, table in whole.items()]
    parts += [_write_table("[[subscriptions]]", one) for one in subscriptions]
    return "".join(parts)


def _write_table(head: str, table: Table) -> str:
    lines = [head]
    for key, value in table.items():
        text = json.dumps(value, ensure_ascii=False)
        lines.append(f"{key} = {text}")
    return "\n".join([*lines, ""])
