# One program of all files of tests/fuzz_coll, for each MPI, that knows nothing of us.
#
# make fuzz-coll [PROGRAMS=10000] [ABI=mpich]  random programs of collectives, checked by a model

fuzz-coll: all fuzzers
	tests/fuzz/run --coll --programs $(PROGRAMS) $(ABI:%=--abi %)

.PHONY: fuzz-coll
