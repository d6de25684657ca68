// Ranks with an engine and a GPU each, as threads, on the doubles of CUDA's driver and of NCCL.
#pragma once

#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collective/gpu/device_memory.h"
#include "tests/collective/engine/engine_ranks.h"
#include "tests/collective/gpu/gpu_rig.h"

namespace tony::collective {

/// A tensor's memory on a GPU of the double, which the host can read as well.
class GpuArray {
 public:
  GpuArray(const std::shared_ptr<Device>& device, const Bytes& content) : bytes_(content.size()) {
    auto memory = DeviceMemory::Allocate(device, std::max<size_t>(bytes_, 1));
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    memory_ = std::move(*memory);
    Fill(content);
  }
  void* data() const { return memory_->data(); }
  float* floats() const { return static_cast<float*>(data()); }
  void Fill(const Bytes& content) {
    if (!content.empty()) std::memcpy(data(), content.data(), content.size());
  }
  Bytes content() const {
    const auto* const begin = static_cast<const unsigned char*>(data());
    return {begin, begin + bytes_};
  }

 private:
  const size_t bytes_;
  std::unique_ptr<DeviceMemory> memory_;
};

inline Bytes FloatBytes(const std::vector<float>& values) {
  Bytes bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// When an operation is with the GPU, for a thread to wait for.
class Issued {
 public:
  std::function<void(std::shared_ptr<Event>, const Output&)> Callback() {
    return [told = told_](std::shared_ptr<Event> done, const Output&) {
      told->set_value(std::move(done));
    };
  }
  /// Null: nobody was told.
  std::shared_ptr<Event> Get() {
    auto future = told_->get_future();
    const bool ready = future.wait_for(kPatience) == std::future_status::ready;
    return ready ? future.get() : nullptr;
  }

 private:
  std::shared_ptr<std::promise<std::shared_ptr<Event>>> told_ =
      std::make_shared<std::promise<std::shared_ptr<Event>>>();
};

class GpuEngineTest : public GpuTest {
 protected:
  /// Rank n uses GPU n.
  Engine::Options Options() {
    Engine::Options options;
    options.gpu = {.cuda_library = kFakeGpu, .nccl_library = kFakeGpu};
    options.nccl = kSmall;
    options.say = [this](const std::string& sentence) {
      const std::lock_guard lock(said_mutex_);
      said_.push_back(sentence);
    };
    return options;
  }
  std::vector<std::string> said() {
    const std::lock_guard lock(said_mutex_);
    return said_;
  }

  /// A tensor of a GPU that is reduced in place.
  static Tensor OnGpu(const std::string& name, const GpuArray& array, size_t count, Promise& done) {
    Tensor tensor;
    tensor.request = Floats(name, count);
    tensor.request.kind.device = DeviceType::kGpu;
    tensor.in = tensor.out = array.data();
    tensor.on_done = done.Callback();
    return tensor;
  }
  static Status SubmitOne(Engine& engine, Tensor tensor) {
    std::vector<Tensor> one;
    one.push_back(std::move(tensor));
    return engine.Submit(std::move(one));
  }
  /// The sum over the ranks of one number each, on GPUs.
  Status Sum(Engine& engine, int rank, const std::string& name, float* value) {
    const GpuArray array(OpenDevice(rank), FloatBytes({*value}));
    Promise done;
    Status status = SubmitOne(engine, OnGpu(name, array, 1, done));
    if (status.ok()) status = done.Get();
    *value = array.floats()[0];
    return status;
  }
  /// The same in the hosts' memory.
  static Status HostSum(Engine& engine, const std::string& name, float* value) {
    Promise done;
    Status status = engine.AllReduce(Floats(name, 1), value, value, done.Callback());
    return status.ok() ? done.Get() : status;
  }
  static void ExpectHostWorks(Engine& engine, const std::string& name, int ranks) {
    float value = 1;
    const Status status = HostSum(engine, name, &value);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(value, static_cast<float>(ranks));
  }
  /// The first error ends all: later calls say so, too.
  static void ExpectEnded(Engine& engine, const Status& first) {
    float value = 1;
    Status later;
    const Deadline deadline = After(kPatience);
    // An operation that is decided already may still be done.
    for (int i = 0; later.ok() && std::chrono::steady_clock::now() < deadline; ++i) {
      later = HostSum(engine, "after" + std::to_string(i), &value);
    }
    EXPECT_FALSE(later.ok()) << "nothing was told after: " << first.message();
  }

 private:
  std::mutex said_mutex_;
  std::vector<std::string> said_;
};

}  // namespace tony::collective
