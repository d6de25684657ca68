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
                     .shape = {tensor->shape, tensor->shape + tensor->dimensions}};
  if (tensor->group != nullptr) {
    request.group = tensor->group;
    request.group_size = tensor->group_size;
  }
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
                  auto ranks = Process::Get().size();
                  if (!ranks.ok()) return ranks.status();
                  if (splits != nullptr) request.splits.assign(splits, splits + *ranks);
                  return engine.AllToAll(std::move(request), in, DoneWithOutput(std::move(ticket)));
                });
}

int64_t tony_collective_barrier(const char* name) {
  return CallForNumber([=]() -> Result<Process::Handle> {
    if (name == nullptr) return Invalid("a barrier without a name");
    return Process::Get().Submit([=](Engine& engine, std::shared_ptr<Ticket> ticket) {
      return engine.Barrier(name, Done(std::move(ticket)));
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
