"""Adds methods to an object of one of TensorFlow's classes, such as an optimizer or a tape."""


def with_methods(instance, methods):
    """A new object that shares the contents of ``instance``. Its class is derived from the instance's class and has the
    same name, so that a saved object can be loaded without this package. ``methods``: a dictionary of functions by
    name, which override those of the class. They call the overridden ones as ``self._base.name(self, …)``."""
    base = type(instance)
    made = type(base.__name__, (base,), {
        "_base": base, "__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__,
        **methods})
    wrapped = object.__new__(made)  # without __init__(), which would make new contents
    wrapped.__dict__.update(instance.__dict__)
    return wrapped
