#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "gyre/core/hardware/cpu.h"

namespace gyre {

const char* bf16_extension() { return "FEAT_BF16"; }

bool cpu_has_bf16() { return (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0; }

std::vector<std::pair<std::string, bool>> cpu_extensions() { return {{bf16_extension(), cpu_has_bf16()}}; }

std::string blas_advice_for(const std::string&) { return {}; }

bool has_tuned_products() { return false; }

}  // namespace gyre
