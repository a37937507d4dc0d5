"""Settings of the reference server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pytest_rageval.server.ranking import FUSION_METHODS, FusionMethod

MAX_K = 1000
FolderMode = Literal["off", "on", "on_with_fallback"]
FOLDER_MODES: tuple[FolderMode, ...] = get_args(FolderMode)


class ConfigError(ValueError):
    """A setting of the server that cannot be used; the message names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceConfig:
    """Settings of a reference server; a request may override those of searching."""

    vault: Path
    """Folder of Markdown notes."""
    cache_dir: Path | None = None
    """Folder for built indexes; None rebuilds at each start."""
    vault_name: str | None = None
    """Name reported with references; a request for other vaults is refused. None: the folder's
    name."""
    chunk_tokens: int = 400
    """Longest chunk; sections over it are split."""
    chunk_overlap: int = 50
    """Tokens repeated between the pieces of a split section."""
    k: int = 5
    """Number of results if the request sets none."""
    fusion: FusionMethod = "weighted"
    vector_weight: float = 0.3
    lexical_weight: float = 0.7
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

    def __post_init__(self) -> None:
        self._require(self.chunk_tokens >= 20, "chunk_tokens", "an integer of at least 20")
        fits = 0 <= self.chunk_overlap <= self.chunk_tokens // 2
        self._require(fits, "chunk_overlap", "0 to half of chunk_tokens")
        self._require(1 <= self.k <= MAX_K, "k", f"1 to {MAX_K}")
        self._require(self.fusion in FUSION_METHODS, "fusion", " or ".join(FUSION_METHODS))
        self._require(self.folder_mode in FOLDER_MODES, "folder_mode", " or ".join(FOLDER_MODES))
        for name in ("vector_weight", "lexical_weight"):
            self._require(0 <= getattr(self, name) < 1e9, name, "a finite number of at least 0")
        total = self.vector_weight + self.lexical_weight
        self._require(total > 0, "vector_weight", "a sum above 0 with lexical_weight")
        self._require(self.embedder in ("lsa", "endpoint"), "embedder", "lsa or endpoint")
        if self.embedder == "endpoint":
            given = bool(self.embedder_url and self.embedder_model)
            self._require(given, "embedder", "embedder_url and embedder_model beside it")
        if self.llm_url:
            self._require(bool(self.llm_model), "llm_model", "a model name beside llm_url")

    def _require(self, condition: bool, name: str, expected: str) -> None:
        if not condition:
            raise ConfigError(f"{name}: got {getattr(self, name)!r}, expected {expected}")

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
