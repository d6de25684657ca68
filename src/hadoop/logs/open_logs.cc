// Logs in a TFile: a container is one record, whose value holds for each log file its name and its
// length, both as texts, and then the bytes.
#include "hadoop/logs/open_logs.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "hadoop/logs/indexed_logs.h"
#include "hadoop/logs/tfile.h"

namespace tony::hadoop {
namespace {

/// The beginning of a container's key. Other records describe the whole file: VERSION,
/// APPLICATION_ACL, APPLICATION_OWNER.
constexpr char kContainerPrefix[] = "container_";

/// The logs in the records of a TFile. Not thread safe.
class LogsInTFile : public AggregatedLogs {
 public:
  explicit LogsInTFile(std::unique_ptr<TFile> records) : records_(std::move(records)) {}

  absl::StatusOr<bool> Next() override {
    // The caller may have left the current log half read. Its rest is skipped, since the next log
    // begins behind it in the same record.
    TONY_RETURN_IF_ERROR(SkipToEnd(*this));
    while (true) {
      if (in_container_) {
        TONY_ASSIGN_OR_RETURN(const bool found, NextOfContainer());
        if (found) return true;
      }
      TONY_ASSIGN_OR_RETURN(const bool more, records_->Next());
      if (!more) return false;
      TONY_RETURN_IF_ERROR(ReadKey());
    }
  }

 private:
  /// Decides by the current record's key whether it holds logs.
  absl::Status ReadKey() {
    const std::string& key = records_->key();
    TextStream stream(key);
    TONY_ASSIGN_OR_RETURN(std::optional<std::string> text, ReadJavaText(stream));
    in_container_ = text && absl::StartsWith(*text, kContainerPrefix);
    if (in_container_) present_ = *std::move(text);
    return absl::OkStatus();
  }

  /// Goes to the next log of the current record. False: the record has no more.
  absl::StatusOr<bool> NextOfContainer() {
    TONY_ASSIGN_OR_RETURN(std::optional<std::string> name, ReadJavaText(*records_));
    if (!name) return false;
    TONY_ASSIGN_OR_RETURN(const std::optional<std::string> length, ReadJavaText(*records_));
    int64_t bytes = 0;
    if (!length || !absl::SimpleAtoi(*length, &bytes) || bytes < 0) {
      return absl::DataLossError(
          absl::StrCat("it does not say how long a log of ", present_, " is"));
    }
    Begin(present_, *std::move(name), bytes);
    return true;
  }

  absl::StatusOr<size_t> ReadStored(char* data, size_t size) override {
    return records_->Read(data, size);
  }

  const std::unique_ptr<TFile> records_;
  bool in_container_ = false;
  std::string present_;  // container of the current record
};

}  // namespace

absl::StatusOr<std::unique_ptr<AggregatedLogs>> OpenAggregatedLogs(const StoredFile& file) {
  TONY_ASSIGN_OR_RETURN(const bool indexed, IsIndexedLogFile(file));
  if (indexed) return OpenIndexedLogs(file);
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<TFile> records, TFile::Open(file));
  return std::make_unique<LogsInTFile>(std::move(records));
}

}  // namespace tony::hadoop
