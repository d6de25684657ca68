"""Objects of others' classes with some methods of ours."""


def with_methods(instance, methods):
    """A new object with ``instance``'s contents, which it shares, in a new class that is derived from its own and has
    the same name, so that what is saved of it can be read without this package. ``methods``: by name; ``_base`` is the
    class of ``instance``."""
    base = type(instance)
    made = type(base.__name__, (base,), {
        "_base": base, "__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__,
        **methods})
    wrapped = object.__new__(made)
    wrapped.__dict__.update(instance.__dict__)
    return wrapped
