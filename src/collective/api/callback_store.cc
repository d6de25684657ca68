// The callback answers through Take(), which writes to a string on the caller's stack. The same
// string gets the value, or the message of an error.
#include "collective/api/callback_store.h"

#include <algorithm>

namespace tony::collective {
namespace {

void Take(void* receiver, const void* bytes, size_t size) {
  static_cast<std::string*>(receiver)->assign(static_cast<const char*>(bytes), size);
}

/// An unknown code is the callback's mistake, not a success, so it becomes Internal.
Code CodeOf(int returned) {
  const bool known =
      returned >= TONY_COLLECTIVE_OK && returned <= static_cast<int>(Code::kInternal);
  return known ? static_cast<Code>(returned) : Code::kInternal;
}

}  // namespace

Status CallbackStore::Put(const std::string& key, const std::string& value) {
  std::string sentence;
  const Code code =
      CodeOf(store_.put(store_.user, key.c_str(), value.data(), value.size(), Take, &sentence));
  if (code == Code::kOk) return {};
  return {code, "cannot put '" + key + "' into the job's store: " + sentence};
}

Result<std::string> CallbackStore::Get(const std::string& key, Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  std::string taken;
  const Code code = CodeOf(
      store_.get(store_.user, key.c_str(), std::max<int64_t>(left.count(), 0), Take, &taken));
  if (code == Code::kOk) return taken;
  return Status(code, "cannot get '" + key + "' from the job's store: " + taken);
}

}  // namespace tony::collective
