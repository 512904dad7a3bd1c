// Which instruction sets this machine has.

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

#if defined(__x86_64__)
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("fma");
}
#endif

// AMX also takes the system's permission, which is asked for here.
#if defined(__x86_64__) && defined(__linux__)
bool has_amx() {
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const bool bf16 = d >> 22 & 1, tile = d >> 24 & 1;
  return bf16 && tile && has_avx512() && __builtin_cpu_supports("avx512bf16") &&
         syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}
#endif

}  // namespace

// One bit each for AVX2, AVX-512 and AMX.
extern "C" int hyperaction_instruction_sets() {
  int sets = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets |= 1;
  if (has_avx512()) sets |= 2;
#if defined(__linux__)
  if (has_amx()) sets |= 4;
#endif
#endif
  return sets;
}
