// The scripts by which bash, zsh and fish complete the command lines of tony and tony-submit.
#pragma once

#include <string>
#include <vector>

namespace tony::client {

/// The shells that have a script.
const std::vector<std::string>& CompletionShells();

/// The script for `shell`, which covers both programs; empty: there is none for it.
std::string CompletionScript(const std::string& shell);

/// The first argument by which a script asks a program for the completion of the words behind it.
inline constexpr char kCompleteWords[] = "__complete";

}  // namespace tony::client
