# The CUDA backend compiled as C++, with the emulator of this folder in place of the CUDA toolkit. Its include path
# contains versions of cuda_runtime.h, cuda_bf16.h and cublasLt.h, and of the headers of core/cuda with PTX and dynamic
# shared memory.
file(GLOB emulator_sources CONFIGURE_DEPENDS tests/cuda_emulation/*.cpp)
file(GLOB access_sources CONFIGURE_DEPENDS tests/cuda_emulation/accesses/*.cpp)  # called for every access: no checks
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS core/cuda/*.cu)
# The sanitizers call functions of the emulator before each access to memory (accesses/accesses.h). Their libraries are
# not linked. Reports name lines of the kernels (-g1).
set(cuda_emulation_options -fno-sanitize=all -fsanitize=thread,bounds --param=tsan-instrument-func-entry-exit=0
    -fno-strict-aliasing -g1 -Wno-unknown-pragmas)
set_source_files_properties(${cuda_sources} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${cuda_emulation_options}")
set_source_files_properties(${emulator_sources} PROPERTIES COMPILE_OPTIONS "-O3")
set_source_files_properties(${access_sources} PROPERTIES COMPILE_OPTIONS "-O3;-fno-sanitize=all")
add_library(gyre_cuda_emulation OBJECT ${emulator_sources} ${access_sources} ${cuda_sources})
target_include_directories(gyre_cuda_emulation BEFORE PUBLIC ${PROJECT_SOURCE_DIR}/tests/cuda_emulation/include)
target_include_directories(gyre_cuda_emulation PRIVATE ${gyre_include} ${PROJECT_SOURCE_DIR})
target_compile_options(gyre_cuda_emulation PRIVATE -O1)
target_sources(gyre_core PRIVATE $<TARGET_OBJECTS:gyre_cuda_emulation>)
