"""Small functions under the name of their module in Horovod, for programs that import them from there."""

import tensorflow as tf


def _executing_eagerly():
    """Whether operations run in eager mode."""
    return tf.executing_eagerly()


def vars_to_refs(vars):  # pylint: disable=redefined-builtin
    """A key for a dictionary, from a variable; from a list, which may have lists, a tuple of keys."""
    return tuple(map(vars_to_refs, vars)) if isinstance(vars, list) else vars.ref()


def refs_to_vars(refs):
    """The variable or list that was passed to vars_to_refs()."""
    return list(map(refs_to_vars, refs)) if isinstance(refs, tuple) else refs.deref()
