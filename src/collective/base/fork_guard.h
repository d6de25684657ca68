// Connections that end with their process, though it may have children.
#pragma once

namespace tony::collective {

/// Children of fork() have copies of all descriptors. A connection that one of them keeps does not
/// end when this process is killed, so that nobody would hear of it; a data loader's workers are
/// such children. While there is a guard, children close their copy as soon as they begin. Thread
/// safe.
class ForkGuard {
 public:
  /// `descriptor` is closed after this.
  explicit ForkGuard(int descriptor);
  ForkGuard(ForkGuard&& other) noexcept;
  ForkGuard& operator=(ForkGuard&&) = delete;
  ~ForkGuard();

 private:
  int descriptor_;
};

}  // namespace tony::collective
