// `tony feed`: shows where and how a running job's tasks are fed with data, and ends a feed.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/verbs/running_task.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

using Json = nlohmann::ordered_json;
using State = core::FeedTable::View::State;

const char* StateName(State state) {
  switch (state) {
    case State::kOpen:
      return "open";
    case State::kTerminated:
      return "terminated";
    case State::kEnding:
      return "ending";
    case State::kEnded:
      return "ended";
  }
  return "unknown";
}

Json TasksJson(const core::JobFeeds& feeds) {
  Json tasks = Json::array();
  for (const core::JobFeeds::Task& task : feeds.tasks) {
    tasks.push_back({{"task", task.task},
                     {"host", task.host},
                     {"host_id", task.host_id},
                     {"unix", task.unix_path},
                     {"port", task.tls_port},
                     {"container", task.container},
                     {"attempt", task.attempt}});
  }
  return tasks;
}

Json FeedsJson(const core::JobFeeds& feeds) {
  Json states = Json::array();
  for (const core::FeedTable::View& feed : feeds.feeds) {
    states.push_back({{"feed", feed.feed},
                      {"state", StateName(feed.state)},
                      {"acknowledged", feed.acknowledged},
                      {"rows", feed.rows},
                      {"leased", feed.leased},
                      {"waiting", feed.waiting}});
  }
  return states;
}

/// The output for people, without the token.
std::string Text(const StoredJob& job, const core::JobFeeds& feeds) {
  std::string text = absl::StrCat("job ", SafeText(job.id), ": ", feeds.tasks.size(),
                                  " running tasks can be fed\n");
  for (const core::JobFeeds::Task& task : feeds.tasks) {
    absl::StrAppend(&text, "  ", SafeText(task.task), "  ", SafeText(task.host), ":", task.tls_port,
                    "  ", SafeText(task.unix_path), "\n");
  }
  for (const core::FeedTable::View& feed : feeds.feeds) {
    absl::StrAppend(&text, "feed ", SafeText(feed.feed), ": ", StateName(feed.state), ", ",
                    feed.acknowledged, " partitions of ", feed.rows, " rows acknowledged, ",
                    feed.leased, " being consumed, ", feed.waiting, " producers wait\n");
  }
  return text;
}

absl::StatusOr<int> RunFeed(const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const std::string wish = line.positionals.empty() ? "latest" : line.positionals[0];
  TONY_ASSIGN_OR_RETURN(const RunningJob running,
                        FindRunningJob(line, context, wish, "its feeds have ended with it"));
  const Duration limit = configuration.GetDuration("tony.client.stop-timeout-ms");
  if (line.Has("end")) {
    TONY_RETURN_IF_ERROR(running.client->EndFeed(line.Value("end"), limit));
  }
  TONY_ASSIGN_OR_RETURN(const core::JobFeeds feeds, running.client->Feeds(limit));
  if (!line.Has("json")) {
    context.out(Text(running.job, feeds));
    return kVerbDone;
  }
  context.bytes(DumpJsonLine(Json{{"job", running.job.id},
                                  {"tasks", TasksJson(feeds)},
                                  {"token", feeds.token},
                                  {"authority", feeds.authority},
                                  {"feeds", FeedsJson(feeds)}}));
  return kVerbDone;
}

}  // namespace

Verb FeedVerb() {
  return {"feed",
          "[JOB]",
          "where and how a running job's tasks are fed with data",
          "JOB is a job's name, a part of it from the start or to the end, or \"latest\" (the "
          "default).\nThe job has tony.feed.enabled. --json also prints the token that producers "
          "show, which\nlets whoever knows it run programs in the tasks, and the certificate that "
          "they check.\n",
          {{"end", "NAME", false,
            "end this feed: no further partition is taken, and the programs hear of the end once "
            "all are consumed"}},
          1,
          &RunFeed};
}

}  // namespace tony::client
