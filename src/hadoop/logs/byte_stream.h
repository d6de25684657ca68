// Sequential byte streams, and decoders for the numbers and texts in Hadoop's log files.
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

/// A stream that is read once, from beginning to end. Blocks. Not thread safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Writes up to `size` bytes (at least 1) to `data` and returns their number, 0 only at the end.
  /// DataLoss – the data are cut off or damaged; otherwise the codes of FileStore::Read.
  virtual absl::StatusOr<size_t> Read(char* data, size_t size) = 0;
};

/// A stream over bytes in memory. Not thread safe.
class TextStream : public ByteStream {
 public:
  /// `text` must outlive the stream.
  explicit TextStream(const std::string& text) : text_(text) {}
  absl::StatusOr<size_t> Read(char* data, size_t size) override;

 private:
  const std::string& text_;
  size_t at_ = 0;
};

/// A stream over `size` bytes of `file` from `offset` on, fetched in pieces. `file` must outlive
/// it. DataLoss – the range is not within the file.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenRange(const StoredFile& file, int64_t offset,
                                                      int64_t size);

/// A stream that decompresses `compressed`: one or more zlib streams, one behind the other, as
/// Hadoop's codec "gz" writes them. It needs 40 KiB of memory. Its Read() returns DataLoss if the
/// data are cut off or damaged. ResourceExhausted – there is no memory for zlib.
absl::StatusOr<std::unique_ptr<ByteStream>> Inflate(std::unique_ptr<ByteStream> compressed);

/// Reads the next `size` bytes to `data`. DataLoss – the stream ends before.
absl::Status ReadExactly(ByteStream& stream, char* data, size_t size);
/// Reads the rest of the stream. DataLoss – it has more than `most_bytes`.
absl::StatusOr<std::string> ReadToEnd(ByteStream& stream, size_t most_bytes);
/// Reads and discards the rest of the stream. The codes of its Read().
absl::Status SkipToEnd(ByteStream& stream);

/// Reads a text in the form of Java's DataOutput.writeUTF(): a length of two bytes, then the text.
/// Nothing at the stream's end. DataLoss – the stream ends within the text.
absl::StatusOr<std::optional<std::string>> ReadJavaText(ByteStream& stream);
/// Reads a number in the encoding of TFiles, of one to nine bytes; Writable has another encoding.
/// Nothing at the stream's end. DataLoss – the stream ends within the number, or its first byte is
/// not valid.
absl::StatusOr<std::optional<int64_t>> ReadTFileNumber(ByteStream& stream);

}  // namespace tony::hadoop
