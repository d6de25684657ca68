// Threads, tables and the order of things.
#include "collective/engine.h"

#include <utility>

#include "collective/wire.h"

namespace tony::collective {
namespace {

// The first byte of a message.
constexpr char kSubmission = 's';
constexpr char kDecision = 'd';
constexpr char kFailure = 'f';

std::string Message(char kind, const std::string& bytes) { return std::string(1, kind) + bytes; }

/// What does not matter for its operation is the same on all ranks. Splits that need not be given
/// are; where they have to be, rank 0 tells all.
void Complete(Request& request, int ranks) {
  Kind& kind = request.kind;
  const bool reduces =
      kind.operation == Operation::kAllReduce || kind.operation == Operation::kReduceScatter;
  if (!reduces) kind = {.operation = kind.operation, .type = kind.type, .root = kind.root};
  if (kind.operation != Operation::kBroadcast) kind.root = 0;
  if (kind.operation != Operation::kAllToAll) {
    request.splits.clear();
  } else if (request.splits.empty() && !request.shape.empty() && request.shape[0] % ranks == 0) {
    request.splits.assign(static_cast<size_t>(ranks), request.shape[0] / ranks);
  }
}

Status ShutDown() { return {Code::kFailedPrecondition, "the engine was shut down"}; }

}  // namespace

Engine::Engine(std::unique_ptr<Members> members, Options options)
    : options_(options),
      members_(std::move(members)),
      rank_(members_->group().rank()),
      execution_(members_->group()) {
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
  return Add(Operation::kAllReduce,
             {.request = std::move(request), .in = in, .out = out, .on_done = std::move(on_done)});
}

Status Engine::AllGather(Request request, const void* in, OnOutput on_output) {
  return Add(Operation::kAllGather,
             {.request = std::move(request), .in = in, .on_output = std::move(on_output)});
}

Status Engine::Broadcast(Request request, void* data, OnDone on_done) {
  return Add(Operation::kBroadcast,
             {.request = std::move(request), .out = data, .on_done = std::move(on_done)});
}

Status Engine::ReduceScatter(Request request, const void* in, OnOutput on_output) {
  return Add(Operation::kReduceScatter,
             {.request = std::move(request), .in = in, .on_output = std::move(on_output)});
}

Status Engine::AllToAll(Request request, const void* in, OnOutput on_output) {
  return Add(Operation::kAllToAll,
             {.request = std::move(request), .in = in, .on_output = std::move(on_output)});
}

Status Engine::Barrier(std::string name, OnDone on_done) {
  return Add(Operation::kBarrier,
             {.request = {.name = std::move(name)}, .on_done = std::move(on_done)});
}

Status Engine::Add(Operation operation, Tensor tensor) {
  tensor.request.kind.operation = operation;
  std::vector<Tensor> one;
  one.push_back(std::move(tensor));
  return Submit(std::move(one));
}

Status Engine::Refusal() const {
  if (stopping_) return ShutDown();
  if (!failure_.ok()) return failure_;
  if (on_joined_) return {Code::kFailedPrecondition, "this rank has joined: it has no more data"};
  return {};
}

Status Engine::Submit(std::vector<Tensor> tensors, const std::string& group) {
  for (Tensor& tensor : tensors) {
    Request& request = tensor.request;
    if (const std::string fault = request.ShapeFault(); !fault.empty()) {
      return {Code::kInvalidArgument, fault};
    }
    if (!group.empty()) {
      request.group = group;
      request.group_size = static_cast<uint32_t>(tensors.size());
    }
    Complete(request, members_->group().ranks());
  }
  {
    const std::lock_guard lock(mutex_);
    if (Status refusal = Refusal(); !refusal.ok()) return refusal;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = tensors[i].request.name;
      if (entries_.emplace(name, Entry{.tensor = std::move(tensors[i])}).second) {
        unsaid_.push_back(name);
        continue;
      }
      for (; i > 0; --i) {
        entries_.erase(unsaid_.back());
        unsaid_.pop_back();
      }
      return {Code::kInvalidArgument, "tensor '" + name +
                                          "' is on its way already: wait for it, or call this one "
                                          "otherwise"};
    }
    if (tensors.empty() || std::exchange(flushing_, true)) return {};
  }
  members_->Post([this] { Flush(); });
  return {};
}

Status Engine::Join(OnJoined on_joined) {
  {
    const std::lock_guard lock(mutex_);
    if (Status refusal = Refusal(); !refusal.ok()) return refusal;
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
      const Request& request = entry->second.tensor.request;
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
        known_[tensor.name] = {entry->second.tensor.request, tensor.id};
      }
    }
    decisions_.push_back(std::move(decision));
  }
  changed_.notify_all();
}

void Engine::OnFailure(const Status& status) {
  // The first one is told to all: by rank 0, which hears of it from whoever fails.
  if (!std::exchange(failure_told_, true)) {
    const int ranks = rank_ == 0 ? members_->group().ranks() : 1;
    for (int rank = rank_ == 0 ? 1 : 0; rank < ranks; ++rank) {
      members_->Send(rank, Message(kFailure, status.message()));
    }
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
      // What is decided is done by the data thread, if it still can be.
      if (entry->second.decided && !decided) {
        ++entry;
        continue;
      }
      waiting.push_back(std::move(entry->second.tensor));
      entry = entries_.erase(entry);
    }
    on_joined = std::exchange(on_joined_, nullptr);
  }
  for (const Tensor& tensor : waiting) tensor.Tell(status, {});
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

std::vector<Tensor> Engine::TakeTensors(const Decision& decision) {
  std::vector<Tensor> tensors;
  const std::lock_guard lock(mutex_);
  for (const Decided& decided : decision.tensors) {
    auto entry = entries_.extract(decided.name);
    tensors.push_back(entry.empty() ? Tensor{} : std::move(entry.mapped().tensor));
  }
  return tensors;
}

void Engine::Execute(const Decision& decision) {
  const std::vector<Tensor> tensors = TakeTensors(decision);
  std::vector<Output> outputs(tensors.size());
  Status status;
  if (decision.error.empty()) {
    status = execution_.Run(decision, tensors, outputs, After(options_.patience));
    if (!status.ok()) members_->Post([this, status] { OnFailure(status); });
  } else {
    status = {Code::kInvalidArgument, decision.error};
  }
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
