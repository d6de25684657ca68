// The C functions that ask for an operation: tony/collective.h.
#include <string>
#include <utility>
#include <vector>

#include "collective/c_call.h"
#include "collective/process.h"
#include "tony/collective.h"

namespace tony::collective {
namespace {

static_assert(TONY_COLLECTIVE_BOOL == static_cast<int>(DataType::kBool));
static_assert(TONY_COLLECTIVE_FLOAT16 == static_cast<int>(DataType::kFloat16));
static_assert(TONY_COLLECTIVE_FLOAT64 == static_cast<int>(DataType::kFloat64));
static_assert(TONY_COLLECTIVE_AVERAGE == static_cast<int>(ReduceOp::kAverage));
static_assert(TONY_COLLECTIVE_ADASUM == static_cast<int>(ReduceOp::kAdasum));
static_assert(TONY_COLLECTIVE_PRODUCT == static_cast<int>(ReduceOp::kProduct));

using Tensor = tony_collective_tensor;
using Reduction = tony_collective_reduction;

Status Invalid(const std::string& what) { return {Code::kInvalidArgument, what}; }

/// InvalidArgument: null pointers, a type that is none.
Result<Request> RequestFor(const Tensor* tensor) {
  if (tensor == nullptr || tensor->name == nullptr || tensor->dimensions < 0 ||
      (tensor->dimensions > 0 && tensor->shape == nullptr)) {
    return Invalid("a tensor without a name or a shape");
  }
  if (tensor->type < 0 || static_cast<size_t>(tensor->type) >= kDataTypes) {
    return Invalid(std::string("tensor '") + tensor->name + "' has an unknown type, " +
                   std::to_string(tensor->type));
  }
  Request request = {.name = tensor->name,
                     .kind = {.type = static_cast<DataType>(tensor->type)},
                     .shape = {tensor->shape, tensor->shape + tensor->dimensions},
                     .set = tensor->set};
  return request;
}

Status SetReduction(const Reduction* reduction, Kind& kind) {
  if (reduction == nullptr || reduction->reduce < 0 ||
      static_cast<size_t>(reduction->reduce) >= kRequestedReduceOps) {
    return Invalid("a reduction that is none");
  }
  kind.reduce = static_cast<ReduceOp>(reduction->reduce);
  kind.prescale = reduction->prescale;
  kind.postscale = reduction->postscale;
  return {};
}

/// What the engine calls when an operation without an output is done.
Engine::OnDone Done(std::shared_ptr<Ticket> ticket) {
  return [ticket = std::move(ticket)](const Status& status) { ticket->Finish(status, {}, -1); };
}

Engine::OnOutput DoneWithOutput(std::shared_ptr<Ticket> ticket) {
  return [ticket = std::move(ticket)](const Status& status, Engine::Output output) {
    ticket->Finish(status, std::move(output), -1);
  };
}

/// Submits what `ask` asks of the engine for `tensor`.
template <typename Ask>
int64_t Submit(const Tensor* tensor, const Reduction* reduction, bool reduces, Ask ask) {
  return CallForNumber([&]() -> Result<Process::Handle> {
    auto request = RequestFor(tensor);
    if (!request.ok()) return request.status();
    if (reduces) {
      if (Status set = SetReduction(reduction, request->kind); !set.ok()) return set;
    }
    return Process::Get().Submit([&](Engine& engine, std::shared_ptr<Ticket> ticket) {
      return ask(engine, std::move(*request), std::move(ticket));
    });
  });
}

/// The arrays of a grouped operation; without what its operation does not have.
struct GroupCall {
  Operation operation;
  const char* group;
  int count;
  const Tensor* tensors;
  const Reduction* reduction;
  const void* const* in;
  void* const* out;
  int64_t* handles;
};

/// InvalidArgument, of one of them.
Result<std::vector<Engine::Tensor>> TensorsOf(const GroupCall& call) {
  const bool reduces = call.operation != Operation::kAllGather;
  const bool has_out = call.operation == Operation::kAllReduce;
  if (call.group == nullptr || *call.group == '\0' || call.count < 0) {
    return Invalid("a group without a name, or of less than no tensors");
  }
  const bool complete = call.tensors != nullptr && call.in != nullptr && call.handles != nullptr &&
                        (call.out != nullptr || !has_out);
  if (call.count > 0 && !complete) return Invalid("a group without its tensors");
  std::vector<Engine::Tensor> tensors;
  for (int i = 0; i < call.count; ++i) {
    auto request = RequestFor(&call.tensors[i]);
    if (!request.ok()) return request.status();
    request->kind.operation = call.operation;
    if (reduces) {
      if (Status set = SetReduction(call.reduction, request->kind); !set.ok()) return set;
    }
    tensors.push_back(
        {.request = std::move(*request), .in = call.in[i], .out = has_out ? call.out[i] : nullptr});
  }
  return tensors;
}

int SubmitGroup(const GroupCall& call) {
  return CallForCode([&]() -> Status {
    auto tensors = TensorsOf(call);
    if (!tensors.ok()) return tensors.status();
    auto first =
        Process::Get().SubmitAll(tensors->size(), [&](Engine& engine, const auto& tickets) {
          for (size_t i = 0; i < tickets.size(); ++i) {
            if (call.operation == Operation::kAllReduce) {
              (*tensors)[i].on_done = Done(tickets[i]);
            } else {
              (*tensors)[i].on_output = DoneWithOutput(tickets[i]);
            }
          }
          return engine.Submit(std::move(*tensors), call.group);
        });
    if (!first.ok()) return first.status();
    for (int i = 0; i < call.count; ++i) call.handles[i] = *first + i;
    return {};
  });
}

}  // namespace
}  // namespace tony::collective

using namespace tony::collective;  // NOLINT(google-build-using-namespace): what follows is C

extern "C" {

int64_t tony_collective_allreduce(const tony_collective_tensor* tensor,
                                  const tony_collective_reduction* reduction, const void* in,
                                  void* out) {
  return Submit(tensor, reduction, /*reduces=*/true,
                [=](Engine& engine, Request request, auto ticket) {
                  return engine.AllReduce(std::move(request), in, out, Done(std::move(ticket)));
                });
}

int64_t tony_collective_allgather(const tony_collective_tensor* tensor, const void* in) {
  return Submit(
      tensor, nullptr, /*reduces=*/false, [=](Engine& engine, Request request, auto ticket) {
        return engine.AllGather(std::move(request), in, DoneWithOutput(std::move(ticket)));
      });
}

int64_t tony_collective_broadcast(const tony_collective_tensor* tensor, int root, void* data) {
  return Submit(tensor, nullptr, /*reduces=*/false,
                [=](Engine& engine, Request request, auto ticket) {
                  request.kind.root = root;
                  return engine.Broadcast(std::move(request), data, Done(std::move(ticket)));
                });
}

int64_t tony_collective_reducescatter(const tony_collective_tensor* tensor,
                                      const tony_collective_reduction* reduction, const void* in) {
  return Submit(
      tensor, reduction, /*reduces=*/true, [=](Engine& engine, Request request, auto ticket) {
        return engine.ReduceScatter(std::move(request), in, DoneWithOutput(std::move(ticket)));
      });
}

int64_t tony_collective_alltoall(const tony_collective_tensor* tensor, const int64_t* splits,
                                 const void* in) {
  return Submit(tensor, nullptr, /*reduces=*/false,
                [=](Engine& engine, Request request, auto ticket) -> Status {
                  auto place = engine.PlaceIn(request.set);
                  if (!place.ok()) return place.status();
                  if (splits != nullptr) request.splits.assign(splits, splits + place->ranks);
                  return engine.AllToAll(std::move(request), in, DoneWithOutput(std::move(ticket)));
                });
}

int64_t tony_collective_barrier(const char* name, uint32_t set) {
  return CallForNumber([=]() -> Result<Process::Handle> {
    if (name == nullptr) return Invalid("a barrier without a name");
    return Process::Get().Submit([=](Engine& engine, std::shared_ptr<Ticket> ticket) {
      return engine.Barrier(name, Done(std::move(ticket)), set);
    });
  });
}

int tony_collective_grouped_allreduce(const char* group, int count,
                                      const tony_collective_tensor* tensors,
                                      const tony_collective_reduction* reduction,
                                      const void* const* in, void* const* out, int64_t* handles) {
  return SubmitGroup({Operation::kAllReduce, group, count, tensors, reduction, in, out, handles});
}

int tony_collective_grouped_allgather(const char* group, int count,
                                      const tony_collective_tensor* tensors, const void* const* in,
                                      int64_t* handles) {
  return SubmitGroup({Operation::kAllGather, group, count, tensors, nullptr, in, nullptr, handles});
}

int tony_collective_grouped_reducescatter(const char* group, int count,
                                          const tony_collective_tensor* tensors,
                                          const tony_collective_reduction* reduction,
                                          const void* const* in, int64_t* handles) {
  return SubmitGroup(
      {Operation::kReduceScatter, group, count, tensors, reduction, in, nullptr, handles});
}

int64_t tony_collective_add_process_set(const char* name, const int* ranks, int count) {
  return CallForNumber([=]() -> Result<Process::Handle> {
    if (name == nullptr || count < 0 || (count > 0 && ranks == nullptr)) {
      return Invalid("a process set without a name or ranks");
    }
    return Process::Get().Submit([=](Engine& engine, std::shared_ptr<Ticket> ticket) {
      return engine.AddSet(name, {ranks, ranks + count}, DoneWithOutput(std::move(ticket)));
    });
  });
}

int64_t tony_collective_remove_process_set(const char* name, uint32_t set) {
  return CallForNumber([=]() -> Result<Process::Handle> {
    if (name == nullptr) return Invalid("a process set is to go without a name");
    return Process::Get().Submit([=](Engine& engine, std::shared_ptr<Ticket> ticket) {
      return engine.RemoveSet(name, set, Done(std::move(ticket)));
    });
  });
}

int64_t tony_collective_join() {
  return CallForNumber([] {
    return Process::Get().Submit([](Engine& engine, std::shared_ptr<Ticket> ticket) {
      return engine.Join([ticket = std::move(ticket)](const Status& status, int last) {
        ticket->Finish(status, {}, last);
      });
    });
  });
}

}  // extern "C"
