// An OpenSSL provider, see provider(7), in front of OpenSSL's own default provider: it passes on a
// part of what that one offers. The default provider is loaded into a separate library context,
// where it finds everything that it needs itself.
#include "rpc/security/tls_setup.h"

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace tony::rpc {
namespace {

constexpr char kProviderName[] = "tony-tls";

// The algorithms to keep, by operation, each under one of its names. "DER" stands for the decoding
// steps that are the same for all keys.
const std::map<int, std::vector<std::string_view>>& KeptAlgorithms() {
  static const auto* const kept = new std::map<int, std::vector<std::string_view>>{
      {OSSL_OP_DIGEST, {"SHA1", "SHA2-256", "SHA2-384", "SHA2-512"}},
      {OSSL_OP_CIPHER,
       {"AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305",
        "AES-256-CTR",    // for the random generator
        "AES-256-CBC"}},  // for session tickets, should they be wanted
      {OSSL_OP_MAC, {"HMAC"}},
      {OSSL_OP_KDF, {"HKDF", "TLS13-KDF", "TLS1-PRF"}},
      {OSSL_OP_RAND, {"CTR-DRBG", "SEED-SRC"}},
      {OSSL_OP_KEYMGMT, {"EC", "HKDF", "TLS1-PRF", "HMAC"}},
      {OSSL_OP_KEYEXCH, {"ECDH", "HKDF", "TLS1-PRF"}},
      {OSSL_OP_SIGNATURE, {"ECDSA", "HMAC"}},
      {OSSL_OP_ENCODER, {"EC"}},
      {OSSL_OP_DECODER, {"EC", "DER"}}};
  return *kept;
}

/// The data that OpenSSL's callbacks need; made once and never destroyed. Thread safe once it is
/// made.
struct Provider {
  OSSL_PROVIDER* own = nullptr;  ///< OpenSSL's own provider
  OSSL_PROVIDER* ours = nullptr;
  std::map<int, std::vector<OSSL_ALGORITHM>> tables;
};

/// The caller that asked for capabilities. A plain value.
struct Receiver {
  OSSL_CALLBACK* callback = nullptr;
  void* argument = nullptr;
};

// The provider's data; null when OpenSSL refuses. It is global because the callbacks cannot carry a
// pointer to it: the context that OpenSSL passes to them must be the own provider's.
Provider* TheProvider();

// Whether `names`, e.g. "EC:id-ecPublicKey:1.2.840.10045.2.1", contains `wanted`.
bool HasName(std::string_view names, std::string_view wanted) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(':'));
    if (name == wanted) return true;
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
  return false;
}

std::vector<OSSL_ALGORITHM> KeptOf(const OSSL_ALGORITHM* offered,
                                   const std::vector<std::string_view>& kept) {
  std::vector<OSSL_ALGORITHM> table;
  for (; offered != nullptr && offered->algorithm_names != nullptr; ++offered) {
    for (const std::string_view name : kept) {
      if (!HasName(offered->algorithm_names, name)) continue;
      table.push_back(*offered);
      break;
    }
  }
  table.push_back({nullptr, nullptr, nullptr, nullptr});
  return table;
}

extern "C" {

const OSSL_ALGORITHM* QueryOperation(void* /*context*/, int operation, int* no_store) {
  *no_store = 0;
  const auto found = TheProvider()->tables.find(operation);
  return found == TheProvider()->tables.end() ? nullptr : found->second.data();
}

// Passes on only the groups that can be used. Whenever OpenSSL makes a TLS context, it looks for
// the algorithm of each group, and the search for a missing one takes long.
int PassOnGroup(const OSSL_PARAM* group, void* receiver) {
  const OSSL_PARAM* const algorithm = OSSL_PARAM_locate_const(group, OSSL_CAPABILITY_TLS_GROUP_ALG);
  const char* name = nullptr;
  if (algorithm == nullptr || OSSL_PARAM_get_utf8_string_ptr(algorithm, &name) != 1 ||
      std::string_view(name) != "EC") {
    return 1;  // go on
  }
  const auto* const to = static_cast<const Receiver*>(receiver);
  return to->callback(group, to->argument);
}

int GetCapabilities(void* /*context*/, const char* capability, OSSL_CALLBACK* callback,
                    void* argument) {
  Receiver receiver{.callback = callback, .argument = argument};
  return OSSL_PROVIDER_get_capabilities(TheProvider()->own, capability, PassOnGroup, &receiver);
}

// OpenSSL requires this function. It does nothing, because the own provider stays until the process
// ends.
void TearDown(void* /*context*/) {}

int Initialize(const OSSL_CORE_HANDLE* /*core*/, const OSSL_DISPATCH* /*from_core*/,
               const OSSL_DISPATCH** functions, void** context) {
  static const OSSL_DISPATCH offered[] = {
      {OSSL_FUNC_PROVIDER_TEARDOWN, reinterpret_cast<void (*)()>(TearDown)},
      {OSSL_FUNC_PROVIDER_QUERY_OPERATION, reinterpret_cast<void (*)()>(QueryOperation)},
      {OSSL_FUNC_PROVIDER_GET_CAPABILITIES, reinterpret_cast<void (*)()>(GetCapabilities)},
      {0, nullptr}};
  *functions = offered;
  // The kept algorithms are the own provider's functions, which expect its context.
  *context = OSSL_PROVIDER_get0_provider_ctx(TheProvider()->own);
  return 1;
}

}  // extern "C"

// OpenSSL 3.0 calls this for each connection after applying its settings. If another version calls
// it too early, tickets are sent as usual; a test would show that.
void TurnOffTickets(void* connection, void* /*data*/, CRYPTO_EX_DATA* /*all*/, int /*index*/,
                    long /*number*/, void* /*argument*/) {
  SSL_set_num_tickets(static_cast<SSL*>(connection), 0);
}

Provider* MakeProvider() {
  OSSL_LIB_CTX* const library = OSSL_LIB_CTX_new();
  if (library == nullptr) return nullptr;
  auto* const made = new Provider{.own = OSSL_PROVIDER_load(library, "default")};
  if (made->own == nullptr) {
    delete made;
    OSSL_LIB_CTX_free(library);
    return nullptr;
  }
  for (const auto& [operation, kept] : KeptAlgorithms()) {
    int no_cache = 0;
    made->tables[operation] =
        KeptOf(OSSL_PROVIDER_query_operation(made->own, operation, &no_cache), kept);
  }
  return made;
}

Provider* TheProvider() {
  static Provider* const provider = MakeProvider();
  return provider;
}

}  // namespace

void SetUpTls() {
  static std::once_flag once;
  std::call_once(once, [] {
    // OpenSSL loads its default provider by itself only while no provider is loaded, so loading
    // ours keeps it out of the default context.
    Provider* const provider = TheProvider();
    if (provider != nullptr && OSSL_PROVIDER_add_builtin(nullptr, kProviderName, Initialize) == 1) {
      provider->ours = OSSL_PROVIDER_load(nullptr, kProviderName);
    }
    SSL_get_ex_new_index(0, nullptr, TurnOffTickets, nullptr, nullptr);
    ERR_clear_error();
  });
}

}  // namespace tony::rpc
