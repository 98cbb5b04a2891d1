#include "gyre/core/cuda/runtime/check.h"
#include "gyre/core/cuda/runtime/gpus.h"

namespace gyre::cuda {
namespace {

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, index), "cudaDeviceGetAttribute");
  return value;
}

std::string capability_text(int index) {
  return concat(attribute(cudaDevAttrComputeCapabilityMajor, index), ".",
                attribute(cudaDevAttrComputeCapabilityMinor, index));
}

// All files are compiled for the same GPUs, so that one kernel stands for all.
__global__ void any_kernel() {}

std::string name_of(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  return properties.name;
}

std::string describe(int index) {
  return concat("cuda:", index, " is a ", name_of(index), " of compute capability ", capability_text(index));
}

}  // namespace

std::string version_text(int version) { return concat(version / 1000, ".", version % 1000 / 10); }

int gpu_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // clears the error, which a later call would report again
  return 0;
}

std::string gpu_text(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  return concat(properties.name, " (", properties.totalGlobalMem >> 30, " GiB, compute capability ",
                capability_text(index), ")");
}

std::string missing_requirement() {
  int count = 0, driver = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status == cudaSuccess && count > 0) return "";
  const std::string toolkit = version_text(CUDART_VERSION);
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return concat("no NVIDIA driver found: install one for CUDA ", toolkit, " or later, or use the CPU");
  }
  if (status == cudaErrorInsufficientDriver) {
    return concat("the NVIDIA driver is for CUDA ", version_text(driver), " and this gyre for CUDA ", toolkit,
                  ": install a newer driver, or use the CPU");
  }
  if (status == cudaSuccess || status == cudaErrorNoDevice) {
    return "no GPU found: the NVIDIA driver shows none to this process (check CUDA_VISIBLE_DEVICES)";
  }
  return concat("cannot count the GPUs: ", cudaGetErrorString(status));
}

std::string missing_requirement(int index) {
  if (const std::string missing = missing_requirement(); !missing.empty()) return missing;
  const int count = gpu_count();
  if (index < 0 || index >= count) {
    return concat("there is no cuda:", index, ": this machine has ", count, count == 1 ? " GPU" : " GPUs",
                  ", counted from 0");
  }
  if (attribute(cudaDevAttrComputeCapabilityMajor, index) >= kOldestMajor) return "";
  return concat(describe(index), ", expected ", kOldestMajor, ".0 or later");
}

std::string missing_code() {
  cudaFuncAttributes ignored{};
  const cudaError_t status = cudaFuncGetAttributes(&ignored, reinterpret_cast<const void*>(any_kernel));
  switch (status) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
      break;
    default:
      check(status, "cudaFuncGetAttributes");
      return "";
  }
  int index = 0;
  cudaGetLastError();  // clears the error
  check(cudaGetDevice(&index), "cudaGetDevice");
  return concat(describe(index), ", and this gyre has no kernels for it (", cudaGetErrorString(status),
                "): build it with -DCMAKE_CUDA_ARCHITECTURES=native");
}

}  // namespace gyre::cuda
