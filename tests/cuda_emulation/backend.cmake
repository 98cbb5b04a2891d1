# The CUDA backend compiled as C++, with the emulator of this folder in place of the CUDA toolkit. Its include path
# contains versions of cuda_runtime.h, cuda_bf16.h and cublasLt.h, and of the headers of core/cuda with PTX and dynamic
# shared memory.
file(GLOB emulator_sources CONFIGURE_DEPENDS tests/cuda_emulation/*.cpp)
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS core/cuda/*.cu)
set_source_files_properties(${cuda_sources} PROPERTIES LANGUAGE CXX)
set_source_files_properties(${emulator_sources} PROPERTIES COMPILE_OPTIONS "-O3")
add_library(gyre_cuda_emulation OBJECT ${emulator_sources} ${cuda_sources})
target_include_directories(gyre_cuda_emulation BEFORE PUBLIC ${PROJECT_SOURCE_DIR}/tests/cuda_emulation/include)
target_include_directories(gyre_cuda_emulation PRIVATE ${gyre_include} ${PROJECT_SOURCE_DIR})
target_compile_options(gyre_cuda_emulation PRIVATE -O1 -fno-strict-aliasing -Wno-unknown-pragmas)
target_sources(gyre_core PRIVATE $<TARGET_OBJECTS:gyre_cuda_emulation>)
