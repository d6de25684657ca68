// Gives a whole log of a task on another machine, piece by piece.
#pragma once

#include <cstdint>
#include <memory>

#include "appmaster/page/node_reads.h"
#include "common/lifetime.h"
#include "web/api/job_logs.h"

namespace tony::appmaster {

/// Asks the executor for the next piece when the client has taken the one before, so that one piece
/// is in memory, however large the log and however slow the client. The log is given as long as it
/// was at the start. Not thread safe: owned by the event loop.
class NodeDownload : public web::BodySource {
 public:
  static constexpr int64_t kPieceBytes = int64_t{256} * 1024;  // LogAnswers::kMostBytes
  /// At the same time. Each holds a piece, and what the kernel has not sent yet.
  static constexpr int kMost = 8;

  /// Asks for the first piece and calls `take` once, perhaps from within the call: the codes of
  /// NodeReads::Ask() and of the executor; ResourceExhausted – `*count` downloads are going on.
  /// `reads` must outlive the log; `count` counts the downloads that live.
  static void Open(NodeReads& reads, const NodeQuestion& question, std::shared_ptr<int> count,
                   const web::JobLogs::Take<web::RawLog>& take);
  ~NodeDownload() override;

  /// The codes of NodeReads::Ask() and of the executor. DataLoss – a part of the log was dropped
  /// meanwhile.
  void Next(Take take) override;

 private:
  NodeDownload(NodeReads& reads, NodeQuestion question, std::shared_ptr<int> count)
      : reads_(reads), question_(std::move(question)), count_(std::move(count)) {
    ++*count_;
  }
  void AskPiece(NodeReads::Take take);
  /// Takes what an answer says of the log; the bytes of it that belong to the download.
  absl::StatusOr<std::shared_ptr<const std::string>> TakePiece(v1::LogLines lines);

  NodeReads& reads_;
  const NodeQuestion question_;
  const std::shared_ptr<int> count_;
  std::shared_ptr<const std::string> first_;  ///< came with the log's size; null: it was taken
  int64_t at_ = 0;                            ///< offset of the next byte
  int64_t end_ = 0;                           ///< size of the log at the start
  int64_t dropped_ = 0;                       ///< bytes that the log had dropped at the start
  Lifetime lifetime_;
};

}  // namespace tony::appmaster
