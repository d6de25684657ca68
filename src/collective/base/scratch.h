// Memory that is used again from one operation to the next.
#pragma once

#include <cstddef>
#include <memory>

namespace tony::collective {

/// Grows, and forgets what was in it. Not thread safe.
class Scratch {
 public:
  /// So many bytes of any content, until the next call. std::bad_alloc.
  std::byte* Take(size_t bytes) {
    if (bytes > bytes_) {
      bytes_ = 0;
      data_.reset();  // before, so that there is never both
      data_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      bytes_ = bytes;
    }
    return data_.get();
  }
  /// What Take() has returned last.
  std::byte* data() const { return data_.get(); }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t bytes_ = 0;
};

}  // namespace tony::collective
