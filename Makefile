# The house's orders; `make help` lists them. CMake does the building (Release, in build/).
BUILD ?= build
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=
# Quiet unless it fails.
CONFIGURE = mkdir -p $(1) && { cmake -S . -B $(1) -DCMAKE_BUILD_TYPE=$(2) $(3) $(CMAKE_FLAGS) > $(1)/configure.log 2>&1 || \
  { cat $(1)/configure.log; exit 1; }; }
SOURCES = $(shell git ls-files '*.cpp' '*.h')

.DEFAULT_GOAL := build/gyre
.PHONY: build/gyre build-all cuda gpu-check bundle help setup demo test check check-layers check-format tidy format asan ubsan tsan fuzz clean

build/gyre: ## build the program (the default)
	@$(call CONFIGURE,$(BUILD),Release)
	@cmake --build $(BUILD) --target gyre -j $(JOBS)

build-all: # the program and its tests
	@$(call CONFIGURE,$(BUILD),Release)
	@cmake --build $(BUILD) -j $(JOBS)

cuda: ## build the program and its tests with the CUDA backend, in build-cuda
	@export PATH="$$PATH:/usr/local/cuda/bin"; $(call CONFIGURE,build-cuda,Release,-DGYRE_CUDA=ON)
	@cmake --build build-cuda -j $(JOBS)

gpu-check: ## on a machine with a GPU: CUDA tests, a training, speed beside PyTorch; one report
	@tools/scripts/gpu_check.sh

bundle: cuda ## pack build-cuda with the libraries it needs, for a machine without them
	@tools/scripts/bundle.sh --tests build-cuda gyre-bundle.tar.gz

help: ## this list
	@awk -F':.*## ' '/^[a-z\/-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing
	@tools/scripts/setup.sh

demo: ## train, translate and score on the embedded corpus, in minutes
	@$(MAKE) --no-print-directory setup
	@$(MAKE) --no-print-directory build/gyre
	@tools/scripts/demo.sh $(BUILD)/gyre demo

test: ## build and run every test; list what was skipped and why
	@$(MAKE) --no-print-directory setup
	@$(MAKE) --no-print-directory build-all
	@tools/scripts/run_tests.sh $(BUILD)

check: check-layers check-format ## what a change must pass beside the tests: layers, format, warnings, clang-tidy
	@$(call CONFIGURE,build-check,Release,-DGYRE_DEVELOPER=ON)
	@cmake --build build-check -j $(JOBS)
	@$(MAKE) --no-print-directory tidy

check-layers: ## includes follow the arrows of the rooms
	@tools/scripts/check_layers.sh

check-format:
	@clang-format --dry-run -Werror $(SOURCES)

# What Clang 14 cannot read: GCC's vectors and its names of CPUs, and in the tests lambdas that capture structured bindings.
NOT_FOR_CLANG = core/cpu% tools/build_info.cpp tests/%

tidy: # needs the compile commands of build-check
	@if command -v clang-tidy > /dev/null; then \
	  printf '%s\n' $(filter-out $(NOT_FOR_CLANG),$(filter %.cpp,$(SOURCES))) | xargs -P $(JOBS) -n 4 clang-tidy -p build-check --quiet 2> /dev/null; \
	else echo "clang-tidy is not installed: skipped"; fi

format: ## format the sources
	@clang-format -i $(SOURCES)

# Reports end the program. ThreadSanitizer does not know OpenMP's barriers, so that it gets one thread of OpenMP.
SANITIZER_ENV = UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
  $(if $(filter thread,$(1)),OMP_THREAD_LIMIT=1,OMP_NUM_THREADS=2) \
  TSAN_OPTIONS=ignore_noninstrumented_modules=1:suppressions=$(CURDIR)/tools/scripts/tsan.supp
define sanitize
	@$(call CONFIGURE,build-$(1),RelWithDebInfo,-DGYRE_SANITIZE=$(2))
	@cmake --build build-$(1) -j $(JOBS)
	@$(call SANITIZER_ENV,$(2)) tools/scripts/run_tests.sh build-$(1)
endef
asan: ## the tests under AddressSanitizer
	$(call sanitize,asan,address)
ubsan: ## the tests under UndefinedBehaviorSanitizer
	$(call sanitize,ubsan,undefined)
tsan: ## the tests under ThreadSanitizer
	$(call sanitize,tsan,thread)

FUZZ_SECONDS ?= 15
fuzz: ## libFuzzer on every reader of files, FUZZ_SECONDS each; needs Clang, and installs it
	@tools/scripts/setup.sh clang libclang-rt-14-dev
	@$(call CONFIGURE,build-fuzz,None,-DCMAKE_CXX_COMPILER=clang++ -DGYRE_FUZZ=ON)
	@cmake --build build-fuzz -j $(JOBS)
	@tools/scripts/fuzz.sh build-fuzz $(FUZZ_SECONDS)

clean: ## remove what was built, the demo and the reports
	rm -rf build build-* demo gpu-check gyre-bundle.tar.*
