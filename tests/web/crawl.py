"""A crawler that reads every page a person can reach by GET, and a reader of markup that finds what should not be."""

import re
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from django.http import HttpResponse
from django.test import Client

LINKS = ("href", "src", "action", "hx-get")
AT_MOST = 1500
EACH = 6  # of the addresses that differ by numbers alone: an event of each kind, a section of each sort
EACH_OF_ADMIN = 1


@dataclass
class Markup(HTMLParser):
    """The elements of a page: (tag, attributes), and the text inside scripts and styles."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem in {"script", "style"} and data.strip():
            self.inline.append(data)

    @classmethod
    def of(cls, page: str) -> "Markup":
        markup = cls()
        markup.feed(page)
        markup.close()
        return markup

    def links(self) -> Iterator[str]:
        """Addresses that a GET may follow: links, fragments, forms that are no POST."""
        for tag, attributes in self.tags:
            posts = tag == "form" and attributes.get("method", "get").lower() == "post"
            for name in LINKS:
                if name in attributes and not posts:
                    yield attributes[name]


def shape(address: str) -> str:
    """An address without what tells one event, section or log from another."""
    return re.sub(r"\d+", "N", re.sub(r"^/logs/[^/]+", "/logs/X", address))


def crawl(client: Client, *starts: str) -> Iterator[tuple[str, HttpResponse]]:
    """Yield the pages of this site that are reached from `starts`, each once, EACH of a shape; files and 404s too."""
    waiting, met, shapes = list(starts), set(starts), Counter[str]()
    while waiting:
        address = waiting.pop(0)
        answer = client.get(address)
        yield address, answer
        if not answer.get("Content-Type", "").startswith("text/html"):
            continue
        for link in Markup.of(answer.content.decode()).links():
            target = urljoin(address, link).partition("#")[0]
            split = urlsplit(target)
            if split.scheme or split.netloc or split.path.startswith("/static/"):
                continue
            if split.path.startswith("/admin/"):
                target = split.path  # its lists sort and filter themselves in hundreds of ways
            of_shape = EACH_OF_ADMIN if split.path.startswith("/admin/") else EACH
            if target in met or shapes[shape(target)] >= of_shape:
                continue
            met.add(target)
            shapes[shape(target)] += 1
            waiting.append(target)
        assert len(met) < AT_MOST, f"the crawl does not end; the last was {address}"


def fragments(
    client: Client, answer: HttpResponse, address: str, *, met: Container[str]
) -> Iterator[tuple[str, HttpResponse]]:
    """Yield what each part of a page that fetches itself is answered with, but for those met."""
    for _, attributes in Markup.of(answer.content.decode()).tags:
        if "hx-get" not in attributes:
            continue
        target = attributes.get("hx-target", "").removeprefix("#") or attributes.get("id", "")
        link = urljoin(address, attributes["hx-get"])
        if (name := f"{link} as #{target}") not in met:
            yield name, client.get(link, headers={"HX-Request": "true", "HX-Target": target})
