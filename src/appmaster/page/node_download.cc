// The offsets of a log stay the same while it grows, so each piece is asked for by its own.
#include "appmaster/page/node_download.h"

#include <utility>

namespace tony::appmaster {

NodeDownload::~NodeDownload() { --*count_; }

void NodeDownload::Open(NodeReads& reads, const NodeQuestion& question, std::shared_ptr<int> count,
                        const web::JobLogs::Take<web::RawLog>& take) {
  if (*count >= kMost) {
    return take(absl::ResourceExhaustedError(
        "too many logs are being downloaded from machines of tasks; try again when one is done"));
  }
  auto log = std::shared_ptr<NodeDownload>(new NodeDownload(reads, question, std::move(count)));
  log->AskPiece([log, take](absl::StatusOr<v1::LogLines> lines) {
    if (!lines.ok()) return take(lines.status());
    log->end_ = lines->size();
    log->at_ = lines->offset();
    log->dropped_ = lines->dropped_bytes();
    auto piece = log->TakePiece(*std::move(lines));
    if (!piece.ok()) return take(piece.status());
    log->first_ = *std::move(piece);
    take(web::RawLog{log->end_ - log->dropped_, log});
  });
}

void NodeDownload::AskPiece(NodeReads::Take take) {
  NodeQuestion question = question_;
  question.wish.set_raw(true);
  question.wish.set_offset(at_);
  question.wish.set_limit_bytes(kPieceBytes);
  reads_.Ask(std::move(question), std::move(take));
}

// An answer without bytes before the end would come again and again: the log has lost its end. What
// is dropped behind the client's place is no loss to it.
absl::StatusOr<std::shared_ptr<const std::string>> NodeDownload::TakePiece(v1::LogLines lines) {
  const bool dropped =
      lines.dropped_bytes() != dropped_ && lines.dropped_offset() + lines.dropped_bytes() > at_;
  const bool ends = lines.raw().empty() && at_ < end_;
  if (dropped || ends || lines.offset() != at_)
    return absl::DataLossError("a part of the log was dropped meanwhile");
  const auto rest = static_cast<size_t>(end_ - at_);
  if (lines.raw().size() > rest) lines.mutable_raw()->resize(rest);
  const int64_t behind = at_ + static_cast<int64_t>(lines.raw().size());
  at_ = lines.has_next() && lines.next() > behind ? lines.next() : behind;
  return std::make_shared<const std::string>(std::move(*lines.mutable_raw()));
}

void NodeDownload::Next(Take take) {
  if (first_ != nullptr && !first_->empty()) return take(std::exchange(first_, nullptr));
  if (at_ >= end_) return take(nullptr);
  AskPiece(lifetime_.Guard([this, take = std::move(take)](absl::StatusOr<v1::LogLines> lines) {
    if (!lines.ok()) return take(lines.status());
    take(TakePiece(*std::move(lines)));
  }));
}

}  // namespace tony::appmaster
