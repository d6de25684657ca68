// Who may see the page of a job's program: visitors of the job's own page.
#pragma once

#include <optional>
#include <string>

#include "common/clock.h"
#include "web/access/visits.h"
#include "web/gate/message_head.h"
#include "web/http/http_message.h"

namespace tony::web {

/// The login of the gate. The job's page sends a visitor with a code, who gets a cookie for it:
///
///   the page ─▶ http://127.0.0.1:PORT/PLACE/?code=CODE ─▶ 303 with the cookie ─▶ /
///
/// PLACE is random. The program lies at "/" of the gate's own origin, so it needs no prefix. The
/// browser sends the cookie to all ports of the host. It is therefore named after the gate's port,
/// another job's gate drops it (RenderHead()), and it opens nothing but the program's page, whose
/// port serves this user's connections only. Not thread safe: owned by the event loop.
class ProgramAccess {
 public:
  struct Options {
    std::string job_id;  ///< for the sentence that names `tony open JOB`
    int port = 0;        ///< the gate's
    Visits::Lives lives = {};
  };

  /// `clock` must outlive this.
  ProgramAccess(const Clock& clock, Options options);

  /// Makes a code and returns the address to visit.
  std::string Invite();
  /// The gate's.
  std::string origin() const;
  /// Returns the answer to a request that does not pass; nothing if it does. A request passes with
  /// the cookie, under the host's own name. Another origin's page may lead here, but may not use
  /// the program.
  std::optional<HttpResponse> Check(const RequestHead& head);

 private:
  bool IsKnown(const RequestHead& head);
  HttpResponse Welcome(const std::string& code, bool known);
  HttpResponse Refuse(const std::string& why) const;

  const Options options_;
  const std::string login_;  ///< "/PLACE/"
  const std::string cookie_;
  Visits visits_;
};

}  // namespace tony::web
