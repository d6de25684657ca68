// One piece of the log is in memory at a time.
#include "pagedata/raw_log.h"

#include <memory>
#include <utility>

#include "common/status_macros.h"
#include "logs/log_bytes.h"

namespace tony::pagedata {
namespace {

constexpr size_t kPieceBytes = size_t{256} * 1024;

/// Reads on the event loop: a piece is in the page cache, or is read ahead by the kernel. Not
/// thread safe.
class RawSource : public web::BodySource {
 public:
  explicit RawSource(logs::LogBytes log) : log_(std::move(log)), at_(log_.Existing(0)) {}

  void Next(Take take) override {
    if (at_ >= log_.size()) return take(nullptr);
    absl::StatusOr<std::string> bytes = log_.Read(at_, kPieceBytes);
    if (!bytes.ok()) return take(bytes.status());
    if (bytes->empty()) return take(absl::DataLossError("a part of the log was dropped meanwhile"));
    at_ = log_.Existing(at_ + static_cast<int64_t>(bytes->size()));
    take(std::make_shared<const std::string>(*std::move(bytes)));
  }

 private:
  const logs::LogBytes log_;
  int64_t at_;
};

}  // namespace

absl::StatusOr<web::RawLog> OpenRawLog(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(logs::LogBytes log, logs::LogBytes::Open(path));
  const int64_t bytes = log.size() - log.dropped_bytes();
  return web::RawLog{bytes, std::make_shared<RawSource>(std::move(log))};
}

}  // namespace tony::pagedata
