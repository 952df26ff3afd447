"""The forms that a log is written in, and the writing of one into a file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chronicle.carry.file import written
from chronicle.errors import UnknownFormat
from chronicle.exports import markdown, otlp, sheet, web
from chronicle.exports.taken import Taken


@dataclass(frozen=True, slots=True)
class Form:
    """One form. `lossy` says what it leaves out; `page` is how many events one file holds (0: all of them)."""

    name: str
    suffix: str
    media_type: str
    lossy: str
    write: Callable[[Taken], Iterator[str]]
    page: int = 0


FORMS = (
    Form(
        "markdown",
        ".md",
        "text/markdown",
        "for reading: characters that show nothing are marks; payloads, digests, superseded generations are left out",
        markdown.write,
    ),
    Form(
        "html",
        ".html",
        "text/html",
        "for reading: characters that show nothing are marks; digests and superseded generations are left out",
        web.write,
        page=web.PAGE,
    ),
    Form(
        "csv",
        "-lossy.csv",
        "text/csv",
        "events only; a cell that a spreadsheet would run as a formula begins with an apostrophe, and the column "
        "altered names it",
        sheet.write,
    ),
    Form(
        "otlp",
        ".otlp.jsonl",
        "application/x-ndjson",
        "events only, as spans of the GenAI conventions; their order is the attribute chronicle.seq",
        otlp.write,
    ),
)


def named(name: str) -> Form:
    """Return a form by its name. Raises UnknownFormat."""
    for form in FORMS:
        if form.name == name:
            return form
    raise UnknownFormat(f"no form {name!r}; known are {', '.join(form.name for form in FORMS)}")


def pages(form: Form, taken: Taken) -> list[Taken]:
    """Return the range cut into what one file of the form holds; always one at least."""
    if not form.page or taken.to_seq - taken.from_seq < form.page:
        return [taken]
    starts = range(taken.from_seq, taken.to_seq + 1, form.page)
    return [taken.part(start, min(start + form.page - 1, taken.to_seq)) for start in starts]


def export(form: Form, taken: Taken, path: Path) -> list[Path]:
    """Write a range into `path`, and into files beside it (`name-2.html`) where one does not hold it. Raises OSError.

    `-` is standard output, where the pages follow one another.
    """
    parts, paths = pages(form, taken), []
    for number, part in enumerate(parts, 1):
        here = path if number == 1 or str(path) == "-" else path.with_stem(f"{path.stem}-{number}")
        with written(here) as file:
            for chunk in form.write(part):
                file.write(chunk.encode("utf-8", "surrogatepass"))
        paths.append(here)
    return paths
