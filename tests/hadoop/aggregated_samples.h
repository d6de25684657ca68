// Files of collected logs as Hadoop 3.5.0 writes them.
#pragma once

#include <string>

#include "absl/strings/escaping.h"

namespace tony::hadoop {

// Both have the same logs of three containers, in several blocks and chunks: org.apache.hadoop.io.
// file.tfile.TFile.Writer wrote them with blocks of 64 bytes and chunks of 32, the records as
// AggregatedLogFormat.LogWriter does.
//
//     container_1700000000000_0001_01_000001  amstderr.log: "master\n"
//     container_1700000000000_0001_01_00000N  attempt-1.stderr.log: ""
//     for N of 2 and 3                        attempt-1.stdout.log: "hello from N\nand again from
//     N\n"
//                                             executor.log: "said by executor N\n"
inline constexpr char kPlainTFile[] =
    "0RHTaJG117Y530FAkrrhUAkAB1ZFUlNJT04EAAAAAREAD0FQUExJQ0FUSU9OX0FDTA8ACFZJRVdfQVBQAANhbm4TABFB"
    "UFBMSUNBVElPTl9PV05FUgUAA2FubigAJmNvbnRhaW5lcl8xNzAwMDAwMDAwMDAwXzAwMDFfMDFfMDAwMDAxGAAMYW1z"
    "dGRlcnIubG9nAAE3bWFzdGVyCigAJmNvbnRhaW5lcl8xNzAwMDAwMDAwMDAwXzAwMDFfMDFfMDAwMDAyy9EAFGF0dGVt"
    "cHQtMS5zdGRlcnIubG9nAAEwABRhdHRlbXB0LTEuc3Rkb3V0LmxvZ8veAAIzMGhlbGxvIGZyb20gMgphbmQgYWdhaW4g"
    "ZnJvbSAyCsvbAAxleGVjdXRvci5sb2cAAjE5c2FpZCBieSBleGVjdXRvciAyCgAoACZjb250YWluZXJfMTcwMDAwMDAw"
    "MDAwMF8wMDAxXzAxXzAwMDAwM8vRABRhdHRlbXB0LTEuc3RkZXJyLmxvZwABMAAUYXR0ZW1wdC0xLnN0ZG91dC5sb2fL"
    "3gACMzBoZWxsbyBmcm9tIDMKYW5kIGFnYWluIGZyb20gMwrL2wAMZXhlY3V0b3IubG9nAAIxOXNhaWQgYnkgZXhlY3V0"
    "b3IgMwoAAAEAAAYACgkAB1ZFUlNJT04VEwARQVBQTElDQVRJT05fT1dORVIDKigAJmNvbnRhaW5lcl8xNzAwMDAwMDAw"
    "MDAwXzAwMDFfMDFfMDAwMDAxASooACZjb250YWluZXJfMTcwMDAwMDAwMDAwMF8wMDAxXzAxXzAwMDAwMgEqKAAmY29u"
    "dGFpbmVyXzE3MDAwMDAwMDAwMDBfMDAwMV8wMV8wMDAwMDMBBG5vbmUEEEtLW0JCzJ3MpsymzUPMpsymAxFkYXRhOkJD"
    "RmlsZS5pbmRleARub25lzpEYGBBkYXRhOlRGaWxlLmluZGV4BG5vbmXN78yizKIPZGF0YTpURmlsZS5tZXRhBG5vbmXN"
    "6QYGAAAAAAAAAqkAAQAA0RHTaJG117Y530FAkrrhUA==";
inline constexpr char kCompressedTFile[] =
    "0RHTaJG117Y530FAkrrhUHic42RgD3MNCvb092NhYGBgFGTgdwwI8PF0dgwBCsU7OvvwM3CEebqGxwOFGZgT8/KEGQSR"
    "VfiH+7kGsYJlNBjUkvPzShIz81KL4g3NDRAgHogN40EIBAwlGHgSc4tLUlKLivRy8tMZGM1zE4tLUou4iDXB6PRFBpHE"
    "kpLU3IISXUM9ZKMM0CTyS0tAEqfvMTAZG2Sk5uTkK6QV5ecqGHEl5qUoJKYD7YIJnL7NwJNakZpcWpIPMYzJ0LI4MTNF"
    "IalSASYOVMZArCuNKXelMborjYlzpTEXAwAkjYywAAEAAAYAeJzj4mRgD3MNCvb099PSYFBLzs8rSczMSy2KNzQ3QIB4"
    "IDaMByEQMGYDAGW/DLt4nGNKr2IUOHP37E0ADzkERAMRZGF0YTpCQ0ZpbGUuaW5kZXgCZ3rNIhEJEGRhdGE6VEZpbGUu"
    "aW5kZXgCZ3rM8y82D2RhdGE6VEZpbGUubWV0YQRub25lzO0GBgAAAAAAAAEzAAEAANER02iRtde2Od9BQJK64VA=";

/// The bytes of one of them.
inline std::string Sample(const char* base64) {
  std::string bytes;
  absl::Base64Unescape(base64, &bytes);
  return bytes;
}

}  // namespace tony::hadoop
