// Threads, tables and the order of things.
#include "collective/engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collective/kernels.h"
#include "collective/wire.h"

namespace tony::collective {
namespace {

// The first byte of a message.
constexpr char kSubmission = 's';
constexpr char kDecision = 'd';
constexpr char kFailure = 'f';

std::string Message(char kind, const std::string& bytes) { return std::string(1, kind) + bytes; }

/// Of the factor 1 the same bits: large whole numbers are more than a double holds.
void CopyScaled(std::byte* out, const std::byte* in, size_t count, DataType type, double factor) {
  if (factor != 1) return BestKernels().Scale(type)(out, in, count, factor);
  if (count > 0) std::memcpy(out, in, count * SizeOf(type));
}

Status ShutDown() { return {Code::kFailedPrecondition, "the engine was shut down"}; }

}  // namespace

Engine::Engine(std::unique_ptr<Members> members, Options options)
    : options_(options), members_(std::move(members)), rank_(members_->group().rank()) {
  if (rank_ == 0) {
    coordinator_ = std::make_unique<Coordinator>(members_->group().ranks(), options.limits);
  }
  members_->Listen(
      {.on_message = [this](int from, std::string message) { OnMessage(from, message); },
       .on_end =
           [this](int gone, bool in_order) {
             OnFailure({Code::kAborted,
                        "rank " + std::to_string(gone) + (in_order ? " has left" : " has ended")});
           }});
  data_ = std::thread([this] { RunData(); });
}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  data_.join();
  members_->Leave();
  FailWaiting(ShutDown(), /*decided=*/true);
}

Status Engine::AllReduce(Request request, const void* in, void* out, OnDone on_done) {
  if (std::any_of(request.shape.begin(), request.shape.end(), [](int64_t l) { return l < 0; })) {
    return {Code::kInvalidArgument,
            "tensor '" + request.name + "' has a negative length: " + request.ShapeText()};
  }
  request.kind.operation = Operation::kAllReduce;
  return Add({.request = std::move(request),
              .in = static_cast<const std::byte*>(in),
              .out = static_cast<std::byte*>(out),
              .on_done = std::move(on_done)});
}

Status Engine::Barrier(std::string name, OnDone on_done) {
  return Add({.request = {.name = std::move(name), .kind = {.operation = Operation::kBarrier}},
              .on_done = std::move(on_done)});
}

Status Engine::Add(Entry entry) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return ShutDown();
    if (!failure_.ok()) return failure_;
    if (on_joined_) return {Code::kFailedPrecondition, "this rank has joined: it has no more data"};
    const std::string name = entry.request.name;
    if (!entries_.emplace(name, std::move(entry)).second) {
      return {Code::kInvalidArgument, "tensor '" + name +
                                          "' is on its way already: wait for it, or call this one "
                                          "otherwise"};
    }
    unsaid_.push_back(name);
    if (std::exchange(flushing_, true)) return {};
  }
  members_->Post([this] { Flush(); });
  return {};
}

Status Engine::Join(OnJoined on_joined) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return ShutDown();
    if (!failure_.ok()) return failure_;
    if (on_joined_) return {Code::kFailedPrecondition, "this rank has joined already"};
    on_joined_ = std::move(on_joined);
    join_unsaid_ = true;
    if (std::exchange(flushing_, true)) return {};
  }
  members_->Post([this] { Flush(); });
  return {};
}

void Engine::Flush() {
  Submission submission;
  {
    const std::lock_guard lock(mutex_);
    flushing_ = false;
    for (const std::string& name : std::exchange(unsaid_, {})) {
      const auto entry = entries_.find(name);
      if (entry == entries_.end()) continue;  // it has failed meanwhile
      const Request& request = entry->second.request;
      const auto known = known_.find(name);
      if (known != known_.end() && known->second.request == request) {
        submission.known.push_back(known->second.id);
      } else {
        submission.requests.push_back(request);
      }
    }
    submission.joined = std::exchange(join_unsaid_, false);
  }
  if (rank_ == 0) return Submit(0, submission);
  members_->Send(0, Message(kSubmission, Encode(submission)));
}

void Engine::OnMessage(int from, const std::string& message) {
  const std::string_view bytes = std::string_view(message).substr(1);
  if (message[0] == kFailure) return OnFailure({Code::kAborted, std::string(bytes)});
  if (message[0] == kSubmission && rank_ == 0) {
    auto submission = DecodeSubmission(bytes);
    if (submission.ok()) return Submit(from, *submission);
  } else if (message[0] == kDecision && rank_ != 0) {
    auto decision = DecodeDecision(bytes);
    if (decision.ok()) return Take(std::move(*decision));
  }
  OnFailure({Code::kInternal,
             "rank " + std::to_string(from) + " says what this version does not understand"});
}

void Engine::Submit(int rank, const Submission& submission) {
  const std::string wrong = coordinator_->Submit(rank, submission);
  if (!wrong.empty()) return OnFailure({Code::kInternal, wrong});
  Decide();
}

void Engine::Decide() {
  {
    const std::lock_guard lock(mutex_);
    // What becomes ready until then is fused with what is ready now.
    if (executing_ || !decisions_.empty()) return;
  }
  for (Decision& decision : coordinator_->Decide()) {
    const std::string message = Message(kDecision, Encode(decision));
    for (int rank = 1; rank < members_->group().ranks(); ++rank) members_->Send(rank, message);
    Take(std::move(decision));
  }
}

void Engine::Take(Decision decision) {
  {
    const std::lock_guard lock(mutex_);
    for (const Decided& tensor : decision.tensors) {
      const auto entry = entries_.find(tensor.name);
      if (entry != entries_.end()) entry->second.decided = true;
      if (entry == entries_.end() || tensor.id == 0) {
        known_.erase(tensor.name);
      } else {
        known_[tensor.name] = {entry->second.request, tensor.id};
      }
    }
    decisions_.push_back(std::move(decision));
  }
  changed_.notify_all();
}

void Engine::OnFailure(const Status& status) {
  if (rank_ == 0) {
    for (int rank = 1; rank < members_->group().ranks(); ++rank) {
      members_->Send(rank, Message(kFailure, status.message()));
    }
  }
  FailWaiting(status, /*decided=*/false);
}

void Engine::FailWaiting(const Status& status, bool decided) {
  std::vector<OnDone> waiting;
  OnJoined on_joined;
  {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      // What is decided is done by the data thread, if it still can be.
      if (entry->second.decided && !decided) {
        ++entry;
        continue;
      }
      waiting.push_back(std::move(entry->second.on_done));
      entry = entries_.erase(entry);
    }
    on_joined = std::exchange(on_joined_, nullptr);
  }
  for (const OnDone& on_done : waiting) on_done(status);
  if (on_joined) on_joined(status, -1);
}

void Engine::RunData() {
  for (;;) {
    Decision decision;
    {
      std::unique_lock lock(mutex_);
      executing_ = false;
      if (decisions_.empty() && rank_ == 0 && !stopping_) {
        members_->Post([this] { Decide(); });
      }
      changed_.wait(lock, [this] { return stopping_ || !decisions_.empty(); });
      if (decisions_.empty()) return;
      decision = std::move(decisions_.front());
      decisions_.pop_front();
      executing_ = true;
    }
    Execute(decision);
  }
}

std::vector<Engine::Entry> Engine::TakeEntries(const Decision& decision) {
  std::vector<Entry> entries;
  const std::lock_guard lock(mutex_);
  for (const Decided& tensor : decision.tensors) {
    auto entry = entries_.extract(tensor.name);
    entries.push_back(entry.empty() ? Entry{} : std::move(entry.mapped()));
  }
  return entries;
}

void Engine::Execute(const Decision& decision) {
  const std::vector<Entry> entries = TakeEntries(decision);
  const Deadline deadline = After(options_.patience);
  Status status;
  if (!decision.error.empty()) {
    status = {Code::kInvalidArgument, decision.error};
  } else if (decision.kind.operation == Operation::kAllReduce) {
    status = Reduce(decision, entries, deadline);
  } else {
    status = members_->group().Barrier(deadline);
  }
  if (!status.ok() && decision.error.empty()) {
    members_->Post([this, status] { OnFailure(status); });
  }
  for (const Entry& entry : entries) {
    if (entry.on_done) entry.on_done(status);
  }
  if (decision.last_joined < 0) return;
  OnJoined on_joined;
  {
    const std::lock_guard lock(mutex_);
    on_joined = std::exchange(on_joined_, nullptr);
  }
  if (on_joined) on_joined(status, status.ok() ? decision.last_joined : -1);
}

Status Engine::Reduce(const Decision& decision, const std::vector<Entry>& entries,
                      Deadline deadline) {
  const Kind& kind = decision.kind;
  const bool plain = kind.prescale == 1 && kind.postscale == 1;
  const auto count_of = [&](size_t i) { return static_cast<size_t>(decision.tensors[i].elements); };
  if (entries.size() == 1 && plain && entries[0].on_done) {
    return members_->group().AllReduce(entries[0].in, entries[0].out, count_of(0), kind.type,
                                       kind.reduce, deadline);
  }
  const size_t element = SizeOf(kind.type);
  size_t count = 0;
  for (size_t i = 0; i < entries.size(); ++i) count += count_of(i);
  if (fusion_.size() < count * element) fusion_.resize(count * element);
  std::byte* at = fusion_.data();
  for (size_t i = 0; i < entries.size(); at += count_of(i++) * element) {
    if (!entries[i].on_done) {
      std::memset(at, 0, count_of(i) * element);
    } else {
      CopyScaled(at, entries[i].in, count_of(i), kind.type, kind.prescale);
    }
  }
  Status status = members_->group().AllReduce(fusion_.data(), fusion_.data(), count, kind.type,
                                              kind.reduce, deadline);
  if (!status.ok()) return status;
  at = fusion_.data();
  for (size_t i = 0; i < entries.size(); at += count_of(i++) * element) {
    if (entries[i].on_done) CopyScaled(entries[i].out, at, count_of(i), kind.type, kind.postscale);
  }
  return {};
}

}  // namespace tony::collective
