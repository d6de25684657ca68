// How far this rank's clock is from rank 0's.
#pragma once

#include <cstdint>

namespace tony::collective {

/// Of answers to questions what the clock there says, that of the shortest way counts: the answer
/// was given between sending and receiving, so half of that time is the most that it can be wrong.
/// (RFC 5905, section 8.) Nanoseconds of clocks that count evenly. Not thread safe.
class ClockOffset {
 public:
  void Add(int64_t sent, int64_t there, int64_t received) {
    const int64_t half = (received - sent) / 2;
    if (answers_++ > 0 && half >= error_) return;
    error_ = half;
    offset_ = there - (sent + half);
  }

  int answers() const { return answers_; }
  /// What is to be added to this rank's times.
  int64_t offset() const { return offset_; }
  /// The offset is right within so much, in both directions.
  int64_t error() const { return error_; }

 private:
  int answers_ = 0;
  int64_t offset_ = 0;
  int64_t error_ = 0;
};

}  // namespace tony::collective
