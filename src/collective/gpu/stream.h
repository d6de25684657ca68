// Streams of work that a GPU does in order, and events in them.
#pragma once

#include <memory>

#include "collective/base/status.h"
#include "collective/gpu/device.h"

namespace tony::collective {

/// A mark in a stream; it records no time. Not thread safe.
class Event {
 public:
  /// Internal, ResourceExhausted – CUDA refuses.
  static Result<std::unique_ptr<Event>> Create(std::shared_ptr<Device> device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Whether the GPU has reached the event where it was last recorded. Internal – an operation
  /// before it has failed.
  Result<bool> Fired() const;
  /// Makes later work on `stream`, which may be of any library in this process, wait until the
  /// event has fired. Internal – CUDA refuses.
  Status BlockStream(CudaStream stream) const;
  CudaEvent handle() const { return event_; }

 private:
  Event(std::shared_ptr<Device> device, CudaEvent event)
      : device_(std::move(device)), event_(event) {}

  const std::shared_ptr<Device> device_;
  const CudaEvent event_;
};

/// A stream of the highest priority: the GPU prefers it to the framework's streams where it can
/// choose, since many ranks wait for a collective operation. Not thread safe.
class Stream {
 public:
  /// Internal, ResourceExhausted – CUDA refuses.
  static Result<std::unique_ptr<Stream>> Create(std::shared_ptr<Device> device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Makes later work on this stream wait until `event`, as recorded now, has fired.
  Status WaitFor(CudaEvent event);
  /// Records `event`: it fires when all work given to the stream so far is done.
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
