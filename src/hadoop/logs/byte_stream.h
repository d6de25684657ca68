// Bytes that come one after the other, and the numbers and texts that Hadoop's files have in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hadoop/hdfs/file_store.h"

namespace tony::hadoop {

/// What is read once, from its beginning to its end. Blocks. Not thread safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Puts up to `size` bytes (above 0) at `data`; returns how many, 0 only at the end. DataLoss –
  /// what is there is not of the expected form; otherwise the codes of FileStore::Read.
  virtual absl::StatusOr<size_t> Read(char* data, size_t size) = 0;
};

/// Bytes in memory. Not thread safe.
class TextStream : public ByteStream {
 public:
  /// `text` must outlive it.
  explicit TextStream(const std::string& text) : text_(text) {}
  absl::StatusOr<size_t> Read(char* data, size_t size) override;

 private:
  const std::string& text_;
  size_t at_ = 0;
};

/// `size` bytes of `file` from `offset` on, fetched in pieces. `file` must outlive it. DataLoss –
/// they are not in the file.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenRange(const StoredFile& file, int64_t offset,
                                                      int64_t size);

/// What zlib, by Hadoop's codec "gz", has made of `compressed`: one or more streams, one after the
/// other. Needs 40 KiB. DataLoss of Read() – it is cut off or damaged.
absl::StatusOr<std::unique_ptr<ByteStream>> Inflate(std::unique_ptr<ByteStream> compressed);

/// The next `size` bytes, at `data`. DataLoss – the stream ends before.
absl::Status ReadExactly(ByteStream& stream, char* data, size_t size);
/// All until the stream's end. DataLoss – that is more than `most_bytes`.
absl::StatusOr<std::string> ReadToEnd(ByteStream& stream, size_t most_bytes);
/// Passes over all until the stream's end. DataLoss of Read() – it is cut off or damaged.
absl::Status SkipToEnd(ByteStream& stream);

/// A text as Java's DataOutput.writeUTF() writes it: two bytes with its length, then its bytes.
/// Nothing at the stream's end. DataLoss – the stream ends within it.
absl::StatusOr<std::optional<std::string>> ReadJavaText(ByteStream& stream);
/// A number of one to nine bytes as TFiles have them, which is not Writable's encoding. Nothing at
/// the stream's end. DataLoss – the stream ends within it, or it is none.
absl::StatusOr<std::optional<int64_t>> ReadTFileNumber(ByteStream& stream);

}  // namespace tony::hadoop
