// Performs, ahead of a fork, the part of TLS that is the same in every process of a job.
#pragma once

namespace tony::rpc {

/// Makes OpenSSL load and look up what one of our connections needs, by making one. Every process
/// spends some 5 ms on this at its first connection; the forks of a process that has called this do
/// not. Starts no thread. A failed warm-up is ignored: the first connection is then slow again.
void WarmUpTls();

}  // namespace tony::rpc
