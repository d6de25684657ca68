// Reads the parameters of a request, and says what is wrong with the first one that is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tony::web {

/// The numbers that the API takes and gives are smaller than this: programs in JavaScript know no
/// larger ones.
inline constexpr int64_t kLargestNumber = (int64_t{1} << 53) - 1;

/// Parameters that the API does not know change nothing. Not thread safe.
class Parameters {
 public:
  explicit Parameters(const std::map<std::string, std::string>& query) : query_(query) {}

  bool Has(const std::string& name) const { return query_.contains(name); }
  int64_t Number(const std::string& name, int64_t least, int64_t most, int64_t otherwise);
  /// One of `choices`.
  std::string Choice(const std::string& name, const std::vector<std::string>& choices,
                     const std::string& otherwise);
  /// Some of `choices`, each at most once, with commas between them.
  std::vector<std::string> Choices(const std::string& name, const std::vector<std::string>& choices,
                                   const std::vector<std::string>& otherwise);
  /// A word of letters, digits and `others`, of at most `most` characters; empty: not given.
  std::string Word(const std::string& name, size_t most, const std::string& others);
  /// Such words with commas between them, at most `count`; none: not given.
  std::vector<std::string> Words(const std::string& name, size_t count, size_t most,
                                 const std::string& others);
  /// Text of 1 to `most` characters; empty: not given.
  std::string Text(const std::string& name, size_t most);

  /// What is wrong with the first wrong parameter; nothing: all that were asked for are right.
  const std::optional<std::string>& problem() const { return problem_; }

 private:
  /// Null: not given.
  const std::string* Find(const std::string& name) const;
  void Complain(const std::string& name, const std::string& what);

  const std::map<std::string, std::string>& query_;
  std::optional<std::string> problem_;
};

/// Whether `text` has 1 to `most` characters, letters, digits and `others` only.
bool IsWord(const std::string& text, size_t most, const std::string& others);

}  // namespace tony::web
