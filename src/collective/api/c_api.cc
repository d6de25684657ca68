// The functions of tony/collective.h for init and shutdown, places, buffers and handles. Each wraps
// its work in CallForCode() or CallForNumber(), so no exception leaves the library.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "collective/api/c_call.h"
#include "collective/api/callback_store.h"
#include "collective/api/process.h"
#include "collective/gpu/cuda_driver.h"
#include "collective/gpu/nccl_library.h"
#include "collective/gpu/options.h"
#include "tony/collective.h"

namespace tony::collective {
namespace {

static_assert(TONY_COLLECTIVE_INTERNAL == static_cast<int>(Code::kInternal));
static_assert(TONY_COLLECTIVE_ABORTED == static_cast<int>(Code::kAborted));

/// The store of a job with one rank, which tells its values to nobody but itself.
class OwnStore : public Store {
 public:
  Status Put(const std::string& key, const std::string& value) override {
    values_[key] = value;
    return {};
  }
  Result<std::string> Get(const std::string& key, Deadline) override {
    const auto found = values_.find(key);
    if (found != values_.end()) return found->second;
    return Status(Code::kInvalidArgument, "no store was given, in which '" + key + "' could be");
  }

 private:
  std::map<std::string, std::string> values_;
};

/// Limits a time to a value longer than anybody waits, and short enough to be added to the clock's
/// time.
std::chrono::milliseconds Time(int64_t milliseconds) {
  return std::chrono::milliseconds(std::clamp<int64_t>(milliseconds, 0, int64_t{1} << 40));
}

/// The longest batching window that is accepted; a longer one would look like a hang.
constexpr std::chrono::microseconds kLongestWindow = std::chrono::seconds(10);

void PrintSentence(const std::string& sentence) {
  std::fprintf(stderr, "tony.collective: %s\n", sentence.c_str());
}

Status Init(const tony_collective_options* options) {
  if (Status version = CheckVersion(options); !version.ok()) return version;
  if (options->meet_timeout_ms <= 0 || options->operation_timeout_ms <= 0 ||
      options->fusion_bytes < 0 || options->batching_window_us < 0 ||
      options->batching_window_us > kLongestWindow.count()) {
    return {Code::kInvalidArgument, "a time, which has to be above 0, or a size is none"};
  }
  const auto* const secret = static_cast<const char*>(options->secret);
  Process::Setup setup = {
      .meeting = {.rank = options->rank,
                  .ranks = options->size,
                  .secret = secret == nullptr ? "" : std::string(secret, options->secret_size)},
      .meet_timeout = Time(options->meet_timeout_ms),
      .engine = {.patience = Time(options->operation_timeout_ms),
                 .gpu = GpuOptionsFromEnvironment(),
                 .say = PrintSentence}};
  if (options->scope != nullptr) setup.meeting.scope = options->scope;
  setup.meeting.wire_mac = options->wire_mac != 0;
  if (options->switch_points != nullptr) setup.meeting.points_file = options->switch_points;
  setup.engine.limits.window = std::chrono::microseconds(options->batching_window_us);
  if (options->fusion_bytes > 0) {
    setup.engine.limits.fusion_bytes = static_cast<size_t>(options->fusion_bytes);
  }
  if (options->store != nullptr) {
    CallbackStore store(*options->store);
    return Process::Get().Init(store, setup);
  }
  OwnStore store;
  return Process::Get().Init(store, setup);
}

/// The request of an operation with an output to read. FailedPrecondition – the operation is not
/// done, and the GPU does not have it.
Result<std::shared_ptr<RequestHandle>> Done(int64_t handle) {
  auto request = Process::Get().Find(handle);
  if (request.ok() && !(*request)->issued()) {
    return Status(Code::kFailedPrecondition,
                  "the operation with the handle " + std::to_string(handle) + " is on its way");
  }
  return request;
}

int CopyNumbers(const std::vector<int64_t>& from, int64_t* to, int capacity) {
  const auto count = std::min(from.size(), static_cast<size_t>(std::max(capacity, 0)));
  std::copy_n(from.begin(), count, to);
  return static_cast<int>(from.size());
}

}  // namespace
}  // namespace tony::collective

using namespace tony::collective;  // NOLINT(google-build-using-namespace): what follows is C

extern "C" {

int tony_collective_init(const tony_collective_options* options) {
  return CallForCode([=] { return Init(options); });
}

int tony_collective_shutdown() {
  return CallForCode([] { return Process::Get().Shutdown(); });
}

int tony_collective_is_initialized() { return Process::Get().initialized() ? 1 : 0; }

int tony_collective_rank() { return tony_collective_process_set_rank(kAllRanks); }

int tony_collective_size() { return tony_collective_process_set_size(kAllRanks); }

int tony_collective_process_set_rank(uint32_t set) {
  return static_cast<int>(CallForNumber([=]() -> Result<int> {
    auto membership = Process::Get().MembershipIn(set);
    return membership.ok() ? Result<int>(membership->rank) : membership.status();
  }));
}

int tony_collective_process_set_size(uint32_t set) {
  return static_cast<int>(CallForNumber([=]() -> Result<int> {
    auto membership = Process::Get().MembershipIn(set);
    return membership.ok() ? Result<int>(membership->ranks) : membership.status();
  }));
}

const char* tony_collective_last_error() { return LastError().c_str(); }

void* tony_collective_allocate(size_t bytes) {
  void* data = nullptr;
  CallForCode([&]() -> Status {
    auto allocated = Process::Get().Allocate(bytes);
    if (allocated.ok()) data = *allocated;
    return allocated.status();
  });
  return data;
}

int tony_collective_free(void* data) {
  return CallForCode([=] { return Process::Get().Free(data); });
}

int tony_collective_poll(int64_t handle) {
  return static_cast<int>(CallForNumber([=]() -> Result<int> {
    auto request = Process::Get().Find(handle);
    return request.ok() ? Result<int>((*request)->done() ? 1 : 0) : request.status();
  }));
}

int tony_collective_wait(int64_t handle, int64_t timeout_ms) {
  bool in_time = true;
  const int code = CallForCode([&]() -> Status {
    auto request = Process::Get().Find(handle);
    if (!request.ok()) return request.status();
    // A time-out is no error here: it is no Status, and it leaves the last error's message as it
    // is.
    in_time = (*request)->Wait(After(Time(timeout_ms)));
    return in_time ? (*request)->status() : Status();
  });
  return in_time ? code : TONY_COLLECTIVE_IN_PROGRESS;
}

int tony_collective_wait_stream(int64_t handle, void* stream, int64_t timeout_ms) {
  bool in_time = true;
  const int code = CallForCode([&]() -> Status {
    auto request = Process::Get().Find(handle);
    if (!request.ok()) return request.status();
    in_time = (*request)->WaitForGpu(After(Time(timeout_ms)));
    if (!in_time) return {};
    // An operation that has failed already returns its error: there is no event to wait for.
    if ((*request)->done() && !(*request)->status().ok()) return (*request)->status();
    const std::shared_ptr<Event>& done = (*request)->gpu_done();
    return done == nullptr ? Status() : done->BlockStream(static_cast<CudaStream>(stream));
  });
  return in_time ? code : TONY_COLLECTIVE_IN_PROGRESS;
}

int tony_collective_gpus() {
  return static_cast<int>(CallForNumber([]() -> Result<int> {
    // The library is loaded here without the engine, since the function also works before init.
    auto driver = CudaDriver::Load(GpuOptionsFromEnvironment().cuda_library);
    return driver.ok() ? Result<int>((*driver)->devices()) : driver.status();
  }));
}

int tony_collective_nccl_version() {
  return static_cast<int>(CallForNumber([]() -> Result<int> {
    auto nccl = NcclLibrary::Load(GpuOptionsFromEnvironment().nccl_library);
    return nccl.ok() ? Result<int>((*nccl)->version_code()) : nccl.status();
  }));
}

void* tony_collective_output_data(int64_t handle) {
  void* data = nullptr;
  CallForCode([&]() -> Status {
    auto request = Done(handle);
    if (request.ok()) data = (*request)->output().data.get();
    return request.status();
  });
  return data;
}

int tony_collective_output_shape(int64_t handle, int64_t* shape, int capacity) {
  return static_cast<int>(CallForNumber([=]() -> Result<int> {
    auto request = Done(handle);
    if (!request.ok()) return request.status();
    return CopyNumbers((*request)->output().shape, shape, capacity);
  }));
}

int tony_collective_output_splits(int64_t handle, int64_t* splits, int capacity) {
  return static_cast<int>(CallForNumber([=]() -> Result<int> {
    auto request = Done(handle);
    if (!request.ok()) return request.status();
    return CopyNumbers((*request)->output().splits, splits, capacity);
  }));
}

int tony_collective_added_process_set(int64_t handle) {
  return static_cast<int>(CallForNumber([=]() -> Result<int> {
    auto request = Done(handle);
    if (!request.ok()) return request.status();
    if ((*request)->status().ok()) return static_cast<int>((*request)->output().set);
    return (*request)->status();
  }));
}

int tony_collective_last_joined(int64_t handle) {
  return static_cast<int>(CallForNumber([=]() -> Result<int> {
    auto request = Done(handle);
    if (!request.ok()) return request.status();
    if ((*request)->last_joined() >= 0) return (*request)->last_joined();
    return Status(Code::kInvalidArgument,
                  "the handle is not of a join that all ranks have come to");
  }));
}

int tony_collective_release(int64_t handle) {
  return CallForCode([=] { return Process::Get().Release(handle); });
}

}  // extern "C"
