// The double of CUDA's driver.
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "collective/gpu/copy_batch.h"
#include "collective/gpu/copy_loops.h"
#include "collective/gpu/cuda_types.h"
#include "tests/collective/gpu/fake/fake_gpu.h"
#include "tests/collective/gpu/fake/fake_stream.h"

using namespace tony::collective;

struct CUctx_st {};
struct CUmod_st {
  std::string text;
};
struct CUfunc_st {};

namespace {

constexpr CudaResult kNotInitialized = 3;
constexpr CudaResult kInvalidContext = 201;

/// By the devices' ordinals.
constexpr int kMostDevices = 16;
CUctx_st contexts_of_devices[kMostDevices];
CUfunc_st copy_kernel;
thread_local std::vector<CudaContext> current_contexts;
std::atomic<size_t> allocated{0};

/// Memory knows its size.
constexpr size_t kHeader = 256;

/// Whose it is: its end and its device's ordinal, by its begin.
struct Owned {
  CudaAddress end;
  int ordinal;
};
std::mutex owned_mutex;
std::map<CudaAddress, Owned> owned;

CudaResult NeedContext() {
  if (FakeContextIsCurrent()) return kCudaSuccess;
  ++tony_fake_gpu()->misuses;
  return kInvalidContext;
}

void RunCopyKernel(const CopyBatch& batch, unsigned blocks, unsigned threads) {
  const uint64_t step = uint64_t{blocks} * threads;
  for (unsigned copy = 0; copy < batch.copies; ++copy) {
    for (uint64_t begin = 0; begin < step; ++begin) CopyPart(batch, copy, begin, step);
  }
}

}  // namespace

bool tony::collective::FakeContextIsCurrent() { return !current_contexts.empty(); }

// With the real signatures, as the table has them.
#define TONY_DECLARE(member, symbol, ...) extern "C" CudaResult symbol(__VA_ARGS__);
TONY_CUDA_FUNCTIONS(TONY_DECLARE)
#undef TONY_DECLARE
extern "C" CudaResult cuLaunchHostFunc(CudaStream stream, void (*function)(void*), void* data);
extern "C" CudaResult cuMemcpy(CudaAddress to, CudaAddress from, size_t bytes);

FakeGpu* tony_fake_gpu() {
  static FakeGpu fake;
  return &fake;
}

CudaResult cuInit(unsigned flags) {
  return flags == 0 ? tony_fake_gpu()->init_result.load() : kCudaInvalidValue;
}

CudaResult cuDriverGetVersion(int* version) {
  *version = tony_fake_gpu()->driver_version;
  return kCudaSuccess;
}

CudaResult cuGetErrorName(CudaResult error, const char** name) {
  if (error == kCudaNoDevice) *name = "CUDA_ERROR_NO_DEVICE";
  if (error == kCudaOutOfMemory) *name = "CUDA_ERROR_OUT_OF_MEMORY";
  if (error == kCudaIllegalAddress) *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
  if (error == kCudaUnsupportedPtxVersion) *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
  return *name == nullptr ? kCudaInvalidValue : kCudaSuccess;
}

CudaResult cuGetErrorString(CudaResult /*error*/, const char** text) {
  *text = "as the double says";
  return kCudaSuccess;
}

CudaResult cuDeviceGetCount(int* count) {
  *count = tony_fake_gpu()->devices;
  return kCudaSuccess;
}

CudaResult cuDeviceGet(CudaDevice* device, int ordinal) {
  if (tony_fake_gpu()->init_result != 0) return kNotInitialized;
  *device = 100 + ordinal;  // no ordinal, as far as anybody knows
  return kCudaSuccess;
}

CudaResult cuDeviceGetName(char* name, int bytes, CudaDevice device) {
  const std::string text = "Double " + std::to_string(device - 100);
  std::strncpy(name, text.c_str(), static_cast<size_t>(bytes));
  return kCudaSuccess;
}

CudaResult cuDeviceGetAttribute(int* value, int /*attribute*/, CudaDevice device) {
  *value = device % 2 == 0 ? 1 : 0;
  return kCudaSuccess;
}

/// Two by two.
CudaResult cuDeviceCanAccessPeer(int* can, CudaDevice device, CudaDevice peer) {
  *can = device / 2 == peer / 2 ? 1 : 0;
  return kCudaSuccess;
}

CudaResult cuDevicePrimaryCtxRetain(CudaContext* context, CudaDevice device) {
  ++tony_fake_gpu()->contexts;
  *context = &contexts_of_devices[device - 100];
  return kCudaSuccess;
}

CudaResult cuDevicePrimaryCtxRelease_v2(CudaDevice /*device*/) {
  --tony_fake_gpu()->contexts;
  return kCudaSuccess;
}

CudaResult cuCtxPushCurrent_v2(CudaContext context) {
  current_contexts.push_back(context);
  return kCudaSuccess;
}

CudaResult cuCtxPopCurrent_v2(CudaContext* context) {
  *context = current_contexts.back();
  current_contexts.pop_back();
  return kCudaSuccess;
}

CudaResult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return NeedContext();
}

CudaResult cuStreamCreateWithPriority(CudaStream* stream, unsigned flags, int priority) {
  if (flags != kCudaStreamNonBlocking || priority != -5) ++tony_fake_gpu()->misuses;
  if (NeedContext() != kCudaSuccess) return kInvalidContext;
  ++tony_fake_gpu()->streams;
  *stream = new CUstream_st;
  return kCudaSuccess;
}

CudaResult cuStreamDestroy_v2(CudaStream stream) {
  --tony_fake_gpu()->streams;
  delete stream;
  return kCudaSuccess;
}

CudaResult cuStreamWaitEvent(CudaStream stream, CudaEvent event, unsigned /*flags*/) {
  const std::lock_guard lock(event->mutex);
  if (event->mark == nullptr) return kCudaSuccess;
  stream->stream.Add([mark = event->mark] {
    mark->Wait();
    tony_fake_gpu()->Note("waited");
  });
  return kCudaSuccess;
}

CudaResult cuEventCreate(CudaEvent* event, unsigned flags) {
  if (flags != kCudaEventDisableTiming) ++tony_fake_gpu()->misuses;
  if (NeedContext() != kCudaSuccess) return kInvalidContext;
  ++tony_fake_gpu()->events;
  *event = new CUevent_st;
  return kCudaSuccess;
}

CudaResult cuEventDestroy_v2(CudaEvent event) {
  --tony_fake_gpu()->events;
  delete event;
  return kCudaSuccess;
}

CudaResult cuEventRecord(CudaEvent event, CudaStream stream) {
  const std::lock_guard lock(event->mutex);
  event->mark = std::make_shared<FakeMark>();
  stream->stream.Add([mark = event->mark] { mark->Fire(); });
  return kCudaSuccess;
}

CudaResult cuEventQuery(CudaEvent event) {
  if (tony_fake_gpu()->query_result != 0) return tony_fake_gpu()->query_result;
  const std::lock_guard lock(event->mutex);
  return event->mark == nullptr || event->mark->fired() ? kCudaSuccess : kCudaNotReady;
}

CudaResult cuMemAlloc_v2(CudaAddress* address, size_t bytes) {
  if (NeedContext() != kCudaSuccess) return kInvalidContext;
  if (bytes == 0) return kCudaInvalidValue;
  if (allocated.fetch_add(bytes) + bytes > tony_fake_gpu()->memory) {
    allocated -= bytes;
    return kCudaOutOfMemory;
  }
  auto* const memory = static_cast<unsigned char*>(
      std::aligned_alloc(kHeader, kHeader + (bytes + kHeader - 1) / kHeader * kHeader));
  std::memcpy(memory, &bytes, sizeof(bytes));
  std::memset(memory + kHeader, 0xcd, bytes);  // what was there before
  ++tony_fake_gpu()->allocations;
  *address = reinterpret_cast<CudaAddress>(memory + kHeader);
  const std::lock_guard lock(owned_mutex);
  owned[*address] = {*address + bytes,
                     static_cast<int>(current_contexts.back() - contexts_of_devices)};
  return kCudaSuccess;
}

CudaResult cuPointerGetAttribute(void* value, int attribute, CudaAddress address) {
  if (attribute != kCudaPointerDeviceOrdinal) return kCudaInvalidValue;
  const std::lock_guard lock(owned_mutex);
  const auto after = owned.upper_bound(address);
  if (after == owned.begin() || std::prev(after)->second.end <= address) return kCudaInvalidValue;
  *static_cast<int*>(value) = std::prev(after)->second.ordinal;
  return kCudaSuccess;
}

CudaResult cuMemFree_v2(CudaAddress address) {
  {
    const std::lock_guard lock(owned_mutex);
    owned.erase(address);
  }
  auto* const memory = reinterpret_cast<unsigned char*>(address) - kHeader;
  size_t bytes = 0;
  std::memcpy(&bytes, memory, sizeof(bytes));
  allocated -= bytes;
  --tony_fake_gpu()->allocations;
  std::free(memory);
  return kCudaSuccess;
}

CudaResult cuMemcpyDtoDAsync_v2(CudaAddress to, CudaAddress from, size_t bytes, CudaStream stream) {
  if (bytes == 0) return kCudaInvalidValue;
  ++tony_fake_gpu()->copies;
  stream->stream.Add([to, from, bytes] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  });
  return NeedContext();
}

CudaResult cuMemsetD8Async(CudaAddress to, unsigned char value, size_t bytes, CudaStream stream) {
  stream->stream.Add(
      [to, value, bytes] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
  return NeedContext();
}

CudaResult cuModuleLoadData(CudaModule* module, const void* image) {
  if (tony_fake_gpu()->module_result != 0) return tony_fake_gpu()->module_result;
  if (NeedContext() != kCudaSuccess) return kInvalidContext;
  ++tony_fake_gpu()->modules;
  *module = new CUmod_st{static_cast<const char*>(image)};
  return kCudaSuccess;
}

CudaResult cuModuleUnload(CudaModule module) {
  --tony_fake_gpu()->modules;
  delete module;
  return NeedContext();
}

CudaResult cuModuleGetFunction(CudaFunction* function, CudaModule module, const char* name) {
  const std::string entry = std::string(".entry ") + name + "(";
  if (module->text.find(entry) == std::string::npos) return kCudaNotFound;
  *function = &copy_kernel;
  return kCudaSuccess;
}

CudaResult cuLaunchKernel(CudaFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, CudaStream stream, void** parameters,
                          void** extra) {
  const auto batch = std::make_shared<CopyBatch>();
  std::memcpy(batch.get(), parameters[0], sizeof(CopyBatch));
  const bool as_declared = function == &copy_kernel && grid_x >= 1 && grid_x <= kCopyBlocks &&
                           grid_y == batch->copies && grid_y <= kCopiesPerBatch && grid_z == 1 &&
                           block_x == kCopyThreads && block_y == 1 && block_z == 1 &&
                           shared_bytes == 0 && extra == nullptr;
  if (!as_declared) ++tony_fake_gpu()->misuses;
  ++tony_fake_gpu()->kernels;
  stream->stream.Add([batch, grid_x, block_x] {
    RunCopyKernel(*batch, grid_x, block_x);
    tony_fake_gpu()->Note("kernel");
  });
  return NeedContext();
}

CudaResult cuLaunchHostFunc(CudaStream stream, void (*function)(void*), void* data) {
  stream->stream.Add([function, data] { function(data); });
  return kCudaSuccess;
}

CudaResult cuMemcpy(CudaAddress to, CudaAddress from, size_t bytes) {
  if (bytes > 0) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  }
  return NeedContext();
}
