# Convenience targets; `make help` lists them. CMake builds the project (Release, in build/).
BUILD ?= build
JOBS ?= $(shell env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
CMAKE_FLAGS ?=
# Print the output only on failure.
CONFIGURE = mkdir -p $(1) && { cmake -S . -B $(1) -DCMAKE_BUILD_TYPE=$(2) $(3) $(CMAKE_FLAGS) > $(1)/configure.log 2>&1 || \
  { cat $(1)/configure.log; exit 1; }; }
# Show one progress line; the full output is in build.log. `make V=1` shows everything.
BUILD_QUIETLY = tools/scripts/quiet.sh "building in $(1)/" $(1)/build.log cmake --build $(1) $(2) -j $(JOBS)
SOURCES = $(shell git ls-files '*.cpp' '*.h' '*.cu' '*.cuh')

.DEFAULT_GOAL := build/gyre
.PHONY: build/gyre build-all cuda build-cuda-emulation cuda-emulation cuda-mutations mutations aarch64 gpu-check clang bundle package release help setup demo docs test check check-tools check-layers check-types check-format check-includes check-clang tidy format asan ubsan tsan fuzz clean

build/gyre: ## build the program (the default)
	@$(call CONFIGURE,$(BUILD),Release)
	@$(call BUILD_QUIETLY,$(BUILD),--target gyre)

build-all: # the program and its tests
	@$(call CONFIGURE,$(BUILD),Release)
	@$(call BUILD_QUIETLY,$(BUILD))

cuda: ## build the program and its tests with the CUDA backend, in build-cuda
	@export PATH="$$PATH:/usr/local/cuda/bin"; $(call CONFIGURE,build-cuda,Release,-DGYRE_CUDA=ON)
	@$(call BUILD_QUIETLY,build-cuda)

clang: ## build the program and its tests with Clang, in build-clang; installs Clang
	@tools/scripts/setup.sh clang-19 libomp-19-dev
	@$(call CONFIGURE,build-clang,Release,-DGYRE_DEVELOPER=ON -DCMAKE_CXX_COMPILER=clang++-19)
	@$(call BUILD_QUIETLY,build-clang)

EMULATION = build-cuda-emulation
# Under AddressSanitizer, GCC 12 warns without reason of uninitialized members of std::function.
EMULATION_FLAGS = -DGYRE_CUDA_EMULATION=ON -DGYRE_SANITIZE=address -DCMAKE_CXX_FLAGS="-O1 -Wno-maybe-uninitialized"
build-cuda-emulation: ## build the CUDA tests for an emulated GPU, without running them
	@$(call CONFIGURE,$(EMULATION),None,$(EMULATION_FLAGS))
	@$(call BUILD_QUIETLY,$(EMULATION),--target cuda_emulation)

# By turns from commit to commit, the kernels run in the order of threads and calls, with an allocation for each tensor so
# that its end is known, or in a random order that CUDA allows.
EMULATION_SEED ?= $(or $(shell git rev-list --count HEAD 2> /dev/null),1)
EMULATION_ORDER = $(if $(filter %0 %2 %4 %6 %8,$(EMULATION_SEED)),GYRE_CUDA_POOL=0,GYRE_CUDA_EMULATION_SEED=$(EMULATION_SEED))
cuda-emulation: build-cuda-emulation ## run the CUDA tests on an emulated GPU, without CUDA, under AddressSanitizer
	@echo "emulated GPU: $(EMULATION_ORDER)"
	@$(EMULATION_ORDER) tools/scripts/run_tests.sh $(EMULATION)

# With BASE=COMMIT only the mutations whose files or tests changed since that commit.
cuda-mutations: build-cuda-emulation ## check that these tests find mistakes that are put into the kernels
	@tests/mutations/test.sh $(EMULATION)

mutations: build-all ## check that the other tests find mistakes that are put into the code for CPUs
	@tests/mutations/test.sh $(BUILD)

# The program and the tests of kernels and ops, which tests/tools/aarch64_test.sh runs.
aarch64: ## cross-build for 64-bit ARM, in build-aarch64; `make test` then runs it under QEMU
	@tools/scripts/aarch64_sysroot.sh
	@$(call CONFIGURE,build-aarch64,Release,--preset aarch64)
	@$(call BUILD_QUIETLY,build-aarch64,--target gyre test_core test_autograd)
	@touch build-aarch64/built

gpu-check: ## on a machine with a GPU: CUDA tests, training, speed compared with PyTorch; writes a report
	@tools/scripts/gpu_check.sh

# Code for one architecture keeps the bundle small: 90 for H100 and H200, 80 for A100.
BUNDLE_ARCHITECTURE ?= 90
bundle: ## pack a CUDA build with its libraries for another machine, for GPUs of BUNDLE_ARCHITECTURE (90)
	@tools/scripts/setup.sh xz-utils
	@export PATH="$$PATH:/usr/local/cuda/bin"; $(call CONFIGURE,build-cuda-bundle,Release,-DGYRE_CUDA=ON \
	  -DCMAKE_CUDA_ARCHITECTURES=$(BUNDLE_ARCHITECTURE)-real)
	@$(call BUILD_QUIETLY,build-cuda-bundle,--target gyre test_core test_hopper test_autograd test_models test_train test_mpi)
	@tools/scripts/bundle.sh --tests build-cuda-bundle gyre-bundle.tar.xz

package: ## build Debian packages of the program and the libraries, in build
	@tools/scripts/setup.sh dpkg-dev file
	@$(MAKE) --no-print-directory build/gyre
	@cd $(BUILD) && cpack -G DEB

release: ## make the files of a release in dist and try them; the container image needs root rights
	@tools/scripts/setup.sh dpkg-dev file mmdebstrap xz-utils zip
	@$(MAKE) --no-print-directory build/gyre
	@tools/scripts/release.sh $(BUILD) dist

help: ## this list
	@awk -F':.*## ' '/^[a-z\/-]+:.*## /{printf "make %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing
	@tools/scripts/setup.sh

demo: ## build, train, translate and score on the synthetic corpus; what to try next
	@$(MAKE) --no-print-directory setup
	@$(MAKE) --no-print-directory build/gyre
	@tools/scripts/demo.sh $(BUILD)/gyre demo

docs: ## the documentation as HTML, in build/docs, with lessons to walk through, and the API of the headers
	@tools/scripts/setup.sh cmark-gfm
	@$(call CONFIGURE,$(BUILD),Release)
	@$(call BUILD_QUIETLY,$(BUILD),--target doc_page)
	@tools/scripts/docs.sh $(BUILD)/doc_page $(BUILD)/docs
	@echo "$(BUILD)/docs/index.html, $(BUILD)/docs/autodiff.html, $(BUILD)/docs/api.html"

# The packages of the loop are optional: without them the tests of pages are skipped.
test: ## build and run all tests; list skipped parts with reasons; installs browsers where it can
	@tools/scripts/setup.sh
	@for package in cmark-gfm python3 chromium-headless-shell firefox-esr; do tools/scripts/setup.sh $$package || true; done
	@$(MAKE) --no-print-directory cuda-emulation
	@$(MAKE) --no-print-directory build-all
	@tools/scripts/run_tests.sh $(BUILD)

CHECK_BUILD ?= build-check
CHECK_FLAGS ?= -DGYRE_DEVELOPER=ON
check: check-tools check-layers check-types check-format ## checks other than the tests: layers, names of types, format, warnings, includes, clang-tidy
	@$(call CONFIGURE,$(CHECK_BUILD),Release,$(CHECK_FLAGS))
	@$(call BUILD_QUIETLY,$(CHECK_BUILD))
	@$(MAKE) --no-print-directory check-includes tidy

check-tools:
	@tools/scripts/setup.sh clang-format clang-tidy

check-layers: ## check that includes follow the dependencies between folders
	@tools/scripts/check_layers.sh

check-types: ## check that no two types have the same name
	@tools/scripts/check_types.sh

check-format: check-tools
	@clang-format --dry-run -Werror $(SOURCES)

# Clang 14 cannot parse GCC's vector types, its CPU names, lambdas in the tests that capture structured bindings, and code
# for ARM.
NOT_FOR_CLANG = core/cpu/% core/kernels/cpu_levels_x86_64.cpp %_aarch64.cpp tests/%
# With BASE=COMMIT only the files that changed since that commit.
BASE ?=
CHANGED_SOURCES = $(filter %.cpp,$(if $(BASE),$(shell git diff --name-only --diff-filter=d $(BASE) -- '*.cpp'),$(SOURCES)))
TIDY_SOURCES = $(filter-out $(NOT_FOR_CLANG),$(CHANGED_SOURCES))

# The compile commands of `make check` for each file by itself, without precompiled headers: both hide a missing include,
# and clang-tidy can read neither.
PLAIN = $(CHECK_BUILD)/plain
.PHONY: $(PLAIN)/compile_commands.json
$(PLAIN)/compile_commands.json:
	@$(call CONFIGURE,$(PLAIN),Release,$(CHECK_FLAGS) -DGYRE_UNITY=OFF -DGYRE_PRECOMPILED_HEADERS=OFF)

# Clang finds GCC's omp.h here, so that its own OpenMP library need not be installed for checks. Clang does not know the
# attribute __malloc__(omp_free) in it, and the macro removes it.
GCC_HEADERS = $(shell $(CXX) -print-file-name=include)
NO_DEALLOCATORS = -D__malloc__(deallocator)=

check-includes: $(PLAIN)/compile_commands.json # changed files must compile without precompiled headers
	@printf '%s\n' $(CHANGED_SOURCES) | tools/scripts/quiet.sh "includes" $(CHECK_BUILD)/includes.log \
	  tools/scripts/check_includes.sh $< $(JOBS)

# Clang's versions of these commands. The first command of a kernel is for AVX2; for AVX-512 there is more code.
$(CHECK_BUILD)/clang/compile_commands.json: $(PLAIN)/compile_commands.json
	@mkdir -p $(@D)
	@sed -E -e 's|("command": ")([^ ]*ccache )?[^ ]+|\1clang++-19 \\"$(NO_DEALLOCATORS)\\" -idirafter $(GCC_HEADERS)|' -e 's/x86-64-v3/x86-64-v4/' \
	  -e 's/ -Wno-restrict -Wno-stringop-overflow/ -Wno-deprecated-declarations/' $< > $@

# With CLANG_SHARE=K/N, share K of N of the files of these libraries, and all changed files.
CLANG_SHARE ?= 1/1
CLANG_LIBRARIES = $(filter core/%.cpp autograd/%.cpp models/%.cpp,$(SOURCES))
CLANG_SOURCES = $(sort $(shell printf '%s\n' $(CLANG_LIBRARIES) | split -n r/$(CLANG_SHARE)) $(CHANGED_SOURCES))
check-clang: $(CHECK_BUILD)/clang/compile_commands.json ## core, autograd, models and changed files must parse with Clang
	@tools/scripts/setup.sh clang-19
	@if command -v clang++-19 > /dev/null; then \
	  printf '%s\n' $(CLANG_SOURCES) | tools/scripts/quiet.sh "Clang" $(CHECK_BUILD)/clang.log \
	    tools/scripts/check_includes.sh $< $(JOBS); \
	else echo "skipped: Clang: clang++-19 is not installed"; fi

tidy: $(PLAIN)/compile_commands.json
	@printf '%s\n' $(TIDY_SOURCES) | tools/scripts/quiet.sh "clang-tidy" $(CHECK_BUILD)/tidy.log \
	  xargs -r -P $(JOBS) -n 4 clang-tidy -p $(PLAIN) --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-idirafter$(GCC_HEADERS) "--extra-arg=$(NO_DEALLOCATORS)"

format: ## format the sources
	@clang-format -i $(SOURCES)

# Reports end the program. Tests ask for more memory than there is. ThreadSanitizer does not understand OpenMP's
# barriers, so it runs with one OpenMP thread.
SANITIZER_ENV = UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=allocator_may_return_null=1 \
  $(if $(filter thread,$(1)),OMP_THREAD_LIMIT=1,OMP_NUM_THREADS=2) \
  TSAN_OPTIONS=allocator_may_return_null=1:ignore_noninstrumented_modules=1:suppressions=$(CURDIR)/tools/scripts/tsan.supp
define sanitize
	@$(call CONFIGURE,build-$(1),RelWithDebInfo,-DGYRE_SANITIZE=$(2))
	@$(call BUILD_QUIETLY,build-$(1))
	@TEST_TIMEOUT=7200 $(call SANITIZER_ENV,$(2)) tools/scripts/run_tests.sh build-$(1)
endef
asan: ## run the tests under AddressSanitizer
	$(call sanitize,asan,address)
ubsan: ## run the tests under UndefinedBehaviorSanitizer
	$(call sanitize,ubsan,undefined)
tsan: ## run the tests under ThreadSanitizer
	$(call sanitize,tsan,thread)

FUZZ_SECONDS ?= 15
fuzz: ## run libFuzzer on every file reader, FUZZ_SECONDS each; installs Clang
	@tools/scripts/setup.sh clang-19 libclang-rt-19-dev libomp-19-dev
	@$(call CONFIGURE,build-fuzz,None,-DCMAKE_CXX_COMPILER=clang++-19 -DGYRE_FUZZ=ON)
	@$(call BUILD_QUIETLY,build-fuzz)
	@tools/scripts/fuzz.sh build-fuzz $(FUZZ_SECONDS)

clean: ## remove builds, the demo and the reports
	rm -rf build build-* demo dist gpu-check gyre-bundle.tar.*
