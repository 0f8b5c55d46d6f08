# Random and real programs for hours, disturbed by signals and a lack of memory. The program that is
# only for this is built like the fuzzers.
#
# make soak [HOURS=8]  random and real programs, killed and stopped ranks, little memory, jobs side by side

$(foreach abi,$(TEST_ABIS),$(eval $(call fuzz_program,$(abi),soak,random_communicators)))

HOURS ?= 8
soak: all tests examples
	tests/soak/run --hours $(HOURS)

.PHONY: soak
