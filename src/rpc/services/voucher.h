// The voucher that an external launcher hands to an executor: it gets a certificate for it, once.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "core/ports/cluster_backend.h"
#include "rpc/services/launch_service.h"

namespace tony::rpc {

/// Not thread safe (plain data).
struct Voucher {
  std::string container_id;
  std::string address;        ///< "host:port" of the LaunchService
  std::string authority_pem;  ///< the certificate against which that server is checked
  std::string secret;

  bool operator==(const Voucher&) const = default;
};

/// The longest text of a voucher in bytes.
inline constexpr size_t kMostVoucherBytes = 16 << 10;

/// One line of JSON, without its end.
std::string FormatVoucher(const Voucher& voucher);
/// InvalidArgument – the text is not what FormatVoucher() makes, or of another version.
absl::StatusOr<Voucher> ParseVoucher(const std::string& text);

/// How long Redeem() waits. A plain value.
struct RedeemPatience {
  Duration limit;  ///< for everything
  /// For a server that takes connections. The ApplicationMaster listened when it made the voucher,
  /// and listens at that port for as long as it lives. So if connecting fails, it is gone, or there
  /// is no way to it; the next one has other vouchers. This leaves time for a network that fails
  /// for a moment.
  Duration connect_limit;
};

/// Redeems the voucher for the executor `self`, whose container id is taken from the voucher.
/// Blocks. The codes of LaunchService.Redeem. Unavailable – nobody takes connections at the
/// address, or the ApplicationMaster went away meanwhile. DeadlineExceeded also – it was not
/// reached, or had no task, in time.
absl::StatusOr<core::LaunchContext> Redeem(const Voucher& voucher, const Newcomer& self,
                                           RedeemPatience patience);

}  // namespace tony::rpc
