"""Whether it runs well, for whoever watches it from outside."""

from tests.interfaces.http.serving import Served

from everloop.errors import Unavailable


def test_what_fails_in_the_background_shows_as_not_well_and_says_nothing_of_what(
    house: Served,
) -> None:
    trouble: list[Unavailable] = []
    house.engine.log.watches.append(lambda: trouble[0] if trouble else None)
    with house.stranger() as client:
        assert client.get("/api/health").json()["ok"] is True
        trouble.append(Unavailable("the server of secret.example is away"))
        answer = client.get("/api/health")
    assert (answer.status_code, answer.json()["ok"]) == (200, False)
    assert "secret" not in answer.text
