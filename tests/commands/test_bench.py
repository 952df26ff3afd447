"""`bench` measures every part, names its yardsticks and stays away from the site's data."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command


@pytest.fixture(scope="module")
def figures() -> list[dict[str, object]]:
    """The figures of one quick run."""
    from io import StringIO

    out = StringIO()
    call_command("bench", "--quick", "--json", stdout=out)
    return json.loads(out.getvalue())["figures"]


def test_every_figure_has_a_name_a_database_a_value_and_a_unit(figures: list[dict[str, object]]) -> None:
    for figure in figures:
        assert figure.keys() >= {"name", "db", "value", "unit", "against", "ratio"}
        assert figure["db"] == "sqlite"
        assert float(str(figure["value"])) >= 0


def test_every_time_is_measured_against_a_yardstick(figures: list[dict[str, object]]) -> None:
    times = [figure for figure in figures if figure["unit"] != "queries"]

    assert all(figure["against"] and float(str(figure["ratio"])) > 0 for figure in times)


@pytest.mark.parametrize("part", ["append one", "append in batches", "ingest", "consolidate", "covers a seq", "page "])
def test_each_part_is_measured(figures: list[dict[str, object]], part: str) -> None:
    assert [figure for figure in figures if part in str(figure["name"])]


@pytest.mark.parametrize("page", ["logs", "chronicle", "events", "event", "section"])
def test_each_page_of_a_log_is_measured(figures: list[dict[str, object]], page: str) -> None:
    assert [figure for figure in figures if str(figure["name"]).startswith(f"page {page} ")]


def test_it_refuses_a_folder_that_holds_anything(tmp_path: Path) -> None:
    (tmp_path / "site.sqlite3").write_text("somebody's data")

    command = [sys.executable, "-m", "chronicle.bench", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "is not empty" in done.stderr
    assert (tmp_path / "site.sqlite3").read_text() == "somebody's data"


def test_the_table_for_people_has_a_line_a_figure() -> None:
    from chronicle.management.commands.bench import table

    figure = {"name": "append", "value": 0.5, "unit": "ms", "against": "raw", "ratio": 2.0}

    assert (
        table([figure, {**figure, "ratio": None}])
        == "append         0.5 ms              2 × raw\nappend         0.5 ms      "
    )
