// The address value of a worker of an elastic Horovod job, and the answers on its port. Both come
// from the user's program, or from another one that has that port by now.
//
// Besides not crashing: what was read can be used without another look (IPv4 addresses, ports, a
// secret of the right length); a pickle that is cut off is none; no reply is believed whose sender
// does not know the secret.
#include <arpa/inet.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "driver/elastic_messages.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

void CheckWorker(const driver::WorkerAddress& worker) {
  Require(!worker.endpoints.empty(), "a worker has an address");
  Require(worker.secret.size() == driver::kSecretBytes, "a secret has its length");
  for (const auto& endpoint : worker.endpoints) {
    in_addr number;
    Require(inet_pton(AF_INET, endpoint.address.c_str(), &number) == 1 &&
                endpoint.address.find('\0') == std::string::npos,
            "an address is one of IPv4");
    Require(endpoint.port >= 1024 && endpoint.port <= 65535, "a port is one");
  }
}

void CheckReply(const std::string& bytes) {
  const auto size = driver::ReplyBytes(bytes);
  Require(!size.ok() || (*size >= driver::kReplyHeadBytes && *size <= driver::kMostReplyBytes),
          "a reply's length is bounded");
  const std::string frame = size.ok() ? bytes.substr(0, *size) : bytes;
  Require(!driver::CheckAck(std::string(driver::kSecretBytes, 's'), frame).ok(),
          "a reply without the secret is not believed");
}

}  // namespace

void FuzzElasticMessages(std::string_view input) {
  const std::string bytes(input);
  if (bytes.size() >= driver::kReplyHeadBytes) CheckReply(bytes);
  // As it comes, and as the pickle in Base64, which is hard to guess.
  for (const std::string& body : {bytes, absl::Base64Escape(bytes)}) {
    const auto worker = driver::ParseWorkerAddresses(body);
    if (!worker.ok()) {
      Require(absl::IsInvalidArgument(worker.status()), "anything else is InvalidArgument");
      continue;
    }
    CheckWorker(*worker);
    for (size_t size = body.size(); size > 0;) {
      size -= size % 4 == 0 ? 4 : size % 4;
      Require(!driver::ParseWorkerAddresses(body.substr(0, size)).ok(),
              "a pickle that is cut off is none");
      if (size < body.size() / 2) break;
    }
  }
}

}  // namespace tony::fuzz
