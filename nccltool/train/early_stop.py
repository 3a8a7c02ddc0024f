"""When a training has not improved for long enough. Pure."""

import math


class EarlyStop:
    """Takes a validation loss after each step."""

    def __init__(self, patience: int) -> None:
        """`patience`: steps without a new best loss, after which it is time to stop; 0 = never."""
        self._patience, self._best, self._since = patience, math.inf, 0
        self.is_close = False
        """Whether rounding may have decided what was the best."""

    def take(self, loss: float, rounding: float = 0.0) -> bool:
        """Whether it is time. `rounding`: how far apart two equal losses may be, relative to them."""
        if math.isfinite(self._best) and abs(loss - self._best) <= 2 * rounding * abs(self._best):
            self.is_close = True
        if loss < self._best:
            self._best, self._since = loss, 0
        else:  # also when it is no number
            self._since += 1
        return 0 < self._patience <= self._since
