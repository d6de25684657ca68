// Which build of tony this is: its version, and the commit that it was built from.
#pragma once

#include <string>

namespace tony {

/// "tony 0.1.0 (commit abc1234, 2026-11-27)". The commit is git's when the build saw a repository,
/// that of the source archive if it was made by `git archive`, and else "unknown". It is in a
/// library of its own, tony_version, which only programs link, so that a commit compiles one small
/// file.
std::string VersionText();

/// Whether the only argument is --version. If so, prints `version` on standard output: for programs
/// that are started by others of tony's and have no --help.
bool AnswersVersion(int argc, char** argv, const std::string& version);

}  // namespace tony
