"""Names as controllers and the API server make them, without their dice: the same input gives the same names."""

from __future__ import annotations

import hashlib

# rand.String leaves out what could spell a word.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
# The character of the alphabet for each byte.
_CHARACTERS = bytes(ord(_ALPHABET[byte % len(_ALPHABET)]) for byte in range(256))
_SUFFIX = 5
_LONGEST_BASE = 63 - _SUFFIX


def suffix(*seed: object) -> str:
    """Five characters as the API server appends to generateName."""
    digest = hashlib.sha256("\0".join(map(str, seed)).encode()).digest()
    return digest[:_SUFFIX].translate(_CHARACTERS).decode()


def generated(base: str, *seed: object) -> str:
    """names.SimpleNameGenerator: what is too long for a label loses its end, not its suffix."""
    return base[:_LONGEST_BASE] + suffix(base, *seed)


def template_hash(content: bytes) -> str:
    """The form of controller.ComputeHash; its value depends on Go's memory layout and is anybody's guess."""
    number = int.from_bytes(hashlib.sha256(content).digest()[:4], "big")
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def uid_of(kind: str, namespace: str, name: str) -> str:
    """An object that was never stored has no uid; claims and owners are recognised by it."""
    digest = hashlib.sha256(f"{kind}/{namespace}/{name}".encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"
