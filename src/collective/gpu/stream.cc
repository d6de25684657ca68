// Wraps the driver's streams and events. Events carry no time, and the stream does not wait for
// CUDA's default stream.
#include "collective/gpu/stream.h"

#include <utility>

namespace tony::collective {

Result<std::unique_ptr<Event>> Event::Create(std::shared_ptr<Device> device) {
  const Device::Current current(*device);
  CudaEvent event = nullptr;
  const CudaDriver& driver = device->driver();
  Status made = driver.Check(driver.EventCreate(&event, kCudaEventDisableTiming),
                             "create an event on the GPU");
  if (!made.ok()) return made;
  return std::unique_ptr<Event>(new Event(std::move(device), event));
}

Event::~Event() {
  const Device::Current current(*device_);
  device_->driver().EventDestroy(event_);
}

Result<bool> Event::Fired() const {
  const CudaResult result = device_->driver().EventQuery(event_);
  if (result == kCudaNotReady) return false;
  Status status = device_->driver().Check(result, "go on with what the GPU was given");
  if (!status.ok()) return status;
  return true;
}

Status Event::BlockStream(CudaStream stream) const {
  const Device::Current current(*device_);
  return device_->driver().Check(device_->driver().StreamWaitEvent(stream, event_, 0),
                                 "let the framework's stream wait");
}

Result<std::unique_ptr<Stream>> Stream::Create(std::shared_ptr<Device> device) {
  const Device::Current current(*device);
  const CudaDriver& driver = device->driver();
  int least = 0;
  int greatest = 0;
  CudaStream stream = nullptr;
  CudaResult result = driver.PriorityRange(&least, &greatest);
  if (result == kCudaSuccess) {
    result = driver.StreamCreate(&stream, kCudaStreamNonBlocking, greatest);
  }
  Status made = driver.Check(result, "create a stream on the GPU");
  if (!made.ok()) return made;
  return std::unique_ptr<Stream>(new Stream(std::move(device), stream));
}

/// Destroying the stream does not wait: CUDA finishes the work that it still has.
Stream::~Stream() {
  const Device::Current current(*device_);
  device_->driver().StreamDestroy(stream_);
}

Status Stream::WaitFor(CudaEvent event) {
  const Device::Current current(*device_);
  return device_->driver().Check(device_->driver().StreamWaitEvent(stream_, event, 0),
                                 "wait for the framework's event");
}

Status Stream::Record(Event& event) {
  const Device::Current current(*device_);
  return device_->driver().Check(device_->driver().EventRecord(event.handle(), stream_),
                                 "record an event");
}

}  // namespace tony::collective
