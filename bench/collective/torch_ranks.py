"""torch_ranks.py RANK RANKS BATCHES SIZES FOLDER: torch.distributed's allreduce with Gloo, in place."""

import sys
import time

import torch
import torch.distributed as dist

rank, ranks, batches = map(int, sys.argv[1:4])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[5]}/torch", rank=rank, world_size=ranks)
torch.set_num_threads(1)
for size in map(int, sys.argv[4].split(",")):
    vector = torch.ones(size // 4)
    dist.all_reduce(vector)
    assert bool((vector == ranks).all()), "a sum of ones is not their number"
    vector.zero_()
    calls = next(count for limit, count in ((4 << 10, 200), (64 << 10, 50), (1 << 20, 10), (16 << 20, 2), (1 << 40, 1))
                 if size <= limit)
    for _ in range(2):
        dist.all_reduce(vector)
    seconds = []
    for _ in range(batches):
        begin = time.perf_counter()
        for _ in range(calls):
            dist.all_reduce(vector)
        seconds.append((time.perf_counter() - begin) / calls)
    if rank == 0:
        print(size, *(f"{one:.9f}" for one in seconds), flush=True)
    dist.barrier()
dist.destroy_process_group()
