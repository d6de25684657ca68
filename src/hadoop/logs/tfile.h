// Reads Hadoop's TFile: records of a key and a value, in blocks that may be compressed.
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

/// The compression of a TFile's blocks.
enum class TFileCompression { kNone, kGz };

/// Parses Hadoop's name of a compression: "none" or "gz". Unimplemented – another one, such as
/// "lzo".
absl::StatusOr<TFileCompression> ParseTFileCompression(const std::string& name);

/// A stream over `size` bytes of `file` from `offset` on, decompressed. The codes of OpenRange()
/// and Inflate().
absl::StatusOr<std::unique_ptr<ByteStream>> OpenCompressed(const StoredFile& file, int64_t offset,
                                                           int64_t size,
                                                           TFileCompression compression);

/// Reads a file's records in order: Next() goes to a record, key() is its key, and Read() gives its
/// value. Memory is bounded, also for a damaged or malicious file. Not thread safe.
///
/// Layout of the file:
///
///     magic                16 bytes
///     data blocks          records: the key's length and the key, then the value in chunks, each
///                          behind its length, which is negative in all chunks but the last
///     meta blocks          one of them is BCFile.index: the compression of the data blocks, and
///                          offset and size of each
///     meta index           offset and size of each meta block
///     trailer              offset of the meta index (8 bytes), version (4), magic again (16)
///
/// All calls: DataLoss – it is no TFile, cut off or damaged; Unimplemented – a compression that
/// tony does not know, or a newer version; otherwise the codes of FileStore::Read.
class TFile : public ByteStream {
 public:
  /// The 16 bytes that each TFile begins and ends with.
  static const std::string& Magic();

  /// Opens `file` and reads its indexes. `file` must outlive the result.
  static absl::StatusOr<std::unique_ptr<TFile>> Open(const StoredFile& file);

  /// Goes to the next record; the first call goes to the first one. False: there are no more.
  absl::StatusOr<bool> Next();
  const std::string& key() const { return key_; }
  /// The next bytes of the current record's value; 0 at its end.
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
  std::unique_ptr<ByteStream> block_;  ///< the current block, decompressed; null between blocks
  std::string key_;
  int64_t chunk_left_ = 0;  ///< unread bytes of the value's current chunk
  bool last_chunk_ = true;  ///< the current chunk is the value's last one
};

}  // namespace tony::hadoop
