// TLS with a certificate that is renewed while the portal runs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/byte_stream.h"
#include "common/event_loop.h"
#include "common/worker.h"
#include "rpc/security/tls_stream.h"

namespace tony::portal {

/// Looks at both files now and then, on a thread. Once they have changed, and stayed the same from
/// one look to the next, they are read; new connections get the new certificate, and those that are
/// open go on with the old one. A pair that cannot be used is named in the log, and the old one
/// stays. Files that could not be read for want of descriptors, say, are read again by the next
/// look. Not thread safe: owned by the event loop.
class RenewedTls {
 public:
  static constexpr std::chrono::milliseconds kPause{1000};

  /// Reads both files; blocks. `loop` must outlive this. PermissionDenied – others can read the
  /// key. Otherwise errno codes and those of rpc::TlsServer::CreateForBrowsers(); the message names
  /// the files.
  static absl::StatusOr<std::unique_ptr<RenewedTls>> Open(EventLoop& loop, std::string certificate,
                                                          std::string key,
                                                          std::chrono::milliseconds pause = kPause);

  /// See rpc::TlsServer::Wrap().
  std::unique_ptr<ByteStream> Wrap(int socket) { return server_->Wrap(socket); }

 private:
  /// What tells a file from the one that was there before; all 0: there is none. A plain value.
  struct FileMark {
    dev_t device = 0;
    ino_t inode = 0;
    int64_t bytes = 0;
    int64_t modified_nanoseconds = 0, changed_nanoseconds = 0;
    bool operator==(const FileMark&) const = default;

    static FileMark Of(const std::string& path);
  };
  struct Marks {
    FileMark certificate, key;
    bool operator==(const Marks&) const = default;
  };
  struct Files {
    std::string certificate, key;
  };
  /// What a look has found.
  struct Look {
    Marks marks;
    bool read = false;                       ///< the files were read
    std::shared_ptr<rpc::TlsServer> server;  ///< if they are of use
    std::string wrong;                       ///< if they are not
    bool again = false;                      ///< they may be of use the next time
  };

  RenewedTls(EventLoop& loop, Files files, std::chrono::milliseconds pause);
  static Marks MarksOf(const Files& files);
  /// The codes of Open().
  static absl::StatusOr<std::shared_ptr<rpc::TlsServer>> ReadPair(const Files& files);
  void LookLater();
  void Take(const Look& look);

  EventLoop& loop_;
  const Files files_;
  const std::chrono::milliseconds pause_;
  std::shared_ptr<rpc::TlsServer> server_;
  Marks read_;        ///< of the files that were read last, also if they are of no use
  Marks seen_;        ///< of the last look
  std::string said_;  ///< why the files could not be read; empty: they were
  std::unique_ptr<EventLoop::Handle> timer_;
  Worker worker_;
};

}  // namespace tony::portal
