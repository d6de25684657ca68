// What a GPU does in order, and marks in it.
#pragma once

#include <memory>

#include "collective/base/status.h"
#include "collective/gpu/device.h"

namespace tony::collective {

/// A mark in a stream, without a time. Not thread safe.
class Event {
 public:
  /// Internal, ResourceExhausted: CUDA refuses.
  static Result<std::unique_ptr<Event>> Create(std::shared_ptr<Device> device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Whether the GPU has come to it, as last recorded.
  /// Internal: something before it has failed.
  Result<bool> Fired() const;
  /// What `stream`, of any library in this process, is given next begins when it has fired.
  /// Internal: CUDA refuses.
  Status BlockStream(CudaStream stream) const;
  CudaEvent handle() const { return event_; }

 private:
  Event(std::shared_ptr<Device> device, CudaEvent event)
      : device_(std::move(device)), event_(event) {}

  const std::shared_ptr<Device> device_;
  const CudaEvent event_;
};

/// Ahead of the framework's streams, as far as the GPU has a choice: many wait for what ranks do
/// together. Not thread safe.
class Stream {
 public:
  /// Internal, ResourceExhausted: CUDA refuses.
  static Result<std::unique_ptr<Stream>> Create(std::shared_ptr<Device> device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// What is given to it next begins when `event`, as recorded now, has fired.
  Status WaitFor(CudaEvent event);
  /// `event` fires when all that was given to it is done.
  Status Record(Event& event);

  const Device& device() const { return *device_; }
  CudaStream handle() const { return stream_; }

 private:
  Stream(std::shared_ptr<Device> device, CudaStream stream)
      : device_(std::move(device)), stream_(stream) {}

  const std::shared_ptr<Device> device_;
  const CudaStream stream_;
};

}  // namespace tony::collective
