// Hadoop's TFile: records of a key and a value, in blocks that may be compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hadoop/hdfs/file_store.h"
#include "hadoop/logs/byte_stream.h"

namespace tony::hadoop {

/// How blocks are compressed.
enum class TFileCompression { kNone, kGz };

/// Of Hadoop's name for it. Unimplemented – any other one, "lzo" say.
absl::StatusOr<TFileCompression> ParseTFileCompression(const std::string& name);

/// `size` bytes of `file` from `offset` on, as they were before they were compressed. The
/// codes of OpenRange(); ResourceExhausted – there is no memory to decompress them.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenCompressed(const StoredFile& file, int64_t offset,
                                                           int64_t size,
                                                           TFileCompression compression);

/// Reads a file's records in order; what Read() gives is the value of the present one. Memory is
/// bounded, whatever the file says. Not thread safe.
///
///     16 bytes that every TFile begins and ends with
///     data blocks            records: the key's length and the key, then the value in chunks, each
///                            with its length, which is negative in all chunks but the last
///     meta blocks            among them BCFile.index: how the data blocks are compressed, and
///                            where each is
///     the meta blocks' index where each of them is
///     where that index is (8 bytes), the version (4), and the 16 bytes again
///
/// All calls: DataLoss – it is no TFile, cut off or damaged; Unimplemented – a compression that we
/// do not know, or a newer version; otherwise the codes of FileStore::Read.
class TFile : public ByteStream {
 public:
  /// What a TFile begins with.
  static const std::string& Magic();

  /// `file` must outlive it.
  static absl::StatusOr<std::unique_ptr<TFile>> Open(const StoredFile& file);

  /// Goes to the next record, before the first call to the first one. False: there is none.
  absl::StatusOr<bool> Next();
  const std::string& key() const { return key_; }
  absl::StatusOr<size_t> Read(char* data, size_t size) override;

 private:
  struct Block {
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  explicit TFile(const StoredFile& file) : file_(file) {}
  absl::StatusOr<std::string> ReadDataIndex() const;
  absl::Status ReadBlocks(const std::string& index);
  absl::Status ReadKey(int64_t bytes);

  const StoredFile& file_;
  TFileCompression compression_ = TFileCompression::kNone;
  std::vector<Block> blocks_;
  size_t next_block_ = 0;
  std::unique_ptr<ByteStream> block_;  ///< the present one
  std::string key_;
  int64_t chunk_left_ = 0;  ///< of the value's present chunk
  bool last_chunk_ = true;
};

}  // namespace tony::hadoop
