"""People who subscribe by themselves, and how they use the pages: only by what stands on them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import urlencode, urljoin

import httpx
import lxml.html

from digest.model.destinations import Destination, DestinationKind
from digest.model.people import SignupRequest
from digest.people.preferences import Preferences, apply_signup_request, load_preferences
from digest.people.tables import confirm_person
from digest.people.unsubscription import PAGE
from digest.plan.links import remember_preferences
from digest.serve.steps import run_pass
from digest.site import Site
from tests.harness.installation import copy_database
from tests.harness.serving import serve_site
from tests.integration.web.world import TO, World, live_in

ORIGIN = {"Origin": "https://localhost:8000"}
ME = "me@example.org"
OTHER = "other@example.org"


@dataclass
class Button:
    name: str
    value: str
    method: str


@dataclass
class Form:
    action: str
    method: str
    id: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[Button] = field(default_factory=list)


@dataclass
class Page:
    http: httpx.Client
    answer: httpx.Response

    @property
    def status(self) -> int:
        return self.answer.status_code

    @property
    def text(self) -> str:
        """The words, without markup, blanks folded."""
        body = re.sub(
            r"<style>.*?</style>|<title>.*?</title>", "", self.answer.text, flags=re.DOTALL
        )
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())

    @property
    def said(self) -> str:
        found = re.search(r'role="status">\s*<p[^>]*>(.*?)</p>', self.answer.text, re.DOTALL)
        return unescape(found[1]).strip() if found else ""

    @property
    def forms(self) -> list[Form]:
        """Every form, with all that a browser would send of it, and its buttons."""
        root = lxml.html.fromstring(self.answer.text)
        found = dict[str, Form]()
        for number, form in enumerate(root.iter("form")):
            name = form.get("id", f"form-{number}")
            form.set("id", name)
            found[name] = Form(form.get("action", ""), form.get("method", "get"), name)
        for part in root.iter("input", "option", "button"):
            name = part.get("name", "")
            value = part.get("value", "")
            owner = found[part.get("form", "") or next(part.iterancestors("form")).get("id", "")]
            if part.tag == "button":
                owner.buttons.append(Button(name, value, part.get("formmethod", "")))
            elif part.tag == "option" and "selected" in part.attrib:
                owner.fields.append((next(part.iterancestors("select")).get("name", ""), value))
            elif name and (part.get("type") != "checkbox" or "checked" in part.attrib):
                owner.fields.append((name, value))
        return list(found.values())

    def form(self, action: str) -> Form:
        """Return the form that does something, by its hidden field `action`."""
        return next(form for form in self.forms if ("action", action) in form.fields)

    def has(self, action: str, value: str | None = None) -> bool:
        """Whether a form can be sent, by a button of some value where given."""
        found = [form for form in self.forms if ("action", action) in form.fields]
        return any(
            form.buttons if value is None else [b for b in form.buttons if b.value == value]
            for form in found
        )

    def press(self, action: str, value: str | None = None, **changes: str | list[str]) -> Page:
        """Send a form, with some fields filled in otherwise, by its button with some value."""
        form = self.form(action)
        button = next(one for one in form.buttons if value in (None, one.value))
        return self.send(form, button, **changes)

    def send(self, form: Form, button: Button, **changes: str | list[str]) -> Page:
        fields = [(name, value) for name, value in form.fields if name not in changes]
        for name, value in changes.items():
            fields += [(name, one) for one in ([value] if isinstance(value, str) else value)]
        fields += [(button.name, button.value)] if button.name else []
        url = urljoin(str(self.answer.request.url), form.action)
        if (button.method or form.method) == "get":
            return Page(self.http, self.http.get(f"{url}?{urlencode(fields)}"))
        body = urlencode(fields)
        headers = {**ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
        return Page(self.http, self.http.post(url, content=body, headers=headers))


@dataclass
class PeopleSite:
    """A served installation where people subscribe by themselves, with a clock that tests move."""

    world: World
    site: Site
    http: httpx.Client

    def subscribe(
        self, address: str = ME, *queries: str, cadence: str = "daily at 02:00 UTC"
    ) -> str:
        """Let somebody have saved queries of their own; return the path of their preferences."""
        with self.site.store.begin() as conn:
            maker = self.world.links(self.site)
            person = confirm_person(conn, address, how=PAGE, at=self.world.clock.now())
            wish = SignupRequest(cadence=cadence)
            for text in queries:
                wish = wish.add_query(text)
            if queries:
                apply_signup_request(conn, maker, person, wish, at=self.world.clock.now())
        return self.path(address)

    def path(self, address: str = ME) -> str:
        with self.site.store.begin() as conn:
            place = Destination(DestinationKind.MAIL, address)
            maker = self.world.links(self.site)
            token = remember_preferences(conn, maker, place, at=self.world.clock.now())
        return f"/p/{token}"

    def open(self, path: str) -> Page:
        return Page(self.http, self.http.get(path))

    def preferences(self, address: str = ME) -> Preferences:
        with self.site.store.read() as conn:
            found = load_preferences(conn, address)
        assert found is not None
        return found

    def live(self, *, days: float = 0, hours: float = 0) -> list[tuple[str, str]]:
        """Let time pass and everything due happen; return who got a mail, and its text."""
        before = len(self.world.mail.mails)
        self.world.clock.sleep(days * 86_400 + hours * 3600)
        run_pass(self.site)
        return [
            (mail.recipients[0], read_text(mail.message)) for mail in self.world.mail.mails[before:]
        ]

    def dump(self) -> str:
        with sqlite3.connect(self.world.folder / "digest.db") as connection:
            text = "\n".join(connection.iterdump())
        connection.close()
        return text


def read_text(message: object) -> str:
    body = message.get_body(("plain",))  # type: ignore[attr-defined]  # an EmailMessage
    return str(body.get_content())


@contextmanager
def open_people_site(
    folder: Path,
    seed: Path | None = None,
    *,
    signup: str = "open",
    to: tuple[str, ...] = TO,
    extra: str = "",
) -> Iterator[PeopleSite]:
    """Open an installation whose first digest was sent.

    It has a copy of the database in the folder `seed`, where one is given.
    """
    with live_in(folder) as world:
        world.write_config(to=to, extra=extra)
        world.edit("[web]", f'[web]\nsignup = "{signup}"')
        if seed:
            copy_database(seed, folder)
        with closing(world.open()) as site:
            if not seed:
                run_pass(site)
            with serve_site(site) as url, httpx.Client(base_url=url) as http:
                yield PeopleSite(world, site, http)
