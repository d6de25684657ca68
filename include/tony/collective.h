/* Collective operations among the ranks of a job, by name, for programs in any language.
 *
 * Each rank is a process. All ranks submit tensors under names, from any thread and in any order;
 * an operation is done when all ranks have submitted its name. Where ranks do not agree about one,
 * all of them are told so, with what each has said, and the rest goes on.
 *
 *   1. tony_collective_init() once; it returns when all ranks are there.
 *   2. A function of an operation gives a handle, at once. Its memory belongs to the library until
 *      the operation is done.
 *   3. tony_collective_wait(), then the output of those that have one, then
 *      tony_collective_release().
 *   4. tony_collective_shutdown() when all that this rank needs is done.
 *
 * Errors. A function returns TONY_COLLECTIVE_OK or a code of enum tony_collective_code; those that
 * return a handle or a number return the code times -1. tony_collective_last_error() has the
 * sentence.
 *
 * Threads. All functions may be called from all threads at once, but for init and shutdown, which
 * wait for each other. The library has threads of its own, which sleep while there is nothing to
 * do; it calls back only what init is given, from the thread that called it.
 *
 * After fork() the child has no part in the operations: its calls get
 * TONY_COLLECTIVE_FAILED_PRECONDITION, and the parent goes on.
 */
#ifndef TONY_COLLECTIVE_H_
#define TONY_COLLECTIVE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TONY_COLLECTIVE_API __attribute__((visibility("default")))
#else
#define TONY_COLLECTIVE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum tony_collective_code {
  TONY_COLLECTIVE_OK = 0,
  TONY_COLLECTIVE_INVALID_ARGUMENT = 1,    /* can never work; or the ranks do not agree */
  TONY_COLLECTIVE_FAILED_PRECONDITION = 2, /* not initialized, shut down, joined, after fork() */
  TONY_COLLECTIVE_DEADLINE_EXCEEDED = 3,   /* a rank did not come in time */
  TONY_COLLECTIVE_ABORTED = 4,             /* a rank has left, or its process has ended */
  TONY_COLLECTIVE_RESOURCE_EXHAUSTED = 5,  /* no memory, no descriptors, no threads */
  TONY_COLLECTIVE_INTERNAL = 6,            /* the operating system refused what it should not */
  TONY_COLLECTIVE_IN_PROGRESS = 7,         /* of wait: the operation is not done yet */
};

enum tony_collective_type {
  TONY_COLLECTIVE_UINT8 = 0,
  TONY_COLLECTIVE_INT8 = 1,
  TONY_COLLECTIVE_UINT16 = 2,
  TONY_COLLECTIVE_INT16 = 3,
  TONY_COLLECTIVE_UINT32 = 4,
  TONY_COLLECTIVE_INT32 = 5,
  TONY_COLLECTIVE_UINT64 = 6,
  TONY_COLLECTIVE_INT64 = 7,
  TONY_COLLECTIVE_FLOAT16 = 8,  /* IEEE 754 binary16 */
  TONY_COLLECTIVE_BFLOAT16 = 9, /* the upper half of a binary32 */
  TONY_COLLECTIVE_FLOAT32 = 10,
  TONY_COLLECTIVE_FLOAT64 = 11,
  TONY_COLLECTIVE_BOOL = 12, /* one byte, 0 or 1 */
};

/* Whose memory a tensor is in. Ranks have to agree. */
enum tony_collective_device {
  TONY_COLLECTIVE_CPU = 0,
  /* Of one GPU for each rank, reduced there through NCCL. FAILED_PRECONDITION, at all ranks, where
   * one of them has none, or no NCCL; INVALID_ARGUMENT for 16-bit integers and Adasum. */
  TONY_COLLECTIVE_GPU = 1,
};

/* Integers wrap around. Of bool the sum and the maximum are "or", the product and the minimum
 * "and". */
enum tony_collective_reduce {
  TONY_COLLECTIVE_SUM = 0,
  TONY_COLLECTIVE_PRODUCT = 1,
  TONY_COLLECTIVE_MIN = 2,
  TONY_COLLECTIVE_MAX = 3,
  /* The sum divided by the number of ranks, of integers without the fraction. Not of bool. */
  TONY_COLLECTIVE_AVERAGE = 4,
  /* What is orthogonal is added, what is parallel averaged: arXiv 2006.02924. Of allreduce, of
   * floating-point types. */
  TONY_COLLECTIVE_ADASUM = 5,
};

/* Through which a store answers: called once with the value, or, when it fails, with a sentence. */
typedef void (*tony_collective_take)(void* receiver, const void* bytes, size_t size);

/* How the ranks tell each other their addresses: keys and values that all ranks of this job see,
 * and of this start of it only. Keys are of letters, digits, '.', '-', '_' and '/'. */
struct tony_collective_store {
  void* user; /* passed to both */
  /* Returns a code. Once for each key. */
  int (*put)(void* user, const char* key, const void* value, size_t size, tony_collective_take take,
             void* receiver);
  /* As soon as somebody has put it. Returns a code: DEADLINE_EXCEEDED when nobody has within
   * `timeout_ms`. */
  int (*get)(void* user, const char* key, int64_t timeout_ms, tony_collective_take take,
             void* receiver);
};

struct tony_collective_options {
  size_t struct_size; /* sizeof(struct tony_collective_options) */
  int32_t rank;       /* from 0 */
  int32_t size;       /* how many ranks */
  /* Which all ranks of the job know and nobody else: 64 bytes at most. Without one, ranks meet only
   * where all of them can share memory. */
  const void* secret;
  size_t secret_size;
  int64_t meet_timeout_ms; /* until all ranks are there */
  /* For a rank to do its part of an operation that all ranks have submitted. */
  int64_t operation_timeout_ms;
  int64_t fusion_bytes; /* most that is reduced at a time; 0: the library's choice */
  const struct tony_collective_store* store; /* used until init returns; of one rank: may be null */
  /* Of rank 0: a file with the sizes at which operations between hosts take another way, which all
   * ranks then use; null or empty: the library's. */
  const char* switch_points;
  /* Of rank 0: for how long, in microseconds, what could be done waits for what can be done
   * together with it. 0: what comes during an operation is done together after it, and nothing
   * waits. */
  int64_t batching_window_us;
  /* By what name all ranks call this start of the job. What they put into the store is signed with
   * the secret for this start alone. Null or empty: there is no other one with this secret. */
  const char* scope;
  /* Not 0: what goes through TCP carries a MAC of each piece, at all ranks if one of them wants it,
   * so that nobody on the network can change it. What ranks say to rank 0 does anyway. */
  int32_t wire_mac;
};

/* What is submitted. Copied before the function returns, but for the tensor's memory. */
struct tony_collective_tensor {
  const char* name;
  int32_t type;         /* enum tony_collective_type */
  int32_t dimensions;   /* 0: a scalar */
  const int64_t* shape; /* elements, row by row */
  /* A process set: what is said of ranks below means its ranks, as they count in it, but for the
   * root of a broadcast, which is a rank of the job. Names belong to their set. 0: all ranks. */
  uint32_t set;
  int32_t device; /* enum tony_collective_device: of the memory that is passed, and of an output */
  /* Of a GPU: a cudaEvent_t, recorded, after which the memory holds what it should; null: it does
   * now. Must exist until tony_collective_wait_stream() or wait has returned, or poll 1. */
  void* ready;
};

/* How values are reduced: each is multiplied by `prescale` before, the result by `postscale`. */
struct tony_collective_reduction {
  int32_t reduce; /* enum tony_collective_reduce */
  double prescale;
  double postscale;
};

/* Waits until all ranks have called it. FAILED_PRECONDITION: initialized already.
 * DEADLINE_EXCEEDED: names who is missing. */
TONY_COLLECTIVE_API int tony_collective_init(const struct tony_collective_options* options);
/* The others are told that nothing more comes from this rank. What is not done fails. May be called
 * at any time, also twice; afterwards init may be called again. */
TONY_COLLECTIVE_API int tony_collective_shutdown(void);
/* 1 or 0. 0 after fork(). */
TONY_COLLECTIVE_API int tony_collective_is_initialized(void);
TONY_COLLECTIVE_API int tony_collective_rank(void);
TONY_COLLECTIVE_API int tony_collective_size(void);
/* The same within a process set. INVALID_ARGUMENT times -1: there is no such set, or this rank does
 * not belong to it. */
TONY_COLLECTIVE_API int tony_collective_process_set_rank(uint32_t set);
TONY_COLLECTIVE_API int tony_collective_process_set_size(uint32_t set);

/* The sentence of this thread's last call that failed; lives until its next one that does. */
TONY_COLLECTIVE_API const char* tony_collective_last_error(void);

/* The operations. Each returns a handle, above 0, or a code times -1: INVALID_ARGUMENT where the
 * name is on its way already, or an argument is none. What ranks disagree about, wait says. */

/* `out` = all ranks' `in`, reduced. Both have the tensor's shape; `out` may be `in`. */
TONY_COLLECTIVE_API int64_t tony_collective_allreduce(
    const struct tony_collective_tensor* tensor, const struct tony_collective_reduction* reduction,
    const void* in, void* out);
/* Output: all ranks' tensors one after the other, in the order of ranks. Their first dimensions may
 * differ. */
TONY_COLLECTIVE_API int64_t tony_collective_allgather(const struct tony_collective_tensor* tensor,
                                                      const void* in);
/* In place, from rank `root`. */
TONY_COLLECTIVE_API int64_t tony_collective_broadcast(const struct tony_collective_tensor* tensor,
                                                      int root, void* data);
/* Output: this rank's rows of what allreduce would give. The first ranks have one row more where
 * rows cannot be divided evenly. */
TONY_COLLECTIVE_API int64_t
tony_collective_reducescatter(const struct tony_collective_tensor* tensor,
                              const struct tony_collective_reduction* reduction, const void* in);
/* Sends the first splits[0] rows to rank 0, and so on, for each of the ranks; `splits` null: as
 * many to each. Output: the rows from rank 0, and so on; output_splits says how many from each. */
TONY_COLLECTIVE_API int64_t tony_collective_alltoall(const struct tony_collective_tensor* tensor,
                                                     const int64_t* splits, const void* in);
/* Until all ranks of the set have come to the barrier of this name. */
TONY_COLLECTIVE_API int64_t tony_collective_barrier(const char* name, uint32_t set);

/* Several tensors of one process set, of which none is done before all ranks have submitted all of
 * them. `group`: a name that no other group has until they are done. Arguments are arrays of
 * `count` elements. Either all are submitted, and `handles` are written, or none is. Each returns a
 * code. */
TONY_COLLECTIVE_API int tony_collective_grouped_allreduce(
    const char* group, int count, const struct tony_collective_tensor* tensors,
    const struct tony_collective_reduction* reduction, const void* const* in, void* const* out,
    int64_t* handles);
TONY_COLLECTIVE_API int tony_collective_grouped_allgather(
    const char* group, int count, const struct tony_collective_tensor* tensors,
    const void* const* in, int64_t* handles);
TONY_COLLECTIVE_API int tony_collective_grouped_reducescatter(
    const char* group, int count, const struct tony_collective_tensor* tensors,
    const struct tony_collective_reduction* reduction, const void* const* in, int64_t* handles);

/* All ranks make a process set of `count` ranks of the job, under a name that no other operation
 * has until then, whether they belong to it or not; tony_collective_added_process_set() says its
 * number. A set of the same ranks is the same set. Wait says also RESOURCE_EXHAUSTED or
 * FAILED_PRECONDITION, to all ranks, where there is no memory for it; the rest goes on. */
TONY_COLLECTIVE_API int64_t tony_collective_add_process_set(const char* name, const int* ranks,
                                                            int count);
/* All ranks remove it. What waits in it still fails with FAILED_PRECONDITION. */
TONY_COLLECTIVE_API int64_t tony_collective_remove_process_set(const char* name, uint32_t set);
/* This rank has no more data: until all ranks have joined, it takes part in the others' allreduces
 * with what changes nothing (0 in a sum, the largest number in a minimum), and counts in an
 * average. A minimum, a maximum and a product on GPUs, and all other operations, fail with
 * INVALID_ARGUMENT meanwhile. tony_collective_last_joined() says which one was the last. `gpu`:
 * which one it uses, as CUDA counts them here, if others reduce on GPUs and it has not yet; below
 * 0: it does not say.
 */
TONY_COLLECTIVE_API int64_t tony_collective_join(int gpu);

/* Memory for tensors, on a boundary of 64 bytes. An allreduce of tensors that lie in such memory on
 * all ranks of a host needs no copy; it is theirs together, so a child that is forked does not get
 * a copy of it. Where there are no other ranks to share it with, it is memory as any other. Null:
 * there is none. What is in it is undefined. It outlives shutdown. After an operation that has
 * failed, another rank may still finish the 16 KiB of what was submitted that it writes just then.
 */
TONY_COLLECTIVE_API void* tony_collective_allocate(size_t bytes);
/* INVALID_ARGUMENT: tony_collective_allocate() has not returned it. Null is nothing. */
TONY_COLLECTIVE_API int tony_collective_free(void* data);

/* 1: done, well or not. 0: not yet. Below 0: there is no such handle. */
TONY_COLLECTIVE_API int tony_collective_poll(int64_t handle);
/* The operation's code when it is done; IN_PROGRESS when it is not after `timeout_ms`. */
TONY_COLLECTIVE_API int tony_collective_wait(int64_t handle, int64_t timeout_ms);
/* For tensors of GPUs, so that the host need not wait for the GPU: returns when the GPU has been
 * given the operation, and what `stream` (a cudaStream_t, null: the default one) is given next
 * begins when that is done. Then the output can be used, on this stream, and the handle released.
 * An error that the GPU or another rank has later is told by the next operations, and by
 * tony_collective_wait(), which waits for the GPU; the results are undefined then. Otherwise like
 * tony_collective_wait(). */
TONY_COLLECTIVE_API int tony_collective_wait_stream(int64_t handle, void* stream,
                                                    int64_t timeout_ms);

/* Of an operation that is done, or with the GPU. The memory is this handle's, until it is released;
 * null where there is none. A handle outlives shutdown. That of a GPU is the library's own and no
 * framework's: to release it waits until the GPU has done what it was given before. */
TONY_COLLECTIVE_API void* tony_collective_output_data(int64_t handle);
/* Dimensions, of which up to `capacity` are written to `shape`. */
TONY_COLLECTIVE_API int tony_collective_output_shape(int64_t handle, int64_t* shape, int capacity);
/* As many as ranks, of which up to `capacity` are written: rows from each. Of alltoall. */
TONY_COLLECTIVE_API int tony_collective_output_splits(int64_t handle, int64_t* splits,
                                                      int capacity);
/* Of add_process_set: a number. */
TONY_COLLECTIVE_API int tony_collective_added_process_set(int64_t handle);
/* Of join: a rank. */
TONY_COLLECTIVE_API int tony_collective_last_joined(int64_t handle);
/* Forgets it, with its output. FAILED_PRECONDITION: it is not done, nor with the GPU. */
TONY_COLLECTIVE_API int tony_collective_release(int64_t handle);

/* What there is for tensors of GPUs, also before init: how many GPUs this process sees, and NCCL's
 * version as its headers have it (22809). Below 0, FAILED_PRECONDITION: none that can be used; the
 * sentence says why. */
TONY_COLLECTIVE_API int tony_collective_gpus(void);
TONY_COLLECTIVE_API int tony_collective_nccl_version(void);

/* Seeing it work. */

/* enum tony_collective_operation indexes these. */
enum tony_collective_operation {
  TONY_COLLECTIVE_ALLREDUCE = 0,
  TONY_COLLECTIVE_ALLGATHER = 1,
  TONY_COLLECTIVE_BROADCAST = 2,
  TONY_COLLECTIVE_REDUCESCATTER = 3,
  TONY_COLLECTIVE_ALLTOALL = 4,
  TONY_COLLECTIVE_BARRIER = 5,
  TONY_COLLECTIVE_ADD_PROCESS_SET = 6,
  TONY_COLLECTIVE_REMOVE_PROCESS_SET = 7,
  TONY_COLLECTIVE_OPERATIONS = 8, /* how many there are */
};

/* Of this rank, since init. Times are nanoseconds. */
struct tony_collective_counters {
  size_t struct_size; /* sizeof(struct tony_collective_counters) of the caller */
  int64_t tensors[TONY_COLLECTIVE_OPERATIONS]; /* done well */
  int64_t bytes[TONY_COLLECTIVE_OPERATIONS];   /* of this rank's tensors among them */
  int64_t operations;       /* as which they were done: fewer, as tensors are fused */
  int64_t failed;           /* tensors */
  int64_t by_number;        /* tensors of which rank 0 was told by a number that it knows */
  int64_t by_request;       /* tensors of which it was told all there is to say */
  int64_t negotiation_time; /* in which at least one tensor waited for other ranks or a decision */
  int64_t queue_time;       /* of decisions, until the ones before were done */
  int64_t operation_time;   /* in which operations ran */
  /* In which others waited for this rank and no other. Rank 0 measures it; other ranks have what it
   * has told them, about each second. */
  int64_t waited_for_time;
};

/* FAILED_PRECONDITION: not initialized. INVALID_ARGUMENT: no struct_size. */
TONY_COLLECTIVE_API int tony_collective_get_counters(struct tony_collective_counters* counters);
/* The last of them for each rank: as many as ranks, of which up to `capacity` are written. Of rank
 * 0; others get 0. Returns a code times -1: FAILED_PRECONDITION: not initialized. */
TONY_COLLECTIVE_API int tony_collective_get_waited_for(int64_t* nanoseconds, int capacity);
/* From now on the file has some of them as text, a name and a number in each line: rewritten as a
 * whole about each second while there is something new, and at shutdown. INTERNAL: it cannot be
 * written. */
TONY_COLLECTIVE_API int tony_collective_write_counters(const char* path);

/* A timeline of this rank, for chrome://tracing and Perfetto: for each tensor NEGOTIATE, WAIT and
 * its operation, in rank 0's time. `mark_cycles` not 0: also when rank 0 has decided.
 * FAILED_PRECONDITION: not initialized; there is one already; the file cannot be written. */
TONY_COLLECTIVE_API int tony_collective_start_timeline(const char* path, int mark_cycles);
/* The file is complete. FAILED_PRECONDITION: there is none; not all could be written. */
TONY_COLLECTIVE_API int tony_collective_stop_timeline(void);

/* When a tensor waits for ranks for `report_ms`, rank 0 says so on stderr, with where these ranks
 * stand (60000 unless this is called); after `end_ms` it ends the operations of all ranks with
 * DEADLINE_EXCEEDED or ABORTED. 0: never. Rank 0's call is the one that counts.
 * FAILED_PRECONDITION: not initialized. */
TONY_COLLECTIVE_API int tony_collective_set_stall_times(int64_t report_ms, int64_t end_ms);
/* For a thread of the program that does nothing else: sleeps until somebody asks where this rank
 * stands. Returns the question's number, above 0; 0: nobody has asked within `timeout_ms`; a code
 * times -1: FAILED_PRECONDITION: not initialized, or not any more. */
TONY_COLLECTIVE_API int64_t tony_collective_wait_for_question(int64_t timeout_ms);
/* `text` is what rank 0's report says: its first line is a place, as "train.py:40 in load_batch";
 * what follows are stacks. An answer that comes seconds later is not heard. */
TONY_COLLECTIVE_API int tony_collective_answer(int64_t question, const char* text);

/* What rank 0 tries while the program trains. */
struct tony_collective_autotune {
  size_t struct_size; /* sizeof(struct tony_collective_autotune) */
  /* Not 0: this is tried: how much is reduced at a time; the batching window; at which sizes
   * operations between hosts take another way. */
  int32_t fusion;
  int32_t window;
  int32_t switch_points;
  int32_t warmup_samples;   /* before the first one that counts */
  int32_t steps_per_sample; /* of the training, from 1 */
  int32_t most_tries;       /* values, in all, besides those of now */
  /* A file that gets a line for each sample, comma separated, at last one for the choice; null or
   * empty: none. */
  const char* log;
};

/* Of rank 0: tries settings with what the ranks submit, until it knows the best; says so on stderr,
 * keeps them, and does nothing more. All results are the same with all settings. Steps are told
 * apart by names that come again. With one rank there is nothing to try.
 * FAILED_PRECONDITION: not initialized; another rank; it was called before; the file cannot be
 * written. INVALID_ARGUMENT: a number is none. */
TONY_COLLECTIVE_API int tony_collective_start_autotune(
    const struct tony_collective_autotune* options);

#ifdef __cplusplus
}
#endif

#endif /* TONY_COLLECTIVE_H_ */
