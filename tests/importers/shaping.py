"""Files that no program wrote: our own fixtures with bytes changed, and records of odd shapes.

The laws take a few of them in every run; `python -m tests.importers.fuzz` takes them for as long as it is told.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from chronicle import canonical
from chronicle.envelope import validate
from chronicle.errors import InvalidEvent
from chronicle.importers.protocol import Importer, Read, record_of
from tests.importers.files import items_or_broken
from tests.importers.formats import Format

type Make = Callable[[Path], None]

EDITS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 40),
        st.one_of(
            st.binary(max_size=12),
            st.sampled_from([b"null", b"{}", b"[]", b'"', b"\n", b"-1", b"1e999", b"\\ud800", b"\xff", b"true", b"[["]),
        ),
    ),
    min_size=1,
    max_size=6,
)
WHOLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_TYPES = ["text", "thinking", "tool_use", "tool_result", "image", "input_text", "output_text", "reasoning", "odd"]
_ROLES = ["user", "assistant", "system", "tool", "human", "ai", "model", "developer"]
_BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(_TYPES) | WHOLE},
    optional=dict.fromkeys(
        ("text", "thinking", "id", "name", "input", "arguments", "tool_use_id", "content", "source"), WHOLE
    ),
)
VALUE = WHOLE | st.fixed_dictionaries(
    {"content": st.lists(_BLOCK | WHOLE, max_size=4), "role": st.sampled_from(_ROLES) | WHOLE},
    optional={"model": WHOLE, "id": WHOLE, "tool_calls": st.lists(_BLOCK | WHOLE, max_size=2), "usage": WHOLE},
)


def mutated(data: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for where, length, instead in edits:
        start = int(where * len(data))
        data = data[:start] + instead + data[start + length :]
    return data


@st.composite
def shaped(draw: st.DrawFn, format: Format) -> list[bytes]:
    """Records of a format with some of their keys changed for anything."""
    found = []
    for number in range(1, draw(st.integers(2, 4))):
        keys = draw(st.sets(st.sampled_from(format.keys), min_size=1)) if format.keys else set()
        changed: dict[str, Any] = {key: draw(VALUE) for key in sorted(keys)}
        found.append(format.made(number, draw(st.sampled_from(["Some words.", "#", "> x", " "])), **changed))
    return found


def check(path: Path, importer: Importer) -> None:
    """Read a file of any kind: nothing is raised, and what is read can be stored or is refused by name."""
    found = items_or_broken(path, importer)
    for read in [item for item in found if isinstance(item, Read)] if isinstance(found, list) else []:
        canonical.dump(read.event.payload)
        json.dumps(read.native_id + read.session + record_of(read.event.locator)).encode()
        assert canonical.unstorable(read.event.content + read.event.locator) is None
        assert canonical.unstorable(read.native_id + read.session) is None
        try:
            validate(read.event)
        except InvalidEvent as error:
            assert str(error)
