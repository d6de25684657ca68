// The double of NCCL: communicators that do not block, as NCCL's documentation has them.
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "collective/gpu/nccl_types.h"
#include "tests/collective/gpu/fake/fake_gpu.h"
#include "tests/collective/gpu/fake/fake_processes.h"
#include "tests/collective/gpu/fake/fake_stream.h"
#include "tests/collective/gpu/fake/fake_world.h"

using namespace tony::collective;

struct ncclComm {
  std::shared_ptr<FakeWorld> world;
  int rank = 0;
  std::atomic<bool> aborted{false};
  std::atomic<NcclResult> error{kNcclSuccess};
  bool connected = false;
  bool finalizing = false;
  bool parted = false;
  uint64_t operations = 0;
  std::atomic<int> running{0};
  FakeGroup issued;  ///< is on its stream when the next query has said so
  CudaStream stream = nullptr;
};

namespace {

std::mutex worlds_mutex;
std::map<std::string, std::weak_ptr<FakeWorld>> worlds;

thread_local int depth = 0;
thread_local NcclComm group_comm = nullptr;
thread_local CudaStream group_stream = nullptr;
thread_local FakeGroup group;

FakeGpu& Fake() { return *tony_fake_gpu(); }

bool Is(const std::atomic<int>& fault, const ncclComm& comm) { return fault == comm.rank; }

NcclResult Misused() {
  ++Fake().misuses;
  return kNcclInvalidUsage;
}

/// From another thread, in NCCL; here when somebody asks.
void Launch(ncclComm& comm) {
  if (Is(Fake().async_fails_at, comm)) comm.error = kNcclRemoteError;
  ++comm.running;
  const bool exchange = comm.issued.front().call >= FakeCall::kSend;
  const uint64_t number = exchange ? 0 : comm.operations++;
  comm.stream->stream.Add([&comm, exchange, number, ops = std::move(comm.issued)] {
    // With an error it hangs, as a kernel that waits for the network does.
    if (comm.error == kNcclSuccess && exchange) {
      comm.world->Exchange(comm.rank, ops, comm.aborted);
    } else if (comm.error == kNcclSuccess) {
      comm.world->Do(number, comm.rank, ops, comm.aborted);
    } else {
      comm.world->Do(uint64_t{1} << 40, comm.rank, {}, comm.aborted);
    }
    Fake().Note("operation");
    --comm.running;
  });
  comm.issued.clear();
}

/// Between processes there is one world.
std::shared_ptr<FakeWorld> NewWorld(int ranks) {
  FakeProcesses* const processes = Fake().processes;
  if (processes == nullptr) return std::make_shared<FakeThreadWorld>(ranks);
  return std::make_shared<FakeProcessWorld>(ranks, *processes);
}

NcclResult Add(NcclComm comm, CudaStream stream, const FakeOp& op) {
  if (comm == nullptr || stream == nullptr || depth == 0) return Misused();
  if (group_comm != nullptr && (group_comm != comm || group_stream != stream)) return Misused();
  // One at a time, and only when the one before is known to be on its stream.
  if (!comm->connected || comm->finalizing || !comm->issued.empty()) return Misused();
  group_comm = comm;
  group_stream = stream;
  group.push_back(op);
  return kNcclSuccess;
}

}  // namespace

#define TONY_DECLARE(member, symbol, ...) extern "C" NcclResult symbol(__VA_ARGS__);
TONY_NCCL_FUNCTIONS(TONY_DECLARE)
#undef TONY_DECLARE
extern "C" NcclResult ncclGetVersion(int* version);
extern "C" const char* ncclGetErrorString(NcclResult result);
extern "C" const char* ncclGetLastError(NcclComm comm);

NcclResult ncclGetVersion(int* version) {
  *version = Fake().nccl_version;
  return kNcclSuccess;
}

const char* ncclGetErrorString(NcclResult result) {
  return result == kNcclRemoteError ? "remote process exited or there was a network error"
                                    : "error of the double";
}

const char* ncclGetLastError(NcclComm comm) {
  return comm != nullptr && comm->error != kNcclSuccess ? "socket closed" : "";
}

NcclResult ncclGetUniqueId(NcclUniqueId* id) {
  static std::atomic<int> ids{0};
  std::memset(id, 'x', sizeof(*id));  // all of it counts
  const std::string text = "id " + std::to_string(++ids);
  std::memcpy(id->bytes + sizeof(id->bytes) - text.size(), text.data(), text.size());
  return Fake().unique_id_result;
}

NcclResult ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclUniqueId id, int rank,
                                  NcclConfig* config) {
  const bool known = config->magic == 0xcafebeef && config->version >= 21400 &&
                     config->size >= sizeof(NcclConfig) && config->blocking == 0;
  if (!known || rank < 0 || rank >= ranks) return kNcclInvalidArgument;
  if (!FakeContextIsCurrent()) return kNcclUnhandledCudaError;
  if (Fake().init_fails_at == rank) return kNcclSystemError;
  auto* const made = new ncclComm;
  ++Fake().communicators;
  made->rank = rank;
  {
    const std::lock_guard lock(worlds_mutex);
    auto& world = worlds[std::string(id.bytes, sizeof(id.bytes))];
    made->world = world.lock();
    if (made->world == nullptr) world = made->world = NewWorld(ranks);
  }
  if (!Is(Fake().init_hangs_at, *made)) made->world->Join();
  *comm = made;
  return kNcclInProgress;
}

NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult* error) {
  *error = kNcclInProgress;
  if (FakeProcesses* const processes = Fake().processes) {
    ++processes->asked[comm->rank];
    if (processes->broken[comm->rank]) comm->error = kNcclRemoteError;
  }
  if (!comm->connected) {
    if (!comm->world->complete()) return kNcclSuccess;
    comm->connected = true;
  } else if (!comm->issued.empty()) {
    if (Is(Fake().call_hangs_at, *comm)) return kNcclSuccess;
    Launch(*comm);
  } else if (comm->finalizing && !comm->parted) {
    if (Is(Fake().finalize_hangs_at, *comm) || comm->running > 0) return kNcclSuccess;
    if (!comm->world->parted()) return kNcclSuccess;
    comm->parted = true;
  }
  *error = comm->error;
  return kNcclSuccess;
}

NcclResult ncclCommFinalize(NcclComm comm) {
  if (!comm->connected || !comm->issued.empty() || comm->finalizing) return Misused();
  comm->finalizing = true;
  ++Fake().finalized;
  comm->world->Part();
  return kNcclInProgress;
}

NcclResult ncclCommDestroy(NcclComm comm) {
  if (!comm->parted) return Misused();
  ++Fake().destroyed;
  --Fake().communicators;
  delete comm;
  return kNcclSuccess;
}

/// Work on the stream may still use the communicator, so it stays until the process ends.
NcclResult ncclCommAbort(NcclComm comm) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<ncclComm>> kept;
  ++Fake().aborted;
  --Fake().communicators;
  comm->aborted = true;
  comm->world->Wake();
  const std::lock_guard lock(mutex);
  kept.emplace_back(comm);
  return kNcclSuccess;
}

NcclResult ncclGroupStart() {
  ++depth;
  return kNcclSuccess;
}

NcclResult ncclGroupEnd() {
  if (--depth != 0) return Misused();
  const NcclComm comm = std::exchange(group_comm, nullptr);
  FakeGroup ops = std::exchange(group, {});
  if (comm == nullptr) return kNcclSuccess;  // an empty one
  if (Is(Fake().call_fails_at, *comm)) return kNcclUnhandledCudaError;
  if (!FakeContextIsCurrent()) return Misused();
  comm->issued = std::move(ops);
  comm->stream = std::exchange(group_stream, nullptr);
  return kNcclInProgress;
}

NcclResult ncclAllReduce(const void* in, void* out, size_t count, NcclType type, NcclOp op,
                         NcclComm comm, CudaStream stream) {
  return Add(comm, stream, {FakeCall::kAllReduce, in, out, count, type, op, 0});
}

NcclResult ncclReduce(const void* in, void* out, size_t count, NcclType type, NcclOp op, int root,
                      NcclComm comm, CudaStream stream) {
  return Add(comm, stream, {FakeCall::kReduce, in, out, count, type, op, root});
}

NcclResult ncclBroadcast(const void* in, void* out, size_t count, NcclType type, int root,
                         NcclComm comm, CudaStream stream) {
  return Add(comm, stream, {FakeCall::kBroadcast, in, out, count, type, NcclOp::kSum, root});
}

NcclResult ncclReduceScatter(const void* in, void* out, size_t count, NcclType type, NcclOp op,
                             NcclComm comm, CudaStream stream) {
  return Add(comm, stream, {FakeCall::kReduceScatter, in, out, count, type, op, 0});
}

NcclResult ncclAllGather(const void* in, void* out, size_t count, NcclType type, NcclComm comm,
                         CudaStream stream) {
  return Add(comm, stream, {FakeCall::kAllGather, in, out, count, type, NcclOp::kSum, 0});
}

NcclResult ncclSend(const void* in, size_t count, NcclType type, int to, NcclComm comm,
                    CudaStream stream) {
  return Add(comm, stream, {FakeCall::kSend, in, nullptr, count, type, NcclOp::kSum, to});
}

NcclResult ncclRecv(void* out, size_t count, NcclType type, int from, NcclComm comm,
                    CudaStream stream) {
  return Add(comm, stream, {FakeCall::kRecv, nullptr, out, count, type, NcclOp::kSum, from});
}
