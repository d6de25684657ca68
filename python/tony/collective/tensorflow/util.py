"""Small things under the name of the module that they have in Horovod, for programs that take them from there."""

import tensorflow as tf


def _executing_eagerly():
    """Whether operations are done at once."""
    return tf.executing_eagerly()


def vars_to_refs(vars):  # pylint: disable=redefined-builtin
    """What can be a key of a dictionary, of a variable; of a list, which may have lists, a tuple of these."""
    return tuple(map(vars_to_refs, vars)) if isinstance(vars, list) else vars.ref()


def refs_to_vars(refs):
    """The variable, or the list, that vars_to_refs() was given."""
    return list(map(refs_to_vars, refs)) if isinstance(refs, tuple) else refs.deref()
