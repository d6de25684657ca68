// Makes connections end with their process, also if it has children.
#pragma once

namespace tony::collective {

/// Closes a connection in children of fork(). A child has copies of all descriptors; a connection
/// that it keeps does not end when this process is killed, so that no other rank would notice. A
/// data loader's workers are such children. While a guard exists, a child closes its copy as soon
/// as it begins. Thread safe.
class ForkGuard {
 public:
  /// `descriptor` must stay open as long as the guard exists.
  explicit ForkGuard(int descriptor);
  ForkGuard(ForkGuard&& other) noexcept;
  ForkGuard& operator=(ForkGuard&&) = delete;
  ~ForkGuard();

 private:
  int descriptor_;
};

}  // namespace tony::collective
