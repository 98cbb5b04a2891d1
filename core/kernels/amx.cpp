#include "gyre/core/kernels/amx.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gyre {

#ifdef __x86_64__
namespace {

// CPUID leaf 7, EDX (Intel SDM volume 2, CPUID).
constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;

bool cpu_has_amx() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & kAmxBf16) && (edx & kAmxTile);
}

// Linux saves the tile registers, 8 KiB per thread, only for processes that ask for it. The permission holds for all
// of its threads.
bool request_tile_registers() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace
#endif

bool has_amx() {
#ifdef __x86_64__
  static const bool available = cpu_has_amx() && request_tile_registers();
  return available;
#else
  return false;
#endif
}

namespace {
bool& amx_in_use() {
  static bool in_use = has_amx();
  return in_use;
}
}  // namespace

bool uses_amx() { return amx_in_use(); }
void use_amx(bool on) { amx_in_use() = on; }

}  // namespace gyre
