"""Prints the digests of normal forms by which TestNFC checks ours (unicodedata2 15.0.0: Python's unicodedata with Unicode 15)."""
import hashlib

import unicodedata2 as unicodedata

RANGES = [(0x41, 0x7A), (0xC0, 0x24F), (0x300, 0x36F), (0x300, 0x36F), (0x300, 0x36F), (0x370, 0x3FF), (0x591, 0x5EA), (0x610, 0x6ED),
          (0x900, 0xDFF), (0xF40, 0xFBC), (0x1000, 0x1040), (0x1100, 0x11FF), (0x1B00, 0x1B44), (0x1DC0, 0x1DFF), (0x1E00, 0x1FFF),
          (0x20D0, 0x20F0), (0x2200, 0x22FF), (0x3040, 0x30FF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFB1D, 0xFB4E), (0x10041, 0x10043),
          (0x11080, 0x110BA), (0x11100, 0x11134), (0x11340, 0x1134D), (0x114B0, 0x114C3), (0x115AF, 0x115C0), (0x11930, 0x11943),
          (0x1D157, 0x1D172), (0x1D1BB, 0x1D1C0), (0x1E000, 0x1E02A), (0x2F800, 0x2FA1D)]


def numbers():
    state = 1
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 33


def strings(count):
    draw = numbers()
    for i in range(count):
        length = next(draw) % 8 + 1 + (40 if i % 64 == 0 else 0)
        text = ""
        for _ in range(length):
            low, high = RANGES[next(draw) % len(RANGES)]
            text += chr(low + next(draw) % (high - low + 1))
        yield text


def digest(texts):
    sha = hashlib.sha256()
    for text in texts:
        sha.update(unicodedata.normalize("NFC", text).encode() + b"\n")
    return sha.hexdigest()


characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
print(digest(before + c + after for c in characters for before, after in [("", ""), ("e", ""), ("", "\u0301"), ("\u1100", "\u1161")]))
print(digest(strings(100_000)))
print(digest(strings(1_000_000)))
