"""Horovod's operations on the tensors of any framework."""

import ctypes
import functools

from . import _library, _process
from ._handles import Output
from ._library import library
from ._process_sets import global_process_set, set_id
from ._reduce_ops import Adasum, Average, choose
from ._submission import full_name, submit, submit_group
from ._surface import surface, surface_methods
from .compression import Compression

@functools.lru_cache(maxsize=4096)
def _shape_array(shape):
    return (ctypes.c_int64 * len(shape))(*shape)


@surface_methods
class Collectives:
    """Operations on the tensors of ``framework``; _arrays.py says what it has to provide.

    Common arguments:

    ``name``: tensors with the same name belong together on all ranks. Tensors without a name are matched by the order
    in which they are submitted. ``process_set``: a registered ProcessSet. "Ranks" then means its ranks, in their order,
    but ``root_rank`` is still a number of ``hvd.rank()``. ValueError: this rank does not belong to the set.
    Asynchronous functions return a handle at once. Their tensors must not be changed until ``synchronize(handle)`` has
    returned.
    """

    def __init__(self, framework):
        self._framework = framework
        # Only frameworks with GPU tensors have these two.
        self._gpu = getattr(framework, "gpu", lambda host: None)
        self._in_host_memory = getattr(framework, "in_host_memory", framework.host)

    # Submission

    def _tensor(self, name, host, number, gpu):
        shape = tuple(host.shape)
        return _library.Tensor(name.encode(), self._framework.type_code(host), len(shape), _shape_array(shape), number,
                               _library.CPU if gpu is None else _library.GPU, None if gpu is None else gpu.ready)

    def _group(self, name, hosts, number, gpus):
        """(group's name, count, tensors) for the library."""
        tensors = [self._tensor(f"{name}.{i}", host, number, gpu) for i, (host, gpu) in enumerate(zip(hosts, gpus))]
        return name.encode(), len(hosts), (_library.Tensor * len(hosts))(*tensors)

    def _reduced(self, tensor, op):
        """A host tensor on which ``op`` is possible."""
        return self._in_host_memory(tensor) if op is Adasum else self._framework.host(tensor)

    def _gpus(self, hosts):
        return [self._gpu(host) for host in hosts]

    def _pointers(self, hosts):
        return (ctypes.c_void_p * len(hosts))(*map(self._framework.pointer, hosts))

    # allreduce

    def _allreduce_handle(self, tensor, name, op, scales, number, in_place):
        framework = self._framework
        if in_place:
            framework.check_writable(tensor)
        host = self._reduced(tensor, op)
        out = host if in_place else framework.empty_like(host)
        gpu = self._gpu(host)
        sent = self._tensor(full_name("allreduce", name, number), host, number, gpu)
        return submit(library().allreduce,
                      (ctypes.byref(sent), _reduction(op, scales), framework.pointer(host), framework.pointer(out)),
                      lambda _, __=host: framework.returned(tensor, out, in_place), gpus=(gpu,))

    def _allreduce_group(self, tensors, name, op, scales, number, in_place):
        framework = self._framework
        if in_place:
            for tensor in tensors:
                framework.check_writable(tensor)
        hosts = [self._reduced(tensor, op) for tensor in tensors]
        outs = hosts if in_place else [framework.empty_like(host) for host in hosts]
        gpus = self._gpus(hosts)
        group = self._group(full_name("grouped_allreduce", name, number), hosts, number, gpus)

        def finish(_, _hold=hosts):
            return [framework.returned(tensor, out, in_place) for tensor, out in zip(tensors, outs)]

        return submit_group(library().grouped_allreduce,
                            (*group, _reduction(op, scales), self._pointers(hosts), self._pointers(outs)), len(hosts),
                            finish, gpus=gpus)

    def allreduce_async(self, tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                        process_set=global_process_set):
        """Like allreduce(), asynchronous. Returns a handle."""
        return self._allreduce_handle(tensor, name, choose(op, average), (prescale_factor, postscale_factor),
                                      set_id(process_set), False)

    def allreduce(self, tensor, average=None, name=None, compression=Compression.none, op=None, prescale_factor=1.0,
                  postscale_factor=1.0, process_set=global_process_set):
        """Reduces the ranks' tensors element by element. All ranks get the result, with the same bits.

        Arguments:
            tensor: has the same shape and type on all ranks; not changed.
            average: Horovod's old way to say op=Average (True) or op=Sum (False).
            name: tensors with the same name belong together.
            compression: Compression.none, .fp16 or .bf16, for the transfer.
            op: Average (if None), Sum, Min, Max, Product or Adasum.
            prescale_factor: each tensor is multiplied by it before the reduction.
            postscale_factor: the result is multiplied by it.
            process_set: the participating ranks; an average is divided by their number.

        Returns: a new tensor of the same shape and type.

        HorovodInternalError: the ranks do not agree on shape, type, op or factors (the message names the tensor and
        what each rank submitted), or a rank is gone.
        """
        sent, context = compression.compress(self._framework.tensor(tensor))
        handle = self.allreduce_async(sent, average, name, op, prescale_factor, postscale_factor, process_set)
        return compression.decompress(handle.wait(), context)

    def allreduce_async_(self, tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                         process_set=global_process_set):
        """Like allreduce_(), asynchronous. Returns a handle."""
        return self._allreduce_handle(tensor, name, choose(op, average), (prescale_factor, postscale_factor),
                                      set_id(process_set), True)

    def allreduce_(self, tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                   process_set=global_process_set):
        """Like allreduce(), in place. Returns ``tensor``."""
        return self.allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor,
                                     process_set).wait()

    def grouped_allreduce_async(self, tensors, average=None, name=None, op=None, prescale_factor=1.0,
                                postscale_factor=1.0, process_set=global_process_set):
        """Like grouped_allreduce(), asynchronous. Returns a handle."""
        return self._allreduce_group(list(tensors), name, choose(op, average), (prescale_factor, postscale_factor),
                                     set_id(process_set), False)

    def grouped_allreduce(self, tensors, average=None, name=None, compression=Compression.none, op=None,
                          prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set):
        """allreduce() of all ``tensors`` as one group. Returns a list in their order."""
        compressed = [compression.compress(self._framework.tensor(tensor)) for tensor in tensors]
        sent = [values for values, _ in compressed]
        handle = self.grouped_allreduce_async(sent, average, name, op, prescale_factor, postscale_factor, process_set)
        return [compression.decompress(result, context) for result, (_, context) in zip(handle.wait(), compressed)]

    def grouped_allreduce_async_(self, tensors, average=None, name=None, op=None, prescale_factor=1.0,
                                 postscale_factor=1.0, process_set=global_process_set):
        """Like grouped_allreduce_(), asynchronous. Returns a handle."""
        return self._allreduce_group(list(tensors), name, choose(op, average), (prescale_factor, postscale_factor),
                                     set_id(process_set), True)

    def grouped_allreduce_(self, tensors, average=None, name=None, op=None, prescale_factor=1.0,
                           postscale_factor=1.0, process_set=global_process_set):
        """Like grouped_allreduce(), in place. Returns the list of ``tensors``."""
        return self.grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor,
                                             process_set).wait()

    # Operations whose results have another shape

    def _finish(self, tensors, hosts):
        """A function that makes the results of operations on ``tensors``."""
        framework = self._framework

        def finish(numbers):
            outputs = [Output(number, framework.item_bytes(host)) for number, host in zip(numbers, hosts)]
            return [framework.made(output, host, tensor) for output, host, tensor in zip(outputs, hosts, tensors)]

        return finish

    def _finish_one(self, tensor, host):
        finish = self._finish([tensor], [host])
        return lambda numbers: finish(numbers)[0]

    def allgather_async(self, tensor, name=None, process_set=global_process_set):
        """Like allgather(), asynchronous. Returns a handle."""
        number = set_id(process_set)
        host = self._framework.host(tensor)
        gpu = self._gpu(host)
        sent = self._tensor(full_name("allgather", name, number), host, number, gpu)
        return submit(library().allgather, (ctypes.byref(sent), self._framework.pointer(host)),
                      self._finish_one(tensor, host), keeps=True, gpus=(gpu,))

    def allgather(self, tensor, name=None, process_set=global_process_set):
        """Concatenates the ranks' tensors in the order of ranks. All ranks get the result.

        ``tensor``: has the same type and shape on all ranks, except for the first dimension.

        Returns: a new tensor, whose first dimension is the sum of all ranks'.

        HorovodInternalError: as for allreduce().
        """
        return self.allgather_async(tensor, name, process_set).wait()

    def grouped_allgather_async(self, tensors, name=None, process_set=global_process_set):
        """Like grouped_allgather(), asynchronous. Returns a handle."""
        number, tensors = set_id(process_set), list(tensors)
        hosts = [self._framework.host(tensor) for tensor in tensors]
        gpus = self._gpus(hosts)
        group = self._group(full_name("grouped_allgather", name, number), hosts, number, gpus)
        return submit_group(library().grouped_allgather, (*group, self._pointers(hosts)), len(hosts),
                            self._finish(tensors, hosts), keeps=True, gpus=gpus)

    def grouped_allgather(self, tensors, name=None, process_set=global_process_set):
        """allgather() of all ``tensors`` as one group. Returns a list in their order."""
        return self.grouped_allgather_async(tensors, name, process_set).wait()

    def reducescatter_async(self, tensor, name=None, op=Average, process_set=global_process_set, prescale_factor=1.0,
                            postscale_factor=1.0):
        """Like reducescatter(), asynchronous. Returns a handle."""
        number, op = set_id(process_set), choose(op)
        host = self._framework.host(tensor)
        gpu = self._gpu(host)
        sent = self._tensor(full_name("reducescatter", name, number), host, number, gpu)
        return submit(library().reducescatter,
                      (ctypes.byref(sent), _reduction(op, (prescale_factor, postscale_factor)),
                       self._framework.pointer(host)), self._finish_one(tensor, host), keeps=True, gpus=(gpu,))

    def reducescatter(self, tensor, name=None, compression=Compression.none, op=Average,
                      process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0):
        """Reduces the ranks' tensors like allreduce(), and gives each rank some rows of the result.

        ``tensor``: has the same shape and type on all ranks, and at least one dimension. The rows are divided evenly;
        if that is not possible, the first ranks get one more.

        Returns: a new tensor with this rank's rows.

        HorovodInternalError: as for allreduce().
        """
        sent, context = compression.compress(self._framework.tensor(tensor))
        handle = self.reducescatter_async(sent, name, op, process_set, prescale_factor, postscale_factor)
        return compression.decompress(handle.wait(), context)

    def grouped_reducescatter_async(self, tensors, name=None, op=Average, process_set=global_process_set,
                                    prescale_factor=1.0, postscale_factor=1.0):
        """Like grouped_reducescatter(), asynchronous. Returns a handle."""
        number, op, tensors = set_id(process_set), choose(op), list(tensors)
        hosts = [self._framework.host(tensor) for tensor in tensors]
        gpus = self._gpus(hosts)
        group = self._group(full_name("grouped_reducescatter", name, number), hosts, number, gpus)
        return submit_group(library().grouped_reducescatter,
                            (*group, _reduction(op, (prescale_factor, postscale_factor)), self._pointers(hosts)),
                            len(hosts), self._finish(tensors, hosts), keeps=True, gpus=gpus)

    def grouped_reducescatter(self, tensors, name=None, compression=Compression.none, op=Average,
                              process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0):
        """reducescatter() of all ``tensors`` as one group. Returns a list in their order."""
        compressed = [compression.compress(self._framework.tensor(tensor)) for tensor in tensors]
        sent = [values for values, _ in compressed]
        handle = self.grouped_reducescatter_async(sent, name, op, process_set, prescale_factor, postscale_factor)
        return [compression.decompress(result, context) for result, (_, context) in zip(handle.wait(), compressed)]

    def alltoall_async(self, tensor, splits=None, name=None, process_set=global_process_set):
        """Like alltoall(), asynchronous. Returns a handle; its result is a tuple even without ``splits``."""
        number = set_id(process_set)
        framework, ranks = self._framework, process_set.size()
        host = framework.host(tensor)
        numbers = None
        if splits is not None:
            numbers = framework.integers(splits)
            if len(numbers) != ranks:
                raise ValueError(f"splits has {len(numbers)} numbers for {ranks} ranks")
            numbers = (ctypes.c_int64 * ranks)(*numbers)

        gpu = self._gpu(host)
        sent = self._tensor(full_name("alltoall", name, number), host, number, gpu)

        def finish(handles):
            output = Output(handles[0], framework.item_bytes(host))
            return framework.made(output, host, tensor), framework.splits(output.splits, splits)

        return submit(library().alltoall, (ctypes.byref(sent), numbers, framework.pointer(host)), finish, keeps=True,
                      gpus=(gpu,))

    def alltoall(self, tensor, splits=None, name=None, process_set=global_process_set):
        """Sends some rows of ``tensor`` to each rank.

        ``splits``: the number of rows for each rank; None: the same number for each. Shapes may differ among ranks in
        the first dimension.

        Returns: a new tensor with the received rows, in the order of ranks. With ``splits``, a tuple of this tensor and
        the number of rows received from each rank.

        HorovodInternalError: as for allreduce(); the splits do not fit the rows.
        """
        made, received = self.alltoall_async(tensor, splits, name, process_set).wait()
        return made if splits is None else (made, received)

    # broadcast

    def _broadcast_handle(self, tensor, root_rank, name, number, in_place):
        framework = self._framework
        if in_place:
            framework.check_writable(tensor)
        host = framework.host(tensor)
        if not in_place and root_rank != _process.rank():
            host = framework.empty_like(host)

        gpu = self._gpu(host)
        sent = self._tensor(full_name("broadcast", name, number), host, number, gpu)

        def finish(_):
            if not in_place and root_rank == _process.rank():
                return framework.copy(tensor)
            return framework.returned(tensor, host, in_place)

        return submit(library().broadcast, (ctypes.byref(sent), root_rank, framework.pointer(host)), finish,
                      gpus=(gpu,))

    def broadcast_async(self, tensor, root_rank, name=None, process_set=global_process_set):
        """Like broadcast(), asynchronous. Returns a handle."""
        return self._broadcast_handle(tensor, root_rank, name, set_id(process_set), False)

    def broadcast(self, tensor, root_rank, name=None, process_set=global_process_set):
        """Gives all ranks the tensor of rank ``root_rank``.

        ``tensor``: has the same shape and type on all ranks; not changed.

        Returns: a new tensor. HorovodInternalError: as for allreduce(); the ranks name different roots.
        """
        return self.broadcast_async(tensor, root_rank, name, process_set).wait()

    def broadcast_async_(self, tensor, root_rank, name=None, process_set=global_process_set):
        """Like broadcast_(), asynchronous. Returns a handle."""
        return self._broadcast_handle(tensor, root_rank, name, set_id(process_set), True)

    def broadcast_(self, tensor, root_rank, name=None, process_set=global_process_set):
        """Like broadcast(), in place. Returns ``tensor``."""
        return self.broadcast_async_(tensor, root_rank, name, process_set).wait()


def _reduction(op, scales):
    """The address of a struct tony_collective_reduction."""
    return op.reduction(float(scales[0]), float(scales[1]))[1]


@surface
def barrier(process_set=global_process_set):
    """Waits until all ranks of the set have called it. HorovodInternalError: a rank is gone."""
    number = set_id(process_set)
    submit(library().barrier, (full_name("barrier", None, number).encode(), number), lambda _: None).wait()


@surface
def join(device=-1):
    """Waits until all ranks have called it. This rank has no more data; until then it takes part in the others'
    allreduces with zeros. No other operation is possible meanwhile. ``device``: the index of this rank's GPU. It is
    needed if the others reduce on GPUs and this rank has not done so yet. Below 0: it has, or there are no GPUs.

    Returns: the last rank that has called it.
    """
    last = submit(library().join, (device,), lambda numbers: library().check(library().last_joined(numbers[0]))).wait()
    # Ranks may have called different numbers of operations without names.
    _process.begin_again()
    return last
