// Tensors that are reduced together, as if they were one vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collective/arithmetic/data_type.h"
#include "collective/arithmetic/kernels.h"

namespace tony::collective {

/// Says where they are, and what they are multiplied with on the way. Positions and sizes are in
/// bytes, of whole elements. It does not change: thread safe.
class Fusion {
 public:
  struct Tensor {
    const void* in = nullptr;  ///< null: this rank has none
    void* out = nullptr;       ///< null: this rank does not want the result
    size_t count = 0;          ///< elements
    uint64_t neutral = 0;      ///< the bits of each element, where this rank has none
  };

  /// `before`: factor for what this rank has; `after`: for the result.
  Fusion(std::vector<Tensor> tensors, DataType type, double before = 1, double after = 1);
  /// A single one. Nothing is allocated, which would take as long as summing up some kilobytes.
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
  /// Whether each result takes the place of its tensor.
  bool in_place() const { return in_place_; }

  /// What is there, each times `before`.
  void Gather(size_t begin, size_t size, std::byte* to) const;
  /// The same where it lies, if it lies in one place and the factor is 1; otherwise null.
  const std::byte* Find(size_t begin, size_t size) const;
  /// Writes results, each times `after`. `stream`: past the caches.
  void Scatter(size_t begin, size_t size, const std::byte* from, bool stream) const;
  /// The factor `after`, for results that are not scattered.
  void Finish(std::byte* results, size_t size) const;

 private:
  /// Calls `take(tensor, at, done, size)` for each part: from `at` in the tensor, `done` bytes
  /// after `begin`.
  template <typename Take>
  void ForParts(size_t begin, size_t size, const Take& take) const;
  size_t IndexOf(size_t position) const;

  const Tensor single_;
  const std::vector<Tensor> several_;
  const std::span<const Tensor> tensors_;  ///< one of the two
  const DataType type_;
  const double before_;
  const double after_;
  const Kernels& kernels_;
  const size_t single_end_ = 0;
  std::vector<size_t> several_ends_;
  std::span<const size_t> ends_;  ///< of each, in bytes
  bool in_place_ = true;
};

}  // namespace tony::collective
