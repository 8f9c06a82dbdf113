"""Settings of the GitHub flow; section `[github]`. Off until a repository is named."""

from typing import Annotated

import msgspec
from msgspec import Meta

REPOSITORY = r"^([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)?$"


class RepositorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A repository on GitHub and its clone here; section `[github.repositories.NAME]`.

    `name` is `owner/repository`, `path` the clone, `remote` what branches are pushed to, `base` the
    branch that work starts from and that pull requests are for (empty: the default branch).
    """

    name: Annotated[str, Meta(pattern=REPOSITORY)] = ""
    path: str = ""
    remote: str = "origin"
    base: str = ""
    runner: str = "claude"
    command: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    plan: bool = True


class GitHubSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Issues, pull requests and webhooks of GitHub; section `[github]`."""

    repositories: Annotated[
        dict[Annotated[str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")], RepositorySettings],
        Meta(
            description="Repositories whose issues become tasks: `[github.repositories.NAME]` with"
            " `name` (`owner/repository`), `path`, `remote`, `base`, `runner`, `command`, `check`"
            " and `plan`. Without one, nothing of GitHub is used."
        ),
    ] = {}
    api_url: Annotated[
        str,
        Meta(
            pattern="^https?://.+$",
            description="The address of the REST interface; `https`, or `http` on this machine.",
        ),
    ] = "https://api.github.com"
    token_key: Annotated[
        str, Meta(description="The token for GitHub. Better: a file, named by `token_file`.")
    ] = ""
    token_file: Annotated[
        str, Meta(description="A file that only you can read, with the token for GitHub in it.")
    ] = ""
    webhook_key: Annotated[
        str,
        Meta(
            pattern="^(.{16,})?$",
            description="The secret of the webhook, at least 16 characters. Empty, and no file"
            " either: there is no webhook, and GitHub is polled.",
        ),
    ] = ""
    webhook_file: Annotated[
        str, Meta(description="A file that only you can read, with the webhook's secret in it.")
    ] = ""
    label: Annotated[
        str,
        Meta(
            description="Open issues with this label become proposed tasks. Empty: only those that"
            " you name with `everloop work --issue`."
        ),
    ] = "everloop"
    owner: Annotated[
        str, Meta(description="Your login on GitHub. Only its comments can answer for you.")
    ] = ""
    comment_answers: Annotated[
        bool,
        Meta(
            description="Whether a comment of `owner` with exactly `/everloop approve`, or another"
            " command, answers the review of a plan. No environment variable can switch it on."
        ),
    ] = False
    iterations_max: Annotated[
        int,
        Meta(
            ge=0,
            description="How often failed checks of a pull request are given back to the worker"
            " before the task waits for you.",
        ),
    ] = 5
    issues_every_s: Annotated[
        float, Meta(ge=1, description="How often issues are looked at, in seconds.")
    ] = 60.0
    pull_requests_every_s: Annotated[
        float, Meta(ge=1, description="How often pull requests are looked at, in seconds.")
    ] = 30.0

    def find_repository(self, name: str) -> RepositorySettings | None:
        """The settings of `owner/repository`, whatever its case; None if it is not named."""
        wanted = name.lower()
        found = (one for one in self.repositories.values() if one.name.lower() == wanted)
        return next(found, None) if wanted else None
