// The table of targets.
#include "tests/fuzz/targets.h"

#include <array>

#include "tests/fuzz/support/fuzz_target.h"

namespace tony::fuzz {
namespace {

constexpr std::array kTargets = {
    FuzzTarget{"aggregated_logs", FuzzAggregatedLogs},
    FuzzTarget{"archive", FuzzArchive, 500},
    FuzzTarget{"collective_coordinator", FuzzCollectiveCoordinator},
    FuzzTarget{"collective_wire", FuzzCollectiveWire},
    FuzzTarget{"digest_md5", FuzzDigestMd5},
    FuzzTarget{"elastic_messages", FuzzElasticMessages},
    FuzzTarget{"feed_frames", FuzzFeedFrames},
    FuzzTarget{"hadoop_frames", FuzzHadoopFrames},
    FuzzTarget{"history", FuzzHistory, 500},
    FuzzTarget{"http_request", FuzzHttpRequest},
    FuzzTarget{"java_objects", FuzzJavaObjects},
    FuzzTarget{"java_properties", FuzzJavaProperties},
    FuzzTarget{"job_file", FuzzJobFile, 500},
    FuzzTarget{"job_values", FuzzJobValues},
    FuzzTarget{"journal", FuzzJournal},
    FuzzTarget{"program_head", FuzzProgramHead},
    FuzzTarget{"rendezvous_head", FuzzRendezvousHead},
    FuzzTarget{"rendezvous_plan", FuzzRendezvousPlan},
    FuzzTarget{"replica_frames", FuzzReplicaFrames},
    FuzzTarget{"report_lines", FuzzReportLines},
    FuzzTarget{"safe_text", FuzzSafeText},
    FuzzTarget{"secret_scanner", FuzzSecretScanner},
    FuzzTarget{"stack_text", FuzzStackText},
    FuzzTarget{"token_file", FuzzTokenFile},
};

}  // namespace

std::span<const FuzzTarget> FuzzTargets() { return kTargets; }

}  // namespace tony::fuzz
