# One program of all files of tests/fuzz, for each MPI, that knows nothing of us.
#
# make fuzz [PROGRAMS=10000] [ABI=mpich]  random programs, checked by a model and against the host alone

fuzz: all fuzzers
	tests/fuzz/run --programs $(PROGRAMS) $(ABI:%=--abi %)

.PHONY: fuzz
