/* Collective operations among the ranks of a job, for programs in any language.
 *
 * Each rank is a process. All ranks submit tensors under names, from any thread and in any order.
 * An operation is done when all ranks have submitted its name. If the ranks disagree about an
 * operation, all of them get an error that says what each rank has submitted, and all other
 * operations go on.
 *
 *   1. Call tony_collective_init() once; it returns when all ranks are there.
 *   2. Call the function of an operation; it returns a handle at once. The library owns the passed
 *      memory until the operation is done.
 *   3. Call tony_collective_wait(), then read the output if the operation has one, then call
 *      tony_collective_release().
 *   4. Call tony_collective_shutdown() when all operations that this rank needs are done.
 *
 * Errors. A function returns TONY_COLLECTIVE_OK or a code of enum tony_collective_code. Functions
 * that return a handle or a number return the code times -1. tony_collective_last_error() returns
 * the message.
 *
 * Threads. All functions may be called from all threads at once; init and shutdown wait for each
 * other. The library has threads of its own, which sleep while there is nothing to do. It calls
 * back only the functions of the store, from the thread that called init.
 *
 * Fork. A child of fork() has no part in the operations: its calls return
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
  TONY_COLLECTIVE_INVALID_ARGUMENT = 1,    /* the call can never work, or the ranks disagree */
  TONY_COLLECTIVE_FAILED_PRECONDITION = 2, /* not initialized, shut down, joined, after fork() */
  TONY_COLLECTIVE_DEADLINE_EXCEEDED = 3,   /* a rank was missing at the deadline */
  TONY_COLLECTIVE_ABORTED = 4,             /* a rank has left or its process has ended */
  TONY_COLLECTIVE_RESOURCE_EXHAUSTED = 5,  /* no memory, no descriptors, no threads */
  TONY_COLLECTIVE_INTERNAL = 6,            /* an unexpected error of the operating system */
  TONY_COLLECTIVE_IN_PROGRESS = 7,         /* from wait: the operation is not done yet */
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

/* The device whose memory holds a tensor. All ranks have to name the same one. */
enum tony_collective_device {
  TONY_COLLECTIVE_CPU = 0,
  /* Memory of a GPU; each rank has one GPU, and NCCL reduces there. FAILED_PRECONDITION, on all
   * ranks: one of them has no GPU or no NCCL. INVALID_ARGUMENT: the tensor has 16-bit integers,
   * or the reduction is Adasum. */
  TONY_COLLECTIVE_GPU = 1,
};

/* The reductions. Integers wrap around. For bool, sum and maximum are "or"; product and minimum are
 * "and". */
enum tony_collective_reduce {
  TONY_COLLECTIVE_SUM = 0,
  TONY_COLLECTIVE_PRODUCT = 1,
  TONY_COLLECTIVE_MIN = 2,
  TONY_COLLECTIVE_MAX = 3,
  /* The sum divided by the number of ranks; for integers without the fraction. Not for bool. */
  TONY_COLLECTIVE_AVERAGE = 4,
  /* Adds orthogonal vectors and averages parallel ones: arXiv 2006.02924. Only for allreduce of
   * floating-point types. */
  TONY_COLLECTIVE_ADASUM = 5,
};

/* Receives a store's answer. The store calls it once: with the value, or with a message if the call
 * fails. */
typedef void (*tony_collective_take)(void* receiver, const void* bytes, size_t size);

/* A key-value store through which the ranks exchange their addresses. All ranks of this job see the
 * keys, and only those of this start of the job. Keys consist of letters, digits, '.', '-', '_' and
 * '/'. */
struct tony_collective_store {
  void* user; /* passed to both functions */
  /* Writes a value; called once for each key. Returns a code. */
  int (*put)(void* user, const char* key, const void* value, size_t size, tony_collective_take take,
             void* receiver);
  /* Gives the value to `take` as soon as a rank has put it. Returns a code. DEADLINE_EXCEEDED: no
   * rank has put it within `timeout_ms`. */
  int (*get)(void* user, const char* key, int64_t timeout_ms, tony_collective_take take,
             void* receiver);
};

struct tony_collective_options {
  size_t struct_size; /* sizeof(struct tony_collective_options) */
  int32_t rank;       /* from 0 */
  int32_t size;       /* number of ranks */
  /* A secret that all ranks of the job know and nobody else: at most 64 bytes. Without a secret,
   * ranks meet only if all of them can share memory. */
  const void* secret;
  size_t secret_size;
  int64_t meet_timeout_ms; /* longest wait in init until all ranks are there */
  /* Longest wait for a rank to do its part of an operation that all ranks have submitted. */
  int64_t operation_timeout_ms;
  int64_t fusion_bytes; /* most bytes that one operation fuses; 0: the library's choice */
  /* Used until init returns; may be null if there is one rank. */
  const struct tony_collective_store* store;
  /* Rank 0 only: a file with the sizes at which operations between hosts switch to another
   * algorithm. All ranks then use that table. Null or empty: the library's own table. */
  const char* switch_points;
  /* Rank 0 only: how long, in microseconds, a ready tensor waits for others to be fused with it. 0:
   * no tensor waits; tensors that become ready during an operation are fused after it. */
  int64_t batching_window_us;
  /* A name for this start of the job, the same on all ranks. Values that the ranks put into the
   * store are signed with the secret for this start only. Null or empty: the secret is used for no
   * other start. */
  const char* scope;
  /* Not 0: each piece of data that goes through TCP carries a MAC, so that nobody on the network
   * can change it. If one rank sets it, all ranks do so. Messages between rank 0 and the other
   * ranks carry a MAC in any case. */
  int32_t wire_mac;
};

/* A tensor to submit. The struct is copied before the function returns; the tensor's memory is not.
 */
struct tony_collective_tensor {
  const char* name;
  int32_t type;         /* enum tony_collective_type */
  int32_t dimensions;   /* 0: a scalar */
  const int64_t* shape; /* number of elements in each dimension; row-major */
  /* The process set of the operation; 0: all ranks. In the descriptions below, "ranks" are the
   * ranks of the set, numbered within it; only the root of a broadcast is a rank of the job. Names
   * are unique within their set. */
  uint32_t set;
  int32_t device; /* enum tony_collective_device: where the passed memory and an output lie */
  /* For a GPU: a recorded cudaEvent_t, after which the memory holds the tensor's values. Null: it
   * holds them now. The event must exist until tony_collective_wait_stream() or
   * tony_collective_wait() has returned, or tony_collective_poll() has returned 1. */
  void* ready;
};

/* How values are reduced: each value is multiplied by `prescale` before the reduction, and the
 * result by `postscale` after it. */
struct tony_collective_reduction {
  int32_t reduce; /* enum tony_collective_reduce */
  double prescale;
  double postscale;
};

/* Meets the other ranks: waits until all of them have called it. FAILED_PRECONDITION: the library
 * is initialized already. DEADLINE_EXCEEDED: ranks are missing; the message names them. */
TONY_COLLECTIVE_API int tony_collective_init(const struct tony_collective_options* options);
/* Leaves the other ranks: they are told that this rank submits nothing more. Operations that are
 * not done fail. It may be called at any time, also twice; afterwards init may be called again. */
TONY_COLLECTIVE_API int tony_collective_shutdown(void);
/* Returns 1 or 0; in a child of fork() 0. */
TONY_COLLECTIVE_API int tony_collective_is_initialized(void);
TONY_COLLECTIVE_API int tony_collective_rank(void);
TONY_COLLECTIVE_API int tony_collective_size(void);
/* This rank's number in a process set, and the number of ranks in it. INVALID_ARGUMENT times -1:
 * there is no such set, or this rank does not belong to it. */
TONY_COLLECTIVE_API int tony_collective_process_set_rank(uint32_t set);
TONY_COLLECTIVE_API int tony_collective_process_set_size(uint32_t set);

/* The message of this thread's last call that failed. It stays valid until this thread's next call
 * that fails. */
TONY_COLLECTIVE_API const char* tony_collective_last_error(void);

/* The operations. Each returns a handle, above 0, or a code times -1. INVALID_ARGUMENT: an
 * operation of this name is not done yet, or an argument is invalid. Disagreements between the
 * ranks are reported by tony_collective_wait(). */

/* Writes the reduction of all ranks' `in` to `out`. Both have the tensor's shape; `out` may be
 * `in`. */
TONY_COLLECTIVE_API int64_t tony_collective_allreduce(
    const struct tony_collective_tensor* tensor, const struct tony_collective_reduction* reduction,
    const void* in, void* out);
/* Output: the concatenation of all ranks' tensors, in the order of ranks. Their first dimensions
 * may differ. */
TONY_COLLECTIVE_API int64_t tony_collective_allgather(const struct tony_collective_tensor* tensor,
                                                      const void* in);
/* Copies `data` of rank `root` to `data` of all other ranks. */
TONY_COLLECTIVE_API int64_t tony_collective_broadcast(const struct tony_collective_tensor* tensor,
                                                      int root, void* data);
/* Output: this rank's rows of the result that allreduce would give. If the rows cannot be divided
 * evenly, the first ranks have one row more. */
TONY_COLLECTIVE_API int64_t
tony_collective_reducescatter(const struct tony_collective_tensor* tensor,
                              const struct tony_collective_reduction* reduction, const void* in);
/* Sends the first splits[0] rows to rank 0, the next splits[1] rows to rank 1, and so on. `splits`
 * null: the same number of rows to each rank. Output: the rows from rank 0, then those from rank 1,
 * and so on; tony_collective_output_splits() says how many came from each. */
TONY_COLLECTIVE_API int64_t tony_collective_alltoall(const struct tony_collective_tensor* tensor,
                                                     const int64_t* splits, const void* in);
/* A barrier: done when all ranks of the set have submitted this name. */
TONY_COLLECTIVE_API int64_t tony_collective_barrier(const char* name, uint32_t set);

/* Grouped operations: several tensors of one process set, none of which is done before all ranks
 * have submitted all of them. `group`: a name that no other group uses until they are done. The
 * arguments are arrays of `count` elements. Either all tensors are submitted and `handles` is
 * written, or none is. Each function returns a code. */
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

/* Makes a process set of `count` ranks of the job. All ranks submit it, whether they belong to the
 * set or not, under a name that no other operation uses until it is done.
 * tony_collective_added_process_set() returns the set's number. A set of the same ranks is the same
 * set. tony_collective_wait() may also return, on all ranks, RESOURCE_EXHAUSTED or
 * FAILED_PRECONDITION: there is no memory for the set; other operations go on. */
TONY_COLLECTIVE_API int64_t tony_collective_add_process_set(const char* name, const int* ranks,
                                                            int count);
/* Removes a process set. All ranks submit it. Operations that still wait in the set fail with
 * FAILED_PRECONDITION. */
TONY_COLLECTIVE_API int64_t tony_collective_remove_process_set(const char* name, uint32_t set);
/* Joins: this rank has no more data. Until all ranks have joined, it takes part in the others'
 * allreduces with neutral elements (0 for a sum, the largest number for a minimum), and it counts
 * in averages. Meanwhile minimum, maximum and product on GPUs fail, and all operations that are
 * no allreduce, with INVALID_ARGUMENT. tony_collective_last_joined() returns the rank that joined
 * last. `gpu`: the GPU that this rank uses, as CUDA counts them here, for the case that other ranks
 * reduce on GPUs and this rank has not yet; below 0: the rank does not say. */
TONY_COLLECTIVE_API int64_t tony_collective_join(int gpu);

/* Allocates memory for tensors, aligned to 64 bytes. An allreduce needs no copy if the tensors of
 * all ranks of a host lie in such memory. This memory is shared between the ranks of the host, so a
 * forked child does not get a copy of it. If there are no other ranks to share it with, it is
 * ordinary memory. Null: no memory is left. The contents are undefined. The memory stays valid
 * after shutdown. After an operation that has failed, another rank may still finish writing the one
 * 16 KiB block of the submitted tensors that it is writing at that moment. */
TONY_COLLECTIVE_API void* tony_collective_allocate(size_t bytes);
/* Frees memory of tony_collective_allocate(). Null is allowed. INVALID_ARGUMENT:
 * tony_collective_allocate() has not returned `data`. */
TONY_COLLECTIVE_API int tony_collective_free(void* data);

/* 1: the operation is done, successfully or not. 0: it is not done yet. Below 0: there is no such
 * handle. */
TONY_COLLECTIVE_API int tony_collective_poll(int64_t handle);
/* Waits until the operation is done and returns its code. IN_PROGRESS: it is not done after
 * `timeout_ms`. */
TONY_COLLECTIVE_API int tony_collective_wait(int64_t handle, int64_t timeout_ms);
/* For tensors on GPUs: lets `stream` wait for the operation instead of the host. Returns when the
 * GPU has been given the operation; work given to `stream` (a cudaStream_t, null: the default one)
 * from then on begins when the operation is done. After it has returned, the output can be used on
 * this stream, and the handle can be released. An error that the GPU or another rank has later is
 * returned by the next operations, and by tony_collective_wait(), which waits for the GPU; the
 * results are then undefined. Otherwise it is like tony_collective_wait(). */
TONY_COLLECTIVE_API int tony_collective_wait_stream(int64_t handle, void* stream,
                                                    int64_t timeout_ms);

/* The output of an operation that is done, or that the GPU has been given. The memory belongs to
 * the handle until its release, also after shutdown; null: the operation has no output. On a GPU it
 * is the library's own memory and no framework's: its release waits until the GPU has done all that
 * it was given before. */
TONY_COLLECTIVE_API void* tony_collective_output_data(int64_t handle);
/* Returns the number of the output's dimensions, and writes up to `capacity` of them to `shape`. */
TONY_COLLECTIVE_API int tony_collective_output_shape(int64_t handle, int64_t* shape, int capacity);
/* For alltoall: returns the number of ranks, and writes the number of rows from each rank to
 * `splits`, up to `capacity` of them. */
TONY_COLLECTIVE_API int tony_collective_output_splits(int64_t handle, int64_t* splits,
                                                      int capacity);
/* For tony_collective_add_process_set(): the set's number. */
TONY_COLLECTIVE_API int tony_collective_added_process_set(int64_t handle);
/* For tony_collective_join(): the rank that joined last. */
TONY_COLLECTIVE_API int tony_collective_last_joined(int64_t handle);
/* Releases a handle and its output. FAILED_PRECONDITION: the operation is not done, and the GPU
 * has not been given it. */
TONY_COLLECTIVE_API int tony_collective_release(int64_t handle);

/* The number of GPUs that this process sees, and NCCL's version as in its headers (22809). Both may
 * be called before init. FAILED_PRECONDITION times -1: there is none that can be used; the message
 * says why. */
TONY_COLLECTIVE_API int tony_collective_gpus(void);
TONY_COLLECTIVE_API int tony_collective_nccl_version(void);

/* Functions to observe the operations. */

/* Indexes of the arrays in struct tony_collective_counters. */
enum tony_collective_operation {
  TONY_COLLECTIVE_ALLREDUCE = 0,
  TONY_COLLECTIVE_ALLGATHER = 1,
  TONY_COLLECTIVE_BROADCAST = 2,
  TONY_COLLECTIVE_REDUCESCATTER = 3,
  TONY_COLLECTIVE_ALLTOALL = 4,
  TONY_COLLECTIVE_BARRIER = 5,
  TONY_COLLECTIVE_ADD_PROCESS_SET = 6,
  TONY_COLLECTIVE_REMOVE_PROCESS_SET = 7,
  TONY_COLLECTIVE_OPERATIONS = 8, /* number of operations */
};

/* Counters of this rank, since init. Times are nanoseconds. */
struct tony_collective_counters {
  size_t struct_size; /* sizeof(struct tony_collective_counters) of the caller */
  int64_t tensors[TONY_COLLECTIVE_OPERATIONS]; /* tensors done successfully */
  int64_t bytes[TONY_COLLECTIVE_OPERATIONS];   /* bytes of this rank's tensors among them */
  int64_t operations; /* operations that did them: fewer than tensors, since tensors are fused */
  int64_t failed;     /* tensors that failed */
  int64_t by_number;  /* tensors submitted to rank 0 by a number that it knows */
  int64_t by_request; /* tensors submitted to rank 0 by a full request */
  int64_t negotiation_time; /* time in which any tensor waited for ranks or a decision */
  int64_t queue_time;       /* time in which decisions waited for earlier ones to be done */
  int64_t operation_time;   /* time in which operations ran */
  /* Time in which other ranks waited for this rank and no other. Rank 0 measures it and tells it to
   * the other ranks about once a second. */
  int64_t waited_for_time;
};

/* Reads the counters. FAILED_PRECONDITION: not initialized. INVALID_ARGUMENT: struct_size is not
 * set. */
TONY_COLLECTIVE_API int tony_collective_get_counters(struct tony_collective_counters* counters);
/* The waited_for_time of each rank. On rank 0: returns the number of ranks, and writes up to
 * `capacity` times. On other ranks: returns 0. FAILED_PRECONDITION times -1: not initialized. */
TONY_COLLECTIVE_API int tony_collective_get_waited_for(int64_t* nanoseconds, int capacity);
/* From now on writes some of the counters to a text file, one line with a name and a number for
 * each. The file is replaced as a whole about once a second while a counter changes, and at
 * shutdown. INTERNAL: the file cannot be written. */
TONY_COLLECTIVE_API int tony_collective_write_counters(const char* path);

/* Starts a timeline of this rank for chrome://tracing and Perfetto. It has NEGOTIATE, WAIT and the
 * operation for each tensor, in rank 0's time. `mark_cycles` not 0: it also marks rank 0's
 * decisions. FAILED_PRECONDITION: not initialized; a timeline is running already; the file cannot
 * be written. */
TONY_COLLECTIVE_API int tony_collective_start_timeline(const char* path, int mark_cycles);
/* Ends the timeline; when it returns, the file is complete. FAILED_PRECONDITION: there is no
 * timeline; part of it could not be written. */
TONY_COLLECTIVE_API int tony_collective_stop_timeline(void);

/* Sets the times after which rank 0 acts on a stalled tensor. When a tensor has waited for ranks
 * for `report_ms` (60000 unless this is called), rank 0 reports on stderr which ranks these are and
 * what they are doing. After `end_ms` it ends the operations of all ranks with DEADLINE_EXCEEDED or
 * ABORTED. 0: never. Only rank 0's call has an effect. FAILED_PRECONDITION: not initialized. */
TONY_COLLECTIVE_API int tony_collective_set_stall_times(int64_t report_ms, int64_t end_ms);
/* For a dedicated thread of the program: sleeps until rank 0 asks what this rank is doing. Returns
 * the question's number, above 0; 0 if nobody has asked within `timeout_ms`; or a code times -1.
 * FAILED_PRECONDITION: not initialized, or no longer. */
TONY_COLLECTIVE_API int64_t tony_collective_wait_for_question(int64_t timeout_ms);
/* Answers a question. Rank 0's report contains `text`: its first line is a place, like "train.py:40
 * in load_batch"; stacks follow. An answer that comes seconds later is ignored. */
TONY_COLLECTIVE_API int tony_collective_answer(int64_t question, const char* text);

/* What rank 0 tries while the program trains. */
struct tony_collective_autotune {
  size_t struct_size; /* sizeof(struct tony_collective_autotune) */
  /* Not 0: the setting is tried. `fusion`: bytes fused into one operation. `window`: the batching
   * window. `switch_points`: the sizes at which operations between hosts switch to another
   * algorithm. */
  int32_t fusion;
  int32_t window;
  int32_t switch_points;
  int32_t warmup_samples;   /* samples before the first one that counts */
  int32_t steps_per_sample; /* training steps in a sample, at least 1 */
  int32_t most_tries;       /* most values tried, in total, besides the current ones */
  /* A file that gets a comma-separated line for each sample, and a last one for the choice. Null or
   * empty: no file. */
  const char* log;
};

/* Rank 0 only: tries settings on the operations that the ranks submit, until it knows the best;
 * then reports them on stderr, keeps them and stops trying. All settings give the same results.
 * Steps are recognized by names that come again. With one rank there is nothing to try.
 * FAILED_PRECONDITION: not initialized; called on another rank; called before; the file cannot be
 * written. INVALID_ARGUMENT: a number is out of range. */
TONY_COLLECTIVE_API int tony_collective_start_autotune(
    const struct tony_collective_autotune* options);

#ifdef __cplusplus
}
#endif

#endif /* TONY_COLLECTIVE_H_ */
