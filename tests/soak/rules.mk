# Random and real programs for hours, disturbed by signals and a lack of memory.
#
# make soak [HOURS=8]  random and real programs, killed and stopped ranks, little memory, jobs side by side

HOURS ?= 8
soak: all tests examples
	tests/soak/run --hours $(HOURS)

.PHONY: soak
