"""The fuzzing itself: it finds what an importer raises, says how to find it again, and is quiet otherwise."""

from pathlib import Path

import pytest

from chronicle.importers import registry
from tests.importers import fuzz
from tests.importers.formats import FORMATS, NAMED, Format


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_a_short_fuzz_of_each_importer_finds_nothing(format: Format, tmp_path: Path) -> None:
    assert fuzz.fuzz(format, 1.0, 1, tmp_path) == ""


def test_what_an_importer_raises_is_named_with_its_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(self: object, opened: object) -> None:
        raise KeyError("content")

    monkeypatch.setattr(type(registry.named("claude-code")), "read", breaks)
    wrong = fuzz.fuzz(NAMED["claude-code"], 60, 7, tmp_path)

    assert wrong.startswith("claude-code, seed 7, ")
    assert "KeyError: 'content'" in wrong
    assert (tmp_path / "claude-code").exists()
