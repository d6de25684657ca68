// Imitates gloo's rendezvous and Horovod's HTTPStore.
#include "tests/rendezvous/gloo_worker.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/unique_fd.h"

namespace tony::rendezvous {
namespace {

constexpr size_t kAddressBytes = 136;
// The real client would wait for ever.
constexpr timeval kLongestSilence{.tv_sec = 60, .tv_usec = 0};

/// The address at which rank `owner` listens for rank `peer`: sockaddr_storage and a sequence
/// number of -1.
std::string AddressFor(int owner, int peer) {
  struct Address {
    sockaddr_storage storage;
    int64_t sequence;
  } address{};
  static_assert(sizeof(Address) == kAddressBytes);
  auto* const internet = reinterpret_cast<sockaddr_in*>(&address.storage);
  internet->sin_family = AF_INET;
  internet->sin_port = htons(static_cast<uint16_t>(owner));
  internet->sin_addr.s_addr = htonl(static_cast<uint32_t>(peer));
  address.sequence = -1;
  return {reinterpret_cast<const char*>(&address), sizeof(address)};
}

absl::Status Failed(const char* what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

absl::StatusOr<os::UniqueFd> Connect(int port) {
  os::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<uint16_t>(port));
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&server), sizeof(server)) != 0) {
    return Failed("connect");
  }
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kLongestSilence, sizeof(kLongestSilence));
  return fd;
}

/// The value of "Content-Length", spelled so; nothing else is looked for.
size_t BodyBytes(const std::string& head) {
  static const std::string kName = "\r\nContent-Length: ";
  const size_t found = head.find(kName);
  size_t bytes = 0;
  if (found != std::string::npos) {
    std::from_chars(head.data() + found + kName.size(), head.data() + head.size(), bytes);
  }
  return bytes;
}

}  // namespace

void RequestCounts::Add(const RequestCounts& other) {
  gets += other.gets;
  puts += other.puts;
  deletes += other.deletes;
  missing += other.missing;
  failed += other.failed;
}

absl::StatusOr<std::string> HttpStoreClient::Get(const std::string& scope, const std::string& key) {
  ++counts_.gets;
  TONY_ASSIGN_OR_RETURN(Reply reply, Perform("GET", scope, key, ""));
  if (reply.status == 404) ++counts_.missing;
  return reply.status == 404 ? std::string() : std::move(reply.body);
}

absl::Status HttpStoreClient::Put(const std::string& scope, const std::string& key,
                                  const std::string& value) {
  ++counts_.puts;
  return Perform("PUT", scope, key, value).status();
}

absl::Status HttpStoreClient::Delete(const std::string& scope, const std::string& key) {
  ++counts_.deletes;
  return Perform("DELETE", scope, key, "").status();
}

absl::Status HttpStoreClient::Wait(const std::string& scope, const std::string& key) {
  const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
  for (;;) {
    const uint64_t missing_before = counts_.missing;
    TONY_RETURN_IF_ERROR(Get(scope, key).status());
    if (counts_.missing == missing_before) return absl::OkStatus();
    if (std::chrono::steady_clock::now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("Wait timeout for key ", key, " of ", scope));
    }
    std::this_thread::sleep_for(options_.poll);
  }
}

absl::StatusOr<HttpStoreClient::Reply> HttpStoreClient::Perform(const std::string& method,
                                                                const std::string& scope,
                                                                const std::string& key,
                                                                const std::string& body) {
  const std::string request =
      absl::StrCat(method, " /", scope, "/", key, " HTTP/1.1\r\nHost: ", options_.host,
                   "\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  absl::Status last;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(options_.retry_pause);
    auto reply = Attempt(request);
    if (reply.ok() && (reply->status == 200 || reply->status == 404)) return reply;
    ++counts_.failed;
    last =
        reply.ok()
            ? absl::UnavailableError(absl::StrCat("HTTP status ", reply->status, ": ", reply->body))
            : reply.status();
  }
  return absl::UnavailableError(
      absl::StrCat(method, " /", scope, "/", key, " failed too often; ", last.ToString()));
}

absl::StatusOr<HttpStoreClient::Reply> HttpStoreClient::Attempt(const std::string& request) const {
  TONY_ASSIGN_OR_RETURN(const os::UniqueFd fd, Connect(options_.port));
  for (size_t sent = 0; sent < request.size();) {
    const ssize_t more =
        ::send(fd.get(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (more < 0) return Failed("send");
    sent += static_cast<size_t>(more);
  }
  std::string received;
  std::vector<char> piece(4096);
  size_t head_end = std::string::npos, wanted = 0;
  while (head_end == std::string::npos || received.size() < wanted) {
    const ssize_t more = ::recv(fd.get(), piece.data(), piece.size(), 0);
    if (more < 0) return Failed("recv");
    if (more == 0) return absl::UnavailableError("the answer is not complete");
    received.append(piece.data(), static_cast<size_t>(more));
    if (head_end != std::string::npos) continue;
    head_end = received.find("\r\n\r\n");
    if (head_end == std::string::npos) continue;
    wanted = head_end + 4 + BodyBytes(received.substr(0, head_end));
    received.reserve(wanted);
  }
  Reply reply;
  const size_t code = received.find(' ') + 1;
  std::from_chars(received.data() + code, received.data() + head_end, reply.status);
  reply.body = received.substr(head_end + 4);
  return reply;
}

std::vector<GlooContext> ContextsOf(const core::Slot& slot) {
  std::string members;
  for (int rank = 0; rank < slot.size; ++rank) absl::StrAppend(&members, rank, ",");
  const std::string set =
      absl::StrCat("_process_set_hash_", absl::Hex(std::hash<std::string>()(members)));
  std::vector<GlooContext> contexts = {
      {"global", slot.rank, slot.size},
      {absl::StrCat("local_", slot.host), slot.local_rank, slot.local_size},
      {absl::StrCat("cross_", slot.local_rank), slot.cross_rank, slot.cross_size}};
  for (int i = 0; i < 3; ++i) {
    GlooContext context = contexts[static_cast<size_t>(i)];
    context.scope += set;
    contexts.push_back(std::move(context));
  }
  return contexts;
}

Mesh::Mesh(const std::vector<core::Slot>& plan) {
  for (const core::Slot& slot : plan) {
    for (const GlooContext& context : ContextsOf(slot)) {
      auto& barrier = barriers_[context.scope];
      if (barrier == nullptr) barrier = std::make_unique<std::barrier<>>(context.size);
    }
  }
}

absl::Status GlooWorker::Initialize() {
  absl::Status status;
  for (const GlooContext& context : ContextsOf(slot_)) {
    // A rank that has failed keeps no other waiting.
    if (status.ok()) status = Meet(context);
    if (!status.ok()) mesh_.BarrierOf(context.scope).arrive_and_drop();
  }
  return status;
}

absl::Status GlooWorker::Meet(const GlooContext& context) {
  const std::string& scope = context.scope;
  const std::string own_key = std::to_string(context.rank);
  TONY_RETURN_IF_ERROR(client_.Put(scope, absl::StrCat("rank_", context.rank), slot_.host));
  if (reads_) TONY_RETURN_IF_ERROR(ReadNames(context));
  std::string addresses;
  for (int peer = 0; peer < context.size; ++peer) {
    if (peer != context.rank) addresses += AddressFor(context.rank, peer);
  }
  addresses.resize(std::max(addresses.size(), least_bytes_));
  TONY_RETURN_IF_ERROR(client_.Put(scope, own_key, addresses));
  if (reads_) TONY_RETURN_IF_ERROR(ReadAddresses(context));
  mesh_.BarrierOf(scope).arrive_and_wait();
  return client_.Delete(scope, own_key);
}

absl::Status GlooWorker::ReadNames(const GlooContext& context) {
  for (int peer = 0; peer < context.rank; ++peer) {
    TONY_RETURN_IF_ERROR(client_.Get(context.scope, absl::StrCat("rank_", peer)).status());
  }
  return absl::OkStatus();
}

absl::Status GlooWorker::ReadAddresses(const GlooContext& context) {
  for (int peer = 0; peer < context.size; ++peer) {
    if (peer == context.rank) continue;
    const std::string key = std::to_string(peer);
    TONY_RETURN_IF_ERROR(client_.Wait(context.scope, key));
    TONY_ASSIGN_OR_RETURN(const std::string theirs, client_.Get(context.scope, key));
    const auto place = static_cast<size_t>(context.rank < peer ? context.rank : context.rank - 1);
    const size_t bytes = kAddressBytes * static_cast<size_t>(context.size - 1);
    if (theirs.size() != std::max(bytes, least_bytes_) ||
        theirs.substr(place * kAddressBytes, kAddressBytes) != AddressFor(peer, context.rank)) {
      return absl::DataLossError(
          absl::StrCat(context.scope, "/", peer, " has ", theirs.size(), " bytes of another kind"));
    }
  }
  return absl::OkStatus();
}

}  // namespace tony::rendezvous
