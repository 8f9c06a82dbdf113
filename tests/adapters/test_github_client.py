"""GitHub's REST interface: ETags, pages, rate limits, and where the token goes."""

from collections.abc import Generator

import pytest
from tests.workers.github.fake_github import REPOSITORY, TOKEN, FakeGitHub, fake_github

from everloop.adapters.github.client import GitHubClient
from everloop.adapters.github.push_branch import web_host
from everloop.adapters.github.rest import RestGitHub
from everloop.errors import Invalid
from everloop.testing.deterministic import DeterministicPorts
from everloop.workers import GitHubRefused, GitHubUnclear, RateLimited

LIST = f"/repos/{REPOSITORY}/issues"


@pytest.fixture
def fake() -> Generator[FakeGitHub]:
    """A fake GitHub."""
    with fake_github() as one:
        yield one


@pytest.fixture
def stage() -> DeterministicPorts:
    """A clock that stands still."""
    return DeterministicPorts()


@pytest.fixture
def client(fake: FakeGitHub, stage: DeterministicPorts) -> GitHubClient:
    """A client of the fake."""
    return GitHubClient(fake.url, lambda: TOKEN, stage.clock)


def test_a_list_is_read_page_by_page_and_not_sent_again_while_it_is_unchanged(
    fake: FakeGitHub, client: GitHubClient
) -> None:
    fake.page_size = 2
    for number in range(1, 6):
        fake.add_issue(number, f"Issue {number}")
    github = RestGitHub(client)
    first = github.labelled_issues(REPOSITORY, "everloop")
    second = github.labelled_issues(REPOSITORY, "everloop")
    assert [one.number for one in first] == [one.number for one in second] == [1, 2, 3, 4, 5]
    assert fake.requests == [f"GET {LIST} 200"] * 3 + [f"GET {LIST} 304"] * 3
    fake.issues[5]["title"] = "Changed"
    assert github.labelled_issues(REPOSITORY, "everloop")[-1].title == "Changed"


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "90"}, 90),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "RESET"}, 120),
        ({"retry-after": "999999"}, 3_600),
    ],
)
def test_no_request_is_sent_until_the_rate_limit_is_over(
    fake: FakeGitHub,
    client: GitHubClient,
    stage: DeterministicPorts,
    headers: dict[str, str],
    wait_s: int,
) -> None:
    reset = str(stage.clock.now_us() // 1_000_000 + 120)
    fake.limited = {name: value.replace("RESET", reset) for name, value in headers.items()}
    with pytest.raises(RateLimited):
        client.get("/user")
    fake.limited = {}
    stage.clock.tick(seconds=wait_s - 2)
    with pytest.raises(RateLimited):
        client.get("/user")
    assert len(fake.requests) == 1
    stage.clock.tick(seconds=3)
    assert client.get("/user")


def test_a_refusal_says_why_and_a_broken_server_is_no_refusal_of_a_post(
    fake: FakeGitHub, client: GitHubClient
) -> None:
    fake.refusals["POST /x"] = (422, "Draft pull requests are not supported")
    with pytest.raises(GitHubRefused, match="Draft pull requests are not supported") as refused:
        client.send("POST", "/x", {})
    assert not refused.value.passing
    fake.refusals["POST /x"] = (502, "oops")
    with pytest.raises(GitHubUnclear):
        client.send("POST", "/x", {})
    fake.refusals["GET /x"] = (502, "oops")
    with pytest.raises(GitHubRefused) as read:
        client.get("/x")
    assert read.value.passing


def test_a_redirect_is_not_followed(fake: FakeGitHub, client: GitHubClient) -> None:
    fake.refusals["GET /x"] = (301, "Moved Permanently")
    with pytest.raises(GitHubRefused, match="301") as refused:
        client.get("/x")
    assert "renamed" in refused.value.hint
    assert len(fake.requests) == 1


def test_without_a_token_nothing_is_sent_and_over_http_only_to_this_machine(
    fake: FakeGitHub, stage: DeterministicPorts
) -> None:
    with pytest.raises(GitHubRefused, match="no token"):
        GitHubClient(fake.url, str, stage.clock).get("/user")
    assert fake.requests == []
    with pytest.raises(Invalid, match="https"):
        GitHubClient("http://api.example.org", lambda: TOKEN, stage.clock)


def test_checks_are_concluded_when_all_of_them_ended(
    fake: FakeGitHub, client: GitHubClient
) -> None:
    github = RestGitHub(client)
    assert github.failed_checks(REPOSITORY, "c1") is None
    fake.end_checks("c1", "success")
    assert github.failed_checks(REPOSITORY, "c1") == ()
    fake.statuses["c1"] = [{"context": "lint", "state": "pending"}]
    assert github.failed_checks(REPOSITORY, "c1") is None
    fake.statuses["c1"] = [{"context": "lint", "state": "error", "description": "no"}]
    found = github.failed_checks(REPOSITORY, "c1")
    assert found is not None
    assert [(one.name, one.summary) for one in found] == [("lint", "no")]
    fake.check_runs["c1"].append({"name": "slow", "status": "in_progress"})
    assert github.failed_checks(REPOSITORY, "c1") is None


def test_the_token_belongs_to_the_host_of_the_interface() -> None:
    assert web_host("https://api.github.com") == "github.com"
    assert web_host("https://github.example.org/api/v3") == "github.example.org"
