"""A chronicle as one self-contained HTML page: no script, no link out, nothing loaded from anywhere.

Guarantees: every text of the log is escaped, characters that show nothing are marks; a policy in the page forbids all
but its own style. A page holds PAGE events; a longer range is several pages, and each says which part it is.
"""

from collections.abc import Iterator
from datetime import datetime

from django.utils.html import format_html

from chronicle.exports.taken import Taken
from chronicle.models import Event, Section
from chronicle.seal import moment
from chronicle.unseen import with_marks

PAGE = 2000
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<style>
:root { color-scheme: light dark; --line: #8886; --soft: #8882; }
body { font: 1rem/1.55 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { margin-top: 2.5rem; } h3 { font-size: 1rem; margin-bottom: .25rem; }
section, article { border-top: 1px solid var(--line); padding: .75rem 0; overflow-wrap: anywhere; }
section.level { border-left: 4px solid var(--line); padding-left: .75rem; }
pre { white-space: pre-wrap; background: var(--soft); padding: .6rem; margin: .25rem 0; }
pre { font: .875rem/1.5 ui-monospace, monospace; }
.about { opacity: .75; font-size: .875rem; margin: 0; }
.made { border: 1px solid var(--line); border-radius: .25rem; padding: 0 .3rem; font-size: .8rem; }
a { color: inherit; }
</style>
"""


def write(taken: Taken) -> Iterator[str]:
    """Yield the page in pieces."""
    log = taken.log
    title = with_marks(log.title or log.public_id)
    yield _HEAD
    yield format_html("<title>{}</title>\n</head>\n<body>\n<h1>{}</h1>\n", title, title)
    yield format_html(
        '<p class="about">Log {}, owner {}: events {} to {} of {}. Head {}.</p>\n<h2>Chronicle</h2>\n',
        with_marks(log.public_id), with_marks(log.owner), taken.from_seq, taken.to_seq, log.last_seq, log.head,
    )  # fmt: skip
    empty = True
    for section in taken.sections():
        empty = False
        yield _section(section)
    yield "<p>No section covers these events.</p>\n" if empty else ""
    yield "<h2>Events</h2>\n"
    for event in taken.events():
        yield _event(event)
    yield "</body>\n</html>\n"


def _section(section: Section) -> str:
    anchor = section.anchor
    return format_html(
        '<section{}><h3>{}#{} {}</h3><p class="about"><span class="made">generated</span> {}, over events '
        '<a href="#e{}">{}</a> to <a href="#e{}">{}</a></p><pre>{}</pre></section>\n',
        format_html(' class="{}"', "level") if anchor.level else "",
        anchor.ref, section.generation, with_marks(section.title), section.origin,
        anchor.from_seq, anchor.from_seq, anchor.to_seq, anchor.to_seq, with_marks(section.prose),
    )  # fmt: skip


def _event(event: Event) -> str:
    about = f"{event.kind.replace('_', ' ')}, {event.actor_kind} {event.actor}"
    return format_html(
        '<article id="e{}"><h3>{} · {}</h3><p class="about">{}{}{}</p>{}{}</article>\n',
        event.seq, event.seq, with_marks(about), _time(event.claimed_at or event.at),
        f" · {with_marks(event.correlation)}" if event.correlation else "",
        f" · only for {with_marks(event.audience)}" if event.audience else "",
        format_html("<pre>{}</pre>", with_marks(event.content)) if event.content else "",
        format_html("<details><summary>payload</summary><pre>{}</pre></details>", with_marks(event.payload))
        if event.payload else "",
    )  # fmt: skip


def _time(at: datetime) -> str:
    return moment(at)
