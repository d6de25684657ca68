// A producer as its feed sees it: one attempt of one partition.
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "core/feed/feed_messages.h"
#include "feed/frame_connection.h"
#include "feed/hello.h"

namespace tony::feed {

/// The states of a producer:
///
///   QUEUED ─▶ ASKING ─▶ GRANTED ─▶ OPEN ─▶ CONSUMED
///               ▲ │        ▲
///               │ ▼        │
///               └ BUSY ────┘
///
/// QUEUED: the program is not there or has enough. ASKING: the ApplicationMaster is asked for the
/// lease. BUSY: another attempt has it. GRANTED: it has the lease and waits for its turn. OPEN: the
/// program knows of it, and it may have credits. CONSUMED: all rows are consumed, and the
/// ApplicationMaster is to record it. Plain data.
struct Producer {
  enum class State { kQueued, kAsking, kBusy, kGranted, kOpen, kConsumed };

  uint64_t number = 0;
  Hello hello;
  FrameConnection* connection = nullptr;  ///< null: gone, after it had sent everything
  State state = State::kQueued;
  bool greeted = false;          ///< the first CREDIT is sent
  bool ended = false;            ///< END was received
  uint32_t credits = 0;          ///< batches that it may still begin to send
  std::optional<uint32_t> slot;  ///< the slot of the batch that is arriving
  uint32_t filled = 0;           ///< its slots that the program has
  uint64_t rows = 0;             ///< rows in slots that were shown to the program
  uint64_t consumed = 0;         ///< rows in slots that the program has released
  uint64_t results = 0;          ///< results that the program has sent
  TimePoint waits_since;         ///< since when it waits for the program
  TimePoint asked_at;            ///< when it became ASKING
  TimePoint credited_at;         ///< when it last got credits
  bool awaited = false;          ///< another attempt waits for its lease

  bool has_lease() const {
    return state == State::kGranted || state == State::kOpen || state == State::kConsumed;
  }
  /// Whether it has asked for a lease, or has one that is not acknowledged.
  bool wants_lease() const {
    return state == State::kAsking || state == State::kBusy || state == State::kGranted ||
           state == State::kOpen;
  }
  core::FeedLease lease() const { return {number, hello.partition}; }
};

}  // namespace tony::feed
