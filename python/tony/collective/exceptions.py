"""What can go wrong in collective operations."""


class HorovodInternalError(RuntimeError):
    """An operation failed: ranks do not agree, one of them is gone or late, or the library was shut down.

    ``code`` is one of the names of ``enum tony_collective_code`` in tony/collective.h, ``"ABORTED"`` for instance; the
    message says which rank and tensor it is about. As in Horovod it is what elastic training catches.
    """

    def __init__(self, message="", code="INTERNAL"):
        super().__init__(message)
        self.code = code


class InvalidArgumentError(HorovodInternalError, ValueError):
    """What was submitted is not possible: a name that is on its way already, splits that do not fit to the rows, ranks
    that do not agree. Horovod raises ValueError for some of it and HorovodInternalError for the rest; this is both."""

    def __init__(self, message):
        super().__init__(message, "INVALID_ARGUMENT")


class NotInitializedError(HorovodInternalError, ValueError):
    """A collective was called before ``init()``, or after ``shutdown()``."""

    def __init__(self, message="Horovod has not been initialized; use hvd.init()."):
        super().__init__(message, "FAILED_PRECONDITION")


class HostsUpdatedInterrupt(RuntimeError):
    """Hosts have come or gone: raised by ``state.commit()`` and ``state.check_host_updates()`` of elastic training, and
    caught by ``elastic.run()``. ``skip_sync``: they have only gone; the state is given to all even so."""

    def __init__(self, skip_sync=False):
        super().__init__("the hosts of the elastic job have changed")
        self.skip_sync = skip_sync
