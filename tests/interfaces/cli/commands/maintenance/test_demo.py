"""`everloop demo` creates its own data home and changes no other."""

from pathlib import Path

from tests.interfaces.cli.commandline import CommandLine


def test_a_demo_creates_its_own_data_home(everloop: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    answer = everloop("demo", str(folder))
    assert answer.code == 0, answer.err
    assert f"everloop --home {folder} serve" in answer.out.replace("\n", "")
    assert folder.is_dir()
    assert not everloop.home.exists()


def test_a_demo_uses_the_given_data_home(everloop: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    answer = everloop("--home", str(folder), "demo")
    assert answer.code == 0, answer.err
    assert f"everloop --home {folder} serve" in answer.out.replace("\n", "")
    assert folder.is_dir()


def test_a_demo_honours_the_home_of_the_environment(everloop: CommandLine) -> None:
    answer = everloop("demo")
    assert answer.code == 0, answer.err
    assert f"everloop --home {everloop.home} serve" in answer.out.replace("\n", "")
    assert everloop.home.is_dir()


def test_a_demo_with_two_folders_is_refused(everloop: CommandLine, tmp_path: Path) -> None:
    answer = everloop("--home", str(tmp_path / "one"), "demo", str(tmp_path / "other"))
    assert (answer.code, "hint:" in answer.err) == (2, True)
    assert not list(tmp_path.glob("o*"))


def test_a_demo_does_not_overwrite_a_folder(everloop: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    answer = everloop("demo", str(tmp_path))
    assert answer.code != 0
    assert "is not empty" in answer.err
    assert [path.name for path in tmp_path.iterdir() if path != everloop.home] == ["mine.txt"]
