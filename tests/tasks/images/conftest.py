"""An empty cache for each test, and the real data sets where they are at hand."""

import os
import shutil
import tarfile
from pathlib import Path

import pytest

DATA = Path(os.environ.get("BMAML_TEST_DATA", Path(__file__).parents[3].parent / "shared" / "data"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache for each test."""
    monkeypatch.setenv("BMAML_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def unpack(tmp_path_factory):
    """Unpacks archives of the real data into a folder; skips where they are absent."""
    folders: dict[tuple[str, ...], Path] = {}

    def into_folder(*archives: str) -> Path:
        if archives not in folders:
            for archive in archives:
                if not (DATA / archive).is_file():
                    pytest.skip(f"{DATA / archive} is absent")
            folder = folders[archives] = tmp_path_factory.mktemp("real")
            for archive in archives:
                with tarfile.open(DATA / archive) as content:
                    content.extractall(folder, filter="data")
        return folders[archives]

    yield into_folder
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
