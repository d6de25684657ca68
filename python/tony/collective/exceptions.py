"""The errors of collective operations."""


class HorovodInternalError(RuntimeError):
    """An operation failed: ranks do not agree, one of them is gone or late, or the library was shut down.

    ``code`` is one of the names of ``enum tony_collective_code`` in tony/collective.h, for instance ``"ABORTED"``. The
    message names the rank and the tensor. As in Horovod, elastic training catches this error.
    """

    def __init__(self, message="", code="INTERNAL"):
        super().__init__(message)
        self.code = code


class InvalidArgumentError(HorovodInternalError, ValueError):
    """An impossible call: a name that is already in progress, splits that do not fit the rows, ranks that do not agree.
    Horovod raises ValueError in some cases and HorovodInternalError in the others; this is both."""

    def __init__(self, message):
        super().__init__(message, "INVALID_ARGUMENT")


class NotInitializedError(HorovodInternalError, ValueError):
    """A collective was called before ``init()``, or after ``shutdown()``."""

    def __init__(self, message="Horovod has not been initialized; use hvd.init()."):
        super().__init__(message, "FAILED_PRECONDITION")


class HostsUpdatedInterrupt(RuntimeError):
    """Hosts have come or gone. ``state.commit()`` and ``state.check_host_updates()`` of elastic training raise it, and
    ``elastic.run()`` catches it. ``skip_sync``: they have only gone; all ranks receive the state nevertheless."""

    def __init__(self, skip_sync=False):
        super().__init__("the hosts of the elastic job have changed")
        self.skip_sync = skip_sync
