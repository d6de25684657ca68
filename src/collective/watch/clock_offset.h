// Estimates how far this rank's clock is from rank 0's, as NTP does.
#pragma once

#include <cstdint>

namespace tony::collective {

/// This rank asks for rank 0's clock several times, and the answer with the shortest round trip
/// counts. Rank 0 read its clock at some moment of the round trip, so the offset is wrong by at
/// most half of it. (RFC 5905, section 8.) All times are nanoseconds of clocks that run evenly. Not
/// thread safe.
class ClockOffset {
 public:
  /// An answer: the question was sent at `sent` and the answer received at `received`, by this
  /// rank's clock; `there` is the time that the answer says.
  void Add(int64_t sent, int64_t there, int64_t received) {
    const int64_t half = (received - sent) / 2;
    if (answers_++ > 0 && half >= error_) return;
    error_ = half;
    offset_ = there - (sent + half);
  }

  int answers() const { return answers_; }
  /// Nanoseconds to add to this rank's times.
  int64_t offset() const { return offset_; }
  /// The offset is wrong by at most so many nanoseconds, in either direction.
  int64_t error() const { return error_; }

 private:
  int answers_ = 0;
  int64_t offset_ = 0;
  int64_t error_ = 0;
};

}  // namespace tony::collective
