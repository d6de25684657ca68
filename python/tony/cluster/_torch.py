"""A feed as a dataset of PyTorch. Only this module imports it."""

from typing import Any, Iterator

import torch  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-error


class _Batches(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined, type-arg, unused-ignore]
    """Whole batches of a feed. Not thread safe."""

    def __init__(self, feed: Any, batch_size: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self._feed = feed
        self._batch_size = batch_size

    def __iter__(self) -> Iterator[Any]:
        if torch.utils.data.get_worker_info() is not None:  # type: ignore[no-untyped-call, unused-ignore]
            raise RuntimeError("a feed belongs to one process: use DataLoader(…, batch_size=None, num_workers=0)")
        while True:
            arrays = self._feed.next_numpy(self._batch_size)
            if arrays is None:
                return
            if isinstance(arrays, tuple):
                yield tuple(torch.from_numpy(array) for array in arrays)
            elif isinstance(arrays, dict):
                yield {name: torch.from_numpy(array) for name, array in arrays.items()}
            else:
                yield torch.from_numpy(arrays)


def batches(feed: Any, batch_size: int) -> Any:
    """For DataFeed.torch()."""
    return _Batches(feed, batch_size)
