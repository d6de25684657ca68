// The messages about changed hosts between the driver of an elastic Horovod job and a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::driver {

// Horovod's messages are Python pickles, and a pickle is a program that its reader executes. None
// is executed here: a message to send is a template, and a message to read must match one form,
// byte for byte. Written for Horovod 0.28.1, whose workers send protocol 5, or protocol 4 with
// Python before 3.8. All functions are thread safe.

/// The addresses at which a worker listens for changes, and the secret that authenticates the
/// driver.
struct WorkerAddress {
  struct Endpoint {
    std::string interface;  ///< name on the worker's machine; any bytes
    std::string address;    ///< IPv4 address in digits: "10.0.0.1"
    int port = 0;

    friend bool operator==(const Endpoint&, const Endpoint&) = default;
  };
  std::vector<Endpoint> endpoints;  ///< at least one, in the worker's order
  std::string secret;               ///< kSecretBytes bytes
};

inline constexpr size_t kSecretBytes = 32;
/// Upper bound of the pickle's length; a machine with two thousand addresses needs less. A longer
/// pickle has several frames, which is another form.
inline constexpr size_t kMostWorkerAddressBytes = size_t{64} * 1024;

/// Reads the value that a worker puts under worker_addresses/HOST:LOCAL-RANK: the pickle of
/// ({interface: [(address, port), …]}, secret), in Base64.
/// InvalidArgument – the value is anything else, or contains no address.
absl::StatusOr<WorkerAddress> ParseWorkerAddresses(const std::string& body);

/// Horovod's HostUpdateResult. A worker that is told only kRemoved does not take its state from
/// rank 0 when it begins again; if there are new workers as well, that blocks for ever
/// (horovod/horovod#3494). kMixed is always right.
enum class HostChange { kRemoved = 1, kAdded = 2, kMixed = 3 };

/// Returns a whole request: the HMAC, the length, a HostsUpdatedRequest. `timestamp`: the worker
/// takes the request into account if it is above 0 and above every timestamp that it has heard
/// before; in Horovod's protocol it is in seconds since 1970. Internal – as os::HmacSha256.
absl::StatusOr<std::string> HostsUpdatedRequest(const std::string& secret, int64_t timestamp,
                                                HostChange change);

/// Length in bytes of the head of each reply: the HMAC and the length.
inline constexpr size_t kReplyHeadBytes = 36;
/// A longer reply does not answer our request: that answer has 104 bytes.
inline constexpr size_t kMostReplyBytes = 1024;

/// Returns the length in bytes of the whole reply that begins with `head`, which has
/// kReplyHeadBytes or more. InvalidArgument – the reply is longer than kMostReplyBytes, or its
/// length makes no sense.
absl::StatusOr<size_t> ReplyBytes(const std::string& head);

/// Checks a whole reply. Unauthenticated – its sender does not know the secret: another program has
/// the port by now; InvalidArgument – it is not a frame, or does not say "heard".
absl::Status CheckAck(const std::string& secret, const std::string& frame);

}  // namespace tony::driver
