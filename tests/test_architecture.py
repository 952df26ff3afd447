"""The house rules that a machine can measure: sizes, doors, and what templates and stylesheets may hold."""

import ast
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("anagrapheus_site", "chronicle", "tests")
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
MODULES = sorted(
    path for name in PACKAGES for path in (ROOT / name).rglob("*.py") if not {"migrations", "data"} & set(path.parts)
)
OURS = [path for path in MODULES if ROOT / "tests" not in path.parents]

# Rendered text that is safe by construction, each with the reason.
MARKED_SAFE: dict[str, str] = {}

# Who may write which rows; everyone else asks these. The benchmark fills tables of a database of its own, and a
# carry writes what it has proven by the same rules, in bulk and as it was recorded.
DOORS = {
    "Event": ("chronicle/log/",),
    "Anchor": ("chronicle/sections.py", "chronicle/bench/", "chronicle/carry/"),
    "Section": ("chronicle/sections.py", "chronicle/bench/", "chronicle/carry/"),
}
WRITES = {"create", "bulk_create", "get_or_create", "update_or_create", "acreate", "abulk_create"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(paths: list[Path]) -> Iterator[tuple[str, int]]:
    """Every function with its length in lines, decorators not counted."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name_of(path)}:{node.lineno} {node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_file_is_longer_than_450_lines() -> None:
    long = {name_of(path): lines for path in MODULES if (lines := len(path.read_text().splitlines())) > 450}

    assert not long


def test_no_function_is_longer_than_60_lines() -> None:
    assert not [(name, lines) for name, lines in functions(MODULES) if lines > 60]


def test_most_functions_are_small() -> None:
    lengths = sorted(lines for _, lines in functions(OURS))

    assert statistics.median(lengths) <= 8
    assert lengths[int(len(lengths) * 0.9)] <= 25


def test_every_module_opens_with_what_it_guarantees_in_at_most_15_lines() -> None:
    opened = {name_of(path): ast.get_docstring(ast.parse(path.read_text())) for path in MODULES if path.stat().st_size}

    assert not [name for name, words in opened.items() if not words]
    assert not [name for name, words in opened.items() if words and len(words.splitlines()) > 15]


def test_stylesheets_and_script_stay_small() -> None:
    def lines(pattern: str) -> int:
        return sum(len(path.read_text().splitlines()) for path in (ROOT / "static").glob(pattern))

    assert lines("*.css") <= 900
    assert lines("*.js") <= 150


@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_a_template_holds_no_inline_style_script_or_handler(path: Path) -> None:
    text = path.read_text()

    assert not re.findall(r"<style|\bstyle\s*=|\son[a-z]+\s*=|javascript:|\bhx-on\b|\bhx-vals\s*=\s*.js:", text, re.I)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text, re.I) if "application/json" not in tag)


@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_a_template_trusts_no_text(path: Path) -> None:
    assert not re.findall(r"\|\s*safe(seq)?\b|autoescape\s+off", path.read_text())


def test_text_is_marked_safe_in_listed_places_only() -> None:
    trusting = {
        name_of(path)
        for path in OURS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name | ast.Attribute | ast.alias)
        and {getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", "")}
        & {"mark_safe", "SafeString"}
    }

    assert trusting <= MARKED_SAFE.keys()


def models_in(tree: ast.Module) -> set[str]:
    """The guarded models that a module imports; `threading.Event` is none."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    taken = {alias.name for node in imports if "models" in (node.module or "") for alias in node.names}
    return taken & DOORS.keys()


def writes(path: Path) -> Iterator[tuple[str, int]]:
    """(model, line) for `Model(…)`, `Model.objects.create(…)` and its like, and SQL that inserts."""
    tree = ast.parse(path.read_text())
    models = models_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            maker = isinstance(node.func, ast.Name) or node.func.attr in WRITES
            names = [name.id for name in ast.walk(node.func) if isinstance(name, ast.Name)]
            yield from ((name, node.lineno) for name in names if maker and name in models)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            tables = re.findall(r"(?:INSERT INTO|COPY)\s+\W?chronicle_(\w+)", node.value, re.I)
            yield from ((table.title(), node.lineno) for table in tables if table.title() in DOORS)


def test_events_anchors_and_sections_have_one_door_each() -> None:
    past = [
        f"{name_of(path)}:{line} writes {model}"
        for path in OURS
        for model, line in writes(path)
        if not name_of(path).startswith(DOORS[model]) and not name_of(path).startswith("chronicle/models/")
    ]

    assert not past


def test_one_module_alone_imports_the_protocol_sdk() -> None:
    importing = {
        name_of(path)
        for path in OURS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
        if name.partition(".")[0] in {"mcp", "mcp_types"}
    }

    assert importing == {"chronicle/mcp/wire.py"}
