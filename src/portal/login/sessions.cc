// All live equally long, so they end in the order in which they were begun.
#include "portal/login/sessions.h"

#include <algorithm>

#include "web/access/visits.h"

namespace tony::portal {

std::string Sessions::Begin(const std::string& user, const std::string& hash) {
  ForgetOld();
  const auto is_users = [&](const Session& session) { return session.user == user; };
  const auto of_user = std::count_if(sessions_.begin(), sessions_.end(), is_users);
  if (static_cast<size_t>(of_user) >= kMostOfUser) {
    sessions_.erase(std::find_if(sessions_.begin(), sessions_.end(), is_users));
  }
  if (sessions_.size() >= kMost) sessions_.pop_front();
  sessions_.push_back({web::RandomToken(), user, hash, clock_.Now() + kLife});
  return sessions_.back().token;
}

// All tokens are compared, so that the time does not tell which one matched.
const Sessions::Session* Sessions::Find(const std::string& token) {
  ForgetOld();
  const Session* found = nullptr;
  for (const Session& session : sessions_) {
    if (web::EqualInConstantTime(session.token, token)) found = &session;
  }
  return found;
}

void Sessions::End(const std::string& token) {
  sessions_.remove_if(
      [&](const Session& session) { return web::EqualInConstantTime(session.token, token); });
}

void Sessions::ForgetOld() {
  const TimePoint now = clock_.Now();
  while (!sessions_.empty() && sessions_.front().end <= now) sessions_.pop_front();
}

}  // namespace tony::portal
