"""The handle that ttl.copy() returns."""

from __future__ import annotations


class Transfer:
    """A copy in progress; its data is ready after wait()."""

    __slots__ = ()

    is_done: bool  # set by the wait

    @property
    def is_completed(self) -> bool:
        """Whether wait() was called."""
        return self.is_done

    def can_wait(self) -> bool:
        """Return whether wait() would return at once; lets other kernels run first."""
        raise NotImplementedError

    def wait(self) -> None:
        """Wait until the copy is complete; the handle is dead afterwards."""
        raise NotImplementedError

    def join(self, group: object) -> None:
        """Let `group` wait for the copy from now on."""
        raise NotImplementedError

    def finish(self) -> None:
        """Wait on behalf of the group."""
        raise NotImplementedError
