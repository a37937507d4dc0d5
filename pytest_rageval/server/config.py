"""Settings of the reference server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from pytest_rageval.server.ranking import FusionMethod

MAX_K = 1000
FolderMode = Literal["off", "on", "on_with_fallback"]
_Weight = Annotated[float, Field(ge=0, lt=1e9)]


def fault_text(error: ValidationError) -> str:
    """Return the first fault of a setting or of a request body, which it names."""
    fault = error.errors(include_url=False)[0]
    message = fault["msg"].removeprefix("Value error, ").partition(" or instance of ")[0]
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault["loc"])
    place = "".join(steps).removeprefix(".")
    if fault["type"] in {"missing", "extra_forbidden"}:
        return f"{place}: {'missing' if fault['type'] == 'missing' else 'unknown'}"
    if not place and fault["type"] == "value_error":  # of several fields, which it names
        return message
    message = message.replace("Input should be", "expected")
    return f"{place or 'body'}: got {fault['input']!r:.80}, {message}"


@dataclass(frozen=True, slots=True, kw_only=True, config={"strict": True})
class ReferenceConfig:
    """Settings of a reference server; a request may override those of searching."""

    vault: Path
    """Folder of Markdown notes."""
    cache_dir: Path | None = None
    """Folder for built indexes; None rebuilds at each start."""
    vault_name: str | None = None
    """Name reported with references; a request for other vaults is refused. None: the folder's
    name."""
    chunk_tokens: Annotated[int, Field(ge=20)] = 400
    """Longest chunk; sections over it are split."""
    chunk_overlap: Annotated[int, Field(ge=0)] = 50
    """Tokens repeated between the pieces of a split section."""
    k: Annotated[int, Field(ge=1, le=MAX_K)] = 5
    """Number of results if the request sets none."""
    fusion: FusionMethod = "weighted"
    vector_weight: _Weight = 0.3
    lexical_weight: _Weight = 0.7
    min_score: float = 0.0
    """Results with a lower final score are dropped. The scale is that of the fusion method:
    0 to 1 for `weighted` (relative to the best match) and with rerank, at most 2/61 for `rrf`."""
    rerank: bool = False
    folder_mode: FolderMode = "off"
    embedder: Literal["lsa", "endpoint"] = "lsa"
    embedder_url: str | None = None
    """Base URL of an OpenAI-compatible API, such as `http://127.0.0.1:11434/v1`."""
    embedder_model: str | None = None
    embedder_api_key_env: str | None = None
    """Name of the environment variable that holds the key; None sends none."""
    llm_url: str | None = None
    """Base URL of an OpenAI-compatible API that writes the answers; None quotes sentences."""
    llm_model: str | None = None
    llm_api_key_env: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> ReferenceConfig:
        overlap = f"chunk_overlap: got {self.chunk_overlap}, expected 0 to half of chunk_tokens"
        embedder = "embedder: got 'endpoint', expected embedder_url and embedder_model beside it"
        given = self.embedder == "lsa" or bool(self.embedder_url and self.embedder_model)
        for fits, message in (
            (self.chunk_overlap <= self.chunk_tokens // 2, overlap),
            (self.vector_weight + self.lexical_weight > 0, "vector_weight: got 0 for both weights"),
            (given, embedder),
            (self.llm_model or not self.llm_url, "llm_model: expected a model name beside llm_url"),
        ):
            if not fits:
                raise ValueError(message)
        return self

    @property
    def effective_vault_name(self) -> str:
        """The name given, or that of the folder; what is not UTF-8 in it becomes `?`."""
        name = self.vault_name or self.vault.resolve().name or "vault"
        return name.encode("utf-8", errors="replace").decode()

    @property
    def embedding_model(self) -> str:
        """Value of `debug.models.embedding_model`."""
        if self.embedder == "endpoint":
            return str(self.embedder_model)
        from pytest_rageval.server.vector import LSA_VERSION

        return LSA_VERSION
