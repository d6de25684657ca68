// The part of TLS that is the same in every process of a job.
#pragma once

namespace tony::rpc {

/// Has OpenSSL load and look up what a connection of ours needs, by making one: some 5 ms that
/// every process spends at its first connection, and that the forks of a process which has called
/// this do not. Starts no thread. What cannot be warmed up, for whatever reason, stays cold.
void WarmUpTls();

}  // namespace tony::rpc
