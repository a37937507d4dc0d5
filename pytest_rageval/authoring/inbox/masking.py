"""Masking of personal data and keys in texts that are written. Pure.

Telephone numbers are found by phonenumbers, Google's library; the others by their forms, and IBANs
and numbers of cards by their check digits too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from pytest_rageval.values.errors import ConfigError

_KEY: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abeprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\bdapi[0-9a-f]{32}|\bya29\.[\w-]{20,}"
    r"|\bnpm_[A-Za-z0-9]{20,}|\bSG\.[\w-]{10,}\.[\w-]{10,}|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
    r"|(?i:(?:(?<=\bbearer )|(?<=\bbasic ))[\w.~+/-]{12,}=*)"
)
_NAMED: Final = re.compile(
    r"((?:(?:api|access|account|private|auth|encryption|secret)[-_ ]?key|secret|token"
    r"|passw(?:or[dt])?|kennwort|pwd|passphrase|mot de passe|contraseña|senha|wachtwoord)[\"']?"
    r"(?:\s*[:=]\s*[\"']?|\s+(?:is|ist|est|es|è)\s+[\"']?(?=\S*\d)))[^\s\"'&,;\[]{4,}",
    re.IGNORECASE,
)
"""A value after a name that says that it is secret."""
_EMAIL: Final = re.compile(
    r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}(?:@|%40|\s?[\[(]at[\])]\s?)[\w-]+(?:\.[\w-]+)+"
)
_IBAN: Final = re.compile(
    r"\b[A-Za-z]{2}\d{2}(?:[\s-]?[A-Za-z0-9]{4}){2,7}(?:[\s-]?[A-Za-z0-9]{1,4})?\b"
)
_CARD: Final = re.compile(r"(?<![\d.,-])\d(?:[\s.-]?\d){12,18}(?![\d.,-]?\d)")
_GAP: Final = re.compile(r"[\s.-]")
_NUMBER_BEFORE: Final = re.compile(r"(?<!\d)(?<!\d )(\d{1,4}) (?=[0+(])")
_REGIONS: Final = ("US", "GB", "DE", "FR", "ES", "IT", "NL", "CH", "AT", "IN", "BR")
"""Regions that a number without a country code may be from."""


def _is_iban(text: str) -> bool:
    """Return whether the check digits are right (ISO 7064, mod 97-10)."""
    plain = _GAP.sub("", text).upper()
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1


def _is_card(text: str) -> bool:
    """Return whether the check digit is right (Luhn)."""
    digits = [int(one) for one in text if one.isdecimal()][::-1]
    doubled = (sum(divmod(2 * one, 10)) for one in digits[1::2])
    valid = (sum(digits[::2]) + sum(doubled)) % 10 == 0
    return valid and len(digits) >= 13 and len(set(digits)) > 1


_FORMS: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...]] = (
    ("key", _KEY, bool),
    ("email", _EMAIL, bool),
    ("iban", _IBAN, _is_iban),
    ("card", _CARD, _is_card),
)


class Masker:
    """Masks texts and counts what it masked by kind.

    Raises:
        ConfigError: the library that finds telephone numbers is missing.
    """

    def __init__(self) -> None:
        try:
            import phonenumbers
        except ImportError as error:
            raise ConfigError.of("--mask", "needs_extra", extra="logs", reason=error) from error
        self._phones = phonenumbers
        self.counts: Counter[str] = Counter()
        """Number of replacements: ``key``, ``email``, ``iban``, ``card``, ``phone``."""

    def text(self, text: str) -> str:
        """Return a text with ``[email]`` and so on in place of what is personal."""
        text, n = _NAMED.subn(r"\1[key]", text)
        self.counts["key"] += n
        for kind, pattern, fits in _FORMS:
            text = pattern.sub(partial(self._mask, kind=kind, fits=fits), text)
        return self._without_phones(text)

    def value(self, value: Any) -> Any:
        """Return a JSON value with every text in it masked, those of keys excepted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(one) for key, one in value.items()}
        return [self.value(one) for one in value] if isinstance(value, list | tuple) else value

    def _mask(self, found: re.Match[str], *, kind: str, fits: Callable[[str], bool]) -> str:
        """Replace the longest part that fits: words and numbers may stand before and after it."""
        text = found[0]
        edges = [0, *(one.end() for one in _GAP.finditer(text))]
        ends = [n for n in range(len(text), 0, -1) if text[n - 1].isalnum()]
        if fits is bool:
            edges, ends = [0], [len(text)]
        parts = ((start, end) for start in edges for end in ends if fits(text[start:end]))
        start, end = next(parts, (0, 0))
        if not end:
            return text
        self.counts[kind] += 1
        return f"{text[:start]}[{kind}]{text[end:]}"

    def _without_phones(self, text: str) -> str:
        if sum(map(str.isdecimal, text)) < 7:
            return text
        for region in (None, *_REGIONS):
            # Another number before it would be read as its beginning.
            for seen in (text, _NUMBER_BEFORE.sub(r"\1;", text)):
                matcher = self._phones.PhoneNumberMatcher(seen, region)
                found = [(one.start, one.end) for one in matcher]
                for start, end in reversed(found):
                    text = f"{text[:start]}[phone]{text[end:]}"
                self.counts["phone"] += len(found)
                if found:
                    break
        return text
