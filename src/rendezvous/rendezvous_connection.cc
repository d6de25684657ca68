// A chain of asynchronous steps; each handler holds a shared pointer to the connection and stops
// when it is closed. One deadline at a time bounds every step.
#include "rendezvous/rendezvous_connection.h"

#include <algorithm>
#include <boost/asio/write.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "web/http/http_message.h"

namespace tony::rendezvous {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// The buffer grows with the bytes that arrive: a head may promise a large body that never comes.
constexpr size_t kBodyStep = size_t{64} * 1024;

}  // namespace

RendezvousConnection::RendezvousConnection(asio::ip::tcp::socket socket,
                                           std::shared_ptr<RendezvousShared> shared,
                                           OnClosed on_closed)
    : socket_(std::move(socket)),
      shared_(std::move(shared)),
      on_closed_(std::move(on_closed)),
      timer_(socket_.get_executor()) {}

void RendezvousConnection::Start() {
  Allow(shared_->limits.request, &RendezvousConnection::OnRequestLate);
  ReadMoreOfHead();
}

void RendezvousConnection::TurnAway() {
  Refuse({503, absl::StrCat("There are ", shared_->limits.connections,
                            " connections already; try again.")});
}

void RendezvousConnection::Close() {
  open_ = false;
  EndWait();
  ReleaseBytes();
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
}

void RendezvousConnection::Finish() {
  if (!open_) return;
  Close();
  std::exchange(on_closed_, nullptr)();
}

// There is one timer. A later deadline does not touch it; when it fires too early it is set again.
// Most connections end before their first deadline, so resetting the timer for each step would be
// wasted work.
void RendezvousConnection::Allow(std::chrono::milliseconds time, Step when_over) {
  when_over_ = when_over;
  deadline_ = std::chrono::steady_clock::now() + time;
  if (!timer_runs_ || deadline_ < timer_.expiry()) AwaitDeadline();
}

void RendezvousConnection::AwaitDeadline() {
  timer_runs_ = true;
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || !self->open_) return;
    if (self->when_over_ == nullptr) {
      self->timer_runs_ = false;
    } else if (std::chrono::steady_clock::now() < self->deadline_) {
      self->AwaitDeadline();
    } else {
      self->timer_runs_ = false;
      (self.get()->*std::exchange(self->when_over_, nullptr))();
    }
  });
}

void RendezvousConnection::Read(asio::mutable_buffer place, OnBytes on_bytes) {
  reading_ = true;
  socket_.async_read_some(
      place, [self = shared_from_this(), on_bytes](const error_code& error, size_t bytes) {
        self->reading_ = false;
        if (!self->open_) return;
        self->ended_ = static_cast<bool>(error);
        if (self->answered_ && !self->parting_)
          return;  // the end of writing decides what happens next
        if (self->ended_) return self->Finish();
        if (self->parting_) return self->Read(asio::buffer(self->input_), nullptr);
        (self.get()->*on_bytes)(bytes);
      });
}

void RendezvousConnection::ReadMoreOfHead() {
  Read(asio::buffer(input_) + input_bytes_, &RendezvousConnection::OnHeadBytes);
}

void RendezvousConnection::OnHeadBytes(size_t bytes) {
  input_bytes_ += bytes;
  auto understood = ReadHead(input_.data(), input_bytes_);
  if (!understood && input_bytes_ < input_.size()) return ReadMoreOfHead();
  if (!understood) {
    return Refuse(
        {431, absl::StrCat("The head of a request has at most ", input_.size(), " bytes.")});
  }
  if (const auto* refusal = std::get_if<Refusal>(&*understood)) return Refuse(*refusal);
  request_ = std::get<RequestHead>(*std::move(understood));
  CarryOut();
}

void RendezvousConnection::CarryOut() {
  if (request_.method == RequestHead::Method::kPut) return ReceiveBody();
  all_read_ = input_bytes_ == request_.head_bytes;
  if (request_.method == RequestHead::Method::kDelete) return RemoveValue();
  FindValue();
}

// The size is reserved before the first byte of the body is read, so all bodies together cannot
// exceed the limit. The bytes of the body that came with the head are copied.
void RendezvousConnection::ReceiveBody() {
  const RendezvousLimits& limits = shared_->limits;
  if (request_.body_bytes > limits.body_bytes) {
    return Refuse({413, absl::StrCat("A value has at most ", limits.body_bytes, " bytes.")});
  }
  if (request_.body_bytes > limits.receiving_bytes - shared_->receiving_bytes) {
    return Refuse({503, "Too much is on its way here; try again."});
  }
  reserved_bytes_ = request_.body_bytes;
  shared_->receiving_bytes += reserved_bytes_;
  body_.reserve(request_.body_bytes);
  const size_t after_head = input_bytes_ - request_.head_bytes;
  body_bytes_ = std::min(after_head, request_.body_bytes);
  body_.assign(input_.data() + request_.head_bytes, body_bytes_);
  all_read_ = after_head <= request_.body_bytes;
  ReadMoreOfBody();
}

void RendezvousConnection::ReadMoreOfBody() {
  if (body_bytes_ == request_.body_bytes) return StoreBody();
  body_.resize(std::min(request_.body_bytes, body_bytes_ + kBodyStep));
  Read(asio::buffer(body_) + body_bytes_, &RendezvousConnection::OnBodyBytes);
}

void RendezvousConnection::OnBodyBytes(size_t bytes) {
  body_bytes_ += bytes;
  ReadMoreOfBody();
}

void RendezvousConnection::StoreBody() {
  ReleaseBytes();
  Allow(shared_->limits.change, &RendezvousConnection::OnStoreLate);
  shared_->store.Put(request_.scope, request_.key,
                     std::make_shared<const std::string>(std::move(body_)),
                     WhenChanged(&RendezvousCounts::puts));
}

void RendezvousConnection::RemoveValue() {
  Allow(shared_->limits.change, &RendezvousConnection::OnStoreLate);
  shared_->store.Remove(request_.scope, request_.key, WhenChanged(&RendezvousCounts::removes));
}

// A change may be done after the deadline has answered for it, or after the connection was closed;
// the store then calls back in vain, which the weak pointer and the flags allow for.
KeyValueStore::OnDone RendezvousConnection::WhenChanged(uint64_t RendezvousCounts::*count) {
  return [weak = weak_from_this(), count](const absl::Status& status) {
    const auto self = weak.lock();
    if (self == nullptr || !self->open_ || self->answered_) return;
    if (!status.ok()) LogDebug("the store refuses a change", {{"why", status.message()}});
    if (status.ok()) {
      ++(self->shared_->counts.*count);
      return self->Write(200, nullptr);
    }
    self->Refuse({absl::IsResourceExhausted(status) ? 507 : 503, std::string(status.message())});
  };
}

void RendezvousConnection::FindValue() {
  // No client has a reason to read these values (they contain workers' secrets), so even the job's
  // own programs do not get them by mistake.
  if (core::IsForDriverOnly(request_.scope)) return AnswerMissing();
  core::Blob value = shared_->store.Get(request_.scope, request_.key);
  if (value != nullptr) {
    ++shared_->counts.found;
    return Write(200, std::move(value));
  }
  const core::Patience patience = core::PatienceFor(request_.scope, request_.key);
  const bool crowded = shared_->waiting >= shared_->limits.waiting;
  if (patience == core::Patience::kNone || (patience == core::Patience::kSome && crowded)) {
    return AnswerMissing();
  }
  AwaitValue(patience);
}

// The connection keeps reading while it waits: only so does it notice that the client has gone.
void RendezvousConnection::AwaitValue(core::Patience patience) {
  ++shared_->counts.held;
  ++shared_->waiting;
  waits_without_end_ = patience == core::Patience::kNoEnd;
  Allow(shared_->limits.hold, waits_without_end_ ? nullptr : &RendezvousConnection::AnswerMissing);
  wait_ = shared_->store.Await(request_.scope, request_.key, [this](const core::Blob& value) {
    ++shared_->counts.found;
    Write(200, value);
  });
  WatchClient(0);
}

void RendezvousConnection::WatchClient(size_t bytes) {
  if (bytes > 0) all_read_ = false;
  Read(asio::buffer(input_), &RendezvousConnection::WatchClient);
}

void RendezvousConnection::EndWait() {
  if (wait_ == nullptr) return;
  wait_.reset();
  waits_without_end_ = false;
  --shared_->waiting;
}

void RendezvousConnection::ReleaseBytes() {
  shared_->receiving_bytes -= std::exchange(reserved_bytes_, 0);
}

void RendezvousConnection::OnRequestLate() { Refuse({408, "The request did not come in time."}); }

void RendezvousConnection::OnStoreLate() {
  Refuse({503, "The rendezvous store does not answer; try again."});
}

void RendezvousConnection::AnswerMissing() {
  ++shared_->counts.missing;
  Write(404, nullptr);
}

void RendezvousConnection::Refuse(const Refusal& refusal) {
  ++shared_->counts.refused;
  shared_->refused_log.Log(LogLevel::kWarning, "the rendezvous server refuses a request",
                           {{"status", refusal.status}, {"why", refusal.sentence}});
  Write(refusal.status, std::make_shared<const std::string>(refusal.sentence + "\n"));
}

// Everything reserved for the request is released before the answer is written: a client that reads
// slowly must hold neither a place among the waiting nor bytes of the receiving limit.
void RendezvousConnection::Write(int status, core::Blob body) {
  answered_ = true;
  EndWait();
  ReleaseBytes();
  Allow(shared_->limits.response, &RendezvousConnection::Finish);
  value_ = std::move(body);
  head_ = absl::StrCat("HTTP/1.1 ", status, " ", web::StatusText(status),
                       "\r\nContent-Length: ", value_ == nullptr ? 0 : value_->size(),
                       "\r\nConnection: close\r\n\r\n");
  const std::array<asio::const_buffer, 2> buffers = {
      asio::buffer(head_), value_ == nullptr ? asio::const_buffer() : asio::buffer(*value_)};
  asio::async_write(socket_, buffers, [self = shared_from_this()](const error_code& error, size_t) {
    if (!self->open_) return;
    if (error || self->ended_ || self->all_read_) return self->Finish();
    self->OnWritten();
  });
}

void RendezvousConnection::OnWritten() {
  parting_ = true;
  Allow(shared_->limits.farewell, &RendezvousConnection::Finish);
  error_code ignored;  // the reader notices a client that is gone
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  if (!reading_) Read(asio::buffer(input_), nullptr);
}

}  // namespace tony::rendezvous
