// The manual pages of tony, written from the tables of verbs, options and keys.
#pragma once

#include <string>
#include <vector>

namespace tony::client {

/// One page. Plain data.
struct ManualPage {
  std::string file;  ///< "tony-logs.1"
  std::string text;  ///< roff
};

/// tony(1), tony-submit(1), a page for each verb (tony-logs(1), which `man tony logs` finds), and
/// tony-job(5) about the job file and its keys.
std::vector<ManualPage> ManualPages();

}  // namespace tony::client
