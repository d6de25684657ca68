// A rank of a Horovod 0.28.1 job, as the rendezvous server sees it: the same requests, byte for
// byte, in the same order, without what comes of them.
#pragma once

#include <barrier>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::rendezvous {

/// Counts of requests and of their answers.
struct RequestCounts {
  uint64_t gets = 0;
  uint64_t puts = 0;
  uint64_t deletes = 0;
  uint64_t missing = 0;  ///< GETs that were answered 404
  uint64_t failed = 0;   ///< attempts that were answered otherwise, or not at all

  void Add(const RequestCounts& other);
};

struct ClientOptions {
  int port = 0;
  std::string host = "127.0.0.1";              ///< as the header names it
  std::chrono::milliseconds poll{10};          ///< between two GETs of what is waited for
  std::chrono::milliseconds retry_pause{500};  ///< after a failed attempt
  std::chrono::seconds timeout{30};            ///< HOROVOD_GLOO_TIMEOUT_SECONDS
};

/// Horovod's client of the key-value store: one connection for each request, at most three attempts
/// at each, blocking. Not thread safe.
class HttpStoreClient {
 public:
  static constexpr int kAttempts = 3;

  explicit HttpStoreClient(ClientOptions options) : options_(std::move(options)) {}

  /// Empty where there is none. Unavailable – no attempt was answered with 200 or 404.
  absl::StatusOr<std::string> Get(const std::string& scope, const std::string& key);
  absl::Status Put(const std::string& scope, const std::string& key, const std::string& value);
  absl::Status Delete(const std::string& scope, const std::string& key);
  /// DeadlineExceeded – the value was not there in time.
  absl::Status Wait(const std::string& scope, const std::string& key);

  const RequestCounts& counts() const { return counts_; }

 private:
  struct Reply {
    int status = 0;
    std::string body;
  };

  absl::StatusOr<Reply> Perform(const std::string& method, const std::string& scope,
                                const std::string& key, const std::string& body);
  absl::StatusOr<Reply> Attempt(const std::string& request) const;

  const ClientOptions options_;
  RequestCounts counts_;
};

/// In place of the connections between the ranks: each context's barrier. Thread safe.
class Mesh {
 public:
  explicit Mesh(const std::vector<core::Slot>& plan);

  std::barrier<>& BarrierOf(const std::string& scope) { return *barriers_.at(scope); }

 private:
  std::map<std::string, std::unique_ptr<std::barrier<>>> barriers_;
};

/// The scopes of a rank's six contexts, in the order in which it makes them, and its place in each.
struct GlooContext {
  std::string scope;
  int rank = 0;
  int size = 1;
};
std::vector<GlooContext> ContextsOf(const core::Slot& slot);

/// hvd.init() of one rank, on the calling thread. Not thread safe.
class GlooWorker {
 public:
  /// `reads`: false for a rank that only puts and removes, where its reads are somebody else's.
  /// `least_bytes`: shorter addresses are filled up, as if there were more ranks.
  GlooWorker(core::Slot slot, ClientOptions options, Mesh& mesh, bool reads = true,
             size_t least_bytes = 0)
      : slot_(std::move(slot)),
        client_(std::move(options)),
        mesh_(mesh),
        reads_(reads),
        least_bytes_(least_bytes) {}

  /// The codes of the client; DataLoss – what another rank had put is not what was read.
  absl::Status Initialize();

  const core::Slot& slot() const { return slot_; }
  const RequestCounts& counts() const { return client_.counts(); }

 private:
  /// Until the rank is connected to all others of the context.
  absl::Status Meet(const GlooContext& context);
  absl::Status ReadNames(const GlooContext& context);
  absl::Status ReadAddresses(const GlooContext& context);

  const core::Slot slot_;
  HttpStoreClient client_;
  Mesh& mesh_;
  const bool reads_;
  const size_t least_bytes_;
};

}  // namespace tony::rendezvous
