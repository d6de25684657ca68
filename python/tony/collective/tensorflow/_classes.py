"""Adds methods of ours to objects of foreign classes."""


def with_methods(instance, methods):
    """A new object that shares the contents of ``instance``. Its class is derived from the instance's class and has the
    same name, so that a saved object can be loaded without this package. ``methods``: by name; ``_base`` is the class
    of ``instance``."""
    base = type(instance)
    made = type(base.__name__, (base,), {
        "_base": base, "__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__,
        **methods})
    wrapped = object.__new__(made)
    wrapped.__dict__.update(instance.__dict__)
    return wrapped
