// The beginning of an executor that an external launcher has started: it has a voucher, and no
// certificate yet.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "executor/options.h"

namespace tony::executor {

/// Redeems the voucher in `options.voucher_fd` and executes this program again, in the same
/// process, with the arguments, the variables and the certificate that the ApplicationMaster has
/// answered. Returns only after an error: InvalidArgument – the voucher is damaged;
/// DeadlineExceeded – it did not come, or was not redeemed, in time; the codes of rpc::Redeem();
/// errno codes.
///
/// gRPC starts threads, which the fork of the keeper would not survive; executing the program ends
/// them.
absl::Status RedeemVoucher(const Options& options, const std::vector<std::string>& environment);

}  // namespace tony::executor
