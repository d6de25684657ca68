// Checks that no rank trusts a peer without a key, then leaves the connecting to NetHandshakeLoop.
#include "collective/net/net_acceptor.h"

#include <sys/socket.h>

#include "collective/net/net_address.h"
#include "collective/net/net_handshake_loop.h"

namespace tony::collective {
namespace {

constexpr int kBacklog = 4096;

}  // namespace

Result<std::unique_ptr<NetAcceptor>> NetAcceptor::Open(const std::string& host, bool has_secret) {
  auto address = NetAddress::Of(host, 0);
  if (!address.ok()) return address.status();
  if (!has_secret && !address->IsLoopback()) {
    return Status(Code::kInvalidArgument,
                  "without a key only a loopback address is listened on, not " + host +
                      ": give all ranks the same TONY_COLLECTIVE_KEY");
  }
  Descriptor listener(
      socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (listener.get() < 0) return SocketError("cannot make a socket");
  if (bind(listener.get(), address->data(), address->size()) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return SocketError("cannot listen on " + host);
  }
  std::string text = NetAddress::OfSocket(listener.get()).Text();
  return std::unique_ptr<NetAcceptor>(new NetAcceptor(std::move(listener), std::move(text)));
}

Result<NetConnections> NetAcceptor::Meet(const NetTable& table, Deadline deadline) {
  if (table.secret.empty() && table.addresses.size() > 1) {
    return Status(
        Code::kFailedPrecondition,
        "without a key nobody knows who is at the other end of a TCP connection: give all "
        "ranks the same TONY_COLLECTIVE_KEY");
  }
  const std::string& told = table.addresses[static_cast<size_t>(table.rank)];
  if (told != address_) {
    return Status(Code::kFailedPrecondition, "rank 0 has told all ranks that rank " +
                                                 std::to_string(table.rank) + " listens at " +
                                                 told + ", but it does so at " + address_);
  }
  NetHandshakeLoop visits(listener_.get(), table);
  Status done = visits.Start();
  if (done.ok()) done = visits.UntilAll(deadline);
  if (!done.ok()) return done;
  return visits.Take();
}

}  // namespace tony::collective
