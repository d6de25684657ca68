// A buffer that is reused from one operation to the next.
#pragma once

#include <cstddef>
#include <memory>

namespace tony::collective {

/// A buffer that grows on demand; growing discards its contents. Not thread safe.
class Scratch {
 public:
  /// Returns at least `bytes` bytes with undefined contents, valid until the next call. Throws
  /// std::bad_alloc.
  std::byte* Take(size_t bytes) {
    if (bytes > bytes_) {
      bytes_ = 0;
      data_.reset();  // first, so that old and new memory never exist at the same time
      data_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      bytes_ = bytes;
    }
    return data_.get();
  }
  /// The last result of Take().
  std::byte* data() const { return data_.get(); }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t bytes_ = 0;
};

}  // namespace tony::collective
