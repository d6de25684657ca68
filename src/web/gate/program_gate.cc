// Owns the connections, and decides which one gives way.
#include "web/gate/program_gate.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "web/access/access.h"

namespace tony::web {

ProgramGate::ProgramGate(EventLoop& loop, ProgramLinks& links, Options options)
    : loop_(loop),
      links_(links),
      options_(std::move(options)),
      page_origins_{LoopbackOrigin(options_.page_port)} {}

absl::StatusOr<std::unique_ptr<ProgramGate>> ProgramGate::Start(EventLoop& loop, const Clock& clock,
                                                                PeerCheck peers,
                                                                ProgramLinks& links,
                                                                Options options) {
  auto gate = std::unique_ptr<ProgramGate>(new ProgramGate(loop, links, std::move(options)));
  PeerFilter filter("the gate of the job's program", std::move(peers));
  TcpListener::OnAccepted on_accepted = [gate = gate.get()](auto socket) {
    gate->OnAccepted(std::move(socket));
  };
  const int socket = gate->options_.socket;
  TONY_ASSIGN_OR_RETURN(
      gate->listener_,
      socket >= 0
          ? TcpListener::Adopt(loop, socket, std::move(filter), std::move(on_accepted))
          : TcpListener::Listen(loop, "127.0.0.1", 0, std::move(filter), std::move(on_accepted)));
  gate->access_ = std::make_unique<ProgramAccess>(
      clock,
      ProgramAccess::Options{.job_id = gate->options_.job_id, .port = gate->listener_->port()});
  return gate;
}

void ProgramGate::OnAccepted(std::unique_ptr<TcpSocket> socket) {
  if (connections_.size() >= options_.limits.connections) {
    crowd_log_.Log(LogLevel::kWarning, "the gate of the job's program has too many connections",
                   {{"most", options_.limits.connections}});
    const auto idle =
        std::find_if(connections_.begin(), connections_.end(),
                     [](const auto& connection) { return connection->dispensable(); });
    if (idle == connections_.end()) return;  // the new connection is closed
    connections_.erase(idle);
  }
  connections_.push_back(std::make_unique<GateConnection>(
      GateConnection::Parts{loop_, *access_, links_, options_.limits, page_origins_},
      std::move(socket), [this](const GateConnection& over) {
        connections_.remove_if([&](const auto& one) { return one.get() == &over; });
      }));
  connections_.back()->Start();
}

}  // namespace tony::web
