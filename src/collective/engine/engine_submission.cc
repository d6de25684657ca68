// Completes and checks requests, enters them in the table of tensors on their way, all or none, and
// has the links' thread send them to rank 0.
#include <algorithm>
#include <utility>

#include "collective/engine/engine.h"

namespace tony::collective {
namespace {

/// Sets fields that do not matter for the operation to the same values on all ranks, so that rank 0
/// does not compare them. Fills in even splits of an all-to-all if its rows divide evenly.
/// Otherwise the splits stay empty, and rank 0 tells all ranks that they are missing
/// (agreement.cc).
void CompleteRequest(Request& request, int ranks) {
  Kind& kind = request.kind;
  if (!Reduces(kind.operation)) {
    kind = {
        .operation = kind.operation, .device = kind.device, .type = kind.type, .root = kind.root};
  }
  if (kind.operation != Operation::kBroadcast) kind.root = 0;
  if (kind.operation != Operation::kAllToAll) {
    request.splits.clear();
  } else if (request.splits.empty() && !request.shape.empty() && request.shape[0] % ranks == 0) {
    request.splits.assign(static_cast<size_t>(ranks), request.shape[0] / ranks);
  }
}

}  // namespace

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

Status Engine::Barrier(std::string name, OnDone on_done, SetId set) {
  return Add(Operation::kBarrier,
             {.request = {.name = std::move(name), .set = set}, .on_done = std::move(on_done)});
}

Status Engine::AddSet(std::string name, std::vector<int> ranks, OnOutput on_output) {
  std::sort(ranks.begin(), ranks.end());
  return Add(Operation::kAddSet,
             {.request = {.name = std::move(name), .members = {ranks.begin(), ranks.end()}},
              .on_output = std::move(on_output)});
}

Status Engine::RemoveSet(std::string name, SetId set, OnDone on_done) {
  return Add(Operation::kRemoveSet,
             {.request = {.name = std::move(name), .subject = set}, .on_done = std::move(on_done)});
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

void Engine::Locate(Tensor& tensor) const {
  Request& request = tensor.request;
  if (request.kind.device != DeviceType::kGpu || request.elements() == 0) return;
  for (const void* const data : {tensor.in, static_cast<const void*>(tensor.out)}) {
    // A pointer that is wrong here is a fault in the request, no error of this call: all ranks are
    // to hear of it.
    if (data != nullptr && request.fault.empty()) request.fault = gpu_->Locate(data);
  }
}

Status Engine::Complete(std::vector<Tensor>& tensors, const std::string& group) const {
  for (Tensor& tensor : tensors) {
    Request& request = tensor.request;
    if (const std::string fault = request.ShapeFault(); !fault.empty()) {
      return {Code::kInvalidArgument, fault};
    }
    if (!group.empty()) {
      request.group = group;
      request.group_size = static_cast<uint32_t>(tensors.size());
    }
    if (!request.group.empty() && request.group_size == 0) {
      return {Code::kInvalidArgument, "tensor '" + request.name + "' is in the group '" +
                                          request.group + "' of no tensors"};
    }
    if (request.set != tensors[0].request.set) {
      return {Code::kInvalidArgument, "tensor '" + request.name + "' and '" +
                                          tensors[0].request.name +
                                          "' are of different process sets"};
    }
    auto place = sets_.Find(request.set);
    if (!place.ok()) return place.status();
    // Requests that are wrong on their own are not refused here, but by rank 0, so that all ranks
    // hear of it and none waits for a tensor that never comes. Only what cannot be sent or computed
    // with is refused at once.
    CompleteRequest(request, place->ranks);
    Locate(tensor);
  }
  return {};
}

Status Engine::Submit(std::vector<Tensor> tensors, const std::string& group) {
  if (Status wrong = Complete(tensors, group); !wrong.ok()) return wrong;
  if (tensors.empty()) return {};
  const Operation operation = tensors[0].request.kind.operation;
  {
    const std::lock_guard lock(mutex_);
    if (Status refusal = Refusal(); !refusal.ok()) return refusal;
    // The set is checked again under the mutex. It may have been removed since Complete(); then
    // FailSet() may have run already, and a tensor entered now would never be told.
    if (auto place = sets_.Find(tensors[0].request.set); !place.ok()) return place.status();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = tensors[i].request.name;
      const TensorKey key = {.set = tensors[i].request.set, .name = name};
      if (entries_.emplace(key, Entry{.tensor = std::move(tensors[i])}).second) {
        unsaid_.push_back(key);
        continue;
      }
      // The name is taken. The tensors that were entered before it leave again; the mutex was held
      // all the time, so they are the last ones in `unsaid_`.
      for (; i > 0; --i) {
        entries_.erase(unsaid_.back());
        unsaid_.pop_back();
      }
      return {Code::kInvalidArgument, "tensor '" + name +
                                          "' is on its way already: wait for it, or call this one "
                                          "otherwise"};
    }
    watch_.Submitted(unsaid_, tensors.size(), operation);
    if (std::exchange(flushing_, true)) return {};
  }
  members_->Post([this] { Flush(); });
  return {};
}

Status Engine::Join(OnJoined on_joined, int gpu) {
  gpu_->Suggest(gpu);
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

}  // namespace tony::collective
