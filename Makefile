# A thin door: every chore is Rust, in xtask/. `make help` lists them.

# rustup puts cargo in a folder that a fresh shell may not know yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

# What `make run` looks at, and how: make run TARGET=/mnt/fast ARGS=--quick
TARGET ?=
ARGS ?=

.PHONY: help run test test-slow check docs package bench setup clean toolchain

help:
	@echo "make run        build iostack and ask whether this machine is ready for its SSD (TARGET=, ARGS=)"
	@echo "make test       install what the tests use, check the tree, run every test"
	@echo "make test-slow  the same, with the tests that take minutes"
	@echo "make check      formatting, lints, tidy, spelling, licences"
	@echo "make docs       the manual as a book"
	@echo "make package    static programs and Debian packages, in target/package"
	@echo "make bench      measure, and append to bench/history.ndjson"
	@echo "make setup      only install what the tests use"
	@echo "make clean      remove everything that was built"

# Exit 1 means that the verdict is bad news, which is an answer; 2 and above mean that there is none.
run: toolchain
	@cargo run --profile first --package iostack -- check $(TARGET) $(ARGS) || test $$? -eq 1

test: toolchain
	@cargo xtask test

test-slow: toolchain
	@cargo xtask test --slow

check: toolchain
	@cargo xtask check

docs: toolchain
	@cargo xtask docs

package: toolchain
	@cargo xtask package

bench: toolchain
	@cargo xtask bench

setup: toolchain
	@cargo xtask setup

clean: toolchain
	@cargo clean

toolchain:
	@command -v cargo >/dev/null || { \
		echo "No Rust toolchain: cargo is neither on the path nor in ~/.cargo/bin." >&2; \
		echo "Install one from https://rustup.rs (1.95 or newer), then try again." >&2; exit 2; }
	@command -v cc >/dev/null || { \
		echo "No linker: Rust needs \`cc\`. On Debian: apt install gcc libc6-dev" >&2; exit 2; }
