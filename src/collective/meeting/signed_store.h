// What ranks tell each other through the store, so that only ranks of this job are believed.
#pragma once

#include <string>
#include <string_view>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/meeting/store.h"

namespace tony::collective {

/// Whoever reaches the store can write it: other users of the machine, or of the network. So each
/// value carries an HMAC under the job's key of everything that says what the value is: the scope,
/// the run, the store's key, the rank that wrote it, and the value. A value that was copied from
/// another start of the job, another key of the store, or another rank does not fit.
///
/// In the store a value begins with a line, "signed " and the HMAC in hexadecimal digits. Without a
/// key the line is "unsigned", and nothing is proved: ranks then believe no more than the kernel
/// says of a Unix socket's other end. Not thread safe.
class SignedStore {
 public:
  /// `secret`: the job's key; empty: there is none. `scope`: this start of the job, in which each
  /// key of the store is written once. `rank`: who writes.
  SignedStore(Store& store, std::string secret, std::string scope, int rank);

  Status Put(const std::string& key, const std::string& value);
  /// The value that rank `author` has put. FailedPrecondition: somebody else has, or one of the two
  /// has another key. The codes of Store::Get.
  Result<std::string> Get(const std::string& key, int author, Deadline deadline);
  /// What is put and read from now on belongs to `run`, a random name that rank 0 has drawn.
  void BindTo(const std::string& run) { run_ = run; }

 private:
  std::string SignatureOf(const std::string& key, int author, std::string_view value) const;

  Store& store_;
  const std::string secret_;
  const std::string scope_;
  const int rank_;
  std::string run_;
};

}  // namespace tony::collective
