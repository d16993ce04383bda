"""`digest verify`: a mailing as arXiv lists it and as it is stored, ids named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.days import Day
from digest.cli.opening import opened
from digest.cli.telling import Lines, json_option, print_json
from digest.counting import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from digest.pipeline.verifying import Verification
    from digest.planning.verifying import Comparison, SliceVerdict

_WIDTH = 100
_SHOWN = 300
_EMPTY, _UNREAD = "lists nothing", "not read"


@click.command()
@click.option(
    "--date",
    "day",
    type=Day(),
    metavar="YYYY-MM-DD",
    help="The mailing, by the Eastern date of its evening; the last one arXiv lists by now where none is named.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, day: datetime | None, as_json: bool) -> None:
    """Compare a mailing with the listing arXiv's RSS gives of it, and name by id what differs.

    arXiv lists its latest mailing alone, from midnight Eastern time on and for one day; with
    `witness = true` under [arxiv] the listing of each is kept, so that older ones can be verified too.
    Ids that are missing are noted, and the next run asks arXiv for them.

    Exit codes: 0 nothing is missing, 1 ids are missing or nothing could be compared, 4 arXiv failed.
    """
    from digest.cli import show_error  # noqa: PLC0415 - the package imports its commands when they are named
    from digest.pipeline.verifying import verify  # noqa: PLC0415 - the stack is loaded by the command that needs it

    with opened(ctx, progress=Lines(quiet=as_json), create=False, passer_by=True) as site:
        done = verify(site, day.date() if day else None)
    if as_json:
        print_json(_as_json(done))
    else:
        _print(done)
    is_missing = done.comparison is not None and bool(done.comparison.missing)
    if done.errors and not is_missing:
        raise done.errors[0]
    for error in done.errors:
        show_error(error)
    if not done.is_verified:
        ctx.exit(1)


def _print(done: Verification) -> None:
    click.echo(f"mailing of {done.mailing:%a %-d %b}: {describe_verdict(done)}.")
    if done.comparison is None:
        return
    for heading, words in _list_groups(done, done.comparison):
        if words:
            click.echo(f"\n{click.style(f'{heading} ({len(words):,}):', bold=True)}")
            for line in _wrap(words):
                click.echo(f"  {line}")
    notes = list(_list_notes(done, done.comparison))
    if notes:
        click.echo(f"\n{click.style('not compared:', bold=True)}")
        for note in notes:
            click.echo(f"  {note}")


def describe_verdict(done: Verification) -> str:
    """Say in one sentence, without its full stop, what came of it."""
    from digest.planning.slices import SLICES  # noqa: PLC0415 - the same

    found = done.comparison
    if found is None or not (found.is_proof or found.missing):
        return f"not verified, {done.why_not}"
    listed = f"{found.new:,} listed as new"
    if not found.has_arrived:
        return (
            f"{listed}, {found.missing_new:,} not stored: it has not come here yet, `digest run --now` asks for it"
        )
    parts = [f"{listed}, all stored"]
    if found.missing:
        crosses = len(found.missing) - found.missing_new
        missing = [f"{found.missing_new:,} of them"] if found.missing_new else []
        missing += [count(crosses, "cross-list")] if crosses else []
        parts = [f"{listed}; {' and '.join(missing)} NOT stored"]
    if found.known:
        which = "all" if len(found.known) == found.new else f"{len(found.known):,}"
        parts.append(f"{which} of them known from before, by their ids")
    if found.elsewhere:
        parts.append(f"{len(found.elsewhere):,} of them counted with another mailing")
    if found.unlisted:
        parts.append(f"{len(found.unlisted):,} stored but not listed")
    if found.behind:
        parts.append(f"{len(found.behind):,} listed in a newer version")
    used = sum(verdict.state == "read" for verdict in found.slices)
    if used < len(found.slices):
        parts.append(f"{used} of {max(len(SLICES), len(found.slices))} slices compared")
    return "; ".join(parts)


def _list_groups(done: Verification, found: Comparison) -> Iterator[tuple[str, list[str]]]:
    asks = ", the next run asks arXiv for them" if done.handed_over else ""
    new = [str(paper.id) for paper in found.missing if paper.announce_type == "new"]
    yield f"missing{asks}", new
    crosses = [str(paper.id) for paper in found.missing if paper.announce_type != "new"]
    yield f"missing cross-lists{asks}", crosses
    if len(found.known) < found.new:
        yield (
            "no news here, for their ids are no newer than the first look's",
            [str(id_) for id_ in found.known],
        )
    yield "counted with another mailing, as the order of ids has it", [str(id_) for id_ in found.elsewhere]
    yield "stored but not listed", [str(id_) for id_ in found.unlisted]
    yield (
        "listed in a newer version than stored",
        [_write_behind(one.id, one.listed, one.stored) for one in found.behind],
    )


def _write_behind(id_: object, listed: int, stored: int) -> str:
    return f"{id_}v{listed} (stored: v{stored})" if stored else f"{id_}v{listed} (not stored)"


def _list_notes(done: Verification, found: Comparison) -> Iterator[str]:
    for verdict in found.slices:
        note = _describe_slice(done, verdict)
        if note and (found.is_proof or note not in (_EMPTY, _UNREAD)):
            yield f"{verdict.slice.name}: {note}"
    for category in found.stale:
        yield f"{category}: lists nothing but papers of older mailings as new"


def _describe_slice(done: Verification, verdict: SliceVerdict) -> str:
    from digest.announcements import EASTERN  # noqa: PLC0415 - the same
    from digest.planning.verifying import SliceState  # noqa: PLC0415 - the same

    if verdict.state is SliceState.CUT:
        return f"{verdict.lines:,} lines are so many that arXiv may have cut new papers off"
    if verdict.state is SliceState.OTHER and verdict.mailing is not None:
        return f"shows the mailing of {verdict.mailing:%a %-d %b}"
    if verdict.state is SliceState.UNREAD:
        failed = [one for one in done.failed if one.slice == verdict.slice]
        why = "".join(f", {one.at.astimezone(EASTERN):%a %H:%M} ET: {one.failure}" for one in failed)
        return f"{_UNREAD}{why}"
    return _describe_unreadable(verdict)


def _describe_unreadable(verdict: SliceVerdict) -> str:

    if not verdict.unreadable:
        return _EMPTY if verdict.state == "empty" else ""
    return f"{count(verdict.unreadable, 'line')} of {verdict.lines:,} can't be read"


def _wrap(words: Sequence[str]) -> Iterator[str]:
    import textwrap  # noqa: PLC0415 - the same

    shown = " ".join(word.replace(" ", "\xa0") for word in words[:_SHOWN])
    lines = textwrap.wrap(shown, _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield from (line.replace("\xa0", " ") for line in lines)
    if len(words) > _SHOWN:
        yield f"… and {len(words) - _SHOWN:,} more; --json names all"


def _as_json(done: Verification) -> dict[str, object]:
    found = done.comparison
    fetched = {one.listing.slice: one.fetched_at for one in done.listings}
    failed = {one.slice: one.failure for one in done.failed}
    return {
        "mailing": done.mailing,
        "verdict": describe_verdict(done),
        "is_verified": done.is_verified,
        "listed_new": found.new if found else 0,
        "listed_cross": found.crosses if found else 0,
        "missing": [
            {"id": str(paper.id), "type": paper.announce_type, "primary_category": paper.primary}
            for paper in (found.missing if found else ())
        ],
        "known_from_before": [str(id_) for id_ in (found.known if found else ())],
        "of_another_mailing": [str(id_) for id_ in (found.elsewhere if found else ())],
        "unlisted": [str(id_) for id_ in (found.unlisted if found else ())],
        "behind": [
            {"id": str(one.id), "listed": one.listed, "stored": one.stored or None}
            for one in (found.behind if found else ())
        ],
        "stale_categories": found.stale if found else (),
        "slices": [
            {
                "name": verdict.slice.name,
                "subjects": verdict.slice.subjects,
                "state": verdict.state,
                "mailing": verdict.mailing,
                "lines": verdict.lines,
                "unreadable": verdict.unreadable,
                "fetched_at": fetched.get(verdict.slice),
                "failure": failed.get(verdict.slice, ""),
            }
            for verdict in (found.slices if found else ())
        ],
        "asked": done.asked,
        "handed_over": done.handed_over,
        "errors": [error.message for error in done.errors],
    }
