// The interface for reading the files into which NodeManagers collect the logs of an application's
// containers (YARN's log aggregation).
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "hadoop/logs/byte_stream.h"

namespace tony::hadoop {

/// The logs that one NodeManager has collected in one file, in the file's order. Next() goes to a
/// log, and Read() gives its bytes. Memory is bounded, also for a damaged or malicious file. Not
/// thread safe.
///
/// All calls: DataLoss – it is no such file, cut off or damaged; Unimplemented – a format or a
/// compression that tony does not know; otherwise the codes of FileStore::Read.
class AggregatedLogs : public ByteStream {
 public:
  /// Goes to the next log; the first call goes to the first one. False: there are no more.
  virtual absl::StatusOr<bool> Next() = 0;

  /// The container of the current log: "container_1700000000000_0001_01_000002".
  const std::string& container() const { return container_; }
  /// The file name of the current log in the container's log folder on the node, such as "stdout".
  const std::string& name() const { return name_; }
  absl::StatusOr<size_t> Read(char* data, size_t size) final;

 protected:
  /// Called by Next() when it has found a log. Read() then gives exactly `bytes` bytes, or
  /// DataLoss.
  void Begin(std::string container, std::string name, int64_t bytes);

 private:
  /// The next bytes from the current log's beginning on; they may go on behind the log's end.
  virtual absl::StatusOr<size_t> ReadStored(char* data, size_t size) = 0;

  std::string container_;
  std::string name_;
  int64_t left_ = 0;  ///< bytes of the current log that Read() has not given yet
};

}  // namespace tony::hadoop
