// The fuzz targets' functions. Each one's file in targets/ says whose input it is.
#pragma once

#include <string_view>

namespace tony::fuzz {

void FuzzAggregatedLogs(std::string_view input);
void FuzzArchive(std::string_view input);
void FuzzCollectiveCoordinator(std::string_view input);
void FuzzCollectiveWire(std::string_view input);
void FuzzDigestMd5(std::string_view input);
void FuzzElasticMessages(std::string_view input);
void FuzzFeedFrames(std::string_view input);
void FuzzHadoopFrames(std::string_view input);
void FuzzHistory(std::string_view input);
void FuzzHttpRequest(std::string_view input);
void FuzzJavaObjects(std::string_view input);
void FuzzJavaProperties(std::string_view input);
void FuzzJobFile(std::string_view input);
void FuzzJobValues(std::string_view input);
void FuzzJournal(std::string_view input);
void FuzzProgramHead(std::string_view input);
void FuzzRendezvousHead(std::string_view input);
void FuzzRendezvousPlan(std::string_view input);
void FuzzReplicaFrames(std::string_view input);
void FuzzReportLines(std::string_view input);
void FuzzSafeText(std::string_view input);
void FuzzSecretScanner(std::string_view input);
void FuzzStackText(std::string_view input);
void FuzzTokenFile(std::string_view input);

}  // namespace tony::fuzz
