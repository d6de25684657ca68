// One metric of one task over the whole life of a job, within a fixed amount of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tony::core {

/// The least, mean and greatest value of a stretch of time; NaN: nothing was measured then.
struct MetricBucket {
  static constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

  float min = kNothing;
  float mean = kNothing;
  float max = kNothing;

  bool empty() const { return mean != mean; }
  /// Takes `other` in. `weight`, `other_weight`: of how much each of the two means is the mean.
  void Merge(const MetricBucket& other, double weight = 1, double other_weight = 1);
};

/// How many samples and buckets a series may hold. Every part holds one at least.
struct SeriesSize {
  int samples = 120;         ///< the newest samples as they came
  int fine_buckets = 180;    ///< buckets of ten seconds: half an hour
  int coarse_buckets = 256;  ///< buckets over the whole life

  /// The largest size that takes at most `bytes`, its parts in the proportion of the default; no
  /// smaller than 8 samples, 8 and 16 buckets.
  static SeriesSize Within(size_t bytes);
  /// The memory of a full series in bytes.
  size_t bytes() const;
};

/// Values at equal distances of time, for a chart.
struct MetricPoints {
  int64_t begin_millis = 0;  ///< Unix time at which the first point's stretch begins
  int64_t step_millis = 0;   ///< length of a point's stretch
  std::vector<MetricBucket> points;
};

/// A value that changes with time, in three resolutions:
///
///   samples         the newest ones, each with its time
///   fine buckets    of ten seconds, the newest ones
///   coarse buckets  over the whole life: they begin with ten seconds; when there is no room for
///                   another one, neighbours merge and the width doubles (as rrdtool's archives
///                   consolidate, but without a longest time)
///
/// So memory does not grow with time, and the whole life can always be shown. Not thread safe.
class MetricSeries {
 public:
  static constexpr int64_t kFineMillis = 10'000;

  explicit MetricSeries(SeriesSize size) : size_(size) {}

  /// Adds a value that was measured at `unix_millis`. Time that runs backwards counts as standing
  /// still. A value that is not finite is ignored.
  void Add(int64_t unix_millis, double value);

  bool empty() const { return samples_.empty(); }
  /// Time of the first and the last value; 0 for an empty series.
  int64_t begin_millis() const { return begin_; }
  int64_t last_millis() const { return last_; }
  /// Number of values that were added; after Restore(), of what was restored at least.
  int64_t count() const { return count_; }
  float last() const { return samples_.empty() ? MetricBucket::kNothing : Newest().value; }

  /// The shortest useful step from `from` on: how fine the series is there, in milliseconds.
  int64_t Resolution(int64_t from) const;
  /// The values from `from` up to but not including `to` (Unix time), in at most `points` points
  /// (1 or more), as fine as the series is there. The step is a multiple of `unit`, for series that
  /// are to have points at the same times; 0: of Resolution(). Empty when `from` is not before
  /// `to`, or the series has no value.
  MetricPoints Read(int64_t from, int64_t to, int points, int64_t unit = 0) const;

  /// A copy of everything in the series, for a file.
  struct Image {
    struct Sample {
      int64_t unix_millis = 0;
      float value = 0;
    };
    std::vector<Sample> samples;  ///< oldest first
    int64_t fine_begin_millis = 0;
    std::vector<MetricBucket> fine;  ///< oldest first
    int64_t coarse_begin_millis = 0;
    int64_t coarse_step_millis = kFineMillis;
    std::vector<MetricBucket> coarse;  ///< oldest first
  };
  Image MakeImage() const;
  /// Replaces the content by that of an image, perhaps of a series of another size. What does not
  /// fit is left out or merged. Images may come from damaged files: whatever contradicts itself is
  /// left out.
  void Restore(const Image& image);

 private:
  struct Sample {
    int64_t millis = 0;
    float value = 0;
  };

  const Sample& Newest() const;
  void AddSample(Sample sample);
  void AddFine(int64_t millis, float value);
  void AddCoarse(int64_t millis, const MetricBucket& bucket, double weight);
  void HalveCoarse();
  enum class Part { kSamples, kFine, kCoarse };

  /// The finest part that reaches back to `from`, or to the first value.
  Part PartFrom(int64_t from) const;
  int64_t OldestSampleMillis() const;
  int64_t SampleDistance() const;
  int64_t FineBeginMillis() const;

  SeriesSize size_;
  int64_t begin_ = 0;
  int64_t last_ = 0;
  int64_t count_ = 0;
  std::vector<Sample> samples_;     ///< a ring once it is full
  size_t next_sample_ = 0;          ///< where the next one goes in a full ring
  std::vector<MetricBucket> fine_;  ///< ring: the bucket number n (time / 10 s) is at n % size
  int64_t newest_fine_ = -1;        ///< number of the newest bucket
  int64_t fine_count_ = 0;          ///< buckets up to the newest one, gaps included
  std::vector<MetricBucket> coarse_;
  int64_t coarse_begin_ = 0;           ///< Unix time at which the first one begins
  int64_t coarse_step_ = kFineMillis;  ///< width of one
  double fine_weight_ = 0;             ///< number of values in the newest fine bucket
  double coarse_weight_ = 0;           ///< number of values in the newest coarse bucket
};

}  // namespace tony::core
