// A file of collected logs, TFile or indexed file, of whoever may write to the cluster's folder of
// logs.
//
// Besides not crashing: an error is DataLoss or Unimplemented, a log is as long as the file says,
// and the file is fetched in pieces that are bounded, whatever the file says.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "hadoop/hdfs/file_store.h"
#include "hadoop/logs/open_logs.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

constexpr size_t kMostPieceBytes = size_t{4} << 20;
// A compressed log may be a thousand times as long as the file.
constexpr size_t kMostReadBytes = size_t{8} << 20;
constexpr int kMostLogs = 1000;

/// One file in memory. Not thread safe.
class MemoryStore : public hadoop::FileStore {
 public:
  explicit MemoryStore(std::string_view bytes) : bytes_(bytes) {}
  absl::StatusOr<std::vector<hadoop::FolderEntry>> List(const std::string&) override {
    return std::vector<hadoop::FolderEntry>();
  }
  absl::StatusOr<std::string> Read(const std::string&, int64_t offset, size_t size) override {
    Require(offset >= 0, "nothing before the file is asked for");
    Require(size <= kMostPieceBytes, "pieces are bounded");
    const size_t at = std::min(static_cast<size_t>(offset), bytes_.size());
    return std::string(bytes_.substr(at, size));
  }

 private:
  const std::string_view bytes_;
};

absl::Status ReadAll(std::string_view input) {
  MemoryStore store(input);
  TONY_ASSIGN_OR_RETURN(
      const hadoop::StoredFile file,
      hadoop::StoredFile::Open(store, "/logs/node_1", static_cast<int64_t>(input.size())));
  TONY_ASSIGN_OR_RETURN(const auto logs, hadoop::OpenAggregatedLogs(file));
  size_t read = 0;
  std::string buffer(size_t{32} << 10, '\0');
  for (int i = 0; i < kMostLogs; ++i) {
    TONY_ASSIGN_OR_RETURN(const bool more, logs->Next());
    if (!more) return absl::OkStatus();
    while (true) {
      TONY_ASSIGN_OR_RETURN(const size_t count, logs->Read(buffer.data(), buffer.size()));
      Require(count <= buffer.size(), "no more is read than there is room for");
      if (count == 0) break;
      read += count;
      if (read > kMostReadBytes) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace

void FuzzAggregatedLogs(std::string_view input) {
  const absl::Status status = ReadAll(input);
  Require(status.ok() || absl::IsDataLoss(status) || absl::IsUnimplemented(status),
          "an error is DataLoss or Unimplemented");
}

}  // namespace tony::fuzz
