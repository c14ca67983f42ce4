"""A folder is there when it is whole, and not before."""

from __future__ import annotations

import pytest

from localelastic.errors import OutputError
from localelastic.experiments import new_folder, unused_folder


def contents(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_folder_appears_whole(tmp_path):
    target = tmp_path / "a" / "b" / "run"
    with new_folder(target) as folder:
        (folder / "x").write_text("1")
        assert not target.exists()
        assert folder.parent == target.parent
        assert folder.name.startswith(".")
    assert contents(tmp_path) == {"a", "a/b", "a/b/run", "a/b/run/x"}
    assert target.stat().st_mode == target.parent.stat().st_mode


def fail(target, error, *, meanwhile=lambda: None):
    with new_folder(target) as folder:
        (folder / "x").write_text("ours")
        meanwhile()
        raise error


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit()])
def test_nothing_is_left_after_an_error(tmp_path, error):
    (tmp_path / "runs").mkdir()
    with pytest.raises(type(error)):
        fail(tmp_path / "runs" / "deep" / "run", error)
    assert contents(tmp_path) == {"runs"}


def test_folders_that_others_use_are_left(tmp_path):
    with pytest.raises(ValueError, match="no"):
        fail(
            tmp_path / "runs" / "one",
            ValueError("no"),
            meanwhile=(tmp_path / "runs" / "two").mkdir,
        )
    assert contents(tmp_path) == {"runs", "runs/two"}


@pytest.mark.parametrize("make", ["mkdir", "touch", "symlink"])
def test_what_exists_is_kept(tmp_path, make):
    target = tmp_path / "run"
    if make == "symlink":
        target.symlink_to(tmp_path / "nowhere")
    else:
        getattr(target, make)()
    with pytest.raises(OutputError, match=r"run, which exists; remove it or name another"):
        new_folder(target).__enter__()
    assert contents(tmp_path) == {"run"}


def test_a_place_taken_in_the_meantime(tmp_path):
    target = tmp_path / "run"
    folder = new_folder(target)
    folder.__enter__()
    target.mkdir()
    (target / "x").write_text("theirs")
    with pytest.raises(OutputError, match=r"cannot move the results to .*run: Directory not empty"):
        folder.__exit__(None, None, None)
    assert contents(tmp_path) == {"run", "run/x"}


def test_unused_names(tmp_path):
    wanted = tmp_path / "run [1]"
    assert unused_folder(wanted) == wanted
    wanted.mkdir()
    (tmp_path / "run [1]-2").mkdir()
    assert unused_folder(wanted).name == "run [1]-3"
    with new_folder(unused_folder(wanted)):  # another run that is still at work
        assert unused_folder(wanted).name == "run [1]-4"
    assert unused_folder(wanted).name == "run [1]-4"
