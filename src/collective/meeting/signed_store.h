// Signs the values in the store, so that a rank believes only ranks of this start of its job.
#pragma once

#include <string>
#include <string_view>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/meeting/store.h"

namespace tony::collective {

/// Anybody who reaches the store can write there: other users of the machine, or of the network. So
/// each value carries an HMAC under the job's key of everything that identifies it: the scope, the
/// run, the store's key, the rank that wrote it, and the value. A value copied from another start
/// of the job, another key of the store, or another rank does not fit.
///
/// In the store, a value is preceded by a line with "signed " and the HMAC in hexadecimal digits.
/// Without a key the line is "unsigned" and proves nothing; ranks then believe only what the kernel
/// says of the other end of a Unix socket. Not thread safe.
class SignedStore {
 public:
  /// `secret`: the job's key; empty: there is none. `scope`: the name of this start of the job, in
  /// which each key of the store is written once. `rank`: the rank that writes.
  SignedStore(Store& store, std::string secret, std::string scope, int rank);

  /// Signs `value` and puts it. The codes are those of Store::Put.
  Status Put(const std::string& key, const std::string& value);
  /// The value that rank `author` has put. FailedPrecondition: somebody else has put it, or one of
  /// the two ranks has another key. Otherwise the codes of Store::Get.
  Result<std::string> Get(const std::string& key, int author, Deadline deadline);
  /// Binds all later calls of Put() and Get() to `run`, a random name that rank 0 has drawn.
  void BindTo(const std::string& run) { run_ = run; }

 private:
  /// The line before the value, without its end.
  std::string SignatureOf(const std::string& key, int author, std::string_view value) const;

  Store& store_;
  const std::string secret_;
  const std::string scope_;
  const int rank_;
  std::string run_;
};

}  // namespace tony::collective
