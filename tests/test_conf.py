"""Settings that the project keeps itself."""

import stat
from pathlib import Path

from chronicle.conf import kept_secret


def test_a_secret_is_made_once_and_kept_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret_key"

    first = kept_secret(path)

    assert len(first) > 60
    assert kept_secret(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
