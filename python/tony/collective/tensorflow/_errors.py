"""Errors that are TensorFlow's as well as this package's. Programs for Horovod catch the former; elastic training
catches the latter."""

import tensorflow as tf

from .. import exceptions


class _OfBoth:
    """The constructor has TensorFlow's arguments, because Keras constructs errors again to add the layer's name.
    Derived classes have two more bases: this package's class and TensorFlow's."""

    def __init__(self, node_def, op, message, *details):
        _, ours, theirs = type(self).__bases__
        theirs.__init__(self, node_def, op, message, *details)
        ours.__init__(self, message)


class FailedPreconditionError(_OfBoth, exceptions.InvalidArgumentError, tf.errors.FailedPreconditionError):
    """The ranks do not agree on an operation, or one of them has submitted an impossible one."""


class InvalidArgumentError(_OfBoth, exceptions.InvalidArgumentError, tf.errors.InvalidArgumentError):
    """This rank has submitted an impossible operation, whatever the others have submitted."""


class NotInitializedError(_OfBoth, exceptions.NotInitializedError, tf.errors.FailedPreconditionError):
    """An operation was called before ``init()``, or after ``shutdown()``."""


class UnknownError(_OfBoth, exceptions.HorovodInternalError, tf.errors.UnknownError):
    """An operation has failed for another reason; for instance, a rank is gone."""


class OwnFault(exceptions.InvalidArgumentError):
    """InvalidArgumentError for a mistake in this rank's own submission."""


class OwnFaultHandle:
    """The handle of an operation that is impossible as this rank has submitted it; all ranks get an error."""

    def __init__(self, handle):
        self._handle = handle

    def wait(self):
        """Raises OwnFault."""
        try:
            return self._handle.wait()
        except exceptions.InvalidArgumentError as error:
            raise OwnFault(str(error)) from None


# The first match counts: an exception of this package, and TensorFlow's counterpart.
_OF = ((OwnFault, InvalidArgumentError), (exceptions.InvalidArgumentError, FailedPreconditionError),
       (exceptions.NotInitializedError, NotInitializedError), (exceptions.HorovodInternalError, UnknownError))


def of_tensorflow(error):
    """A HorovodInternalError as an error that is TensorFlow's, too."""
    made = next(theirs for ours, theirs in _OF if isinstance(error, ours))(None, None, str(error))
    made.code = error.code
    return made


def code_of(error):
    """TensorFlow's error code for any exception with which a node of a graph has failed."""
    if isinstance(error, exceptions.HorovodInternalError):
        return of_tensorflow(error).error_code
    return tf.errors.INVALID_ARGUMENT if isinstance(error, ValueError) else tf.errors.UNKNOWN
