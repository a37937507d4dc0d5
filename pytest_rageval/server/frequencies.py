"""How rare each term is in the vault: what makes a word of a question tell."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_rageval.server.terms import stem


@dataclass(frozen=True, slots=True)
class TermFrequencies:
    """In how many chunks each stem occurs."""

    n_chunks: int
    by_term: Mapping[str, int]

    @classmethod
    def count(cls, chunk_terms: Iterable[Collection[str]]) -> "TermFrequencies":
        """Count chunks by term, from the terms of each chunk."""
        counts: dict[str, int] = {}
        n_chunks = 0
        for found in chunk_terms:
            n_chunks += 1
            for term in set(found):
                counts[term] = counts.get(term, 0) + 1
        return cls(n_chunks, counts)

    def idf(self, term: str) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)), Lucene's BM25 idf; unknown terms weigh most."""
        found = self.by_term.get(term, 0)
        return math.log(1 + (self.n_chunks - found + 0.5) / (found + 0.5))

    def coverage(self, wanted: Sequence[str], present: Collection[str]) -> float:
        """Return the share, 0 to 1, of the wanted terms that are present, weighted by idf."""
        weights = {term: self.idf(term) for term in wanted}
        total = sum(weights.values())
        if not total:
            return 0.0
        return sum(weight for term, weight in weights.items() if term in present) / total

    def rarest(self, words: Sequence[str], limit: int) -> list[str]:
        """Return at most `limit` words, those in fewest chunks; words in none come last."""

        def frequency(word: str) -> int:
            return self.by_term.get(stem(word)) or self.n_chunks + 1

        return sorted(words, key=frequency)[:limit] if len(words) > limit else list(words)
