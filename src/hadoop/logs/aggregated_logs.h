// The files into which NodeManagers collect the logs of an application's containers.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "hadoop/logs/byte_stream.h"

namespace tony::hadoop {

/// One file, of one node: log after log, in the order in which they lie there. Read() gives the
/// bytes of the present one. Memory is bounded, whatever the file says. Not thread safe.
///
/// All calls: DataLoss – it is no such file, cut off or damaged; Unimplemented – a form or a
/// compression that we do not know; otherwise the codes of FileStore::Read.
class AggregatedLogs : public ByteStream {
 public:
  /// Goes to the next log, before the first call to the first one. False: there is none.
  virtual absl::StatusOr<bool> Next() = 0;

  /// Of the present log: "container_1700000000000_0001_01_000002".
  const std::string& container() const { return container_; }
  /// Its file's name in the container's folder of logs, as the node had it.
  const std::string& name() const { return name_; }
  absl::StatusOr<size_t> Read(char* data, size_t size) final;

 protected:
  /// What Next() has found: a log of `bytes`, which have to be there.
  void Begin(std::string container, std::string name, int64_t bytes);

 private:
  /// The next bytes of the present log, or of what follows it.
  virtual absl::StatusOr<size_t> ReadStored(char* data, size_t size) = 0;

  std::string container_;
  std::string name_;
  int64_t left_ = 0;  ///< of the present log
};

}  // namespace tony::hadoop
