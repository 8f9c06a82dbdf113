"""A coverage-guided fuzzer on the importers, in `make soak`; skipped where it is not installed."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.worlds.exchange.formats.test_hostile_files import SEEDS

SECONDS = 600
FUZZER = """
import sys
import atheris

with atheris.instrument_imports(include=["everloop.worlds.exchange"]):
    from tests.worlds.exchange.formats.test_hostile_files import try_everything

atheris.Setup(sys.argv, try_everything)
atheris.Fuzz()
"""


@pytest.mark.soak
@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed")
def test_a_fuzzer_finds_no_file_that_breaks_an_importer(tmp_path: Path) -> None:
    script = tmp_path / "fuzz.py"
    script.write_text(FUZZER)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(seed)
    limits = [f"-max_total_time={SECONDS}", "-rss_limit_mb=2048", f"-artifact_prefix={tmp_path}/"]
    words = [sys.executable, str(script), *limits, str(corpus)]
    root = Path(__file__).parents[3]
    paths = {"PYTHONPATH": f"{root}:{root / 'src'}"}
    done = subprocess.run(words, cwd=root, env=paths, check=False)  # noqa: S603 - our own words
    assert done.returncode == 0
