// A reader computes the signature that the expected author would have written and compares it with
// the one in the store. If they differ, it tells a missing key from a wrong one.
#include "collective/meeting/signed_store.h"

#include <utility>

#include "collective/net/hmac.h"

namespace tony::collective {
namespace {

/// A label that separates these HMACs from all other uses of the job's key.
constexpr char kPurpose[] = "tony.collective store 1";
constexpr char kUnsigned[] = "unsigned";
constexpr char kSigned[] = "signed ";

std::string Hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) {
    for (const int half : {byte >> 4, byte & 15}) text += "0123456789abcdef"[half];
  }
  return text;
}

/// Compares in constant time: the duration does not depend on where the texts differ.
bool AreSame(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned>(a[i] ^ b[i]);
  return different == 0;
}

Status Disbelief(const std::string& key, int author, const std::string& why) {
  return {Code::kFailedPrecondition, "'" + key +
                                         "' in the job's store is not believed to be of rank " +
                                         std::to_string(author) + ": " + why};
}

}  // namespace

SignedStore::SignedStore(Store& store, std::string secret, std::string scope, int rank)
    : store_(store), secret_(std::move(secret)), scope_(std::move(scope)), rank_(rank) {}

std::string SignedStore::SignatureOf(const std::string& key, int author,
                                     std::string_view value) const {
  if (secret_.empty()) return kUnsigned;
  return kSigned + Hex(Hmac(secret_, {kPurpose, scope_, run_, key, std::to_string(author), value}));
}

Status SignedStore::Put(const std::string& key, const std::string& value) {
  return store_.Put(key, SignatureOf(key, rank_, value) + "\n" + value);
}

Result<std::string> SignedStore::Get(const std::string& key, int author, Deadline deadline) {
  auto found = store_.Get(key, deadline);
  if (!found.ok()) return found;
  const size_t line = found->find('\n');
  const std::string signature = found->substr(0, line);
  std::string value = line == std::string::npos ? "" : found->substr(line + 1);
  if (line != std::string::npos && AreSame(signature, SignatureOf(key, author, value))) {
    return value;
  }
  const bool is_signed = signature.rfind(kSigned, 0) == 0;
  if (secret_.empty()) {
    return Disbelief(key, author,
                     is_signed ? "it is signed, and this rank has no key: give all ranks the same "
                                 "TONY_COLLECTIVE_KEY"
                               : "no rank of this version writes such a value");
  }
  if (!is_signed) {
    return Disbelief(key, author,
                     "it is not signed, so that rank has no TONY_COLLECTIVE_KEY, or somebody else "
                     "writes to the store");
  }
  return Disbelief(key, author,
                   "its signature is not of this key and this start of the job, so that rank has "
                   "another TONY_COLLECTIVE_KEY, or somebody else writes to the store");
}

}  // namespace tony::collective
