// Several tensors that are reduced together as one vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collective/arithmetic/data_type.h"
#include "collective/arithmetic/kernels.h"

namespace tony::collective {

/// Describes where the tensors lie and which factors apply to them when they are copied. Positions
/// and sizes are in bytes, of whole elements. It does not change: thread safe.
class Fusion {
 public:
  struct Tensor {
    const void* in = nullptr;  ///< null: this rank has no such tensor
    void* out = nullptr;       ///< null: this rank does not want the result
    size_t count = 0;          ///< elements
    uint64_t neutral = 0;      ///< the bits of each element if `in` is null
  };

  /// `before`: factor for this rank's values. `after`: factor for the result.
  Fusion(std::vector<Tensor> tensors, DataType type, double before = 1, double after = 1);
  /// A single tensor, without factors. It allocates nothing: an allocation takes as long as summing
  /// up some kilobytes.
  Fusion(const Tensor& tensor, DataType type);
  Fusion(const Fusion&) = delete;
  Fusion& operator=(const Fusion&) = delete;
  ~Fusion() = default;

  std::span<const Tensor> tensors() const { return tensors_; }
  size_t bytes() const { return ends_.empty() ? 0 : ends_.back(); }
  size_t count() const { return bytes() / element(); }
  size_t element() const { return SizeOf(type_); }
  DataType type() const { return type_; }
  double before() const { return before_; }
  double after() const { return after_; }
  /// Whether each result replaces its tensor.
  bool in_place() const { return in_place_; }

  /// Copies `size` bytes of the vector, from `begin` on, to `to`, each value times `before`. A
  /// tensor whose `in` is null gives its `neutral`.
  void Gather(size_t begin, size_t size, std::byte* to) const;
  /// The address of these bytes if they lie in one tensor and `before` is 1. Otherwise null: they
  /// have to be gathered.
  const std::byte* Find(size_t begin, size_t size) const;
  /// Copies results to the tensors, each value times `after`. `stream`: writes past the caches.
  void Scatter(size_t begin, size_t size, const std::byte* from, bool stream) const;
  /// Multiplies results by `after` in place, for results that are not scattered.
  void Finish(std::byte* results, size_t size) const;

 private:
  /// Calls `take(tensor, at, done, part)` for each tensor's part of the range: `part` bytes, `at`
  /// bytes into the tensor, `done` bytes after `begin`.
  template <typename Take>
  void ForParts(size_t begin, size_t size, const Take& take) const;
  size_t IndexOf(size_t position) const;

  const Tensor single_;
  const std::vector<Tensor> several_;
  const std::span<const Tensor> tensors_;  ///< `single_` or `several_`
  const DataType type_;
  const double before_;
  const double after_;
  const Kernels& kernels_;
  const size_t single_end_ = 0;
  std::vector<size_t> several_ends_;
  std::span<const size_t> ends_;  ///< where each tensor ends in the vector, in bytes
  bool in_place_ = true;
};

}  // namespace tony::collective
