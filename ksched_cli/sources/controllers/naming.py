"""Makes names as controllers and the API server do, but the same names for the same input."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

# The alphabet of rand.String, which cannot spell words.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
# The character of the alphabet for each byte.
_CHARACTERS = bytes(ord(_ALPHABET[byte % len(_ALPHABET)]) for byte in range(256))
_SUFFIX = 5
_LONGEST_BASE = 63 - _SUFFIX


@cache
def _sha256() -> Callable[[bytes], Any]:
    # Imported here: hashlib loads OpenSSL, and many runs make no name.
    from hashlib import sha256

    return sha256


def suffix(*seed: object) -> str:
    """Five characters such as the API server appends to generateName."""
    digest: bytes = _sha256()("\0".join(map(str, seed)).encode()).digest()
    return digest[:_SUFFIX].translate(_CHARACTERS).decode()


def generated(base: str, *seed: object) -> str:
    """names.SimpleNameGenerator: a base that is too long for a label is cut before the suffix."""
    return base[:_LONGEST_BASE] + suffix(base, *seed)


def template_hash(content: bytes) -> str:
    """A hash in the form of controller.ComputeHash, whose value depends on Go's memory layout."""
    number = int.from_bytes(_sha256()(content).digest()[:4], "big")
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def uid_of(kind: str, namespace: str, name: str) -> str:
    """A uid for an object that no API server has stored. Claims and owners are found by their uids."""
    digest: str = _sha256()(f"{kind}/{namespace}/{name}".encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"
