"""A number from single keys: no Enter where no longer number could be meant."""

from __future__ import annotations

LEAVE = 0
_ENTER = "\r\n"
_LEAVING = "q\x1b\x04"
_RUBOUT = "\x7f\x08"


class NumberKeys:
    """Numbers from 1 to `highest`, key by key.

    >>> keys = NumberKeys(12)
    >>> keys.press("7"), keys.press("1"), keys.typed, keys.press("2")
    (7, None, '1', 12)
    """

    def __init__(self, highest: int) -> None:
        self.highest = highest
        self.typed = ""

    def press(self, key: str) -> int | None:
        """A whole number, `LEAVE`, or None as long as nothing is settled."""
        if key in _LEAVING or (key in _ENTER and not self.typed):
            return LEAVE
        if key in _RUBOUT:
            self.typed = self.typed[:-1]
        elif key in _ENTER:
            return self._take()
        elif key.isdecimal() and 1 <= int(self.typed + key) <= self.highest:
            self.typed += key
            if int(self.typed) * 10 > self.highest:
                return self._take()
        return None

    def _take(self) -> int:
        number, self.typed = int(self.typed), ""
        return number
