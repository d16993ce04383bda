"""How fast mails are made, against the usual way to make them well.

    python -m tests.bench.rendering

A mail has 30 papers with a sentence of each abstract, a text and an HTML part, and comes out as the bytes that
are sent. The usual way is a Jinja template that is compiled once, css-inline over each message, and the
standard library's EmailMessage; its papers are made readable beforehand, and it neither breaks lines of text
softly nor keeps the mail small. Both are measured in turns, in processor time, and the median of the rounds'
ratios counts: once for one digest to many readers, once for digests that differ, of one day's papers, for a
reader each. Every round is a new day, of which nothing is rendered yet.
Counted as well: how often each paper was rendered.
"""

from __future__ import annotations

import email
import email.policy
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from email.message import EmailMessage
from email.utils import format_datetime
from statistics import median
from time import process_time
from typing import Final

import click
import css_inline
import jinja2

from digest.model.announcements import Kind
from digest.model.messages import Delivery, Digest, DigestEntry, Links
from digest.model.papers import Field, Paper, Reason, Span
from digest.render import MailIdentity, Renderer
from digest.render.digests import group_papers, view_digest, view_rest
from digest.render.environments import find_shipped_templates
from digest.render.papers import PaperView
from digest.render.samples import EVENING, SAMPLE_LINKS, make_digest
from digest.render.text import count_papers, open_sentence
from tests.bench.installations import say
from tests.bench.papers import load_day
from tests.bench.sending import make_delivery

PAPERS, DAY, MAILS, ROUNDS = 30, 200, 500, 7
GOAL: Final = 8.0

_IDENTITY = MailIdentity("digest@example.org", "Digest", "digest.example.org", EVENING)

Mail = tuple[Digest, Delivery, Links]


def make_entries(papers: Sequence[Paper]) -> list[DigestEntry]:
    """Return the day's papers as one query found them: each by a word of its title."""
    return [
        DigestEntry(
            kind=Kind.NEW,
            paper=paper,
            label="",
            change_note="",
            queries=("perf",),
            reasons=(Reason("ti:word", (Span(Field.TITLE, 0, len(paper.title.split(" ")[0])),), "perf"),),
            found_at=EVENING,
            change_id=number,
        )
        for number, paper in enumerate(papers, 1)
    ]


def make_mails(digests: Sequence[Digest]) -> list[Mail]:
    """Return mails to be made: each to a reader of its own."""
    return [
        (
            digest,
            make_delivery(number, EVENING),
            replace(SAMPLE_LINKS, unsubscribe=f"https://digest.example.org/u/{number:022}"),
        )
        for number, digest in enumerate(digests)
    ]


class UsualWay:
    """A good mailer as one writes it: the template cached, the inliner at hand, the standard library's mail."""

    def __init__(self) -> None:
        self._views: dict[int, PaperView] = {}
        shipped = find_shipped_templates() / "email"
        source = {path.name: path.read_text(encoding="utf-8") for path in shipped.iterdir()}
        paper = "{% set abstract = paper.show_abstract(digest.abstracts) %}" + source["paper.html"]
        html = source["digest.html"].replace("{{ fragments[paper.number] }}", paper)
        html = html.replace("<style>", f"<style>{source['style.css']}")
        told = "{% set abstract = paper.write_abstract(digest.abstracts) %}" + source["paper.txt"]
        text = source["text.txt"].replace("{{ fragments[paper.number] }}", told)
        templates = {"digest.html": html, "text.txt": text, "email/media.css": source["media.css"]}
        environment = jinja2.Environment(
            loader=jinja2.DictLoader(templates),
            autoescape=jinja2.select_autoescape(["html"]),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters.update(count_papers=count_papers, open_sentence=open_sentence)
        self._html, self._text = environment.get_template("digest.html"), environment.get_template("text.txt")
        self._inliner = css_inline.CSSInliner(keep_at_rules=True, load_remote_stylesheets=False)

    def view(self, digest: Digest) -> tuple[PaperView, ...]:
        """Return a digest's papers, each made readable once."""
        for number, entry in enumerate(digest.entries, 1):
            key = id(entry)
            if key not in self._views or self._views[key].number != number:
                self._views[key] = PaperView(entry, number)
        return tuple(self._views[id(entry)] for entry in digest.entries)

    def write(self, mail: Mail) -> bytes:
        """Return a mail's bytes."""
        digest, delivery, links = mail
        papers = self.view(digest)
        seen = {
            "digest": view_digest(digest),
            "groups": group_papers(digest, papers),
            "rest": view_rest((), links.web_view),
            "links": links,
            "is_full": False,
        }
        message = EmailMessage(policy=email.policy.SMTP)
        message["Date"] = format_datetime(_IDENTITY.date)
        message["From"] = f"{_IDENTITY.from_name} <{_IDENTITY.from_address}>"
        message["To"] = delivery.destination.address
        message["Subject"] = f"{len(papers)} papers: {papers[0].title[:60]}"
        message["Message-ID"] = f"<{delivery.idempotency_key}@{_IDENTITY.domain}>"
        message["List-Unsubscribe"] = f"<{links.unsubscribe}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message.set_content(self._text.render(seen), cte="quoted-printable")
        html = self._inliner.inline(self._html.render(seen))
        message.add_alternative(html, subtype="html", cte="quoted-printable")
        return message.as_bytes()


class OurWay:
    """Digest's renderer, with its calls counted."""

    def __init__(self) -> None:
        self.rendered: Counter[str] = Counter()
        self._renderer = Renderer()
        render = self._renderer.templates.render

        def count(name: str, context: object) -> str:
            self.rendered[name] += 1
            return render(name, context)  # type: ignore[arg-type]  # as it came

        self._renderer.templates.render = count  # type: ignore[method-assign]  # counted, and done

    def forget_papers(self) -> None:
        """Begin a new day: papers are rendered anew, and mails of a digest have nothing in common yet."""
        self._renderer._papers._render.cache_clear()
        self._renderer._mails._known.clear()

    def write(self, mail: Mail) -> bytes:
        """Return a mail's bytes."""
        digest, delivery, links = mail
        return self._renderer.render_mail(digest, delivery, links, _IDENTITY).body


def measure(write: Callable[[Mail], bytes], mails: Sequence[Mail]) -> float:
    """Return milliseconds of processor time for a mail."""
    begun = process_time()
    for mail in mails:
        write(mail)
    return (process_time() - begun) / len(mails) * 1e3


def compare(mails: Sequence[Mail], rounds: int) -> Iterator[tuple[float, float]]:
    """Yield for each round milliseconds for a mail: the usual way, and ours."""
    usual, ours = UsualWay(), OurWay()
    for one in (usual, ours):
        one.write(mails[0])  # templates are read once in the life of a process
    for _ in range(rounds):
        ours.forget_papers()
        yield measure(usual.write, mails[:: max(1, len(mails) // 40)]), measure(ours.write, mails)


def check(raw: bytes, digest: Digest) -> list[str]:
    """Say what is wrong with a mail: it must read back whole, with every paper in both parts."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    faults = [str(defect) for part in message.walk() for defect in part.defects]
    for kind in ("plain", "html"):
        part = message.get_body((kind,))
        text = str(part.get_content()) if part else ""
        faults += [f"{entry.paper.id} is not in {kind}" for entry in digest.entries if entry.paper.url not in text]
    return faults


@click.command()
@click.option("--mails", default=MAILS, show_default=True, help="how many in a round")
@click.option("--rounds", default=ROUNDS, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(mails: int, rounds: int, seed: int) -> None:
    """Measure everything."""
    is_met = measure_all(mails, rounds, random.Random(seed))  # noqa: S311 - no secret
    raise SystemExit(0 if is_met else 1)


def measure_all(mails: int, rounds: int, rng: random.Random) -> bool:
    """Measure and count; return whether every goal is met."""
    made_of, papers, _ = load_day()
    entries = make_entries(papers[:DAY])
    shared = make_digest(entries[:PAPERS])
    different = [make_digest(rng.sample(entries, PAPERS)) for _ in range(mails)]
    is_met = True
    for what, batch in (
        ("one digest to many readers", make_mails([shared] * mails)),
        (f"digests of {PAPERS} of a day's {DAY} papers, a reader each", make_mails(different)),
    ):
        pairs = list(compare(batch, rounds))
        ratio = median(usual / ours for usual, ours in pairs)
        usual, ours = (median(side) for side in zip(*pairs, strict=True))
        is_met &= ratio >= GOAL
        say(
            f"{what} ({made_of}): {ratio:.1f} × as fast as the usual way   ≥ {GOAL:.0f} "
            f"{'met' if ratio >= GOAL else 'MISSED'}; {ours:.2f} ms a mail, the usual way {usual:.2f} ms"
        )
    return count_all([shared, *different]) and is_met


def count_all(digests: Sequence[Digest]) -> bool:
    """Count what is done once, and read every mail back; return whether all is as it should be."""
    ours, batch = OurWay(), make_mails(digests)
    written = [ours.write(mail) for mail in batch]
    faults = [fault for raw, digest in zip(written, digests, strict=True) for fault in check(raw, digest)]
    distinct = len({entry.change_id for digest in digests for entry in digest.entries})
    rendered = {ours.rendered[name] for name in ("email/paper.html", "email/paper.txt")}
    say(f"{len(written):,} mails of {len(written[0]) / 1e3:.0f} KB read back: {len(faults)} faults")
    say(
        f"{distinct} papers in {sum(len(one.entries) for one in digests):,} places, each rendered once: {rendered}"
    )
    return not faults and rendered == {distinct}


if __name__ == "__main__":
    main()
