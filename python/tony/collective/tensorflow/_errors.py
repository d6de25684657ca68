"""Errors of operations that are TensorFlow's as well as this package's: with Horovod programs catch the former, and
elastic training catches the latter.
"""

import tensorflow as tf

from .. import exceptions


class _OfBoth:
    """Made as TensorFlow's are, as Keras makes them again to say which layer they are of. Derived classes have two bases
    more: this package's class and TensorFlow's."""

    def __init__(self, node_def, op, message, *details):
        _, ours, theirs = type(self).__bases__
        theirs.__init__(self, node_def, op, message, *details)
        ours.__init__(self, message)


class FailedPreconditionError(_OfBoth, exceptions.InvalidArgumentError, tf.errors.FailedPreconditionError):
    """The ranks do not agree on an operation, or one of them has submitted what is not possible."""


class InvalidArgumentError(_OfBoth, exceptions.InvalidArgumentError, tf.errors.InvalidArgumentError):
    """What this rank has submitted is not possible, whatever the others have."""


class NotInitializedError(_OfBoth, exceptions.NotInitializedError, tf.errors.FailedPreconditionError):
    """An operation was called before ``init()``, or after ``shutdown()``."""


class UnknownError(_OfBoth, exceptions.HorovodInternalError, tf.errors.UnknownError):
    """An operation has failed for another reason: a rank is gone, for instance."""


class OwnFault(exceptions.InvalidArgumentError):
    """InvalidArgumentError of what is wrong with this rank's submission, whatever the others say."""


class OwnFaultHandle:
    """The handle of an operation that cannot be, as this rank has submitted it: all ranks hear of it."""

    def __init__(self, handle):
        self._handle = handle

    def wait(self):
        """OwnFault."""
        try:
            return self._handle.wait()
        except exceptions.InvalidArgumentError as error:
            raise OwnFault(str(error)) from None


# The first that fits: an exception of this package's, and TensorFlow's of it.
_OF = ((OwnFault, InvalidArgumentError), (exceptions.InvalidArgumentError, FailedPreconditionError),
       (exceptions.NotInitializedError, NotInitializedError), (exceptions.HorovodInternalError, UnknownError))


def of_tensorflow(error):
    """What a HorovodInternalError is as one of TensorFlow's, too."""
    made = next(theirs for ours, theirs in _OF if isinstance(error, ours))(None, None, str(error))
    made.code = error.code
    return made


def code_of(error):
    """TensorFlow's number for what a node of a graph has failed with, any exception."""
    if isinstance(error, exceptions.HorovodInternalError):
        return of_tensorflow(error).error_code
    return tf.errors.INVALID_ARGUMENT if isinstance(error, ValueError) else tf.errors.UNKNOWN
