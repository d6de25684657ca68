# Third-party libraries as interface targets. Headers come from the system's include folder. This
# file only chooses how the libraries are linked: static archives (default), or shared libraries if
# a sanitizer has to distinguish them.
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(GTest CONFIG REQUIRED)

# Abseil. Everything except src/collective links it, so it carries the options of static linking.
add_library(tony_abseil INTERFACE)
if(TONY_STATIC_DEPS)
  file(GLOB absl_archives /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libabsl_*.a)
  list(FILTER absl_archives EXCLUDE REGEX
       "flags|failure_signal|leak_check|scoped_set_env|test_util|periodic|examine")
  list(JOIN absl_archives "," absl_group)
  target_link_options(tony_abseil INTERFACE -static-libstdc++ -static-libgcc -Wl,--as-needed)
  # One argument, so that CMake neither reorders nor drops parts of the group.
  target_link_libraries(tony_abseil INTERFACE -Wl,--start-group,${absl_group},--end-group Threads::Threads)
else()
  file(GLOB absl_libraries /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libabsl_*.so)
  target_link_libraries(tony_abseil INTERFACE -Wl,--as-needed ${absl_libraries} Threads::Threads)
endif()

add_library(tony_openssl INTERFACE)
target_link_libraries(tony_openssl INTERFACE
  $<IF:$<BOOL:${TONY_STATIC_DEPS}>,-l:libssl.a;-l:libcrypto.a,ssl;crypto> tony_abseil)

add_library(tony_protobuf INTERFACE)
if(TONY_STATIC_DEPS)
  target_link_libraries(tony_protobuf INTERFACE -l:libprotobuf.a -l:libz.a tony_abseil)
else()
  target_link_libraries(tony_protobuf INTERFACE protobuf::libprotobuf tony_abseil)
endif()

# gRPC and its parts. Debian's CMake package knows only the shared libraries.
add_library(tony_grpc INTERFACE)
if(TONY_STATIC_DEPS)
  set(grpc_archives -l:libgrpc++.a -l:libgrpc.a -l:libgpr.a -l:libupb.a -l:libaddress_sorting.a
      -l:libprotobuf.a -l:libre2.a -l:libcares.a -l:libz.a -l:libssl.a -l:libcrypto.a)
  list(JOIN grpc_archives "," grpc_group)
  target_link_libraries(tony_grpc INTERFACE
    -Wl,--start-group,${grpc_group},${absl_group},--end-group tony_abseil)
else()
  target_link_libraries(tony_grpc INTERFACE gRPC::grpc++ tony_protobuf tony_openssl)
endif()

# Archives. The code enables only single formats and filters, so no XML parser is linked.
add_library(tony_libarchive INTERFACE)
if(TONY_STATIC_DEPS)
  target_link_libraries(tony_libarchive INTERFACE
    -l:libarchive.a -l:libzstd.a -l:libz.a -l:liblzma.a -l:libbz2.a -l:liblz4.a -l:libacl.a
    -l:libnettle.a)
else()
  target_link_libraries(tony_libarchive INTERFACE archive)
endif()

# Logs that YARN has collected and compressed; gRPC brings zlib along.
add_library(tony_zlib INTERFACE)
target_link_libraries(tony_zlib INTERFACE $<IF:$<BOOL:${TONY_STATIC_DEPS}>,-l:libz.a,z>)

# Regular expressions; gRPC brings RE2 along.
add_library(tony_re2 INTERFACE)
target_link_libraries(tony_re2 INTERFACE $<IF:$<BOOL:${TONY_STATIC_DEPS}>,-l:libre2.a,re2> Threads::Threads)

add_library(tony_tinyxml2 INTERFACE)
target_link_libraries(tony_tinyxml2 INTERFACE tinyxml2)

# The portal's index.
add_library(tony_sqlite INTERFACE)
target_link_libraries(tony_sqlite INTERFACE $<IF:$<BOOL:${TONY_STATIC_DEPS}>,-l:libsqlite3.a,sqlite3> ${CMAKE_DL_LIBS} m)
