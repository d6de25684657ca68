// The container engine of this machine, and its answers about images and containers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"

namespace tony::backend {

/// podman or docker: a program that is called for each operation. A plain value.
struct Engine {
  enum class Kind { kPodman, kDocker };
  Kind kind = Kind::kPodman;
  std::string program;  ///< its absolute path

  std::string name() const { return kind == Kind::kPodman ? "podman" : "docker"; }
};

/// Finds the engine in the folders `path` (of PATH). `wish`: "podman", "docker", or "auto" for the
/// first of the two. NotFound – it is not installed; the message says what to do.
absl::StatusOr<Engine> FindEngine(const std::string& wish, const std::vector<std::string>& path);

/// The folders of this process's PATH. Thread safe as long as nobody sets variables.
std::vector<std::string> EngineFolders(const std::vector<std::string>& environment);

/// An image that the engine has. A plain value.
struct ImageFacts {
  std::string architecture;  ///< as Go names it: "amd64", "arm64"
  std::string system;        ///< "linux"
  int64_t bytes = 0;
};

/// Asks for an image by its name; nothing if the engine does not have it. Blocks, at most `limit`.
/// FailedPrecondition – the engine does not answer the question; the message has its reason.
/// DeadlineExceeded – it took too long.
absl::StatusOr<std::optional<ImageFacts>> FindImage(const Engine& engine, const std::string& image,
                                                    Duration limit);

/// Parses the answer to `image inspect`. InvalidArgument – it is not in the expected form.
absl::StatusOr<ImageFacts> ParseImageFacts(const std::string& json);

/// This machine's processor, by the name that Go gives it. Empty: not known.
std::string OwnArchitecture();

/// How the engine stores images and containers. A plain value.
struct EngineStore {
  bool copies_images = false;  ///< each container is a copy of its whole image (driver vfs)
  std::string folder;          ///< empty: not known
};

/// Codes as for FindImage().
absl::StatusOr<EngineStore> FindStore(const Engine& engine, Duration limit);

/// The label with the job's folder, which each container of tony has.
inline constexpr char kFolderLabel[] = "tony.folder";
/// The label with the number of the user whose job it is.
inline constexpr char kUserLabel[] = "tony.user";

/// A container that tony has started. A plain value.
struct EngineContainer {
  std::string name;
  std::string job_folder;
};

/// The containers of all of this user's jobs, running or not. Codes as for FindImage().
absl::StatusOr<std::vector<EngineContainer>> FindContainers(const Engine& engine, Duration limit);

/// The name of a container's counterpart in the engine.
std::string EngineName(const std::string& container_id);

/// The command that kills a container with every process in it and removes it.
std::vector<std::string> RemoveCommand(const Engine& engine, const std::string& engine_name);

/// Runs RemoveCommand(). It is no error if there is no such container. Codes as for FindImage().
absl::Status RemoveContainer(const Engine& engine, const std::string& engine_name, Duration limit);

/// The engine's complaint in its output: the last line, without "Error: " and what else precedes
/// the cause, with a remedy where tony knows one.
std::string EngineComplaint(const std::string& output);

}  // namespace tony::backend
