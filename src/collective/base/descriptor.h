// A file descriptor with an owner that closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace tony::collective {

/// Owns a file descriptor and closes it in its destructor. Not thread safe.
class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }

  /// The descriptor. Below 0: there is none.
  int get() const { return value_; }
  int Release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

}  // namespace tony::collective
