// The memory of one feed's slots, which the endpoint fills and the program reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::feed {

/// A memfd of `slots` slots, sealed against changes of its size, so that neither side's mapping can
/// lose its pages. The pages appear when they are first written. Not thread safe.
class SlotMemory {
 public:
  /// ResourceExhausted – no memory, address space or descriptor is left.
  static absl::StatusOr<std::unique_ptr<SlotMemory>> Create(uint32_t slots, uint32_t slot_bytes);
  ~SlotMemory();
  SlotMemory(const SlotMemory&) = delete;
  SlotMemory& operator=(const SlotMemory&) = delete;

  char* slot(uint32_t number) const { return data_ + size_t{number} * slot_bytes_; }
  /// For the program, which maps it.
  int fd() const { return fd_.get(); }

 private:
  SlotMemory(os::UniqueFd fd, char* data, uint32_t slots, uint32_t slot_bytes)
      : fd_(std::move(fd)), data_(data), slots_(slots), slot_bytes_(slot_bytes) {}

  os::UniqueFd fd_;
  char* const data_;
  const uint32_t slots_;
  const uint32_t slot_bytes_;
};

}  // namespace tony::feed
