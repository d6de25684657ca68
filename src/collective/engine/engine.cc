// The engine's two threads and its table of tensors on their way: messages between ranks, decisions
// in order, and failures. Submission is in engine_submission.cc, rank 0's decisions are in
// engine_decisions.cc.
#include "collective/engine/engine.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

#include "collective/base/spin_wait.h"
#include "collective/base/thread.h"
#include "collective/engine/messages.h"
#include "collective/request/wire.h"

namespace tony::collective {
namespace {

/// When a rank leaves in order, pending GPU work gets this long to finish; afterwards it is given
/// up.
constexpr auto kPartingTime = std::chrono::seconds(5);
/// Python calls hvd.shutdown() at the end of a program that has not, whatever its exit code.
constexpr char kHasLeft[] = " has left: its program has ended, or has called hvd.shutdown()";

/// Makes the first submitted tensor's callback call `work` before itself. The other tensors of the
/// decision are told right after, so one call serves all. Calls `work` at once if this rank has
/// submitted none of the tensors.
void OnFirst(std::vector<Tensor>& tensors, std::function<void(const Status&)> work) {
  const auto first = std::find_if(tensors.begin(), tensors.end(),
                                  [](const Tensor& tensor) { return tensor.submitted(); });
  if (first == tensors.end()) return work({});
  if (first->on_done) {
    first->on_done = [work, told = std::move(first->on_done)](const Status& status) {
      work(status);
      told(status);
    };
  } else {
    first->on_output = [work, told = std::move(first->on_output)](const Status& status,
                                                                  Output output) {
      work(status);
      told(status, std::move(output));
    };
  }
}

}  // namespace

Engine::Engine(std::unique_ptr<Members> members, Options options)
    : options_(options),
      members_(std::move(members)),
      rank_(members_->group().rank()),
      watch_(rank_, members_->group().ranks(), WatchCallbacks()),
      gpu_(std::make_shared<RankGpu>(options.gpu)),
      sets_(members_->group(), {.gpu = gpu_,
                                .group = options.nccl,
                                .on_failure =
                                    [this](const Status& status) {
                                      members_->Post([this, status] { OnFailure(status); });
                                    },
                                .say = options.say}) {
  if (rank_ == 0) {
    coordinator_ = std::make_unique<SetCoordinators>(members_->group().ranks(), options.limits,
                                                     watch_.submissions());
  }
  try {
    // The data thread starts before Listen(): if it cannot start, the links' thread never calls
    // into this object.
    data_ = StartThread([this] { RunData(); });
  } catch (const std::system_error& error) {
    // The other ranks have met this rank already. The message tells them more than that it has
    // left.
    Spread(Message(kFailure, "rank " + std::to_string(rank_) + ": " + error.what()));
    throw;
  }
  try {
    Listen();
  } catch (...) {
    Stop();
    throw;
  }
}

void Engine::Listen() {
  members_->Listen(
      {.on_message = [this](int from, std::string message) { OnMessage(from, message); },
       .on_end =
           [this](int gone, bool in_order) {
             OnFailure({Code::kAborted,
                        "rank " + std::to_string(gone) + (in_order ? kHasLeft : " has ended")},
                       in_order);
           }});
}

Watch::Callbacks Engine::WatchCallbacks() {
  return {
      .print = [](const std::string& text) { std::fputs(text.c_str(), stderr); },
      .fail = [this](const Status& status) { OnFailure(status); },
      .send = [this](int rank,
                     const std::string& text) { members_->Send(rank, Message(kWatch, text)); },
      .post = [this](std::function<void()> work) { members_->Post(std::move(work)); },
      .post_at = [this](Deadline when,
                        std::function<void()> work) { members_->PostAt(when, std::move(work)); }};
}

void Engine::Spread(const std::string& message) {
  if (rank_ != 0) return members_->Send(0, message);
  for (int rank = 1; rank < members_->group().ranks(); ++rank) members_->Send(rank, message);
}

Status Engine::ShutDown() { return {Code::kFailedPrecondition, "the engine was shut down"}; }

Engine::~Engine() {
  Stop();
  // After Stop() nobody executes decisions, so decided tensors end here as well.
  FailWaiting(ShutDown(), /*decided=*/true);
}

void Engine::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  // The order matters: decisions that the data thread has are executed first, then the GPUs' work
  // ends, and the watch sends its last message while the links still exist.
  data_.join();
  sets_.FinishGpus();
  watch_.Leave();
  members_->Leave();
}

void Engine::Flush() {
  // std::greater: submissions to process sets go before that to the set of all ranks, which may
  // remove a process set.
  std::map<SetId, Submission, std::greater<>> submissions;
  {
    const std::lock_guard lock(mutex_);
    flushing_ = false;
    for (const TensorKey& key : std::exchange(unsaid_, {})) {
      const auto entry = entries_.find(key);
      if (entry == entries_.end()) continue;  // it has failed since
      const Request& request = entry->second.tensor.request;
      Submission& submission = submissions[key.set];
      submission.set = key.set;
      const auto known = known_.find(key);
      if (known != known_.end() && known->second.request == request) {
        submission.known.push_back(known->second.id);
      } else {
        submission.requests.push_back(request);
      }
    }
    if (std::exchange(join_unsaid_, false)) submissions[kAllRanks].joined = true;
  }
  for (const auto& [set, submission] : submissions) {
    watch_.Said(submission.known.size(), submission.requests.size());
    if (rank_ == 0) {
      Submit(0, submission);
    } else {
      members_->Send(0, Message(kSubmission, Encode(submission)));
    }
  }
}

void Engine::OnMessage(int from, const std::string& message) {
  const std::string_view bytes = std::string_view(message).substr(1);
  if (message[0] == kFailure || message[0] == kParting) {
    return OnFailure({Code::kAborted, std::string(bytes)}, message[0] == kParting);
  }
  if (message[0] == kWatch && watch_.OnMessage(from, bytes)) return;
  if (message[0] == kSubmission && rank_ == 0) {
    auto submission = DecodeSubmission(bytes);
    if (submission.ok()) return Submit(from, *submission);
  } else if (message[0] == kIdle && rank_ == 0 && bytes.size() == sizeof(SetId)) {
    SetId set = 0;
    std::memcpy(&set, bytes.data(), sizeof(set));
    coordinator_->OnIdle(set);
    return Decide();
  } else if (message[0] == kDecision && rank_ != 0) {
    auto decision = DecodeDecision(bytes);
    if (decision.ok()) return Take(std::move(*decision));
  }
  // A message that is none of these ends everything: the ranks could no longer execute the same
  // decisions.
  OnFailure({Code::kInternal,
             "rank " + std::to_string(from) + " says what this version does not understand"});
}

void Engine::Take(Decision decision) {
  {
    const std::lock_guard lock(mutex_);
    size_t own = 0;
    for (const Decided& tensor : decision.tensors) {
      const TensorKey key = {.set = decision.set, .name = tensor.name};
      const auto entry = entries_.find(key);
      if (entry != entries_.end()) {
        entry->second.decided = true;
        ++own;
      }
      // A decision without a number takes back the number that this rank may have; the next time
      // the rank sends its request again. That is so for tensors that have failed, and while a rank
      // has joined.
      if (entry == entries_.end() || tensor.id == 0) {
        known_.erase(key);
      } else {
        known_[key] = {entry->second.tensor.request, tensor.id};
      }
    }
    watch_.Decided(decision, own);
    if (decision.kind.operation == Operation::kRemoveSet && decision.error.empty()) {
      std::erase_if(known_, [&](const auto& known) { return known.first.set == decision.subject; });
    }
    decisions_.push_back(std::move(decision));
  }
  changed_.notify_all();
}

void Engine::OnFailure(const Status& status, bool parting) {
  watch_.Over();
  const auto now = std::chrono::steady_clock::now();
  sets_.FailGpus(status.message(), parting ? now + kPartingTime : now);
  // Only the first failure is sent: a rank that fails tells rank 0, and rank 0 tells all others.
  if (!std::exchange(failure_told_, true)) {
    Spread(Message(parting ? kParting : kFailure, status.message()));
  }
  FailWaiting(status, /*decided=*/false);
}

void Engine::FailWaiting(const Status& status, bool decided) {
  std::vector<Tensor> waiting;
  OnJoined on_joined;
  {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      // Decided tensors stay: the data thread executes them, or fails them if it cannot.
      if (entry->second.decided && !decided) {
        ++entry;
        continue;
      }
      if (!entry->second.decided) watch_.Failed(entry->first);
      waiting.push_back(std::move(entry->second.tensor));
      entry = entries_.erase(entry);
    }
    on_joined = std::exchange(on_joined_, nullptr);
  }
  // The callbacks run without the mutex, since they may submit.
  for (const Tensor& tensor : waiting) tensor.Tell(status, {});
  if (on_joined) on_joined(status, -1);
}

void Engine::FailSet(SetId set) {
  std::vector<Tensor> waiting;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const bool gone = entry->first.set == set;
      if (gone) {
        if (!entry->second.decided) watch_.Failed(entry->first);
        waiting.push_back(std::move(entry->second.tensor));
      }
      entry = gone ? entries_.erase(entry) : std::next(entry);
    }
  }
  for (const Tensor& tensor : waiting) {
    tensor.Tell({Code::kFailedPrecondition, "process set " + std::to_string(set) +
                                                " was removed, while tensor '" +
                                                tensor.request.name + "' waited in it"},
                {});
  }
}

void Engine::RunData() {
  for (;;) {
    Decision decision;
    {
      std::unique_lock lock(mutex_);
      executing_ = false;
      // Rank 0 decides when its data thread has nothing left to do, so that tensors which became
      // ready during the last operation are fused. Decide() runs on the links' thread, which owns
      // the coordinators.
      if (decisions_.empty() && rank_ == 0 && !stopping_) {
        members_->Post([this] { Decide(); });
      }
      const auto ready = [this] { return stopping_ || !decisions_.empty(); };
      lock.unlock();
      // Spin wait before the sleep: the next decision often comes in less time than a wake-up
      // takes.
      SpinFor(kSpinTime, [&] {
        const std::lock_guard look(mutex_);
        return ready();
      });
      lock.lock();
      changed_.wait(lock, ready);
      if (decisions_.empty()) return;
      decision = std::move(decisions_.front());
      decisions_.pop_front();
      executing_ = true;
    }
    Execute(decision);
    if (rank_ != 0 && sets_.Leads(decision.set)) TellIdle(decision.set);
  }
}

void Engine::TellIdle(SetId set) {
  {
    const std::lock_guard lock(mutex_);
    // With more decisions of the set in the queue this rank is not idle; the last of them will say
    // so.
    const bool more = std::any_of(decisions_.begin(), decisions_.end(),
                                  [&](const Decision& next) { return next.set == set; });
    if (more) return;
  }
  members_->Send(0, Message(kIdle, std::string(reinterpret_cast<const char*>(&set), sizeof(set))));
}

std::vector<Tensor> Engine::TakeTensors(const Decision& decision) {
  std::vector<Tensor> tensors;
  const std::lock_guard lock(mutex_);
  for (const Decided& decided : decision.tensors) {
    auto entry = entries_.extract(TensorKey{.set = decision.set, .name = decided.name});
    // A rank that has not joined and lacks the tensor has given it up, and the other ranks do not
    // know yet. Execution::Run() then fails the operation for all.
    tensors.push_back(entry.empty() ? Tensor{.joined = on_joined_ != nullptr}
                                    : std::move(entry.mapped().tensor));
  }
  return tensors;
}

void Engine::Execute(const Decision& decision) {
  std::vector<Tensor> tensors = TakeTensors(decision);
  const auto operation = std::make_shared<Watch::Operation>(watch_, decision, tensors);
  if (decision.error.empty() && decision.kind.device == DeviceType::kGpu) {
    OnFirst(tensors, [operation](const Status& status) { operation->Done(status); });
    return sets_.RunOnGpu(decision, std::move(tensors), options_.patience);
  }
  std::vector<Output> outputs(tensors.size());
  Status status;
  if (decision.error.empty()) {
    status = sets_.Run(decision, tensors, outputs, After(options_.patience));
    // An error that does not end everything is that of a set that could not be made. Rank 0 drops
    // the set's coordinator at its next decision.
    if (ProcessSets::EndsAll(decision, status)) {
      members_->Post([this, status] { OnFailure(status); });
    } else if (!status.ok() && rank_ == 0) {
      const std::lock_guard lock(mutex_);
      refused_sets_.push_back(decision.subject);
    } else if (status.ok() && decision.kind.operation == Operation::kRemoveSet) {
      FailSet(decision.subject);
    }
  } else {
    status = {Code::kInvalidArgument, decision.error};
  }
  operation->Done(status);
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].Tell(status, status.ok() ? std::move(outputs[i]) : Output{});
  }
  if (decision.last_joined < 0) return;
  OnJoined on_joined;
  {
    const std::lock_guard lock(mutex_);
    on_joined = std::exchange(on_joined_, nullptr);
  }
  if (on_joined) on_joined(status, status.ok() ? decision.last_joined : -1);
}

}  // namespace tony::collective
