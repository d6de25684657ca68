// Streams over files fetch large pieces, since each request to HDFS costs milliseconds. The
// decoders trust no length: they read until the data end.
#include "hadoop/logs/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::hadoop {
namespace {

/// The size of a read. A request to HDFS takes some milliseconds, whatever its size.
constexpr int64_t kPieceBytes = 4 << 20;
constexpr size_t kInflateBytes = 32 << 10;
constexpr size_t kSkipBytes = 32 << 10;

/// Reads a range of a file. Not thread safe.
class RangeStream : public ByteStream {
 public:
  RangeStream(const StoredFile& file, int64_t offset, int64_t size)
      : file_(file), next_(offset), left_(size) {}

  absl::StatusOr<size_t> Read(char* data, size_t size) override {
    if (at_ == piece_.size() && left_ > 0) {
      const auto more = static_cast<size_t>(std::min(left_, kPieceBytes));
      TONY_ASSIGN_OR_RETURN(piece_, file_.Read(next_, more));
      next_ += static_cast<int64_t>(more);
      left_ -= static_cast<int64_t>(more);
      at_ = 0;
    }
    const size_t count = std::min(size, piece_.size() - at_);
    std::memcpy(data, piece_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  const StoredFile& file_;
  int64_t next_;  // offset in the file of the next piece
  int64_t left_;  // bytes of the range from next_ on
  std::string piece_;
  size_t at_ = 0;  // position in piece_ of the next byte to give out
};

/// Decompresses zlib streams that stand one behind the other. Not thread safe.
class InflateStream : public ByteStream {
 public:
  explicit InflateStream(std::unique_ptr<ByteStream> compressed)
      : compressed_(std::move(compressed)) {}
  ~InflateStream() override { inflateEnd(&zlib_); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

  bool Start() { return inflateInit(&zlib_) == Z_OK; }

  absl::StatusOr<size_t> Read(char* data, size_t size) override {
    const auto room = static_cast<uInt>(std::min<size_t>(size, std::numeric_limits<uInt>::max()));
    zlib_.next_out = reinterpret_cast<Bytef*>(data);
    zlib_.avail_out = room;
    // zlib may take input without giving output, so the loop runs until there is a byte: an empty
    // result would mean the end. The end is valid only between two zlib streams; anywhere else the
    // data are cut off.
    while (zlib_.avail_out == room) {
      if (zlib_.avail_in == 0) {
        TONY_ASSIGN_OR_RETURN(const size_t more, compressed_->Read(input_.data(), input_.size()));
        if (more == 0 && between_) return 0;
        if (more == 0) return absl::DataLossError("compressed data end too early");
        zlib_.next_in = reinterpret_cast<Bytef*>(input_.data());
        zlib_.avail_in = static_cast<uInt>(more);
      }
      const int result = inflate(&zlib_, Z_NO_FLUSH);
      between_ = result == Z_STREAM_END;
      if (between_) inflateReset(&zlib_);
      if (result != Z_OK && !between_) {
        return absl::DataLossError(absl::StrCat("compressed data are damaged (zlib says ",
                                                zlib_.msg == nullptr ? "nothing" : zlib_.msg, ")"));
      }
    }
    return room - zlib_.avail_out;
  }

 private:
  std::unique_ptr<ByteStream> compressed_;
  z_stream zlib_{};
  std::array<char, kInflateBytes> input_;
  bool between_ = false;  // one zlib stream has ended, and no other has begun
};

absl::Status Cut() { return absl::DataLossError("it ends too early"); }

/// The next byte; nothing at the stream's end.
absl::StatusOr<std::optional<uint8_t>> ReadByte(ByteStream& stream) {
  char byte = 0;
  TONY_ASSIGN_OR_RETURN(const size_t count, stream.Read(&byte, 1));
  if (count == 0) return std::optional<uint8_t>();
  return std::optional<uint8_t>(static_cast<uint8_t>(byte));
}

}  // namespace

absl::StatusOr<size_t> TextStream::Read(char* data, size_t size) {
  const size_t count = text_.copy(data, size, at_);
  at_ += count;
  return count;
}

absl::StatusOr<std::unique_ptr<ByteStream>> OpenRange(const StoredFile& file, int64_t offset,
                                                      int64_t size) {
  if (offset < 0 || size < 0 || offset > file.bytes() || size > file.bytes() - offset) {
    return absl::DataLossError(absl::StrCat("it says that ", size, " bytes are at byte ", offset,
                                            ", and has ", file.bytes()));
  }
  return std::make_unique<RangeStream>(file, offset, size);
}

absl::StatusOr<std::unique_ptr<ByteStream>> Inflate(std::unique_ptr<ByteStream> compressed) {
  auto stream = std::make_unique<InflateStream>(std::move(compressed));
  if (!stream->Start()) return absl::ResourceExhaustedError("there is no memory for zlib");
  return stream;
}

// A stream may give fewer bytes than it is asked for before its end, so the read is repeated.
absl::Status ReadExactly(ByteStream& stream, char* data, size_t size) {
  while (size > 0) {
    TONY_ASSIGN_OR_RETURN(const size_t count, stream.Read(data, size));
    if (count == 0) return Cut();
    data += count;
    size -= count;
  }
  return absl::OkStatus();
}

// The limit guards against data that decompress to far more than their size.
absl::StatusOr<std::string> ReadToEnd(ByteStream& stream, size_t most_bytes) {
  std::string bytes;
  std::array<char, kSkipBytes> part;
  while (true) {
    TONY_ASSIGN_OR_RETURN(const size_t count, stream.Read(part.data(), part.size()));
    if (count == 0) return bytes;
    if (bytes.size() + count > most_bytes) {
      return absl::DataLossError(absl::StrCat("an index has more than ", most_bytes, " bytes"));
    }
    bytes.append(part.data(), count);
  }
}

absl::Status SkipToEnd(ByteStream& stream) {
  std::array<char, kSkipBytes> part;
  while (true) {
    TONY_ASSIGN_OR_RETURN(const size_t count, stream.Read(part.data(), part.size()));
    if (count == 0) return absl::OkStatus();
  }
}

absl::StatusOr<std::optional<std::string>> ReadJavaText(ByteStream& stream) {
  TONY_ASSIGN_OR_RETURN(const std::optional<uint8_t> high, ReadByte(stream));
  if (!high) return std::optional<std::string>();
  TONY_ASSIGN_OR_RETURN(const std::optional<uint8_t> low, ReadByte(stream));
  if (!low) return Cut();
  std::string text(static_cast<size_t>(*high) << 8 | *low, '\0');
  TONY_RETURN_IF_ERROR(ReadExactly(stream, text.data(), text.size()));
  return std::optional<std::string>(std::move(text));
}

// The encoding of Utils.readVLong() in Hadoop's package org.apache.hadoop.io.file.tfile. The first
// byte is signed:
//    -32 to  127   the number itself
//    -72 to  -33   one byte follows; the bits above it are first + 52
//   -104 to  -73   two bytes follow; the bits above them are first + 88
//   -120 to -105   three bytes follow; the bits above them are first + 112
//   -125 to -121   first + 129 bytes follow, which are the whole number
//   -128 to -126   not used
absl::StatusOr<std::optional<int64_t>> ReadTFileNumber(ByteStream& stream) {
  TONY_ASSIGN_OR_RETURN(const std::optional<uint8_t> byte, ReadByte(stream));
  if (!byte) return std::optional<int64_t>();
  const int first = *byte < 0x80 ? *byte : *byte - 0x100;
  if (first >= -32) return std::optional<int64_t>(first);
  const auto [bytes, offset] = first >= -72    ? std::pair(1, 52)
                               : first >= -104 ? std::pair(2, 88)
                               : first >= -120 ? std::pair(3, 112)
                                               : std::pair(first + 129, 0);
  if (offset == 0 && bytes < 4) return absl::DataLossError("it has a number that is none");
  std::array<char, 8> rest{};
  TONY_RETURN_IF_ERROR(ReadExactly(stream, rest.data(), static_cast<size_t>(bytes)));
  // The bits above the bytes that follow come from the first byte, or else repeat the sign.
  const int above = offset != 0 ? first + offset : rest[0] < 0 ? -1 : 0;
  auto number = static_cast<uint64_t>(static_cast<int64_t>(above));
  for (int i = 0; i < bytes; ++i) {
    number = number << 8 | static_cast<uint8_t>(rest[static_cast<size_t>(i)]);
  }
  return std::optional<int64_t>(static_cast<int64_t>(number));
}

}  // namespace tony::hadoop
