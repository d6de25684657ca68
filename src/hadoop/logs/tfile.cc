// Every offset, size and count in the file is compared with the file's own size before it is used,
// so that a damaged file costs no memory and no endless loop.
#include "hadoop/logs/tfile.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/big_endian.h"
#include "common/status_macros.h"

namespace tony::hadoop {
namespace {

constexpr char kDataIndex[] = "data:BCFile.index";
constexpr int kMajorVersion = 1;
constexpr int64_t kMagicBytes = 16;
constexpr int64_t kTrailerBytes = 8 + 4 + kMagicBytes;
// The index of three meta blocks, whose names have some twenty letters.
constexpr int64_t kMostMetaIndexBytes = 64 << 10;
// A data block has at least 256 KiB and takes some ten bytes of the index: enough for 100 GiB.
constexpr size_t kMostDataIndexBytes = 4 << 20;
constexpr int64_t kMostNameBytes = 64 << 10;
constexpr int64_t kMostKeyBytes = 64 << 10;
constexpr int64_t kMostChunkBytes = std::numeric_limits<int32_t>::max();

/// Reads a number from 0 to `most`. DataLoss – there is none, or another one.
absl::StatusOr<int64_t> ReadCount(ByteStream& stream, int64_t most) {
  TONY_ASSIGN_OR_RETURN(const std::optional<int64_t> number, ReadTFileNumber(stream));
  if (!number) return absl::DataLossError("an index ends too early");
  if (*number >= 0 && *number <= most) return *number;
  return absl::DataLossError(
      absl::StrCat("an index has ", *number, " where at most ", most, " can be"));
}

absl::StatusOr<std::string> ReadName(ByteStream& stream) {
  TONY_ASSIGN_OR_RETURN(const int64_t bytes, ReadCount(stream, kMostNameBytes));
  std::string name(static_cast<size_t>(bytes), '\0');
  TONY_RETURN_IF_ERROR(ReadExactly(stream, name.data(), name.size()));
  return name;
}

}  // namespace

absl::StatusOr<TFileCompression> ParseTFileCompression(const std::string& name) {
  if (name == "none") return TFileCompression::kNone;
  if (name == "gz") return TFileCompression::kGz;
  return absl::UnimplementedError(
      absl::StrCat("it is compressed by '", name, "', and only 'none' and 'gz' are known"));
}

absl::StatusOr<std::unique_ptr<ByteStream>> OpenCompressed(const StoredFile& file, int64_t offset,
                                                           int64_t size,
                                                           TFileCompression compression) {
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stored, OpenRange(file, offset, size));
  if (compression == TFileCompression::kNone) return stored;
  return Inflate(std::move(stored));
}

const std::string& TFile::Magic() {
  static const auto* const magic = new std::string(
      "\xd1\x11\xd3\x68\x91\xb5\xd7\xb6\x39\xdf\x41\x40\x92\xba\xe1\x50", kMagicBytes);
  return *magic;
}

absl::StatusOr<std::unique_ptr<TFile>> TFile::Open(const StoredFile& file) {
  std::unique_ptr<TFile> records(new TFile(file));
  TONY_ASSIGN_OR_RETURN(const std::string index, records->ReadDataIndex());
  TONY_RETURN_IF_ERROR(records->ReadBlocks(index));
  return records;
}

// The way to the data index leads over the trailer at the file's end and the index of meta blocks.
absl::StatusOr<std::string> TFile::ReadDataIndex() const {
  const int64_t end = file_.bytes() - kTrailerBytes;
  std::string trailer(kTrailerBytes, '\0');
  if (end >= kMagicBytes) {
    TONY_ASSIGN_OR_RETURN(trailer, file_.Read(end, kTrailerBytes));
  }
  if (trailer.substr(12) != Magic()) {
    return absl::DataLossError(
        "it does not end as collected logs do: it is being written, cut off, or of another form");
  }
  const uint32_t version = FromBigEndian(trailer.data() + 8);
  if (version >> 16 != kMajorVersion) {
    return absl::UnimplementedError(absl::StrCat("it is a TFile of version ", version >> 16));
  }
  const auto begin =
      static_cast<int64_t>(static_cast<uint64_t>(FromBigEndian(trailer.data())) << 32 |
                           FromBigEndian(trailer.data() + 4));
  if (begin < kMagicBytes || begin > end || end - begin > kMostMetaIndexBytes) {
    return absl::DataLossError(absl::StrCat("its index cannot be at byte ", begin));
  }
  TONY_ASSIGN_OR_RETURN(const std::string text,
                        file_.Read(begin, static_cast<size_t>(end - begin)));
  TextStream index(text);
  TONY_ASSIGN_OR_RETURN(int64_t left, ReadCount(index, kMostMetaIndexBytes));
  for (; left > 0; --left) {
    TONY_ASSIGN_OR_RETURN(const std::string name, ReadName(index));
    TONY_ASSIGN_OR_RETURN(const std::string compression, ReadName(index));
    TONY_ASSIGN_OR_RETURN(const int64_t offset, ReadCount(index, begin));
    TONY_ASSIGN_OR_RETURN(const int64_t bytes, ReadCount(index, begin - offset));
    // The block's size before compression is not needed.
    TONY_RETURN_IF_ERROR(ReadCount(index, std::numeric_limits<int64_t>::max()).status());
    if (name != kDataIndex) continue;
    TONY_ASSIGN_OR_RETURN(const TFileCompression known, ParseTFileCompression(compression));
    TONY_ASSIGN_OR_RETURN(const auto block, OpenCompressed(file_, offset, bytes, known));
    return ReadToEnd(*block, kMostDataIndexBytes);
  }
  return absl::DataLossError("it has no index of data blocks");
}

absl::Status TFile::ReadBlocks(const std::string& index) {
  TextStream stream(index);
  TONY_ASSIGN_OR_RETURN(const std::string compression, ReadName(stream));
  TONY_ASSIGN_OR_RETURN(compression_, ParseTFileCompression(compression));
  TONY_ASSIGN_OR_RETURN(int64_t left, ReadCount(stream, kMostDataIndexBytes));
  int64_t end = kMagicBytes;
  for (; left > 0; --left) {
    Block block;
    TONY_ASSIGN_OR_RETURN(block.offset, ReadCount(stream, file_.bytes()));
    TONY_ASSIGN_OR_RETURN(block.bytes, ReadCount(stream, file_.bytes() - block.offset));
    // Blocks must not overlap: otherwise a small file could name the same block a million times.
    if (block.offset < end) {
      return absl::DataLossError(absl::StrCat("it says that a block is at byte ", block.offset,
                                              ", before the end of another"));
    }
    end = block.offset + block.bytes;
    // The block's size before compression is not used: Hadoop counts it in 32 bits, and a block may
    // be larger than 2 GiB.
    TONY_RETURN_IF_ERROR(ReadCount(stream, std::numeric_limits<int64_t>::max()).status());
    blocks_.push_back(block);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> TFile::Next() {
  if (block_ != nullptr) TONY_RETURN_IF_ERROR(SkipToEnd(*this));
  while (true) {
    if (block_ == nullptr) {
      if (next_block_ == blocks_.size()) return false;
      const Block& block = blocks_[next_block_++];
      TONY_ASSIGN_OR_RETURN(block_, OpenCompressed(file_, block.offset, block.bytes, compression_));
    }
    // A block does not say how many records it has. It ends behind a record.
    TONY_ASSIGN_OR_RETURN(const std::optional<int64_t> bytes, ReadTFileNumber(*block_));
    if (bytes) {
      TONY_RETURN_IF_ERROR(ReadKey(*bytes));
      return true;
    }
    block_ = nullptr;
  }
}

absl::Status TFile::ReadKey(int64_t bytes) {
  if (bytes < 0 || bytes > kMostKeyBytes) {
    return absl::DataLossError(absl::StrCat("it has a key of ", bytes, " bytes"));
  }
  key_.resize(static_cast<size_t>(bytes));
  TONY_RETURN_IF_ERROR(ReadExactly(*block_, key_.data(), key_.size()));
  chunk_left_ = 0;
  last_chunk_ = false;
  return absl::OkStatus();
}

// A value is a sequence of chunks, each behind its length. The length is negative for all chunks
// but the last, which may be empty.
absl::StatusOr<size_t> TFile::Read(char* data, size_t size) {
  while (chunk_left_ == 0) {
    if (last_chunk_) return 0;
    TONY_ASSIGN_OR_RETURN(const std::optional<int64_t> bytes, ReadTFileNumber(*block_));
    if (!bytes) return absl::DataLossError("it ends within a value");
    if (*bytes < -kMostChunkBytes || *bytes > kMostChunkBytes) {
      return absl::DataLossError(absl::StrCat("it has a chunk of ", *bytes, " bytes"));
    }
    last_chunk_ = *bytes >= 0;
    chunk_left_ = last_chunk_ ? *bytes : -*bytes;
  }
  const size_t most = std::min(size, static_cast<size_t>(chunk_left_));
  TONY_ASSIGN_OR_RETURN(const size_t count, block_->Read(data, most));
  if (count == 0) return absl::DataLossError("it ends within a value");
  chunk_left_ -= static_cast<int64_t>(count);
  return count;
}

}  // namespace tony::hadoop
