// Three steps: open the acceptors, exchange their addresses through the store, and connect the mesh
// and then each host's memory. An acceptor is open before its address is published, so a rank that
// reads the address can connect at once.
#include "collective/meeting/net_meeting.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "collective/host/host_members.h"
#include "collective/net/net_acceptor.h"
#include "collective/net/net_address.h"

namespace tony::collective {
namespace {

constexpr char kTableKey[] = "net";
constexpr char kKeys[] = "net/";
/// How long OfAll() looks for a value that is in the store already, if at all.
constexpr auto kLook = std::chrono::seconds(1);

std::string KeyOf(int rank) { return kKeys + std::to_string(rank); }

/// The acceptors that a rank has opened for others.
struct Acceptors {
  std::unique_ptr<NetAcceptor> net;
  // Only on the first rank of a host with several ranks:
  std::unique_ptr<HostAcceptor> host;
  std::shared_ptr<SharedMemory> memory;
  std::string reason;  ///< why there is no memory
};

/// The table that rank 0 publishes.
struct Table {
  std::string reason;                  ///< why some host has no memory; empty: all have
  std::vector<std::string> addresses;  ///< of the TCP acceptors, by rank
  std::vector<std::string> hosts;      ///< of the HostAcceptors, by rank; empty: the rank has none
};

Result<std::string> ListeningHost(const Meeting& meeting, const MeetingPlan& plan) {
  if (!meeting.address.empty()) return meeting.address;
  if (plan.loopback) return std::string("127.0.0.1");
  return OwnHost();
}

Result<Acceptors> Open(const Meeting& meeting, const MeetingPlan& plan,
                       const std::vector<int>& locals) {
  Acceptors acceptors;
  auto host_address = ListeningHost(meeting, plan);
  if (!host_address.ok()) return host_address.status();
  auto net = NetAcceptor::Open(*host_address, !meeting.secret.empty());
  if (!net.ok()) return net.status();
  acceptors.net = std::move(*net);
  if (locals.size() == 1 || locals[0] != meeting.rank) return acceptors;
  auto memory = HostGroup::CreateMemory(static_cast<int>(locals.size()));
  if (!memory.ok()) {
    acceptors.reason = memory.status().message();
    return acceptors;
  }
  acceptors.memory = std::move(*memory);
  auto host = HostAcceptor::Open();
  if (!host.ok()) return host.status();
  acceptors.host = std::move(*host);
  return acceptors;
}

/// Rank 0's side: collects what all ranks have opened into the text of the table. `own`: rank 0's
/// own value, which it does not read from the store.
Result<std::string> Collect(SignedStore& store, const std::string& own, int ranks,
                            Deadline deadline) {
  std::string reason;
  std::string lines;
  for (int rank = 0; rank < ranks; ++rank) {
    auto said = rank == 0 ? Result<std::string>(own) : store.Get(KeyOf(rank), rank, deadline);
    if (!said.ok()) return OfRank(said.status(), rank);
    if (Status refused = AsRefusal(*said); !refused.ok()) {
      return Status(refused.code(), "rank " + std::to_string(rank) + ": " + refused.message());
    }
    lines += TakeLine(*said) + "\n";
    lines += TakeLine(*said) + "\n";
    if (reason.empty()) reason = TakeLine(*said);
  }
  return reason + "\n" + lines;
}

Table DecodeTable(std::string text, int ranks) {
  Table table = {.reason = TakeLine(text), .addresses = {}, .hosts = {}};
  for (int rank = 0; rank < ranks; ++rank) {
    table.addresses.push_back(TakeLine(text));
    table.hosts.push_back(TakeLine(text));
  }
  return table;
}

/// Publishes what this rank has opened and returns the table of all. `opened`: the value of
/// `acceptors`; null: opening has failed, and the refusal is published in its place, so that all
/// hear the reason.
Result<Table> Exchange(SignedStore& store, const Meeting& meeting,
                       const Result<Acceptors>& acceptors, const Acceptors* opened,
                       Deadline deadline) {
  const std::string said = opened == nullptr ? Refusal(acceptors.status())
                                             : opened->net->address() + "\n" +
                                                   (opened->host ? opened->host->address() : "") +
                                                   "\n" + opened->reason;
  if (Status put = store.Put(KeyOf(meeting.rank), said); !put.ok()) return put;
  if (meeting.rank == 0) {
    auto all = Collect(store, said, meeting.ranks, deadline);
    const Status put = store.Put(kTableKey, all.ok() ? *all : Refusal(all.status()));
    if (!all.ok()) return all.status();
    if (!put.ok()) return put;
    return DecodeTable(std::move(*all), meeting.ranks);
  }
  if (opened == nullptr) return acceptors.status();
  auto told = store.Get(kTableKey, 0, deadline);
  if (!told.ok()) return OfAll(told.status(), store, meeting, kKeys);
  if (Status refused = AsRefusal(*told); !refused.ok()) return refused;
  return DecodeTable(std::move(*told), meeting.ranks);
}

/// Joins the memory of this host. Appends to `links` the connections between this host's ranks,
/// unless rank 0 of the job is one of them.
Result<std::unique_ptr<HostGroup>> ShareMemory(Acceptors& acceptors, const Meeting& meeting,
                                               const std::vector<int>& locals, const Table& table,
                                               std::vector<LinkLoop::Peer>& links,
                                               Deadline deadline) {
  const auto ranks = static_cast<int>(locals.size());
  const auto own =
      static_cast<int>(std::find(locals.begin(), locals.end(), meeting.rank) - locals.begin());
  auto place = own == 0 ? acceptors.host->Gather(acceptors.memory, ranks, meeting.secret, deadline)
                        : HostAcceptor::Join(table.hosts[static_cast<size_t>(locals[0])], own,
                                             ranks, meeting.secret, deadline);
  if (!place.ok()) {
    return Status(place.status().code(), place.status().message() +
                                             " (it begins with the job's rank " +
                                             std::to_string(locals[0]) + ")");
  }
  for (LinkLoop::Peer& peer : place->peers) {
    // Rank 0 of the job has links to all ranks anyway.
    if (locals[0] == 0) break;
    links.push_back({locals[static_cast<size_t>(peer.rank)], std::move(peer.connection)});
  }
  return HostGroup::Join(std::move(place->memory), own, ranks);
}

std::string Streams(int streams, bool wire_mac) {
  return "TCP, " + std::to_string(streams) + (streams == 1 ? " stream" : " streams") +
         (wire_mac ? " with a MAC" : "");
}

}  // namespace

Status OfRank(const Status& got, int rank) {
  if (got.code() != Code::kDeadlineExceeded) return got;
  return {Code::kDeadlineExceeded, "rank " + std::to_string(rank) + " has not come"};
}

Status OfAll(const Status& got, SignedStore& store, const Meeting& meeting,
             const std::string& key) {
  if (got.code() != Code::kDeadlineExceeded) return got;
  for (int rank = 0; rank < meeting.ranks; ++rank) {
    if (rank == meeting.rank) continue;
    auto said = store.Get(key + std::to_string(rank), rank, After(kLook));
    if (said.status().code() == Code::kDeadlineExceeded) return OfRank(said.status(), rank);
    if (said.status().code() == Code::kFailedPrecondition) return said.status();
    if (!said.ok()) break;
  }
  return OfRank(got, 0);
}

Result<std::unique_ptr<LinkMembers>> MeetByNet(SignedStore& store, const Meeting& meeting,
                                               const MeetingPlan& plan, Deadline deadline) {
  store.BindTo(plan.run);
  const auto is_here = [&](const std::vector<int>& host) {
    return std::find(host.begin(), host.end(), meeting.rank) != host.end();
  };
  const std::vector<int>& locals = *std::find_if(plan.hosts.begin(), plan.hosts.end(), is_here);
  auto acceptors = Open(meeting, plan, locals);
  auto table =
      Exchange(store, meeting, acceptors, acceptors.ok() ? &*acceptors : nullptr, deadline);
  if (!table.ok()) return table.status();
  auto connections = acceptors->net->Meet({.rank = meeting.rank,
                                           .addresses = table->addresses,
                                           .secret = meeting.secret,
                                           .run = plan.run,
                                           .streams = static_cast<int>(plan.points.streams),
                                           .wire_mac = plan.wire_mac},
                                          deadline);
  if (!connections.ok()) return connections.status();
  auto created = NetMesh::Create(meeting.rank, std::move(connections->peers));
  if (!created.ok()) return created.status();
  const std::shared_ptr<NetMesh> mesh = std::move(*created);
  const std::string reason = plan.reason + table->reason;
  const size_t hosts = plan.hosts.size();
  // All ranks read the same reasons from the plan and the table, so all make the same choice.
  const bool shares = hosts < static_cast<size_t>(meeting.ranks) && reason.empty();
  if (!shares) {
    std::vector<int> all(static_cast<size_t>(meeting.ranks));
    for (int rank = 0; rank < meeting.ranks; ++rank) all[static_cast<size_t>(rank)] = rank;
    std::string transport = Streams(mesh->streams(), plan.wire_mac);
    if (!reason.empty()) transport += "; memory is not shared: " + reason;
    return LinkMembers::Start(std::make_unique<NetGroup>(mesh, std::move(all), plan.points),
                              std::move(transport), std::move(connections->links), reason);
  }
  std::unique_ptr<HostGroup> host;
  if (locals.size() > 1) {
    auto shared = ShareMemory(*acceptors, meeting, locals, *table, connections->links, deadline);
    if (!shared.ok()) return shared.status();
    host = std::move(*shared);
  }
  return LinkMembers::Start(
      std::make_unique<HostsGroup>(mesh, std::move(host), plan.hosts, plan.points),
      "shared memory of " + std::to_string(hosts) + " hosts and " +
          Streams(mesh->streams(), plan.wire_mac),
      std::move(connections->links));
}

}  // namespace tony::collective
