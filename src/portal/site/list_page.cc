// Every text from outside passes web::Escape(), so no name or message can add markup.
#include "portal/site/list_page.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/record/duration_text.h"
#include "portal/site/list_json.h"
#include "web/http/html.h"
#include "web/page_files.h"

namespace tony::portal {
namespace {

using web::Escape;

std::string TimeText(int64_t unix_millis) {
  if (unix_millis == 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixMillis(unix_millis),
                          absl::UTCTimeZone());
}

std::string StateClass(const IndexedJob& job) {
  const std::string& state = job.entry.state;
  if (state == "SUCCEEDED") return "good";
  if (state == "FAILED" || state == "LOST" || state == "UNREADABLE") return "bad";
  if (state == "KILLED") return "stopped";
  return state == "RUNNING" ? "running" : "waiting";
}

std::string Cell(const std::string& column, const std::string& html) {
  return absl::StrCat("<td data-column=\"", column, "\"", html.empty() ? " class=\"none\"" : "",
                      ">", html, "</td>");
}

std::string Row(const IndexedJob& job, const std::vector<std::string>& locations,
                int64_t now_millis) {
  const history::JobEntry& entry = job.entry;
  const int64_t ran =
      job.duration_millis >= 0 ? job.duration_millis : now_millis - entry.submitted_millis;
  const std::string link = web::EncodePathPart(JobAddress(locations, job.location, entry.job_id));
  return absl::StrCat(
      "<tr class=\"", StateClass(job), "\">",
      Cell("Job", absl::StrCat("<a href=\"jobs/", link, "/\">",
                               Escape(entry.name.empty() ? entry.job_id : entry.name), "</a>")),
      Cell("State", absl::StrCat("<span class=\"badge ", StateClass(job), "\">",
                                 Escape(entry.state), "</span>")),
      Cell("User", Escape(entry.user)), Cell("Submitted", TimeText(entry.submitted_millis)),
      Cell("Ran", entry.submitted_millis == 0 ? "" : Escape(core::FormatDuration(ran))),
      Cell("End", Escape(job.trouble.empty() ? entry.sentence : job.trouble)), "</tr>\n");
}

}  // namespace

std::string RenderListPage(const JobPage& page, const std::vector<std::string>& locations,
                           const IndexProgress& progress, int64_t now_millis) {
  std::string html =
      absl::StrCat("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
                   "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"",
                   web::PageStyle().name, "\">\n<script src=\"", web::PortalScript().name,
                   "\" defer></script>\n<title>Jobs</title>\n</head>\n<body class=\"plain\">\n",
                   "<header><h1>Jobs</h1></header>\n<main>\n");
  if (!progress.complete) {
    absl::StrAppend(&html, "<p>The jobs are being read: ", progress.done, " of ", progress.total,
                    " so far.</p>\n");
  }
  if (!progress.trouble.empty()) {
    absl::StrAppend(&html, "<p class=\"bad\">", Escape(progress.trouble), "</p>\n");
  }
  absl::StrAppend(&html,
                  "<table>\n<thead><tr><th>Job</th><th>State</th><th>User</th><th>Submitted</th>"
                  "<th>Ran</th><th>End</th></tr></thead>\n<tbody>\n");
  for (const IndexedJob& job : page.jobs) html += Row(job, locations, now_millis);
  absl::StrAppend(&html, "</tbody>\n</table>\n");
  if (page.jobs.empty()) absl::StrAppend(&html, "<p>There are no jobs.</p>\n");
  if (!page.next.empty()) {
    absl::StrAppend(&html, "<p class=\"quiet\">These are the newest ", page.jobs.size(),
                    " jobs; with scripts the page lists, searches and sorts all of them.</p>\n");
  }
  return absl::StrCat(html, "</main>\n<footer>In a terminal: <code>tony list</code>.</footer>\n",
                      "</body>\n</html>\n");
}

}  // namespace tony::portal
