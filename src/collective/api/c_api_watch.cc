// The functions of tony/collective.h for counters, timeline, stalls and questions. Each runs on the
// engine's Watch, and fails if the library is not initialized.
#include <algorithm>
#include <cstring>
#include <string>

#include "collective/api/c_call.h"
#include "collective/api/process.h"
#include "tony/collective.h"

namespace tony::collective {
namespace {

// The C constants index arrays of Counters, so they must be equal to the values of Operation.
static_assert(TONY_COLLECTIVE_OPERATIONS == static_cast<int>(kOperations));
static_assert(TONY_COLLECTIVE_BARRIER == static_cast<int>(Operation::kBarrier));
static_assert(TONY_COLLECTIVE_ADD_PROCESS_SET == static_cast<int>(Operation::kAddSet));
static_assert(TONY_COLLECTIVE_REMOVE_PROCESS_SET == static_cast<int>(Operation::kRemoveSet));
static_assert(TONY_COLLECTIVE_ALLTOALL == static_cast<int>(Operation::kAllToAll));
static_assert(TONY_COLLECTIVE_BROADCAST == static_cast<int>(Operation::kBroadcast));

std::chrono::milliseconds Time(int64_t milliseconds) {
  return std::chrono::milliseconds(std::clamp<int64_t>(milliseconds, 0, int64_t{1} << 40));
}

tony_collective_counters InC(const Counters& counters) {
  tony_collective_counters all = {.struct_size = sizeof(tony_collective_counters)};
  std::copy(counters.tensors.begin(), counters.tensors.end(), all.tensors);
  std::copy(counters.bytes.begin(), counters.bytes.end(), all.bytes);
  all.operations = counters.operations;
  all.failed = counters.failed;
  all.by_number = counters.by_number;
  all.by_request = counters.by_request;
  all.negotiation_time = counters.negotiation.count();
  all.queue_time = counters.queue.count();
  all.operation_time = counters.operation.count();
  all.waited_for_time = counters.waited_for.count();
  return all;
}

Status GetCounters(tony_collective_counters* to) {
  if (to == nullptr || to->struct_size <= sizeof(to->struct_size)) {
    return {Code::kInvalidArgument, "the counters' struct_size is not set"};
  }
  auto counters =
      Process::Get().OfWatch([](Watch& watch) -> Result<Counters> { return watch.Count(); });
  if (!counters.ok()) return counters.status();
  // The caller's struct may be of another version of the header: only the members that both
  // versions have are written.
  const size_t size = std::min(to->struct_size, sizeof(*to));
  tony_collective_counters all = InC(*counters);
  all.struct_size = to->struct_size;
  std::memcpy(to, &all, size);
  return {};
}

}  // namespace
}  // namespace tony::collective

using namespace tony::collective;  // NOLINT(google-build-using-namespace): what follows is C

extern "C" {

int tony_collective_get_counters(tony_collective_counters* counters) {
  return CallForCode([=] { return GetCounters(counters); });
}

int tony_collective_get_waited_for(int64_t* nanoseconds, int capacity) {
  return static_cast<int>(CallForNumber([=]() -> Result<int> {
    auto counters =
        Process::Get().OfWatch([](Watch& watch) -> Result<Counters> { return watch.Count(); });
    if (!counters.ok()) return counters.status();
    const auto& ranks = counters->waited_for_ranks;
    for (size_t i = 0; i < ranks.size() && static_cast<int>(i) < capacity; ++i) {
      nanoseconds[i] = ranks[i].count();
    }
    return static_cast<int>(ranks.size());
  }));
}

int tony_collective_write_counters(const char* path) {
  return CallForCode([=]() -> Status {
    if (path == nullptr) return {Code::kInvalidArgument, "counters without a file"};
    return Process::Get().OfWatch([=](Watch& watch) { return watch.WriteCounters(path); });
  });
}

int tony_collective_start_timeline(const char* path, int mark_cycles) {
  return CallForCode([=]() -> Status {
    if (path == nullptr) return {Code::kInvalidArgument, "a timeline without a file"};
    return Process::Get().OfWatch(
        [=](Watch& watch) { return watch.StartTimeline(path, mark_cycles != 0); });
  });
}

int tony_collective_stop_timeline() {
  return CallForCode(
      [] { return Process::Get().OfWatch([](Watch& watch) { return watch.StopTimeline(); }); });
}

int tony_collective_set_stall_times(int64_t report_ms, int64_t end_ms) {
  return CallForCode([=] {
    return Process::Get().OfWatch([=](Watch& watch) -> Status {
      watch.SetPatience({.report = Time(report_ms), .end = Time(end_ms)});
      return {};
    });
  });
}

int64_t tony_collective_wait_for_question(int64_t timeout_ms) {
  return CallForNumber([=]() -> Result<int64_t> {
    // The wait is outside OfWatch(), on a shared pointer: it must not keep the engine alive, which
    // may be shut down meanwhile.
    auto questions = Process::Get().OfWatch(
        [](Watch& watch) -> Result<std::shared_ptr<Questions>> { return watch.questions(); });
    if (!questions.ok()) return questions.status();
    const int64_t question = (*questions)->Wait(After(Time(timeout_ms)));
    if (question != Questions::kClosed) return question;
    return Status(Code::kFailedPrecondition, "the collective library was shut down");
  });
}

int tony_collective_answer(int64_t question, const char* text) {
  return CallForCode([=]() -> Status {
    if (text == nullptr) return {Code::kInvalidArgument, "an answer without a text"};
    return Process::Get().OfWatch([=](Watch& watch) -> Status {
      watch.Answer(question, text);
      return {};
    });
  });
}

}  // extern "C"
