"""Push messages over HTTP: each device has its own subscription, its own list and its own test."""

from tests.interfaces.http.serving import Served
from tests.notifications.fake_push_service import fake_push_service


def test_a_device_subscribes_tests_and_unsubscribes(server: Served) -> None:
    with fake_push_service() as service, server.client() as client:
        before = client.get("/api/push").json()
        assert (before["subscribed"], len(before["public_key"])) == (False, 87)
        assert client.post("/api/push/test").status_code == 404
        said = {**service.subscription(), "groups": ["finished", "needs_you"]}
        after = client.put("/api/push", json=said).json()
        assert (after["subscribed"], after["groups"]) == (True, ["needs_you", "finished"])
        sent = client.post("/api/push/test").json()
        assert (sent["outcome"], sent["status"], sent["kind"]) == ("delivered", 201, "test")
        assert service.got[0][1]["title"] == "This is a test"
        assert not client.delete("/api/push").json()["subscribed"]
        assert len(client.get("/api/push").json()["deliveries"]) == 1


def test_the_stream_does_not_tell_where_a_device_is_reached(server: Served) -> None:
    with fake_push_service() as service, server.client() as client:
        said = service.subscription()
        client.put("/api/push", json=said)
        with client.stream("GET", "/api/stream?after=1") as stream:
            for line in stream.iter_lines():
                assert said["auth"] not in line
                if "notifications.subscription_added" in line:
                    break
