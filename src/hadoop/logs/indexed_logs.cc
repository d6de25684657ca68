// The index is read and checked at once; each log is opened only when Next() reaches it, so a bad
// entry does not hide the logs before it.
#include "hadoop/logs/indexed_logs.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/big_endian.h"
#include "common/status_macros.h"
#include "hadoop/logs/java_objects.h"
#include "hadoop/logs/tfile.h"

namespace tony::hadoop {
namespace {

// Sizes of the mark: a SHA-256 since Hadoop 3.1, a UUID's text before.
constexpr size_t kMarkSizes[] = {32, 36};
// A log takes some sixty bytes of the index.
constexpr int64_t kMostIndexBytes = 8 << 20;
constexpr size_t kMostNameBytes = 4096;

/// A log's entry in the index.
struct Entry {
  std::string container;
  std::string name;
  int64_t offset = 0;
  int64_t stored_bytes = 0;
  int64_t bytes = 0;
};

/// The size of the mark, or 0 if `file` does not begin and end with the same mark. The codes of
/// FileStore::Read.
absl::StatusOr<int64_t> MarkSize(const StoredFile& file) {
  for (const size_t size : kMarkSizes) {
    const auto bytes = static_cast<int64_t>(size);
    if (file.bytes() < 2 * bytes + 4) continue;
    TONY_ASSIGN_OR_RETURN(const std::string first, file.Read(0, size));
    TONY_ASSIGN_OR_RETURN(const std::string last, file.Read(file.bytes() - bytes, size));
    if (first == last) return bytes;
  }
  return 0;
}

/// The logs of one file, by its index. Not thread safe.
class IndexedLogs : public AggregatedLogs {
 public:
  explicit IndexedLogs(const StoredFile& file) : file_(file) {}

  // Layout of the file's end: the index, its size (4 bytes), the mark.
  absl::Status ReadIndex() {
    TONY_ASSIGN_OR_RETURN(const int64_t mark, MarkSize(file_));
    const int64_t end = file_.bytes() - mark - 4;
    TONY_ASSIGN_OR_RETURN(const std::string size, file_.Read(end, 4));
    const int64_t bytes = FromBigEndian(size.data());
    if (bytes > kMostIndexBytes || bytes > end - mark) {
      return absl::DataLossError(absl::StrCat("its index cannot have ", bytes, " bytes"));
    }
    TONY_ASSIGN_OR_RETURN(const std::string index,
                          file_.Read(end - bytes, static_cast<size_t>(bytes)));
    std::string compression;
    TONY_RETURN_IF_ERROR(ForEachJavaObject(index, [&](const JavaObject& object) {
      const std::string type(object.type);
      if (absl::EndsWith(type, "$IndexedLogsMeta")) compression = object.Text("compressName");
      if (!absl::EndsWith(type, "$IndexedFileLogMeta")) return;
      // A short reference to an earlier text can repeat that text in each entry. The cut keeps a
      // crafted index from growing in memory far beyond its own size.
      entries_.push_back({.container = object.Text("containerId").substr(0, kMostNameBytes),
                          .name = object.Text("fileName").substr(0, kMostNameBytes),
                          .offset = object.Number("startIndex"),
                          .stored_bytes = object.Number("fileCompressedSize"),
                          .bytes = object.Number("fileSize")});
    }));
    TONY_ASSIGN_OR_RETURN(compression_, ParseTFileCompression(compression));
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Next() override {
    if (next_ == entries_.size()) return false;
    const Entry& entry = entries_[next_++];
    if (entry.bytes < 0) {
      return absl::DataLossError(
          absl::StrCat("it does not say how long a log of ", entry.container, " is"));
    }
    TONY_ASSIGN_OR_RETURN(stored_,
                          OpenCompressed(file_, entry.offset, entry.stored_bytes, compression_));
    Begin(entry.container, entry.name, entry.bytes);
    return true;
  }

 private:
  absl::StatusOr<size_t> ReadStored(char* data, size_t size) override {
    return stored_->Read(data, size);
  }

  const StoredFile& file_;
  TFileCompression compression_ = TFileCompression::kNone;
  std::vector<Entry> entries_;
  size_t next_ = 0;
  std::unique_ptr<ByteStream> stored_;  // the current log, decompressed
};

}  // namespace

absl::StatusOr<bool> IsIndexedLogFile(const StoredFile& file) {
  TONY_ASSIGN_OR_RETURN(const int64_t mark, MarkSize(file));
  return mark > 0;
}

absl::StatusOr<std::unique_ptr<AggregatedLogs>> OpenIndexedLogs(const StoredFile& file) {
  auto logs = std::make_unique<IndexedLogs>(file);
  TONY_RETURN_IF_ERROR(logs->ReadIndex());
  return logs;
}

}  // namespace tony::hadoop
