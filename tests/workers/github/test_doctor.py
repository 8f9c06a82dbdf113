"""What `everloop doctor` says about GitHub: off, what is missing, or what it looks at."""

from pathlib import Path

import pytest

from everloop.doctor.github import check_github
from everloop.workers import GitHubSettings, RepositorySettings

SECRET = "ghp_a-secret-token"  # noqa: S105 - of a test


def clone(tmp_path: Path) -> dict[str, RepositorySettings]:
    """A repository that has a clone."""
    (tmp_path / ".git").mkdir(exist_ok=True)
    return {"shop": RepositorySettings("octo/shop", str(tmp_path))}


def token_file(tmp_path: Path, mode: int = 0o600) -> str:
    """A file with a token."""
    path = tmp_path / "token"
    path.write_text(f"{SECRET}\n")
    path.chmod(mode)
    return str(path)


def test_it_is_off_by_default_and_says_how_to_switch_it_on() -> None:
    found = check_github(GitHubSettings())
    assert (found.verdict, found.next_step) == ("absent", "docs/github.md explains how")


def test_what_is_missing_is_named_with_the_next_step(tmp_path: Path) -> None:
    shop = clone(tmp_path)
    without_clone = {"shop": RepositorySettings("octo/shop", str(tmp_path / "no"))}
    file = token_file(tmp_path)
    cases = (
        (GitHubSettings(shop), "no token"),
        (GitHubSettings(shop, token_file=str(tmp_path / "nothing")), "cannot be read"),
        (GitHubSettings(without_clone, token_file=file), "is not a clone"),
        (GitHubSettings({"shop": RepositorySettings()}, token_file=file), "no `name`"),
        (GitHubSettings(shop, token_file=file, comment_answers=True), "github.owner"),
    )
    for settings, words in cases:
        found = check_github(settings)
        assert found.verdict == "attention"
        assert words in found.words
        assert found.next_step


@pytest.mark.parametrize("mode", [0o644, 0o660])
def test_a_token_that_others_can_read_is_not_used(tmp_path: Path, mode: int) -> None:
    chosen = GitHubSettings(clone(tmp_path), token_file=token_file(tmp_path, mode))
    found = check_github(chosen)
    assert (found.verdict, "chmod 600" in found.next_step) == ("attention", True)


@pytest.mark.promise("P-GITHUB-8")
def test_it_shows_what_it_looks_at_and_no_secret(tmp_path: Path) -> None:
    chosen = GitHubSettings(
        clone(tmp_path),
        token_file=token_file(tmp_path),
        webhook_key="another secret of it",
        owner="octo",
        comment_answers=True,
    )
    found = check_github(chosen)
    assert (found.verdict, found.words) == (
        "fine",
        "octo/shop; webhook and polling; comments of octo answer plans",
    )
    assert "secret" not in f"{found.words}{found.next_step}"
