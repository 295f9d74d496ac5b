"""What ttl.copy() returns."""

from __future__ import annotations


class Transfer:
    """A copy under way. Its data may be used after wait()."""

    __slots__ = ()

    is_done: bool  # set by the wait

    @property
    def is_completed(self) -> bool:
        """Was it waited for?"""
        return self.is_done

    def can_wait(self) -> bool:
        """Would wait() return at once? Other kernels run before this is answered."""
        raise NotImplementedError

    def wait(self) -> None:
        """Wait until the copy is complete; the handle is dead afterwards."""
        raise NotImplementedError

    def join(self, group: object) -> None:
        """From now on `group` waits for the copy."""
        raise NotImplementedError

    def finish(self) -> None:
        """The wait of the group."""
        raise NotImplementedError
