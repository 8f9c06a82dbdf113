"""Checks of the GitHub flow: whether it is off, and what it lacks, with the next step."""

from pathlib import Path

from everloop.adapters.github.secrets import read_secret
from everloop.doctor.health import Finding
from everloop.errors import EverloopError
from everloop.workers import GitHubSettings, RepositorySettings

TOPIC = "GitHub"


def check_github(settings: GitHubSettings) -> Finding:
    """Whether issues can become tasks. GitHub itself is not asked; no secret is shown."""
    if not settings.repositories:
        words = "off; a section `[github.repositories.NAME]` lets issues become tasks"
        return Finding(TOPIC, "absent", words, "docs/github.md explains how")
    try:
        token = read_secret(settings.token_key, settings.token_file, "github.token_file")
        secret = read_secret(settings.webhook_key, settings.webhook_file, "github.webhook_file")
    except EverloopError as problem:
        return Finding(TOPIC, "attention", str(problem), problem.hint)
    if not token:
        words = "a repository is set, but no token"
        return Finding(TOPIC, "attention", words, "Write one to a file and set github.token_file.")
    for name, one in settings.repositories.items():
        if lacks := _repository_problem(one):
            step = f"Fix [github.repositories.{name}] in settings.toml."
            return Finding(TOPIC, "attention", f"{name}: {lacks}", step)
    if settings.comment_answers and not settings.owner:
        words = "comments may answer for you, but `github.owner` does not say who you are there"
        return Finding(TOPIC, "attention", words, "Set github.owner to your login on GitHub.")
    names = ", ".join(one.name for one in settings.repositories.values())
    way = "webhook and polling" if secret else "polled; no webhook, for it has no secret"
    answers = f"; comments of {settings.owner} answer plans" if settings.comment_answers else ""
    return Finding(TOPIC, "fine", f"{names}; {way}{answers}")


def _repository_problem(one: RepositorySettings) -> str:
    if not one.name:
        return "it has no `name`, such as owner/repository"
    if not one.path or not (Path(one.path).expanduser() / ".git").exists():
        return f"{one.path!r} is not a clone of {one.name}"
    return ""
