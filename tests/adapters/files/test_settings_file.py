"""Changing one setting keeps everything else that a person wrote in the settings file."""

from pathlib import Path

import pytest

from everloop.adapters.files.settings_file import remove_setting, write_setting
from everloop.errors import Unavailable

WRITTEN = """\
# My machine

[models]   # which ones to ask
# three was too few
tries = 3 # see the ticket
narrative = "offline"

# only at home
[serve]
port = 8080
"""


def test_comments_and_order_survive_a_changed_value(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(WRITTEN)
    write_setting(tmp_path, "models", "tries", "5")
    assert _text(tmp_path) == WRITTEN.replace("tries = 3", 'tries = "5"')


def test_a_new_value_goes_to_the_end_of_its_section(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(WRITTEN)
    write_setting(tmp_path, "models", "timeout_s", "9")
    assert _text(tmp_path) == WRITTEN.replace('"offline"\n', '"offline"\ntimeout_s = "9"\n')


def test_a_missing_section_is_added_at_the_end_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(WRITTEN)
    write_setting(tmp_path, "thread.answer", "silence_s", "9")
    assert _text(tmp_path) == WRITTEN + '\n[thread.answer]\nsilence_s = "9"\n'


def test_a_missing_file_is_created(tmp_path: Path) -> None:
    write_setting(tmp_path, "models", "narrative", 'a "quoted" \\ name')
    assert _text(tmp_path) == '[models]\nnarrative = "a \\"quoted\\" \\\\ name"\n'


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("models.tries = 3\n", 'models.tries = "5"\n'),
        ("models = {tries = 3, a = 1}\n", 'models = {tries = "5", a = 1}\n'),
    ],
)
def test_a_section_in_another_notation_is_changed_in_place(
    tmp_path: Path, written: str, expected: str
) -> None:
    (tmp_path / "settings.toml").write_text(written)
    write_setting(tmp_path, "models", "tries", "5")
    assert _text(tmp_path) == expected


@pytest.mark.parametrize("written", ["models = [\n", "models = 3\n"])
def test_a_file_that_cannot_take_the_setting_is_left_unchanged(
    tmp_path: Path, written: str
) -> None:
    (tmp_path / "settings.toml").write_text(written)
    with pytest.raises(Unavailable, match=r"'tries' cannot be set in settings\.toml"):
        write_setting(tmp_path, "models", "tries", "5")
    assert _text(tmp_path) == written
    assert len(list(tmp_path.iterdir())) == 1


def _text(folder: Path) -> str:
    return (folder / "settings.toml").read_text()


def test_a_removed_setting_leaves_the_rest_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("# mine\n[models]\ntries = 5  # often\n# slow\ntimeout_s = 9\n")
    remove_setting(tmp_path, "models", "tries")
    assert path.read_text() == "# mine\n[models]\n# slow\ntimeout_s = 9\n"
    remove_setting(tmp_path, "thread.answer", "tokens_max")
    assert path.read_text() == "# mine\n[models]\n# slow\ntimeout_s = 9\n"
