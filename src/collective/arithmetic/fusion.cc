// Finds the tensor of a position by binary search in the tensors' ends, then copies part by part.
// Factors are applied during the copy, so they need no pass of their own.
#include "collective/arithmetic/fusion.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "collective/arithmetic/copy.h"

namespace tony::collective {
namespace {

/// Fills memory with one element. `bits`: its little-endian bytes.
void Fill(std::byte* to, size_t size, uint64_t bits, size_t element) {
  if (bits == 0) {
    std::memset(to, 0, size);
    return;
  }
  for (size_t at = 0; at < size; at += element) std::memcpy(to + at, &bits, element);
}

bool IsInPlace(const Fusion::Tensor& tensor) {
  return tensor.out == tensor.in || tensor.out == nullptr;
}

}  // namespace

Fusion::Fusion(std::vector<Tensor> tensors, DataType type, double before, double after)
    : several_(std::move(tensors)),
      tensors_(several_),
      type_(type),
      before_(before),
      after_(after),
      kernels_(BestKernels()) {
  several_ends_.reserve(tensors_.size());
  size_t end = 0;
  for (const Tensor& tensor : tensors_) {
    several_ends_.push_back(end += tensor.count * element());
    in_place_ = in_place_ && IsInPlace(tensor);
  }
  ends_ = several_ends_;
}

Fusion::Fusion(const Tensor& tensor, DataType type)
    : single_(tensor),
      tensors_(&single_, 1),
      type_(type),
      before_(1),
      after_(1),
      kernels_(BestKernels()),
      single_end_(tensor.count * SizeOf(type)),
      ends_(&single_end_, 1),
      in_place_(IsInPlace(tensor)) {}

size_t Fusion::IndexOf(size_t position) const {
  // An empty tensor ends where the tensor before it ends, so upper_bound skips it.
  return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), position) -
                             ends_.begin());
}

template <typename Take>
void Fusion::ForParts(size_t begin, size_t size, const Take& take) const {
  size_t done = 0;
  for (size_t index = IndexOf(begin); done < size; ++index) {
    const size_t start = ends_[index] - tensors_[index].count * element();
    const size_t at = begin + done - start;
    const size_t part = std::min(size - done, ends_[index] - begin - done);
    if (part > 0) take(tensors_[index], at, done, part);
    done += part;
  }
}

void Fusion::Gather(size_t begin, size_t size, std::byte* to) const {
  ForParts(begin, size, [&](const Tensor& tensor, size_t at, size_t done, size_t part) {
    const auto* from = static_cast<const std::byte*>(tensor.in);
    if (from == nullptr) {
      Fill(to + done, part, tensor.neutral, element());
    } else if (before_ == 1) {
      // A vector that is reduced in place is its own copy already.
      if (to + done != from + at) std::memcpy(to + done, from + at, part);
    } else {
      kernels_.Scale(type_)(to + done, from + at, part / element(), before_);
    }
  });
}

const std::byte* Fusion::Find(size_t begin, size_t size) const {
  if (before_ != 1 || size == 0) return nullptr;
  const size_t index = IndexOf(begin);
  const Tensor& tensor = tensors_[index];
  if (tensor.in == nullptr || begin + size > ends_[index]) return nullptr;
  const size_t start = ends_[index] - tensor.count * element();
  return static_cast<const std::byte*>(tensor.in) + (begin - start);
}

void Fusion::Scatter(size_t begin, size_t size, const std::byte* from, bool stream) const {
  alignas(kCacheLine) std::array<std::byte, kBlockBytes> scaled;
  ForParts(begin, size, [&](const Tensor& tensor, size_t at, size_t done, size_t part) {
    if (tensor.out == nullptr) return;
    std::byte* const to = static_cast<std::byte*>(tensor.out) + at;
    if (after_ == 1) return Copy(kernels_, to, from + done, part, stream);
    // The values are scaled block by block in the first-level cache, so that they leave it as
    // unscaled ones do, past the caches if `stream`.
    for (size_t i = 0; i < part; i += kBlockBytes) {
      const size_t block = std::min(kBlockBytes, part - i);
      kernels_.Scale(type_)(scaled.data(), from + done + i, block / element(), after_);
      Copy(kernels_, to + i, scaled.data(), block, stream);
    }
  });
}

void Fusion::Finish(std::byte* results, size_t size) const {
  if (after_ != 1) kernels_.Scale(type_)(results, results, size / element(), after_);
}

}  // namespace tony::collective
