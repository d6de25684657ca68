// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace tony::os {

/// Owns one descriptor, or none (-1). Not thread safe.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { Reset(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

  /// Gives the descriptor to the caller, who must close it.
  int Release() { return std::exchange(fd_, -1); }

  /// Closes the current descriptor and holds `fd` instead.
  void Reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace tony::os
