"""The real-model programme, without a real model: it is skipped, or runs to its figures."""

import json
from collections.abc import Sequence

import pytest
from bench.real_model import main
from bench.real_model_material import DAYS, NARRATIVES, QUESTIONS, READINGS, TOLD
from tests.adapters.models.fake_services import Reply, fake_service

CLOSED = "http://127.0.0.1:9/v1"


def test_the_material_is_what_the_programme_promises() -> None:
    sizes: list[Sequence[object]] = [TOLD, QUESTIONS, DAYS, READINGS, NARRATIVES]
    assert [len(one) for one in sizes] == [40, 20, 6, 6, 2]
    assert sum(len(facts) for _, facts in DAYS) == 39


def test_without_a_server_the_programme_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--url", CLOSED]) == 0
    assert capsys.readouterr().out.startswith("skipped: no model is served")


def test_with_a_server_it_prints_figures_and_asserts_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with fake_service(Reply(pieces=("Bergen, noted.",))) as service:
        shorter = ["--questions", "1", "--days", "1", "--readings", "1", "--narratives", "1"]
        assert main(["--url", f"{service.url}/v1", *shorter, "--lines", "1"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["questions"]["right"] == 1
    assert "failed" in figures["summaries"]
    evening = figures["evening"]
    assert (evening["lines"], evening["replies"], evening["read_right"]) == (1, 1, 0)
    assert evening["missed"] == ["activity_changed window"]
