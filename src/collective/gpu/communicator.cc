// Polls NCCL and the GPU: yields the processor for the first millisecond, then sleeps between
// polls.
#include "collective/gpu/communicator.h"

#include <cstring>
#include <thread>
#include <utility>

namespace tony::collective {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kYieldTime = milliseconds(1);
constexpr auto kSleep = microseconds(50);
constexpr auto kClosePatience = std::chrono::seconds(5);
/// When a rank ends, its NCCL connections break, and so do those of the host's group. NCCL does not
/// know which rank it was; the host's connections tell, on a loaded machine within this time.
constexpr auto kNamingTime = std::chrono::seconds(3);

/// The first 16 ranks, and the number of the others.
std::string RanksText(const std::vector<int>& ranks) {
  constexpr size_t kNamed = 16;
  std::string text;
  for (size_t i = 0; i < ranks.size() && i < kNamed; ++i) {
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kNamed) text += " and " + std::to_string(ranks.size() - kNamed) + " more";
  return text;
}

std::string Milliseconds(steady_clock::duration time) {
  return std::to_string(duration_cast<milliseconds>(time).count()) + " ms";
}

}  // namespace

Communicator::Communicator(std::shared_ptr<const NcclLibrary> nccl, std::shared_ptr<Device> device,
                           Membership membership)
    : nccl_(std::move(nccl)), device_(std::move(device)), membership_(std::move(membership)) {}

Communicator::~Communicator() { Close(After(kClosePatience)); }

Status Communicator::Connect(Deadline deadline) {
  if (!failure_.ok()) return failure_;
  NcclUniqueId id = {};
  const bool possible = membership_.position >= 0 && membership_.position < ranks() &&
                        membership_.unique_id.size() == sizeof(id.bytes);
  if (!possible || comm_ != nullptr) {
    return {Code::kInvalidArgument, "place " + std::to_string(membership_.position) + " of " +
                                        std::to_string(ranks()) + " ranks with an id of " +
                                        std::to_string(membership_.unique_id.size()) +
                                        " bytes is none of NCCL's, or is taken already"};
  }
  std::memcpy(id.bytes, membership_.unique_id.data(), sizeof(id.bytes));
  const Device::Current current(*device_);
  NcclConfig config;
  const NcclResult result =
      nccl_->CommInitRankConfig(&comm_, ranks(), id, membership_.position, &config);
  return Took("the meeting of " + std::to_string(ranks()) + " ranks", result, deadline);
}

Status Communicator::Issue(const std::string& what,
                           const std::function<NcclResult(NcclComm)>& calls, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (comm_ == nullptr) return {Code::kFailedPrecondition, "the ranks' GPUs are not connected"};
  // If a rank is known to have failed, the operation could never finish, so it is not begun.
  if (Status alive = CheckRanks(what); !alive.ok()) return Abort(alive);
  const Device::Current current(*device_);
  NcclResult result = nccl_->GroupStart();
  if (result == kNcclSuccess) {
    const NcclResult called = calls(comm_);
    result = nccl_->GroupEnd();
    if (called != kNcclSuccess && called != kNcclInProgress) result = called;
  }
  return Took(what, result, deadline);
}

Status Communicator::Took(const std::string& what, NcclResult result, Deadline deadline) {
  if (result == kNcclSuccess) return {};
  if (result != kNcclInProgress) {
    return Abort({Code::kAborted, "NCCL cannot do " + what + ": " + nccl_->NameOf(result, comm_)});
  }
  return Until(
      what,
      [this]() -> Result<bool> {
        NcclResult state = kNcclSuccess;
        const NcclResult asked = nccl_->CommGetAsyncError(comm_, &state);
        return asked == kNcclSuccess && state == kNcclSuccess;
      },
      deadline);
}

Status Communicator::Until(const std::string& what, const Query& query, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  const auto begin = steady_clock::now();
  for (;;) {
    auto done = Poll(what, query, deadline, begin);
    if (!done.ok()) return done.status();
    if (*done) return {};
    // A GPU can wake a thread only by an interrupt, which costs more than this polling.
    if (steady_clock::now() - begin < kYieldTime) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
}

Result<bool> Communicator::Poll(const std::string& what, const Query& query, Deadline deadline,
                                Deadline begin) {
  if (!failure_.ok()) return failure_;
  // An operation that is done counts as done, even if a rank has ended since; so the query comes
  // first.
  auto done = query();
  if (!done.ok()) return Abort(done.status());
  if (*done) return true;
  if (Status good = CheckRanks(what); !good.ok()) return Abort(good);
  if (Status good = CheckAsync(what); !good.ok()) return Abort(good);
  if (Status good = CheckDeadline(what, deadline, begin); !good.ok()) return Abort(good);
  return false;
}

Status Communicator::CheckRanks(const std::string& what) {
  if (!failing_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(failing_mutex_);
  if (steady_clock::now() < failing_when_) return {};
  return {Code::kAborted, failing_why_ + "; " + what + " on GPUs was given up"};
}

Status Communicator::CheckAsync(const std::string& what) {
  NcclResult state = kNcclSuccess;
  NcclResult asked = kNcclSuccess;
  if (comm_ != nullptr) asked = nccl_->CommGetAsyncError(comm_, &state);
  if (asked != kNcclSuccess) state = asked;
  if (state == kNcclSuccess || state == kNcclInProgress) return {};
  // NCCL reports a lost connection without the rank's number. The error is held back for
  // kNamingTime, so that Fail() can name the rank first.
  if (state == kNcclRemoteError) {
    const auto now = steady_clock::now();
    if (!lost_since_) lost_since_ = now;
    if (now < *lost_since_ + kNamingTime) return {};
  }
  return {Code::kAborted, "NCCL has given up " + what + ": " + nccl_->NameOf(state, comm_) +
                              "; NCCL_DEBUG=INFO in the ranks' environment says more"};
}

Status Communicator::CheckDeadline(const std::string& what, Deadline deadline, Deadline begin) {
  const auto now = steady_clock::now();
  if (now < deadline) return {};
  return {Code::kDeadlineExceeded, what + " on GPUs was not done after " +
                                       Milliseconds(now - begin) + ": of the ranks " +
                                       RanksText(membership_.ranks) +
                                       " one has not come to it, or its GPU hangs; "
                                       "NCCL was aborted"};
}

void Communicator::Close(Deadline deadline) {
  if (comm_ == nullptr) return;
  const Device::Current current(*device_);
  // NCCL's orderly end: CommFinalize waits until all ranks have finished what they began, then
  // CommDestroy frees this rank's own resources.
  const Status finalized = Took("the end of NCCL", nccl_->CommFinalize(comm_), deadline);
  if (finalized.ok()) nccl_->CommDestroy(std::exchange(comm_, nullptr));
  if (failure_.ok()) failure_ = {Code::kFailedPrecondition, "the ranks' GPUs have parted"};
}

void Communicator::Fail(int position) {
  if (position < 0 || position >= ranks()) return;
  Fail("rank " + std::to_string(membership_.ranks[static_cast<size_t>(position)]) + " has ended",
       {});
}

void Communicator::Fail(const std::string& why, Deadline when) {
  const std::lock_guard lock(failing_mutex_);
  if (failing_.load(std::memory_order_relaxed) && failing_when_ <= when) return;
  failing_why_ = why;
  failing_when_ = when;
  failing_.store(true, std::memory_order_release);
}

Status Communicator::Abort(Status why) {
  failure_ = std::move(why);
  if (comm_ != nullptr) {
    const Device::Current current(*device_);
    nccl_->CommAbort(std::exchange(comm_, nullptr));
  }
  return failure_;
}

}  // namespace tony::collective
