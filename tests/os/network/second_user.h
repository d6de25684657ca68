// A second user of the machine, who has no file and no credential of the job: the attacker.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace tony::os {

/// No account belongs to it. Not 65534: in a user namespace everybody else is shown as that.
inline constexpr uid_t kSecondUser = 54322;

/// Only root can become another user; tests that need him are skipped elsewhere.
bool CanBecomeSecondUser();

/// The line that `function` returns, which runs in a process of the second user; "no answer" when
/// there is none in time.
std::string AsSecondUser(const std::function<std::string()>& function);

/// The answer that the second user receives from this port of 127.0.0.1 for `request`, until the
/// end; "" if the connection is closed at once.
std::string AskAsSecondUser(int port, const std::string& request);

/// As many connections of the second user to a port, on each of which he has sent `request` and
/// waits. They stay open, on his side, as long as this does. Not thread safe.
class Flood {
 public:
  Flood(int port, int connections, const std::string& request);
  ~Flood();
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  /// How many he could make, once all have been tried; 0: none in time.
  int made() const { return made_; }

 private:
  pid_t child_ = 0;
  int made_ = 0;
};

}  // namespace tony::os
