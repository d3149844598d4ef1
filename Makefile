# The two commands to know are `make demo` and `make test`. The build itself is CMake's (CMakePresets.json).
JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local
# In CI a warning is an error; same folder, same program.
PRESET := $(if $(CI),ci,release)
PROGRAM := build/release/einflow
# A first build asks for nothing that only the tests need; later ones leave the folder as it was configured.
LEAVE_TESTS = $(if $(wildcard build/release/build.ninja),,-DEINFLOW_TESTS=OFF)
CTEST = ctest --parallel $(JOBS) --preset

.DEFAULT_GOAL := help
.PHONY: help demo test check test-sanitized build bench fuzz format tidy install clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build  ## build, then analyse a matrix product on a toy machine
	$(PROGRAM) analyze examples/matmul-toy.yaml

test:  ## every test, plain and under sanitizers; installs what it needs
	scripts/install-packages build test
	$(MAKE) --no-print-directory test-sanitized check

check:  ## the tests of the release build only
	cmake --preset $(PRESET) -DEINFLOW_TESTS=ON
	cmake --build --preset $(PRESET) -j $(JOBS)
	$(CTEST) $(PRESET)

test-sanitized:  ## the tests under ASan and UBSan, with fewer property cases
	cmake --preset debug
	cmake --build --preset debug -j $(JOBS)
	$(CTEST) debug

build:  ## the program only: build/release/einflow
	scripts/install-packages build
	cmake --preset $(PRESET) $(LEAVE_TESTS)
	cmake --build --preset $(PRESET) -j $(JOBS) --target einflow

bench:  ## build and run the benchmarks
	scripts/install-packages build bench
	cmake --preset bench $(LEAVE_TESTS)
	cmake --build --preset bench -j $(JOBS)
	build/release/einflow_bench

fuzz:  ## fuzz the readers, FUZZ_SECONDS each (60)
	scripts/install-packages build fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	scripts/fuzz $(or $(FUZZ_SECONDS),60)

format:  ## clang-format over all C++ (scripts/format --check only looks)
	scripts/install-packages format
	scripts/format

tidy:  ## clang-tidy over src/
	scripts/install-packages build test tidy
	cmake --preset $(PRESET) -DEINFLOW_TESTS=ON
	scripts/tidy

install: build  ## into PREFIX (/usr/local), below DESTDIR where given
	cmake --preset $(PRESET) $(LEAVE_TESTS) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build --preset $(PRESET) -j $(JOBS) --target einflow
	cmake --install build/release

clean:  ## remove build/
	rm -rf build
