// RFC 4752, section 3.1: GSSAPI's tokens go back and forth until the context is established; then
// each side sends one wrapped word about protection.
#include "hadoop/auth/kerberos.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "hadoop/auth/gssapi_library.h"

namespace tony::hadoop {
namespace {

// Object identifiers in DER, as GSSAPI takes them: the mechanism Kerberos (1.2.840.113554.1.2.2)
// and the name type of a Kerberos principal (1.2.840.113554.1.2.2.1). The library exports both as
// variables, but a copy needs no data symbol of a library that may be absent.
constexpr char kMechanismBytes[] = "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
constexpr char kNameBytes[] = "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01";
const gss_OID_desc kMechanism{sizeof(kMechanismBytes) - 1, const_cast<char*>(kMechanismBytes)};
const gss_OID_desc kPrincipalName{sizeof(kNameBytes) - 1, const_cast<char*>(kNameBytes)};

constexpr size_t kWordBytes = 4;  // a byte with bits of layers, a size of three bytes
constexpr size_t kLargestMessage = 0xffffff;

struct Layer {
  Protection protection;
  uint8_t bit;
};
constexpr Layer kLayers[] = {
    {Protection::kPrivacy, 4}, {Protection::kIntegrity, 2}, {Protection::kAuthentication, 1}};

// GSSAPI's functions take pointers to mutable OIDs and buffers, though they do not change them.
gss_OID Oid(const gss_OID_desc& oid) { return const_cast<gss_OID>(&oid); }

gss_buffer_desc BufferOf(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}

/// The client's side of one GSSAPI context. Not thread safe.
class Kerberos : public SaslMechanism {
 public:
  Kerberos(const GssapiLibrary& library, std::string principal, RequiredProtection required)
      : library_(library), principal_(std::move(principal)), required_(std::move(required)) {}
  ~Kerberos() override {
    OM_uint32 minor = 0;
    if (context_ != GSS_C_NO_CONTEXT) {
      library_.delete_sec_context(&minor, &context_, GSS_C_NO_BUFFER);
    }
    if (name_ != GSS_C_NO_NAME) library_.release_name(&minor, &name_);
  }

  absl::StatusOr<std::string> Start(const std::string& /*challenge*/) override {
    gss_buffer_desc text = BufferOf(principal_);
    OM_uint32 minor = 0;
    const OM_uint32 major = library_.import_name(&minor, &text, Oid(kPrincipalName), &name_);
    if (GSS_ERROR(major)) return Failure("cannot name the server", major, minor);
    return Step("");
  }

  absl::StatusOr<std::string> Answer(const std::string& challenge) override {
    return established_ ? ChooseProtection(challenge) : Step(challenge);
  }

  // A success message before the exchange is complete proves nothing: anybody can send it.
  absl::Status Finish(const std::string& /*token*/) override {
    if (chosen_) return absl::OkStatus();
    return absl::UnauthenticatedError(
        "the server ended the Kerberos exchange before it proved who it is");
  }

  Protection protection() const override { return protection_; }
  size_t MaxWrapBytes() const override { return max_wrap_bytes_; }

  absl::StatusOr<std::string> Wrap(const std::string& plain) override {
    return WrapWith(plain, protection_ == Protection::kPrivacy);
  }

  absl::StatusOr<std::string> Unwrap(const std::string& wrapped) override {
    gss_buffer_desc in = BufferOf(wrapped);
    gss_buffer_desc out = GSS_C_EMPTY_BUFFER;
    OM_uint32 minor = 0;
    int encrypted = 0;
    gss_qop_t quality = 0;
    const OM_uint32 major = library_.unwrap(&minor, context_, &in, &out, &encrypted, &quality);
    std::string plain = Take(&out);
    // GSS_ERROR() would miss replays: old, repeated and reordered messages are reported only as
    // supplementary bits (RFC 2743, 1.2.3), which make `major` differ from GSS_S_COMPLETE.
    if (major != GSS_S_COMPLETE) {
      return absl::DataLossError(
          Sentence("protected data from the server is broken", major, minor));
    }
    if (protection_ == Protection::kPrivacy && encrypted == 0) {
      return absl::DataLossError("the server sent data in the clear that had to be encrypted");
    }
    return plain;
  }

 private:
  // Feeds a token of the server to the context and returns the next one for the server, which may
  // be empty.
  absl::StatusOr<std::string> Step(const std::string& challenge) {
    gss_buffer_desc in = BufferOf(challenge);
    gss_buffer_desc out = GSS_C_EMPTY_BUFFER;
    OM_uint32 minor = 0;
    OM_uint32 granted = 0;
    constexpr OM_uint32 kWanted = GSS_C_MUTUAL_FLAG | GSS_C_SEQUENCE_FLAG | GSS_C_REPLAY_FLAG |
                                  GSS_C_INTEG_FLAG | GSS_C_CONF_FLAG;
    const OM_uint32 major = library_.init_sec_context(
        &minor, GSS_C_NO_CREDENTIAL, &context_, name_, Oid(kMechanism), kWanted, 0,
        GSS_C_NO_CHANNEL_BINDINGS, &in, nullptr, &out, &granted, nullptr);
    std::string token = Take(&out);
    if (GSS_ERROR(major)) return Failure("no Kerberos authentication", major, minor);
    // The flags are final only when the context is established. A context without mutual
    // authentication would accept any server, so it is refused.
    established_ = major == GSS_S_COMPLETE;
    if (established_ && (granted & GSS_C_MUTUAL_FLAG) == 0) {
      return absl::UnauthenticatedError("Kerberos did not prove who the server is");
    }
    can_encrypt_ = (granted & GSS_C_CONF_FLAG) != 0;
    return token;
  }

  // The server's word holds a bit for each layer that it offers and the largest protected message
  // that it takes. The client's word holds the bit of the chosen layer and the client's own limit.
  // Both words are wrapped without encryption (RFC 4752, 3.1); Unwrap() accepts that because
  // protection_ is still kAuthentication.
  absl::StatusOr<std::string> ChooseProtection(const std::string& challenge) {
    if (chosen_) return absl::DataLossError("the server asks twice for the protection");
    TONY_ASSIGN_OR_RETURN(const std::string word, Unwrap(challenge));
    if (word.size() != kWordBytes) {
      return absl::DataLossError("the server's word about the protection is none");
    }
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(word[i]); };
    std::vector<Protection> usable;
    std::vector<std::string> offered;
    for (const Layer& layer : kLayers) {
      if ((byte(0) & layer.bit) == 0) continue;
      offered.emplace_back(ProtectionName(layer.protection));
      if (can_encrypt_ || layer.protection != Protection::kPrivacy) {
        usable.push_back(layer.protection);
      }
    }
    TONY_ASSIGN_OR_RETURN(
        const Protection chosen,
        hadoop::ChooseProtection(usable, required_, absl::StrJoin(offered, ", ")));
    const auto layer = std::find_if(std::begin(kLayers), std::end(kLayers),
                                    [&](const Layer& l) { return l.protection == chosen; });
    TONY_RETURN_IF_ERROR(SetLimit(*layer, size_t{byte(1)} << 16 | size_t{byte(2)} << 8 | byte(3)));
    // RFC 4752, 3.1: the size must be 0 when no layer is chosen.
    const size_t size = layer->protection == Protection::kAuthentication ? 0 : kLargestMessage;
    const std::string answer = {static_cast<char>(layer->bit), static_cast<char>(size >> 16),
                                static_cast<char>(size >> 8), static_cast<char>(size)};
    chosen_ = true;
    TONY_ASSIGN_OR_RETURN(std::string wrapped, WrapWith(answer, false));
    protection_ = layer->protection;
    return wrapped;
  }

  // Converts the server's limit, which counts protected bytes, into a limit of plain bytes.
  absl::Status SetLimit(const Layer& layer, size_t server_takes) {
    if (layer.protection == Protection::kAuthentication) return absl::OkStatus();
    OM_uint32 minor = 0;
    OM_uint32 limit = 0;
    const OM_uint32 major =
        library_.wrap_size_limit(&minor, context_, layer.protection == Protection::kPrivacy ? 1 : 0,
                                 GSS_C_QOP_DEFAULT, static_cast<OM_uint32>(server_takes), &limit);
    if (GSS_ERROR(major) || limit == 0) {
      return absl::DataLossError("the server takes protected messages of no size");
    }
    max_wrap_bytes_ = limit;
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> WrapWith(const std::string& plain, bool encrypt) {
    gss_buffer_desc in = BufferOf(plain);
    gss_buffer_desc out = GSS_C_EMPTY_BUFFER;
    OM_uint32 minor = 0;
    int encrypted = 0;
    const OM_uint32 major =
        library_.wrap(&minor, context_, encrypt ? 1 : 0, GSS_C_QOP_DEFAULT, &in, &encrypted, &out);
    std::string wrapped = Take(&out);
    if (GSS_ERROR(major) || (encrypt && encrypted == 0)) {
      return absl::InternalError(Sentence("Kerberos cannot protect a message", major, minor));
    }
    return wrapped;
  }

  // Copies the buffer's bytes and releases the buffer, which the library allocated.
  std::string Take(gss_buffer_t buffer) const {
    std::string bytes(static_cast<const char*>(buffer->value), buffer->length);
    OM_uint32 minor = 0;
    library_.release_buffer(&minor, buffer);
    return bytes;
  }

  absl::Status Failure(const std::string& what, OM_uint32 major, OM_uint32 minor) const {
    return absl::UnauthenticatedError(
        absl::StrCat(Sentence(absl::StrCat(what, " with ", principal_), major, minor),
                     "; get a ticket with kinit, or set KRB5CCNAME to the cache that has one"));
  }

  std::string Sentence(const std::string& what, OM_uint32 major, OM_uint32 minor) const {
    std::string text = what;
    for (const auto& [code, type] : {std::pair(major, GSS_C_GSS_CODE), {minor, GSS_C_MECH_CODE}}) {
      gss_buffer_desc message = GSS_C_EMPTY_BUFFER;
      OM_uint32 ignored = 0;
      OM_uint32 more = 0;
      // A code may have several messages; the first one is specific enough for one line of text.
      if (library_.display_status(&ignored, code, type, Oid(kMechanism), &more, &message) ==
          GSS_S_COMPLETE) {
        absl::StrAppend(&text, ": ", Take(&message));
      }
    }
    return text;
  }

  const GssapiLibrary& library_;
  const std::string principal_;
  const RequiredProtection required_;
  gss_name_t name_ = GSS_C_NO_NAME;
  gss_ctx_id_t context_ = GSS_C_NO_CONTEXT;
  bool established_ = false;  ///< the context is complete; the word about protection follows
  bool can_encrypt_ = false;
  bool chosen_ = false;  ///< the protection is chosen: the exchange is complete
  Protection protection_ = Protection::kAuthentication;
  size_t max_wrap_bytes_ = kLargestMessage;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SaslMechanism>> MakeKerberosMechanism(
    const std::string& principal, const RequiredProtection& required) {
  TONY_ASSIGN_OR_RETURN(const GssapiLibrary* const library, GssapiLibrary::Load());
  return MakeKerberosMechanism(*library, principal, required);
}

std::unique_ptr<SaslMechanism> MakeKerberosMechanism(const GssapiLibrary& library,
                                                     const std::string& principal,
                                                     const RequiredProtection& required) {
  return std::make_unique<Kerberos>(library, principal, required);
}

}  // namespace tony::hadoop
