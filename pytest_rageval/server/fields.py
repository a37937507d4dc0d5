"""Fields of a JSON body, read with the message a caller can act on."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pytest_rageval.server.config import MAX_K

_Choice = TypeVar("_Choice", bound=str)


class RequestError(ValueError):
    """A request body that cannot be served; the message names the field."""

    status = 422


class ScopeError(RequestError):
    """A document, or a scope, outside of where documents may be put."""

    status = 400


class Fields:
    """The fields of one JSON object, each read once by name and kind."""

    def __init__(self, value: object, where: str, known: Sequence[str]) -> None:
        """Take a decoded JSON value that must be an object with only the known fields.

        Raises:
            RequestError: It is something else.
        """
        self._where = where
        if not isinstance(value, dict):
            raise RequestError(f"{where or 'body'}: got {shown(value)}, expected a JSON object")
        self._values: Mapping[str, Any] = value
        for name in value:
            if name not in known:
                raise RequestError(f"{self._name(name)}: unknown, expected {', '.join(known)}")

    def _name(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def fail(self, name: str, expected: str) -> RequestError:
        """Return the error for a field that holds something else than expected."""
        if name not in self._values:
            return RequestError(f"{self._name(name)}: missing, expected {expected}")
        return RequestError(
            f"{self._name(name)}: got {shown(self._values[name])}, expected {expected}"
        )

    def raw(self, name: str) -> Any:
        """Return the value as it came; None when absent."""
        return self._values.get(name)

    def string(self, name: str) -> str:
        """Return a required string."""
        value = self.raw(name)
        if not isinstance(value, str):
            raise self.fail(name, "a string")
        return value

    def strings(self, name: str) -> tuple[str, ...]:
        """Return a list of strings, empty when absent or null."""
        value = self.raw(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self.fail(name, "a list of strings")
        return tuple(value)

    def cutoff(self, name: str, default: int) -> int:
        """Return a number of results."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_K:
            raise self.fail(name, f"an integer from 1 to {MAX_K}")
        return value

    def number(self, name: str) -> float | None:
        """Return a finite number, None when absent or null."""
        value = self.raw(name)
        if value is None:
            return None
        try:
            finite = not isinstance(value, bool) and math.isfinite(value)
        except (TypeError, OverflowError):
            finite = False
        if not finite:
            raise self.fail(name, "a finite number")
        return float(value)

    def boolean(self, name: str, default: bool) -> bool:
        """Return true or false."""
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.fail(name, "true or false")
        return value

    def choice(self, name: str, allowed: Sequence[_Choice], default: _Choice) -> _Choice:
        """Return one of the allowed words."""
        value = self.raw(name)
        if value is None:
            return default
        for word in allowed:
            if value == word:
                return word
        raise self.fail(name, " or ".join(allowed))


def shown(value: object) -> str:
    """Return a value as a short piece of an error message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
