"""The OpenAPI description is true: every response matches it, whatever is sent."""

# Schemathesis gives types for a part of itself only.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, given
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.conftest import SOAKING
from tests.interfaces.http.serving import Served

EXAMPLES = 200 if SOAKING else 4
ENDLESS = {("GET", "/api/stream")}
SIGNS_OUT = {("DELETE", "/api/session")}
SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.mark.promise("P-HTTP-9")
@pytest.mark.timeout(1800)
def test_every_response_matches_the_openapi_description(shared: Served) -> None:
    credential = shared.credential().text
    with shared.client() as client:
        described: dict[str, Any] = client.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(described)
    schema.config.update(base_url=shared.url)
    headers = {"authorization": f"Bearer {credential}"}
    tried = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        if (operation.method.upper(), operation.path) in ENDLESS | SIGNS_OUT:
            continue
        tried += 1

        @given(case=operation.as_strategy())
        @hypothesis.settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            derandomize=not SOAKING,
            suppress_health_check=SLOW,
        )
        def answered(case: Any) -> None:
            case.call_and_validate(headers=headers, checks=CHECKS)

        answered()
    assert tried > 60


def test_every_route_documents_its_purpose_and_its_errors(shared: Served) -> None:
    with shared.client() as client:
        described: dict[str, Any] = client.get("/openapi.json").json()
    silent = [
        f"{method} {path}"
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
        if not operation.get("description")
        or (path != "/api/health" and "401" not in operation["responses"])
    ]
    assert silent == []


def test_each_schema_has_a_name_of_its_own(shared: Served) -> None:
    with shared.client() as client:
        described: dict[str, Any] = client.get("/openapi.json").json()
    qualified = [name for name in described["components"]["schemas"] if "__" in name]
    assert qualified == []  # two classes of one name are told apart by their modules
