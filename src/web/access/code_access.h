// Access by a code that is valid for one visit, on the job's own machine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "web/access/access.h"
#include "web/access/visits.h"

namespace tony::web {

/// Access to a server on 127.0.0.1. A visitor exchanges a code for a cookie:
///
///   Invite() ─▶ http://127.0.0.1:PORT/PLACE/?code=CODE ─▶ 303 with the cookie ─▶ ./
///
/// A code is valid once and for a short time. Scripts cannot read the cookie; it is sent with
/// requests from pages of this site only, and is forgotten with the browser's session. PLACE is
/// random and is the path of the cookie: browsers send the cookies of a host to all of its ports,
/// where servers of other users may listen. Not thread safe: owned by the event loop.
class CodeAccess : public Access {
 public:
  /// What lets visitors come back to another process on the same port: secrets. Plain data.
  struct Kept {
    std::string base_path;  ///< empty: a new one is drawn
    std::vector<Visits::Kept> visits;
  };
  struct Options {
    std::string job_id;  ///< for the sentence that names `tony open JOB`
    int port = 0;
    std::string what = "a job's page";  ///< what it gives access to
    std::string remedy = "";            ///< how to get another address; empty: `tony open JOB`
    Visits::Lives lives = {};
    Kept kept = {};                                       ///< of an earlier process
    std::function<void(const Kept&)> on_visit = nullptr;  ///< a visit has begun; may be null
  };

  /// `clock` must outlive this.
  CodeAccess(const Clock& clock, Options options);

  /// Makes a code and returns the address to visit.
  std::string Invite();

  std::string base_path() const override { return base_path_; }
  std::optional<HttpResponse> Check(const HttpRequest& request) override;
  bool direct() const override { return true; }
  /// Only a script of the page itself may change something: servers of other users at other ports
  /// of this host are the same site for a browser, but not the same origin.
  std::optional<HttpResponse> CheckChange(const HttpRequest& request) override;

 private:
  HttpResponse Welcome(const std::string& code);
  HttpResponse Refuse(const std::string& why) const;

  const Options options_;
  const std::string base_path_;  ///< "/PLACE/"
  Visits visits_;
};

}  // namespace tony::web
