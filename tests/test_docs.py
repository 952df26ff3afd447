"""What the documents name exists: commands, settings, links, modules."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
SOURCE = "\n".join(
    path.read_text() for name in ("anagrapheus_site", "chronicle") for path in sorted((ROOT / name).rglob("*.py"))
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_readme_holds_the_two_commands_that_are_all_the_set_up() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()

    assert "python3 -m pip install uv && uv run manage.py up" in lines
    assert "uv run pytest" in lines


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_link_leads_to_a_file(path: Path) -> None:
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text())]

    assert not [t for t in targets if not t.startswith(("https://", "http://")) and not (path.parent / t).exists()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_management_command_exists_and_takes_the_options_shown(path: Path) -> None:
    known = get_commands()
    for name, rest in re.findall(r"manage\.py (\w+)([^\n`|]*)", path.read_text()):
        assert name in known, name
        taken = load_command_class(known[name], name).create_parser("manage.py", name).format_help()
        for option in re.findall(r"(?<=\s)--[a-z-]+", rest):
            assert option in taken, f"{name} {option}"


def test_every_setting_of_the_environment_is_documented_and_read() -> None:
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "operations.md").read_text(), re.M))
    read = set(re.findall(r"""environ(?:\.get\(|\[)\s*["']([A-Z_]+)["']""", SOURCE))

    assert told - read == set()
    assert read - told - {"DJANGO_SETTINGS_MODULE", "PYTEST_VERSION", "DJANGO_ALLOW_ASYNC_UNSAFE"} == set()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_module_and_address_that_is_named_exists(path: Path) -> None:
    text = path.read_text()
    table = "\n".join(re.findall(r"^\| (?:pure|domain|edges).*$", text, re.M))
    places = re.findall(r"`((?:chronicle/)?[\w/]+(?:\.py|/))`", table)
    addresses = re.findall(r"`(/[a-z]+/[a-z/]*)`", text)

    assert not [p for p in places if not (ROOT / p).exists() and not (ROOT / "chronicle" / p).exists()]
    from django.urls import resolve

    for address in addresses:
        resolve(address)
