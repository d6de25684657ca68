// What the driver of an elastic Horovod job and a worker tell each other about changes of hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::driver {

// Horovod's messages are pickles of Python's, which are programs. None is run here: what is sent is
// a template, what is read has to be of one form, byte for byte. Written for Horovod 0.28.1; its
// workers send protocol 5, with Python before 3.8 protocol 4. All functions are thread safe.

/// Where a worker hears of changes, and the secret that shows who may tell it.
struct WorkerAddress {
  struct Endpoint {
    std::string interface;  ///< on the worker's machine; any bytes
    std::string address;    ///< of IPv4, a number: "10.0.0.1"
    int port = 0;

    friend bool operator==(const Endpoint&, const Endpoint&) = default;
  };
  std::vector<Endpoint> endpoints;  ///< at least one, in the worker's order
  std::string secret;               ///< kSecretBytes
};

inline constexpr size_t kSecretBytes = 32;
/// Of the pickle; a machine with two thousand addresses needs less. A longer one has several
/// frames, which is another form.
inline constexpr size_t kMostWorkerAddressBytes = size_t{64} * 1024;

/// Reads what a worker puts under worker_addresses/HOST:LOCAL-RANK: in Base64 the pickle of
/// ({interface: [(address, port), …]}, secret).
/// InvalidArgument – it is anything else, or names no address.
absl::StatusOr<WorkerAddress> ParseWorkerAddresses(const std::string& body);

/// Horovod's HostUpdateResult. A worker that is told kRemoved, and nothing else, does not take its
/// state from rank 0 when it begins again, which blocks for ever when there are new workers, too
/// (horovod/horovod#3494): kMixed is always right.
enum class HostChange { kRemoved = 1, kAdded = 2, kMixed = 3 };

/// A whole request: the HMAC, the length, a HostsUpdatedRequest. A worker listens when `timestamp`,
/// in its protocol seconds since 1970, is above 0 and that of all that it has heard before.
/// Internal – as os::HmacSha256.
absl::StatusOr<std::string> HostsUpdatedRequest(const std::string& secret, int64_t timestamp,
                                                HostChange change);

/// With so many bytes each reply begins, the HMAC and the length.
inline constexpr size_t kReplyHeadBytes = 36;
/// A longer reply is none to a request of ours: that has 104 bytes.
inline constexpr size_t kMostReplyBytes = 1024;

/// The length of the whole reply that begins with `head`, of kReplyHeadBytes or more.
/// InvalidArgument – it is longer than kMostReplyBytes, or its length makes no sense.
absl::StatusOr<size_t> ReplyBytes(const std::string& head);

/// Looks at a whole reply. Unauthenticated – its sender does not know the secret: another program
/// has that port by now; InvalidArgument – it is no frame, or says something else than "heard".
absl::Status CheckAck(const std::string& secret, const std::string& frame);

}  // namespace tony::driver
