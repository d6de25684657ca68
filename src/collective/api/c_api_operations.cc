// The functions of tony/collective.h that submit an operation. Each builds a Request and hands it,
// with callbacks that finish a RequestHandle, to the engine. Only errors that this rank can see
// alone are returned at once; all others come through the handle.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "collective/api/c_call.h"
#include "collective/api/process.h"
#include "tony/collective.h"

namespace tony::collective {
namespace {

static_assert(TONY_COLLECTIVE_BOOL == static_cast<int>(DataType::kBool));
static_assert(TONY_COLLECTIVE_FLOAT16 == static_cast<int>(DataType::kFloat16));
static_assert(TONY_COLLECTIVE_FLOAT64 == static_cast<int>(DataType::kFloat64));
static_assert(TONY_COLLECTIVE_GPU == static_cast<int>(DeviceType::kGpu));
static_assert(TONY_COLLECTIVE_AVERAGE == static_cast<int>(ReduceOp::kAverage));
static_assert(TONY_COLLECTIVE_ADASUM == static_cast<int>(ReduceOp::kAdasum));
static_assert(TONY_COLLECTIVE_PRODUCT == static_cast<int>(ReduceOp::kProduct));

using CTensor = tony_collective_tensor;
using Reduction = tony_collective_reduction;

Status Invalid(const std::string& what) { return {Code::kInvalidArgument, what}; }

/// The request of a tensor, without its operation. InvalidArgument – a null pointer, or an unknown
/// type or device.
Result<Request> RequestFor(const CTensor* tensor) {
  if (tensor == nullptr || tensor->name == nullptr || tensor->dimensions < 0 ||
      (tensor->dimensions > 0 && tensor->shape == nullptr)) {
    return Invalid("a tensor without a name or a shape");
  }
  if (tensor->type < 0 || static_cast<size_t>(tensor->type) >= kDataTypes) {
    return Invalid(std::string("tensor '") + tensor->name + "' has an unknown type, " +
                   std::to_string(tensor->type));
  }
  if (tensor->device < 0 || static_cast<size_t>(tensor->device) >= kDeviceTypes) {
    return Invalid(std::string("tensor '") + tensor->name + "' is on an unknown device, " +
                   std::to_string(tensor->device));
  }
  Request request = {.name = tensor->name,
                     .kind = {.device = static_cast<DeviceType>(tensor->device),
                              .type = static_cast<DataType>(tensor->type)},
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

/// The callback for an operation without an output.
Engine::OnDone Done(std::shared_ptr<RequestHandle> handle) {
  return [handle = std::move(handle)](const Status& status) { handle->Finish(status, {}, -1); };
}

Engine::OnOutput DoneWithOutput(std::shared_ptr<RequestHandle> handle) {
  return [handle = std::move(handle)](const Status& status, Engine::Output output) {
    handle->Finish(status, std::move(output), -1);
  };
}

/// The part of a tensor that is for GPUs only: the event to wait for, and the callback for when the
/// GPU has the operation.
GpuPart GpuPartOf(const CTensor& tensor, const std::shared_ptr<RequestHandle>& handle) {
  return {.ready = static_cast<CudaEvent>(tensor.ready),
          .on_issued = [handle](std::shared_ptr<Event> done, const Output& output) {
            handle->Issue(std::move(done), output);
          }};
}

/// The memory that an operation reads and writes; null where it does neither.
struct Memory {
  const void* in = nullptr;
  void* out = nullptr;
};

bool HasOutput(Operation operation) {
  return operation != Operation::kAllReduce && operation != Operation::kBroadcast;
}

/// Submits one operation. `complete` adds to the request what only this operation needs.
int64_t Submit(const CTensor* c_tensor, Operation operation, Memory memory,
               const std::function<Status(Engine&, Request&)>& complete) {
  return CallForNumber([&]() -> Result<Process::Handle> {
    auto request = RequestFor(c_tensor);
    if (!request.ok()) return request.status();
    request->kind.operation = operation;
    return Process::Get().Submit([&](Engine& engine, std::shared_ptr<RequestHandle> handle) {
      if (Status completed = complete(engine, *request); !completed.ok()) return completed;
      std::vector<Tensor> tensors(1);
      Tensor& tensor = tensors[0];
      tensor.request = std::move(*request);
      tensor.in = memory.in;
      tensor.out = memory.out;
      if (tensor.request.kind.device == DeviceType::kGpu) tensor.gpu = GpuPartOf(*c_tensor, handle);
      if (HasOutput(operation)) {
        tensor.on_output = DoneWithOutput(std::move(handle));
      } else {
        tensor.on_done = Done(std::move(handle));
      }
      return engine.Submit(std::move(tensors));
    });
  });
}

/// The arguments of a grouped operation. Null: the operation has no such argument.
struct GroupCall {
  Operation operation;
  const char* group;
  int count;
  const CTensor* tensors;
  const Reduction* reduction;
  const void* const* in;
  void* const* out;
  int64_t* handles;
};

/// The tensors of the call. InvalidArgument – one of them, or the group itself, is invalid.
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
        Process::Get().SubmitAll(tensors->size(), [&](Engine& engine, const auto& handles) {
          for (size_t i = 0; i < handles.size(); ++i) {
            Tensor& tensor = (*tensors)[i];
            if (tensor.request.kind.device == DeviceType::kGpu) {
              tensor.gpu = GpuPartOf(call.tensors[i], handles[i]);
            }
            if (call.operation == Operation::kAllReduce) {
              tensor.on_done = Done(handles[i]);
            } else {
              tensor.on_output = DoneWithOutput(handles[i]);
            }
          }
          return engine.Submit(std::move(*tensors), call.group);
        });
    if (!first.ok()) return first.status();
    // SubmitAll() gives consecutive handles. They are written only when all tensors were submitted.
    for (int i = 0; i < call.count; ++i) call.handles[i] = *first + i;
    return {};
  });
}
// The `complete` of operations whose request needs nothing more.
Status Nothing(Engine& /*engine*/, Request& /*request*/) { return {}; }

}  // namespace
}  // namespace tony::collective

using namespace tony::collective;  // NOLINT(google-build-using-namespace): what follows is C

extern "C" {

int64_t tony_collective_allreduce(const tony_collective_tensor* tensor,
                                  const tony_collective_reduction* reduction, const void* in,
                                  void* out) {
  return Submit(
      tensor, Operation::kAllReduce, {.in = in, .out = out},
      [=](Engine& /*engine*/, Request& request) { return SetReduction(reduction, request.kind); });
}

int64_t tony_collective_allgather(const tony_collective_tensor* tensor, const void* in) {
  return Submit(tensor, Operation::kAllGather, {.in = in}, Nothing);
}

int64_t tony_collective_broadcast(const tony_collective_tensor* tensor, int root, void* data) {
  return Submit(tensor, Operation::kBroadcast, {.out = data},
                [=](Engine& /*engine*/, Request& request) -> Status {
                  request.kind.root = root;
                  return {};
                });
}

int64_t tony_collective_reducescatter(const tony_collective_tensor* tensor,
                                      const tony_collective_reduction* reduction, const void* in) {
  return Submit(
      tensor, Operation::kReduceScatter, {.in = in},
      [=](Engine& /*engine*/, Request& request) { return SetReduction(reduction, request.kind); });
}

int64_t tony_collective_alltoall(const tony_collective_tensor* tensor, const int64_t* splits,
                                 const void* in) {
  return Submit(tensor, Operation::kAllToAll, {.in = in},
                [=](Engine& engine, Request& request) -> Status {
                  auto membership = engine.MembershipIn(request.set);
                  if (!membership.ok()) return membership.status();
                  // The set's size gives the length of the caller's array, so the set has to be
                  // known first.
                  if (splits != nullptr) request.splits.assign(splits, splits + membership->ranks);
                  return {};
                });
}

int64_t tony_collective_barrier(const char* name, uint32_t set) {
  return CallForNumber([=]() -> Result<Process::Handle> {
    if (name == nullptr) return Invalid("a barrier without a name");
    return Process::Get().Submit([=](Engine& engine, std::shared_ptr<RequestHandle> handle) {
      return engine.Barrier(name, Done(std::move(handle)), set);
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
    return Process::Get().Submit([=](Engine& engine, std::shared_ptr<RequestHandle> handle) {
      return engine.AddSet(name, {ranks, ranks + count}, DoneWithOutput(std::move(handle)));
    });
  });
}

int64_t tony_collective_remove_process_set(const char* name, uint32_t set) {
  return CallForNumber([=]() -> Result<Process::Handle> {
    if (name == nullptr) return Invalid("a process set is to go without a name");
    return Process::Get().Submit([=](Engine& engine, std::shared_ptr<RequestHandle> handle) {
      return engine.RemoveSet(name, set, Done(std::move(handle)));
    });
  });
}

int64_t tony_collective_join(int gpu) {
  return CallForNumber([=] {
    return Process::Get().Submit([=](Engine& engine, std::shared_ptr<RequestHandle> handle) {
      return engine.Join([handle = std::move(handle)](
                             const Status& status, int last) { handle->Finish(status, {}, last); },
                         gpu);
    });
  });
}

}  // extern "C"
