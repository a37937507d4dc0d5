"""Latent semantic analysis (Deerwester et al., 1990) of the vault in numpy: no model needed.

Chunks become tf-idf vectors, which a truncated singular value decomposition maps to a few hundred
dimensions where words that occur together are close. The decomposition is the
randomized one of Halko, Martinsson and Tropp (2011), with a fixed seed, so it costs time in
proportion to the words of the vault and gives the same vectors each time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.server.terms import TermFrequencies, terms

DIMENSIONS = 192
MAX_VOCABULARY = 30_000
LSA_VERSION = f"lsa-{DIMENSIONS}/1"

_OVERSAMPLING = 16
_POWER_ROUNDS = 2
_SEED = 20_110_615
_ROWS_AT_ONCE = 200_000

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SparseRows:
    """A matrix by its non-zero cells, sorted by row (CSR)."""

    starts: NDArray[np.int64]
    """Index of each row's first cell; one more than there are rows."""
    columns: NDArray[np.int64]
    values: Floats
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.starts) - 1

    def times(self, dense: Floats) -> Floats:
        """Return the product with a dense matrix of `n_columns` rows."""
        result = np.zeros((self.n_rows, dense.shape[1]), dtype=np.float32)
        row = 0
        while row < self.n_rows:
            # As many rows at once as keep the gathered cells small.
            limit = int(self.starts[row]) + _ROWS_AT_ONCE // max(1, dense.shape[1] // 64)
            stop = max(row + 1, int(np.searchsorted(self.starts, limit, side="right")) - 1)
            begin, end = int(self.starts[row]), int(self.starts[stop])
            filled = np.flatnonzero(np.diff(self.starts[row : stop + 1]))
            if len(filled):
                cells = dense[self.columns[begin:end]] * self.values[begin:end, None]
                offsets = self.starts[row:stop][filled] - begin
                result[row + filled] = np.add.reduceat(cells, offsets, axis=0)
            row = stop
        return result

    def transposed(self) -> SparseRows:
        """Return the transpose."""
        order = np.argsort(self.columns, kind="stable")
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.starts))
        counts = np.bincount(self.columns, minlength=self.n_columns)
        starts = np.concatenate(([0], np.cumsum(counts)))
        return SparseRows(starts, rows[order], self.values[order], self.n_rows)


@dataclass(frozen=True, slots=True)
class LsaModel:
    """Maps text to a unit vector; fitted on the chunks of one vault."""

    vocabulary: Mapping[str, int]
    """Row of `projection` for each stem."""
    projection: Floats
    """Terms by dimensions: the right singular vectors, each row times its term's idf."""

    def embed(self, text: str) -> Floats:
        """Return the unit vector of a text; all zeros when it holds no known term."""
        vector = np.zeros(self.projection.shape[1], dtype=np.float32)
        for term, count in Counter(terms(text)).items():
            row = self.vocabulary.get(term)
            if row is not None:
                vector += (1 + math.log(count)) * self.projection[row]
        unit: Floats = unit_rows(vector[None, :])[0]
        return unit


def unit_rows(matrix: Floats) -> Floats:
    """Scale each row to length 1; rows of zeros stay."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    scaled: Floats = np.divide(matrix, norms, out=np.zeros_like(matrix), where=norms > 1e-12)
    return scaled


def fit_lsa(
    chunk_terms: Sequence[Sequence[str]], frequencies: TermFrequencies
) -> tuple[LsaModel, Floats]:
    """Fit the model to the stems of chunks; return it with one unit vector for each of them."""
    vocabulary = _vocabulary(frequencies)
    idf = np.array([frequencies.idf(term) for term in vocabulary], dtype=np.float32)
    counts = _term_weights(chunk_terms, vocabulary)
    cells = _unit_cells(counts.values * idf[counts.columns], counts.starts)
    weighted = replace(counts, values=cells)
    axes = _right_singular_vectors(weighted)
    model = LsaModel(vocabulary, axes * idf[:, None])
    return model, unit_rows(weighted.times(axes))


def _vocabulary(frequencies: TermFrequencies) -> dict[str, int]:
    """Choose the terms in two or more chunks (others link nothing), most frequent first."""
    least = 2 if frequencies.n_chunks > 50 else 1
    kept = [(-count, term) for term, count in frequencies.by_term.items() if count >= least]
    return {term: row for row, (_, term) in enumerate(sorted(kept)[:MAX_VOCABULARY])}


def _term_weights(
    chunk_terms: Sequence[Sequence[str]], vocabulary: Mapping[str, int]
) -> SparseRows:
    starts, columns, values = [0], list[int](), list[float]()
    for found in chunk_terms:
        for term, count in Counter(found).items():
            column = vocabulary.get(term)
            if column is not None:
                columns.append(column)
                values.append(1 + math.log(count))
        starts.append(len(columns))
    return SparseRows(
        np.array(starts, dtype=np.int64),
        np.array(columns, dtype=np.int64),
        np.array(values, dtype=np.float32),
        len(vocabulary),
    )


def _unit_cells(values: Floats, starts: NDArray[np.int64]) -> Floats:
    lengths = np.diff(starts)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    norms = np.sqrt(np.bincount(rows, weights=values**2, minlength=len(lengths)))
    scaled: Floats = (values / np.maximum(norms, 1e-12)[rows]).astype(np.float32)
    return scaled


def _right_singular_vectors(matrix: SparseRows) -> Floats:
    """Return the leading right singular vectors as columns, largest singular value first."""
    rank = min(matrix.n_rows, matrix.n_columns)
    if rank == 0:
        return np.zeros((matrix.n_columns, 1), dtype=np.float32)
    transposed = matrix.transposed()
    width = min(rank, DIMENSIONS + _OVERSAMPLING)
    start = np.random.default_rng(_SEED).standard_normal((matrix.n_columns, width))
    basis = _orthonormal(matrix.times(start.astype(np.float32)))
    for _ in range(_POWER_ROUNDS):
        basis = _orthonormal(matrix.times(transposed.times(basis)))
    small = transposed.times(basis)
    # Eigenvectors of the small Gram matrix: the singular vectors of `small`, at width^2 memory.
    eigenvalues, vectors = np.linalg.eigh((small.T @ small).astype(np.float64))
    order = np.argsort(eigenvalues)[::-1][:DIMENSIONS]
    order = order[eigenvalues[order] > 1e-9 * max(float(eigenvalues[-1]), 1e-12)]
    axes = small @ (vectors[:, order] / np.sqrt(eigenvalues[order])).astype(np.float32)
    return _fixed_signs(axes)


def _orthonormal(matrix: Floats) -> Floats:
    """Return an orthonormal basis of the columns, by way of their small Gram matrix.

    A QR of the tall matrix took seconds on a busy machine; this is one product and a small
    eigenproblem. Directions within rounding error are dropped.
    """
    tall = matrix.astype(np.float64)
    eigenvalues, vectors = np.linalg.eigh(tall.T @ tall)
    kept = eigenvalues > 1e-10 * max(float(eigenvalues[-1]), 1e-300)
    basis: Floats = (tall @ (vectors[:, kept] / np.sqrt(eigenvalues[kept]))).astype(np.float32)
    return basis


def _fixed_signs(axes: Floats) -> Floats:
    """Make the largest entry of each column positive: a decomposition leaves the sign open."""
    if not axes.size:
        return axes
    largest = np.abs(axes).argmax(axis=0)
    signs = np.sign(axes[largest, np.arange(axes.shape[1])])
    flipped: Floats = (axes * np.where(signs == 0, 1, signs)).astype(np.float32)
    return flipped
