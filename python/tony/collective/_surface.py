"""Errors as the user's program sees them: raised by the function that it has called."""

import functools

from .exceptions import HorovodInternalError


def surface(function):
    """A function of the package's interface, whose HorovodInternalError has no frames of the package's inside."""

    @functools.wraps(function)
    def call(*arguments, **options):
        try:
            return function(*arguments, **options)
        except HorovodInternalError as error:
            # Only a cause in the user's own object (one that cannot be pickled, say) is worth its frames.
            raise error.with_traceback(None) from error.__cause__

    # By which stacks name what the program has called: tracebacks, and a stall's report.
    call.__code__ = call.__code__.replace(co_name=function.__name__)
    return call


def surface_methods(of_class):
    """The same of each public method of a class."""
    for name, method in list(vars(of_class).items()):
        if callable(method) and not name.startswith("_"):
            setattr(of_class, name, surface(method))
    return of_class
